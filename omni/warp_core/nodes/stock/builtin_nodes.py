"""All node types of omni.graph that this host brings along, family by family, and their other names in scenes."""

from __future__ import annotations

from ..graph.node_graph import NodeType
from . import constant_nodes, event_nodes, flow_nodes, loop_nodes, prim_nodes, variable_nodes

FAMILIES = (event_nodes, flow_nodes, loop_nodes, variable_nodes, constant_nodes, prim_nodes)
_ACTION = "omni.graph.action."
ALIASES = {
    name.replace(_ACTION, "omni.graph.action_nodes."): name
    for family in FAMILIES
    for node_type in family.TYPES
    if (name := node_type.spec.name).startswith(_ACTION)
}


def node_types() -> list[NodeType]:
    """Return the types of all families."""
    return [node_type for family in FAMILIES for node_type in family.TYPES]
