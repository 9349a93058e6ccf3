"""Interpolation to vector-valued shape functions: a node gets the component along its edge, or across its side.

Start with `interpolate_vectors`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import dot, tid
from ..arrays.array import array, array1d, array2d
from ..lang.kernel import Kernel, kernel
from .assembly import Places
from .domains.quadratures import Quadrature
from .integrands import Arguments, Integrand, kept
from .kernel_records import inverse_of, sample_at, vector_type
from .spaces.fields import DiscreteField
from .spaces.vector_functions import BACK, Piola

_WANTED = "an integrand returns vectors for a space of vector-valued shape functions"


@kept
def component_kernel(integrand: Integrand, picks: tuple[int, ...], piola: Piola) -> Kernel:
    """The kernel that evaluates an integrand in the middle of edges or sides, and keeps a component of its vectors."""
    back = BACK[piola]

    @kernel(lanes=1)
    def store_components(
        domain: Any,
        nodes: array1d(dtype=int),
        order: array1d(dtype=int),
        starts: array1d(dtype=int),
        elements: int,
        axes: array1d(dtype=Any),
        signs: array2d(dtype=Any),
        rest: Any,
        dest: array1d(dtype=Any),
    ):
        group = tid()
        point = order[starts[group]] // elements
        s = sample_at(domain, order[starts[group]] - point * elements, point)
        given = (s, domain, 0, 0, *rest)
        found = back(inverse_of(s, domain), integrand(*[given[i] for i in picks]))
        dest[nodes[group]] = signs[point, s.cell] * dot(axes[point], found)

    return store_components


def interpolate_vectors(
    given: Arguments, dest: DiscreteField, points: Quadrature, nodes: array, places: Places
) -> None:
    """Set a field of vector-valued shape functions by an integrand, in the first cell of each edge or side."""
    domain, basis = points.domain, dest.space.basis
    g = domain.geometry
    shape: Any = basis.shape
    axes = array(shape.axes, dtype=vector_type(g.cell_dimension, g.scalar), device=g.device)
    inner = given.places(points)
    tables = nodes, *places, domain.element_count(), axes, *basis.sign_tables
    kernel = component_kernel(given.integrand, given.picks, basis.piola)
    inputs = [points.record(inner is None), *tables, given.record(inner)]
    given.run(kernel, nodes.size, inputs, [dest.dof_values], _WANTED)
