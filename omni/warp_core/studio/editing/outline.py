"""The outline: what pages know of the document, and the smallest message that brings them to its newest state."""

from __future__ import annotations

from typing import Any

from .document import Document, Patch
from .scene_description import describe, describe_graph, describe_node

_Graph = dict[str, Any]


class Outline:
    """The graphs of a document as pages have them. Call `changed` after each edit, `renew` when anything may differ."""

    def __init__(self, document: Document):
        self._document = document
        self._file = ""
        self._graphs: dict[str, _Graph] = {}
        self._revision = 0
        self.renew()

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes of all graphs."""
        return [node for graph in self._graphs.values() for node in graph["nodes"]]

    @property
    def texts(self) -> dict[str, str]:
        """The texts of Kernel nodes, by node."""
        return {node["path"]: node["code"] for node in self.nodes if node["code"] is not None}

    def renew(self) -> None:
        """Read the whole document."""
        found = describe(self._document.stage, self._document.registry)
        self._file = found["file"]
        self._graphs = {graph["path"]: graph for graph in found["graphs"]}
        self._revision = self._document.revision

    def message(self) -> dict[str, Any]:
        """Return the message with everything."""
        return {"is": "doc", **self._state(), "file": self._file, "graphs": list(self._graphs.values())}

    def state_message(self) -> dict[str, Any]:
        """Return a message without changes of graphs, as after a save."""
        return {"is": "patch", "base": self._revision, **self._state(), "ops": []}

    def changed(self, patch: Patch) -> dict[str, Any]:
        """Read what an edit changed, and return the message about it."""
        base, self._revision = self._revision, self._document.revision
        stage, registry = self._document.stage, self._document.registry
        ops = []
        for path in patch.paths:
            if (graph := self._graph_above(path)) is not None:
                ops += self._change_node(graph, path)
                continue
            found = describe_graph(stage, registry, path)
            if found is None and path not in self._graphs:
                self.renew()  # a graph below other prims
                return self.message()
            ops.append(self._change(path, found))
        return {"is": "patch", "base": base, **self._state(), "ops": ops}

    def _graph_above(self, path: str) -> _Graph | None:
        """Return the graph that a node lies in, None for the path of a graph or of another prim."""
        return next((graph for place, graph in self._graphs.items() if path.startswith(f"{place}/")), None)

    def _change_node(self, graph: _Graph, path: str) -> list[_Graph]:
        """Take a node as it is now; nothing changes for pages if they do not have it, as in a graph shown in part."""
        place = next((i for i, node in enumerate(graph["nodes"]) if node["path"] == path), None)
        if place is None:
            return []
        new = describe_node(self._document.stage, self._document.registry, path)
        nodes = [*graph["nodes"][:place], new, *graph["nodes"][place + 1 :]]
        self._graphs[graph["path"]] = {**graph, "nodes": nodes}
        return [{**_named(graph), "nodes": [new]}]

    def _state(self) -> dict[str, Any]:
        document = self._document
        return {
            "revision": document.revision, "edited": document.is_edited, "undo": document.undo_label,
            "redo": document.redo_label, "comments": document.has_comments(),
        }  # fmt: skip

    def _change(self, path: str, new: _Graph | None) -> dict[str, Any]:
        """Take a graph as it is now, and return its nodes that are new or not as before."""
        old = self._graphs.pop(path, None)
        if new is None:
            return {"graph": path, "gone": True}
        self._graphs = dict(sorted({**self._graphs, path: new}.items()))
        before = {node["path"]: node for node in old["nodes"]} if old is not None else {}
        nodes = [node for node in new["nodes"] if before.get(node["path"]) != node]
        order = [node["path"] for node in new["nodes"]]
        op = {**_named(new), "nodes": nodes}
        return op if order == list(before) else {**op, "order": order}


def _named(graph: _Graph) -> _Graph:
    """Return what describes a graph, without its nodes."""
    return {"graph": graph["path"], **{name: graph[name] for name in graph.keys() - {"path", "nodes"}}}
