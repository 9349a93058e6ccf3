"""A space with a node at each point of a quadrature: functions that are known at these points alone.

Particle methods keep stresses and other quantities of particles in it. A form with a test field of it has a row for
each point. Start with `PointBasisSpace`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.kernel import func
from ...lang.types import Mat, Type, Vec
from ...lang.values.struct_operators import CALL
from ...lang.values.type_registry import python_type
from ..domains.point_quadratures import PointQuadrature
from ..kernel_records import SAMPLE, one_at_points, record
from .field_records import Values, type_word
from .spaces import BasisSpace

__all__ = ["PointBasisSpace"]

_NO_GRADIENT = "a field of fem.PointBasisSpace is known at its points alone; interpolate it to a polynomial space first"
_REFUSES = dict.fromkeys(("grad", "div", "D", "curl"), _NO_GRADIENT)


@func
def value_at_point(u: Any, s: SAMPLE):
    """The value of a field at a point of its quadrature, NaN at samples that an integrand makes."""
    return u.dofs[s.qp_index] * one_at_points(s)


@func
def value_of_node(u: Any, s: SAMPLE):
    """The value of a test or trial field: 1 in one component at its own point."""
    return u.value * one_at_points(s)


@cache
def point_field_record(t: Type) -> Any:
    """What kernels need of a field: its values."""
    fields = {"dofs": array(dtype=python_type(t))}
    return record(f"PointField_{type_word(t.key)}", fields, {CALL: value_at_point}, _REFUSES)


@cache
def point_space_record(t: Type) -> Any:
    """What kernels need of a space to make test and trial fields."""
    kind, columns = python_type(t), t.cols if isinstance(t, Mat) else 1
    basis = record(f"PointBasis_{type_word(t.key)}", {"value": kind}, {CALL: value_of_node}, _REFUSES)

    @func
    def of_numbers(space: Any, s: Any, node: int, component: int):
        return basis(kind(1.0))

    @func
    def of_vectors(space: Any, s: Any, node: int, component: int):
        value = kind()
        value[component] = value.dtype(1.0)
        return basis(value)

    @func
    def of_matrices(space: Any, s: Any, node: int, component: int):
        value = kind()
        value[component // columns, component - component // columns * columns] = value.dtype(1.0)
        return basis(value)

    supplied = of_vectors if isinstance(t, Vec) else of_matrices if isinstance(t, Mat) else of_numbers
    return record(f"PointSpace_{type_word(t.key)}", {"nodes_of_element": int}, {"basis": supplied})


class PointBasisSpace(BasisSpace):
    """A space with a node at each point of a quadrature. Integrate its fields with this quadrature.

    Args:
        quadrature: A `PicQuadrature` or an `ExplicitQuadrature`.
        kernel_func: None; kernels other than a value for each point are refused.
        kernel_grad_func: None, likewise.
        kernel_values: None, likewise.
        distance_space: Without effect.
        max_nodes_per_element: Without effect.
        use_evaluation_point_index: False; the nodes have the numbers of the points.

    >>> import omni.warp_core.fem as fem
    >>> at = wp.array([(0.25, 0.5), (0.5, 0.5)], dtype=wp.vec2)
    >>> particles = fem.PicQuadrature(fem.Cells(fem.Grid2D(res=(2, 2))), at)
    >>> stresses = fem.make_collocated_function_space(fem.PointBasisSpace(particles), dtype=wp.mat22)
    >>> stresses.make_field().dof_values.shape
    (2,)
    """

    def __init__(
        self,
        quadrature: PointQuadrature,
        kernel_func: Any = None,
        kernel_grad_func: Any = None,
        kernel_values: Any = None,
        distance_space: str = "reference",
        max_nodes_per_element: int = -1,
        use_evaluation_point_index: bool = False,
    ):
        if not isinstance(quadrature, PointQuadrature):
            got = type(quadrature).__name__
            raise TypeError(f"PointBasisSpace: expected a PicQuadrature or an ExplicitQuadrature, got {got}")
        if kernel_func is not None or use_evaluation_point_index:
            what = "kernel_func" if kernel_func is not None else "use_evaluation_point_index"
            raise NotImplementedError(f"PointBasisSpace: wp.fem has no {what} yet; leave it out")
        self.geometry, self.quadrature, self.discontinuous = quadrature.domain.geometry, quadrature, True

    @property
    def degree(self) -> int:
        """Degree of the polynomials: functions are constant around a point."""
        return 0

    @property
    def nodes_per_element(self) -> int:
        """Number of nodes of a point."""
        return 1

    def node_count(self) -> int:
        """Number of points."""
        return self.quadrature.total_point_count()

    def element_nodes(self, domain: Any) -> np.ndarray:
        """The node of each point."""
        return self.quadrature.by_points.numbers[:, None]

    def space_record(self, values: Values, points: Any, is_sides: bool) -> Any:
        """What kernels need to make test and trial fields of values of a kind."""
        return point_space_record(_of_points(values))(1)

    def field_record(self, values: Values, dofs: array, points: Any, part: Any) -> Any:
        """What kernels need of a field of values of a kind."""
        return point_field_record(_of_points(values))(dofs)

    def node_positions(self) -> np.ndarray:
        """The positions of points, on the host."""
        g, cells = self.geometry, self.quadrature.cell_indices.numpy()
        weights = g.cell.vertex_weights(self.quadrature.point_coords.numpy()[:, : g.cell_dimension])
        return np.einsum("pv,pvd->pd", weights, g.vertex_positions[g.cell_vertices[cells]])


def _of_points(values: Values) -> Type:
    if values.mapper is not None:
        raise ValueError("PointBasisSpace: points have values themselves; leave dof_mapper out")
    return values.type
