"""The stage that edits work on, with its root layer as the target, and the node types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pxr import Sdf, Usd

from ...nodes.ogn.ogn_spec import AttributeSpec
from ...nodes.scene.graph_builder import GraphBuilder
from ...nodes.stock.node_registry import KERNEL_NAMES, Registry


class EditError(Exception):
    """An edit that cannot be done; the text says why."""


@dataclass
class Editor:
    """The stage to edit, with its root layer as the target, and the node types."""

    stage: Usd.Stage
    registry: Registry

    def prim(self, path: str) -> Usd.Prim:
        """Return the prim of a node or graph. Raises EditError."""
        found = self.stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path) else None
        if not found or found.GetTypeName() not in ("OmniGraphNode", "OmniGraph"):
            raise EditError(f"there is no node {path}")
        return found

    def declared(self, node: Usd.Prim) -> Mapping[str, AttributeSpec]:
        """Return the attributes that the type of a node has, by name."""
        found = self.registry.find(str(node.GetAttribute("node:type").Get() or ""))
        return found.spec.attributes if found is not None else {}

    def is_kernel(self, node: Usd.Prim) -> bool:
        """True for a Kernel node, which takes attributes that its type does not have."""
        return node.GetAttribute("node:type").Get() in KERNEL_NAMES

    def builder(self, node: str) -> GraphBuilder:
        """Return a builder for the graph of a node."""
        return GraphBuilder.over(self.stage, node.rpartition("/")[0], self.registry)


def graph_of(stage: Usd.Stage, path: str) -> str:
    """Return the path of the outermost graph at or above a path, the topmost prim outside of graphs."""
    prims = Sdf.Path(path).GetPrimPath().GetPrefixes()
    found = (p for p in prims if (prim := stage.GetPrimAtPath(p)) and prim.GetTypeName() == "OmniGraph")
    return str(next(found, prims[0]))
