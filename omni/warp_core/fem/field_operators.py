"""Operators of integrands on fields and domains: `fem.grad(u, s)`, `fem.normal(domain, s)` and others.

The type of the first argument supplies the function (lang/values/struct_operators.py), so an integrand takes fields of
all spaces. field_records.py and domain_records.py supply them.
"""

from __future__ import annotations

from ..lang.values.struct_operators import StructOperator

__all__ = [
    *("D", "at_node", "average", "cells", "curl", "deformation_gradient", "degree", "div", "div_outer"),
    *("element_closest_point", "element_coordinates", "element_index", "element_partition_index"),
    *(
        "environment_index",
        "grad",
        "grad_average",
        "grad_jump",
        "grad_outer",
        "inner",
        "jump",
        "lookup",
        "measure",
        "measure_ratio",
        "node_count",
    ),
    *("node_index", "node_inner_weight", "node_inner_weight_gradient", "node_outer_weight"),
    *("node_outer_weight_gradient", "node_partition_index", "normal", "outer", "partition_lookup", "position"),
    "scalar_type",
    *("to_cell_side", "to_inner_cell", "to_outer_cell"),
]

grad = StructOperator(
    "grad",
    "fem.grad(u, s)",
    """The gradient of a field: a vector, or of vectors a matrix whose row `i` is the gradient of component `i`.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    ...     return wp.dot(fem.grad(u, s), fem.grad(v, s))
    """,
)
div = StructOperator("div", "fem.div(u, s)", "The divergence of a field of vectors.")
curl = StructOperator("curl", "fem.curl(u, s)", "The curl of a field of vectors of three components.")
D = StructOperator("D", "fem.D(u, s)", "The symmetric part of the gradient of a field of vectors.")
inner = StructOperator(
    "call",
    "fem.inner(u, s)",
    "The value of a field in the first cell of a side, which its normal leads out of: `u(s)`.",
)
outer = StructOperator(
    "outer", "fem.outer(u, s)", "The value in the second cell of a side; in the first one on boundaries, and in cells."
)
grad_outer = StructOperator("grad_outer", "fem.grad_outer(u, s)", "The gradient where `fem.outer` takes the value.")
div_outer = StructOperator("div_outer", "fem.div_outer(u, s)", "The divergence where `fem.outer` takes the value.")
jump = StructOperator(
    "jump",
    "fem.jump(u, s)",
    """`fem.inner(u, s) - fem.outer(u, s)`: how much a field falls along the normal of a side; 0 on boundaries.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def penalty(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    ...     return fem.measure_ratio(domain, s) * fem.jump(u, s) * fem.jump(v, s)
    """,
)
average = StructOperator("average", "fem.average(u, s)", "The middle of the values in both cells of a side.")
grad_jump = StructOperator("grad_jump", "fem.grad_jump(u, s)", "`fem.grad(u, s) - fem.grad_outer(u, s)`.")
grad_average = StructOperator("grad_average", "fem.grad_average(u, s)", "The middle of the gradients in both cells.")
node_count = StructOperator(
    "node_count", "fem.node_count(u, s)", "How many nodes a discrete field has in the cell of a sample."
)
node_index = StructOperator(
    "node_index",
    "fem.node_index(u, s, i)",
    "The number in the space of node `i` of the cell; `fem.node_index(v, s)` that of a test or trial field's node.",
)
node_inner_weight = StructOperator(
    "node_inner_weight", "fem.node_inner_weight(u, s, i)", "The value of the shape function of node `i` of the cell."
)
node_inner_weight_gradient = StructOperator(
    "node_inner_weight_gradient",
    "fem.node_inner_weight_gradient(u, s, i)",
    "The gradient of the shape function of node `i` of the cell.",
)
node_outer_weight = StructOperator(
    "node_outer_weight",
    "fem.node_outer_weight(u, s, i)",
    """The value of the shape function of node `i` of the second cell of a side; of the first one on boundaries.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def value_outside(s: fem.Sample, u: fem.Field, values: wp.array2d(dtype=float)):
    ...     found = float(0.0)
    ...     for i in range(fem.node_count(u, s)):
    ...         found += fem.node_outer_weight(u, s, i) * values[s.element_index, i]
    ...     return found
    """,
)
node_outer_weight_gradient = StructOperator(
    "node_outer_weight_gradient",
    "fem.node_outer_weight_gradient(u, s, i)",
    "The gradient of the shape function of node `i` of the second cell of a side; see `fem.node_outer_weight`.",
)
node_partition_index = StructOperator(
    "node_partition_index",
    "fem.node_partition_index(u, node)",
    "The number of a node of the space among those of the field; `fem.NULL_NODE_INDEX` if it is not there.",
)
degree = StructOperator("degree", "fem.degree(u)", "The degree of the polynomials of a field.")
position = StructOperator("position", "fem.position(domain, s)", "The position of a sample: `domain(s)`.")
normal = StructOperator(
    "normal", "fem.normal(domain, s)", "The outward normal of a side, or the normal of a surface, of length 1."
)
measure = StructOperator("measure", "fem.measure(domain, s)", "The size that the weights of a sample are parts of.")
measure_ratio = StructOperator(
    "measure_ratio",
    "fem.measure_ratio(domain, s)",
    "The size of a side by the size of its cells, the larger ratio of the two; 1 in cells.",
)
element_index = StructOperator(
    "element_index", "fem.element_index(domain, i)", "The number in the geometry of element `i` of a domain."
)
element_partition_index = StructOperator(
    "element_partition_index",
    "fem.element_partition_index(domain, cell)",
    "The number of a cell in the domain's part of the geometry; `fem.NULL_ELEMENT_INDEX` if it is not there.",
)
environment_index = StructOperator(
    "environment_index",
    "fem.environment_index(domain, s)",
    """The number of the environment of a sample: 0, as a geometry is one environment.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def weighed(s: fem.Sample, domain: fem.Domain, v: fem.Field, weights: wp.array(dtype=float)):
    ...     return weights[fem.environment_index(domain, s)] * v(s)
    """,
)
scalar_type = StructOperator(
    "scalar_type",
    "fem.scalar_type(u)",
    """The type of numbers of a domain or a field, `wp.float32` or `wp.float64`. So integrands make numbers of it.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def energy(s: fem.Sample, u: fem.Field):
    ...     half = fem.scalar_type(u)(0.5)
    ...     return half * u(s) * u(s)
    """,
)
to_inner_cell = StructOperator(
    "to_inner_cell",
    "fem.to_inner_cell(domain, s)",
    """The sample in the first cell of a side, for discrete fields and positions there.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def slope_inside(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    ...     return fem.grad(u, fem.to_inner_cell(domain, s))[0]
    """,
)
to_outer_cell = StructOperator(
    "to_outer_cell", "fem.to_outer_cell(domain, s)", "The sample in the second cell of a side; see `fem.to_inner_cell`."
)
to_cell_side = StructOperator(
    "to_cell_side",
    "fem.to_cell_side(domain, s, side)",
    """The sample on a side, of a sample in one of its cells that `fem.to_inner_cell` or `fem.to_outer_cell` made.

    `side` is the `element_index` of a sample on the side. If the sample is not on this side, or the domain lacks it,
    `element_index` is -1.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def fall(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    ...     inside = fem.to_inner_cell(domain, s)
    ...     return fem.jump(u, fem.to_cell_side(domain, inside, s.element_index))
    """,
)
deformation_gradient = StructOperator(
    "deformation_gradient",
    "fem.deformation_gradient(domain, s)",
    "The derivative of positions by the coordinates inside of the cell.",
)
at_node = StructOperator(
    "at_node",
    "fem.at_node(u, s)",
    """The sample moved to the node of a test or trial field; `fem.at_node(f, s, i)` to the node `i` of its cell.

    Test and trial fields have values there, too.
    """,
)
lookup = StructOperator(
    "lookup",
    "fem.lookup(domain, x)",
    """The sample at a position: in the cell that has it, or at the nearest position of the geometry.

    It also takes a sample that may be near, `lookup(domain, x, s)`. With an array that has a value for each cell,
    `lookup(domain, x, array, value)`, only cells with the value count. If there are none, `element_index` is -1, and
    `element_coords` are `fem.OUTSIDE`.

    Grids may lack the cell of a position, or it does not count. Then one is taken that is up to half of a cell away.
    With a distance after `x`, it may be that far away, rounded up to whole cells. In meshes, it may be anywhere.

    Meshes need `build_bvh=True`.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def advected(s: fem.Sample, domain: fem.Domain, u: fem.Field, dt: float):
    ...     return u(fem.lookup(domain, domain(s) - dt * u(s), s))
    """,
)
partition_lookup = StructOperator(
    "partition_lookup",
    "fem.partition_lookup(domain, x)",
    """As `fem.lookup(domain, x)`, in the part of the geometry that the domain is of. A distance may follow `x`.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def inside_of_part(s: fem.Sample, domain: fem.Domain, u: fem.Field, wind: wp.vec2):
    ...     return u(fem.partition_lookup(domain, domain(s) - wind, 2.0))
    """,
)
element_coordinates = StructOperator(
    "element_coordinates",
    "fem.element_coordinates(domain, element_index, x)",
    "The coordinates of a position in a cell; those of a position outside of the cell are beyond it.",
)
element_closest_point = StructOperator(
    "element_closest_point",
    "fem.element_closest_point(domain, element_index, x)",
    "The coordinates of the point of a cell that is nearest to a position, and the squared distance to it.",
)
cells = StructOperator("cells", "fem.cells(domain)", "The domain or field for samples of cells: it is the same one.")
