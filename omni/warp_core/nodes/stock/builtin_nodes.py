"""All node types of omni.graph that this host brings along, family by family, and their other names in scenes."""

from __future__ import annotations

from ..graph.node_graph import NodeType
from . import constant_nodes, event_nodes, prim_nodes

FAMILIES = (event_nodes, constant_nodes, prim_nodes)
ALIASES = {
    "omni.graph.action_nodes.OnTick": "omni.graph.action.OnTick",
    "omni.graph.action_nodes.OnLoaded": "omni.graph.action.OnLoaded",
    "omni.graph.action_nodes.OnPlaybackTick": "omni.graph.action.OnPlaybackTick",
}


def node_types() -> list[NodeType]:
    """Return the types of all families."""
    return [node_type for family in FAMILIES for node_type in family.TYPES]
