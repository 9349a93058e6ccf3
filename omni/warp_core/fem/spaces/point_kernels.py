"""Shape functions of the distance from points, each in the cell of its point. Start with `kernel_record`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

from ... import dot, grad, transpose, vector
from ...arrays.array import array
from ...lang.kernel import Function, func
from ...lang.types import Scalar, Type
from ...lang.values.scalars import int32
from ..kernel_records import arguments_record, jacobian_at, position_at, record, vector_type
from .given_functions import GivenFunctions


@func
def along_coordinates(shape: Any, cell: int, coords: Any, centre: Any):
    """From a centre to coordinates of its cell."""
    return coords - centre


@func
def along_world(shape: Any, cell: int, coords: Any, centre: Any):
    """From the position of a centre to that of coordinates."""
    return position_at(shape.geometry, cell, coords, coords) - position_at(shape.geometry, cell, centre, centre)


@func
def coords_of_point(shape: Any, cell: int, node: int):
    """The coordinates of the point of a node of a cell."""
    at = shape.points[node, cell]
    found = shape.inner.dtype()
    if at >= 0:
        found = shape.inner[at]
    return found


def _kernel_functions(given: GivenFunctions, away: Function, dimension: int, scalar: Scalar) -> tuple[Function, ...]:
    """The value and the gradient by coordinates of the function of a node, and a gradient of zero. Where no function is
    given for the derivative of the kernel, `grad` derives it.
    """
    kernel, slope = given.given["kernel_func"], given.given["kernel_grad_func"]
    is_derived, derivative = slope is None, grad(kernel)
    is_world, is_plane, zero = away is along_world, dimension == 2, vector_type(dimension, scalar)

    @func
    def value(shape: Any, cell: int, coords: Any, node: int):
        at = shape.points[node, cell]
        found = type(coords[0])(0.0)
        if at >= 0:
            way = away(shape, cell, coords, shape.inner[at])
            found = kernel(dot(way, way), at // shape.each, *shape.arguments)
        return found

    @func
    def no_gradient(shape: Any):
        return zero()

    @func
    def gradient(shape: Any, cell: int, coords: Any, node: int):
        at = shape.points[node, cell]
        found = zero()
        if at >= 0:
            way = away(shape, cell, coords, shape.inner[at])
            if is_derived:
                factor = derivative(dot(way, way), at // shape.each, *shape.arguments)[0]
            else:
                factor = slope(dot(way, way), at // shape.each, *shape.arguments)
            if is_world:
                found = (factor + factor) * (transpose(jacobian_at(shape.geometry, cell, coords)) * way)
            elif is_plane:
                found = (factor + factor) * vector(way[0], way[1])
            else:
                found = (factor + factor) * way
        return found

    return value, gradient, no_gradient


@cache
def kernel_record(given: GivenFunctions, types: tuple[Type, ...], geometry: Any, scalar: Scalar, dimension: int) -> Any:
    """What kernels need of functions around points: which point each node of a cell is, where points are, and arguments
    of the functions. For distances in the world, the geometry, whose record is of the class `geometry`, too.
    """
    fields = {"points": array(dtype=int32, ndim=2), "inner": array(dtype=vector_type(3, scalar)), "each": int32}
    fields["arguments"] = arguments_record(types)
    away, name = along_coordinates, f"PointKernels_{given.digest}_{dimension}"
    if geometry is not None:
        fields["geometry"], away, name = geometry, along_world, f"{name}_in_{geometry.__name__}"
    functions = _kernel_functions(given, away, dimension, scalar)
    supplies = dict(zip(("shape_value", "shape_gradient", "zero_gradient"), functions))
    return record(name, fields, supplies | {"node_place": coords_of_point})
