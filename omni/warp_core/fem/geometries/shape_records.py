"""Shape functions in kernels: tables at the points of a quadrature, or polynomials anywhere in a cell.

Both supply the value and the gradient of a function at a place: a row of the tables, or coordinates. Start with
`shape_record`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

import numpy as np

from ... import matrix_from_cols, vector
from ...arrays.array import array
from ...devices.device import Device
from ...lang.kernel import Function, func
from ...lang.types import Scalar
from ..kernel_records import matrix_type, record, scalar_class, vector_type
from .shape_functions import ShapeFunction, SplineShape
from .vector_shapes import VectorShape


@func
def table_value(shape: Any, cell: int, row: int, node: int):
    """The value of a shape function at a row of the tables."""
    return shape.values[row, node]


@func
def table_gradient(shape: Any, cell: int, row: int, node: int):
    """The gradient of a shape function by coordinates, at a row of the tables."""
    return shape.gradients[row, node]


@func
def no_place(shape: Any, cell: int, node: int):
    """0, as nodes are no rows of the tables."""
    return 0


@func
def coords_of_node(shape: Any, cell: int, node: int):
    """The coordinates of a node."""
    return shape.nodes[node]


@func
def table_zero(shape: Any):
    """A gradient of zero."""
    return shape.gradients.dtype()


@func
def zero_2d(shape: Any):
    """A gradient of zero in the plane."""
    return vector(shape.coefficients.dtype(0.0), length=2)


@func
def zero_3d(shape: Any):
    """A gradient of zero in space."""
    return vector(shape.coefficients.dtype(0.0), length=3)


# Polynomials have a coefficient for each power of each coordinate, the highest powers first. Loops, whose bounds are
# constants, add them up by Horner's rule. Coordinates go from -1 to 1, which keeps the coefficients small.


def _in_plane(powers: int) -> tuple[Function, Function]:
    """The value and the gradient of shape functions of two coordinates, with so many powers of each."""

    @func
    def value_2d(shape: Any, cell: int, coords: Any, node: int):
        """The value of a shape function of two coordinates."""
        one = type(coords[0])(1.0)
        x, y = coords[0] + coords[0] - one, coords[1] + coords[1] - one
        found, k = one - one, 0
        for _i in range(powers):
            inner = one - one
            for _j in range(powers):
                inner = inner * y + shape.coefficients[node, k]
                k += 1
            found = found * x + inner
        return found

    @func
    def gradient_2d(shape: Any, cell: int, coords: Any, node: int):
        """The gradient of a shape function of two coordinates."""
        one = type(coords[0])(1.0)
        x, y = coords[0] + coords[0] - one, coords[1] + coords[1] - one
        found, dx, dy, k = one - one, one - one, one - one, 0
        for _i in range(powers):
            inner, slope = one - one, one - one
            for _j in range(powers):
                slope = slope * y + inner
                inner = inner * y + shape.coefficients[node, k]
                k += 1
            dx = dx * x + found
            found = found * x + inner
            dy = dy * x + slope
        return vector(dx + dx, dy + dy)

    return value_2d, gradient_2d


def _in_space(powers: int) -> tuple[Function, Function]:
    """The value and the gradient of shape functions of three coordinates, with so many powers of each."""

    @func
    def value_3d(shape: Any, cell: int, coords: Any, node: int):
        """The value of a shape function of three coordinates."""
        one = type(coords[0])(1.0)
        x, y, z = coords[0] + coords[0] - one, coords[1] + coords[1] - one, coords[2] + coords[2] - one
        found, k = one - one, 0
        for _i in range(powers):
            middle = one - one
            for _j in range(powers):
                inner = one - one
                for _k in range(powers):
                    inner = inner * z + shape.coefficients[node, k]
                    k += 1
                middle = middle * y + inner
            found = found * x + middle
        return found

    @func
    def gradient_3d(shape: Any, cell: int, coords: Any, node: int):
        """The gradient of a shape function of three coordinates."""
        one = type(coords[0])(1.0)
        x, y, z = coords[0] + coords[0] - one, coords[1] + coords[1] - one, coords[2] + coords[2] - one
        found, dx, dy, dz, k = one - one, one - one, one - one, one - one, 0
        for _i in range(powers):
            middle, my, mz = one - one, one - one, one - one
            for _j in range(powers):
                inner, slope = one - one, one - one
                for _k in range(powers):
                    slope = slope * z + inner
                    inner = inner * z + shape.coefficients[node, k]
                    k += 1
                my = my * y + middle
                middle = middle * y + inner
                mz = mz * y + slope
            dx = dx * x + found
            found = found * x + middle
            dy = dy * x + my
            dz = dz * x + mz
        return type(coords)(dx + dx, dy + dy, dz + dz)

    return value_3d, gradient_3d


@cache
def table_record(scalar: Scalar, cell_dimension: int) -> Any:
    """Values and gradients of shape functions: row x node of a cell."""
    fields = {
        "values": array(dtype=scalar_class(scalar), ndim=2),
        "gradients": array(dtype=vector_type(cell_dimension, scalar), ndim=2),
    }
    supplies = {
        "shape_value": table_value,
        "shape_gradient": table_gradient,
        "zero_gradient": table_zero,
        "node_place": no_place,
    }
    return record(f"TableOf{cell_dimension}D", fields, supplies)


@cache
def polynomial_record(scalar: Scalar, cell_dimension: int, powers: int) -> Any:
    """Coefficients of shape functions: node of a cell x powers of coordinates, from 0 to `powers` - 1 of each."""
    make, zero = {2: (_in_plane, zero_2d), 3: (_in_space, zero_3d)}[cell_dimension]
    supplies = dict(zip(("shape_value", "shape_gradient"), make(powers)))
    supplies |= {"node_place": coords_of_node, "zero_gradient": zero}
    return record(f"Polynomial{powers}Of{cell_dimension}D", _of_polynomials(scalar), supplies)


@func
def line_value(shape: Any, x: Any, i: int):
    """The value of a spline along an axis."""
    row, found = piece_of(shape, x) + i, x - x
    for k in range(shape.powers):
        found = found * x + shape.coefficients[row, k]
    return found


@func
def line_slope(shape: Any, x: Any, i: int):
    """The derivative of a spline along an axis."""
    row, found, slope = piece_of(shape, x) + i, x - x, x - x
    for k in range(shape.powers):
        slope = slope * x + found
        found = found * x + shape.coefficients[row, k]
    return slope


@func
def piece_of(shape: Any, x: Any):
    """The first row of the piece of a spline: where there are two, the second is from the middle of the cell on."""
    row = 0
    if x >= type(x)(0.5):
        row = shape.coefficients.shape[0] - 4
    return row


@func
def spline_value_2d(shape: Any, cell: int, coords: Any, node: int):
    """The value of a product of two splines."""
    i = node // 4
    return line_value(shape, coords[0], i) * line_value(shape, coords[1], node - 4 * i)


@func
def spline_gradient_2d(shape: Any, cell: int, coords: Any, node: int):
    """The gradient of a product of two splines."""
    i = node // 4
    j = node - 4 * i
    u, v = line_value(shape, coords[0], i), line_value(shape, coords[1], j)
    return vector(line_slope(shape, coords[0], i) * v, u * line_slope(shape, coords[1], j))


@func
def spline_value_3d(shape: Any, cell: int, coords: Any, node: int):
    """The value of a product of three splines."""
    i = node // 16
    return line_value(shape, coords[0], i) * spline_value_2d(shape, cell, vector(coords[1], coords[2]), node - 16 * i)


@func
def spline_gradient_3d(shape: Any, cell: int, coords: Any, node: int):
    """The gradient of a product of three splines."""
    i, rest = node // 16, vector(coords[1], coords[2])
    u, slope = line_value(shape, coords[0], i), spline_gradient_2d(shape, cell, rest, node - 16 * i)
    first = line_slope(shape, coords[0], i) * spline_value_2d(shape, cell, rest, node - 16 * i)
    return type(coords)(first, u * slope[0], u * slope[1])


@cache
def spline_record(scalar: Scalar, cell_dimension: int) -> Any:
    """Coefficients of splines along an axis: functions of all pieces x powers."""
    of_plane, of_space = (spline_value_2d, spline_gradient_2d, zero_2d), (spline_value_3d, spline_gradient_3d, zero_3d)
    functions = of_plane if cell_dimension == 2 else of_space
    supplies = dict(zip(("shape_value", "shape_gradient", "zero_gradient"), functions)) | {"node_place": coords_of_node}
    return record(f"SplineOf{cell_dimension}D", _of_polynomials(scalar), supplies)


def _of_polynomials(scalar: Scalar) -> dict[str, Any]:
    fields = {"coefficients": array(dtype=scalar_class(scalar), ndim=2), "powers": int}
    return fields | {"nodes": array(dtype=vector_type(3, scalar))}  # their coordinates


@func
def vectors_2d(shape: Any, cell: int, coords: Any, node: int):
    """The value of a vector-valued shape function of two coordinates."""
    c, x, y = shape.coefficients, coords[0], coords[1]
    return c[node, 0] + y * c[node, 1] + x * (c[node, 2] + y * c[node, 3])


@func
def vector_gradients_2d(shape: Any, cell: int, coords: Any, node: int):
    """The gradient of a vector-valued shape function of two coordinates: a row for each component."""
    c, x, y = shape.coefficients, coords[0], coords[1]
    return matrix_from_cols(c[node, 2] + y * c[node, 3], c[node, 1] + x * c[node, 3])


@func
def vectors_3d(shape: Any, cell: int, coords: Any, node: int):
    """The value of a vector-valued shape function of three coordinates."""
    c, x, y, z = shape.coefficients, coords[0], coords[1], coords[2]
    low = c[node, 0] + z * c[node, 1] + y * (c[node, 2] + z * c[node, 3])
    return low + x * (c[node, 4] + z * c[node, 5] + y * (c[node, 6] + z * c[node, 7]))


@func
def vector_gradients_3d(shape: Any, cell: int, coords: Any, node: int):
    """The gradient of a vector-valued shape function of three coordinates: a row for each component."""
    c, x, y, z = shape.coefficients, coords[0], coords[1], coords[2]
    dx = c[node, 4] + z * c[node, 5] + y * (c[node, 6] + z * c[node, 7])
    dy = c[node, 2] + z * c[node, 3] + x * (c[node, 6] + z * c[node, 7])
    dz = c[node, 1] + y * c[node, 3] + x * (c[node, 5] + y * c[node, 7])
    return matrix_from_cols(dx, dy, dz)


@cache
def vector_table_record(scalar: Scalar, cell_dimension: int) -> Any:
    """Values and gradients of vector-valued shape functions: row x node of a cell."""
    fields = {
        "values": array(dtype=vector_type(cell_dimension, scalar), ndim=2),
        "gradients": array(dtype=matrix_type(cell_dimension, cell_dimension, scalar), ndim=2),
    }
    supplies = {"shape_value": table_value, "shape_gradient": table_gradient, "node_place": no_place}
    made = record(f"VectorTableOf{cell_dimension}D", fields, supplies)
    made.cell_dimension = cell_dimension
    return made


@cache
def vector_polynomial_record(scalar: Scalar, cell_dimension: int) -> Any:
    """Coefficients of vector-valued shape functions: node of a cell x products of coordinates."""
    functions = {2: (vectors_2d, vector_gradients_2d), 3: (vectors_3d, vector_gradients_3d)}[cell_dimension]
    supplies = dict(zip(("shape_value", "shape_gradient"), functions)) | {"node_place": coords_of_node}
    fields = _of_polynomials(scalar) | {"coefficients": array(dtype=vector_type(cell_dimension, scalar), ndim=2)}
    made = record(f"VectorPolynomialOf{cell_dimension}D", fields, supplies)
    made.cell_dimension = cell_dimension
    return made


def shape_record(
    shape: ShapeFunction, points: np.ndarray | None, scalar: Scalar, device: Device, order: list[int] | None = None
) -> Any:
    """What kernels need of shape functions at some points of cells, or anywhere.

    Args:
        shape: The shape functions.
        points: The points, which are the rows of the tables; None for polynomials.
        scalar: The type of numbers.
        device: Where kernels run.
        order: Which functions, in which order; all as they are if left out.
    """
    dimension, number = shape.cell.dimension, scalar_class(scalar)
    picked = list(range(shape.count)) if order is None else order
    made, slope = table_record(scalar, dimension), vector_type(dimension, scalar)
    if points is None:
        is_spline = isinstance(shape, SplineShape)
        made = spline_record(scalar, dimension) if is_spline else polynomial_record(scalar, dimension, shape.degree + 1)
    if isinstance(shape, VectorShape):
        made = (vector_polynomial_record if points is None else vector_table_record)(scalar, dimension)
        number, slope = slope, matrix_type(dimension, dimension, scalar)
    if points is None:
        nodes = np.pad(shape.nodes[picked], ((0, 0), (0, 3 - dimension)))
        return made(
            array(shape.kernel_coefficients(picked), dtype=number, device=device),
            shape.degree + 1,
            array(nodes, dtype=vector_type(3, scalar), device=device),
        )
    gradients = np.ascontiguousarray(shape.gradients(points)[:, picked])
    return made(
        array(np.ascontiguousarray(shape.values(points)[:, picked]), dtype=number, device=device),
        array(gradients, dtype=slope, device=device),
    )
