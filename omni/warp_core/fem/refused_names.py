"""Names of `warp.fem` that are not there yet, and what to write instead. Start with `refusal`."""

from __future__ import annotations

# What programs can write in place of some names -> the names.
_INSTEAD = {
    "take a sample of fem.Sides(geometry), and fem.to_inner_cell(domain, s) in place of a sample in a cell": """
        to_cell_side""",
    "read the integers of fem.Sample: s.element_index, s.test_dof, s.trial_dof": """
        environment_index node_outer_weight node_outer_weight_gradient scalar_type""",
    "take fem.make_polynomial_space(geometry, dtype=wp.vec2), or fem.make_polynomial_basis_space": """
        ShapeBasisSpace ShapeFunction SpaceTopology
        make_element_based_space_topology make_element_shape_function space""",
    "take fem.Nanogrid, fem.Grid3D, fem.Hexmesh or fem.Tetmesh": """
        AdaptiveNanogrid adaptive_nanogrid_from_field adaptive_nanogrid_from_hierarchy geometry""",
}
_REMEDY = {name: instead for instead, names in _INSTEAD.items() for name in names.split()}


def refusal(name: str) -> str:
    """Return what to say of a name of `warp.fem` that is not there, "" for other names."""
    remedy = _REMEDY.get(name)
    return f"wp.fem has no {name!r} yet: {remedy}. docs/fem.md lists what is there" if remedy else ""
