"""All node types of omni.graph that this host brings along, family by family, and their other names in scenes."""

from __future__ import annotations

from ..graph.node_graph import NodeType
from . import (
    arithmetic_nodes,
    array_nodes,
    constant_nodes,
    conversion_nodes,
    event_nodes,
    flow_nodes,
    interpolation_nodes,
    log_nodes,
    logic_nodes,
    loop_nodes,
    matrix_nodes,
    random_nodes,
    text_nodes,
    variable_nodes,
    vector_nodes,
)
from .prims import bundle_nodes, prim_nodes, prim_queries, prim_readers, prim_states, prim_writers, relationship_nodes

FAMILIES = (
    event_nodes,
    flow_nodes,
    loop_nodes,
    variable_nodes,
    constant_nodes,
    prim_nodes,
    prim_readers,
    prim_writers,
    prim_queries,
    prim_states,
    relationship_nodes,
    bundle_nodes,
    arithmetic_nodes,
    vector_nodes,
    matrix_nodes,
    interpolation_nodes,
    random_nodes,
    logic_nodes,
    conversion_nodes,
    text_nodes,
    array_nodes,
    log_nodes,
)
_ACTION = "omni.graph.action."
_SMALL = ("ACos", "Acos"), ("ASin", "Asin"), ("ATan", "Atan"), ("Atan2", "ATan2"), ("Fmod", "FMod")
ALIASES = (
    {
        "omni.graph.ui.GetCameraPosition": "omni.graph.ui_nodes.GetCameraPosition",
        "omni.graph.ui.PrintText": "omni.graph.ui_nodes.PrintText",
        "omni.graph.nodes.ToTarget": "omni.graph.nodes.GetPrimsAtPath",
    }
    | {
        name.replace(_ACTION, "omni.graph.action_nodes."): name
        for family in FAMILIES
        for node_type in family.TYPES
        if (name := node_type.spec.name).startswith(_ACTION)
    }
    | {  # Kit's manual gives these names in small letters only
        f"omni.graph.nodes.{other}": f"omni.graph.nodes.{name}" for other, name in _SMALL
    }
)


def node_types() -> list[NodeType]:
    """Return the types of all families."""
    return [node_type for family in FAMILIES for node_type in family.TYPES]
