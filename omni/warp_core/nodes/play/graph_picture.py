"""Pictures of node graphs as SVG: boxes with the inputs and outputs that matter, in layers. Start with `svg`."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

import numpy as np

from ...viz.layered_layout import Placed, Point, layered
from ..graph.node_graph import Attribute, Graph, Node
from ..scene.visible_text import harmless

_ROW, _HEAD, _PAD, _GAP = 17.0, 38.0, 16.0, 40.0
_LETTER, _SMALL = 7.2, 6.0  # widths
MOST_NODES = 1000
_LONGEST = 26  # letters of a value
_STYLE = "\n".join(
    (
        'text { font-family: Helvetica, Arial, "DejaVu Sans", sans-serif; font-size: 12px; fill: #1c1c1c; }',
        ".small { font-size: 10px; fill: #555555; }",
        ".bold { font-weight: bold; }",
        ".title { font-size: 15px; font-weight: bold; }",
        ".data { fill: none; stroke: #5f7fa8; stroke-width: 1.4; }",
        ".execution { fill: none; stroke: #c46a1b; stroke-width: 2.2; }",
        ".back { stroke-dasharray: 5 3; }",
    )
)
_COLORS = {"event": "#f6dfc6", "execution": "#fbeedd", "data": "#e1ebf7", "unusable": "#f3c9c9"}


@dataclass
class _Box:
    """A node with its rows; `left` and `right` are the attributes of each side, in order."""

    node: Node
    left: list[Attribute]
    right: list[Attribute]
    x: float = 0.0
    y: float = 0.0
    texts: dict[Attribute, str] = field(default_factory=dict)

    @property
    def size(self) -> Point:
        """Width and height."""
        rows = max(len(self.left), len(self.right))
        lefts = max((len(self.texts[a]) for a in self.left), default=0)
        rights = max((len(self.texts[a]) for a in self.right), default=0)
        wide = max(len(_name(self.node)) * _LETTER, len(_type(self.node)) * _SMALL, (lefts + rights + 2) * 6.4)
        return wide + 2 * _PAD, _HEAD + rows * _ROW + 6

    def end(self, attribute: Attribute) -> Point | None:
        """Return where a connection of an attribute ends; None if the box does not show it."""
        for side, rows in ((self.x, self.left), (self.x + self.size[0], self.right)):
            if attribute in rows:
                return side, self.y + _HEAD + (rows.index(attribute) + 0.5) * _ROW
        return None


def svg(graphs: list[Graph]) -> str:
    """Return the text of a `.svg` file with all graphs, one below the other.

    Raises:
        ValueError: A graph has more nodes than a picture can show.
    """
    for graph in graphs:
        if len(graph.nodes) > MOST_NODES:
            text = f"{graph.path} has {len(graph.nodes)} nodes; a picture shows at most {MOST_NODES}"
            raise ValueError(f"{text}; --graph PATH draws another graph")
    parts: list[str] = []
    width, top = 0.0, _PAD
    for graph in graphs:
        parts.append(_text(_PAD, top + 14, f"{graph.path}  ({graph.evaluator})", "title"))
        boxes = _boxes(graph)
        placed = _place(boxes, top + 30)
        parts += _edges(boxes, placed, top + 30)
        parts += [_drawn(box) for box in boxes.values()]
        width = max(width, placed.width + 2 * _PAD, len(graph.path) * 9 + 150)
        top += 30 + placed.height + _GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{top:.0f}" font-size="12">'
    paper = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", paper, *parts, "</svg>\n"])


def _boxes(graph: Graph) -> dict[Node, _Box]:
    used = {source for node in graph for a in node.on("inputs") for source in a.sources}
    boxes = {}
    for node in graph:
        left = [a for a in node.on("inputs") if (a.sources or _is_authored(a)) and not (a in used and not a.sources)]
        right = [a for a in node.attributes.values() if a in used and a not in left]
        boxes[node] = _Box(node, left, right)
        boxes[node].texts = {a: _row(a) for a in left + right}
    return boxes


def _is_authored(attribute: Attribute) -> bool:
    """True if the scene gives a value that is not the default and fits into a row."""
    spec, value = attribute.spec, attribute.value
    if value is None or attribute.type.is_execution or isinstance(value, np.ndarray):
        return False
    return value != "" and value != () and (spec is None or value != spec.default)


def _row(attribute: Attribute) -> str:
    if attribute.sources or attribute.type.is_execution or attribute.port != "inputs":
        return harmless(attribute.base_name)
    value = attribute.value
    text = ", ".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return harmless(f"{attribute.base_name} = {text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}")


def _place(boxes: dict[Node, _Box], top: float) -> Placed:
    links = {(source.node, node): None for node in boxes for a in node.on("inputs") for source in a.sources}
    known = [(a, b) for a, b in links if a in boxes and a is not b]
    placed = layered({node: box.size for node, box in boxes.items()}, known, between_layers=70.0)
    for node, (x, y) in placed.corners.items():
        boxes[node].x, boxes[node].y = _PAD + x, top + y  # type: ignore[index]
    return placed


def _edges(boxes: dict[Node, _Box], placed: Placed, top: float) -> list[str]:
    found = []
    for node, box in boxes.items():
        for attribute in node.on("inputs"):
            for source in attribute.sources:
                start = boxes[source.node].end(source) if source.node in boxes else None
                end = box.end(attribute)
                if start and end:
                    points = [(_PAD + x, top + y) for x, y in placed.routes.get((source.node, node), [])]
                    route = [end for point in points for end in _across(point, boxes)]
                    found.append(_edge(start, end, attribute.type.is_execution, route))
    return found


def _across(point: Point, boxes: dict[Node, _Box]) -> tuple[Point, Point]:
    """Return where a connection enters and leaves the layer of boxes that it passes at `point`."""
    half = max((b.size[0] / 2 for b in boxes.values() if b.x <= point[0] <= b.x + b.size[0]), default=0.0)
    return (point[0] - half, point[1]), (point[0] + half, point[1])


def _edge(start: Point, end: Point, is_execution: bool, route: list[Point]) -> str:
    kind = "execution" if is_execution else "data"
    if end[0] < start[0]:
        low = max(start[1], end[1]) + 60
        path = f"M{_at(start)}C{start[0] + 60:.1f} {low:.1f} {end[0] - 60:.1f} {low:.1f} {_at(end)}"
        return f'<path class="{kind} back" d="{path}"/>'
    path = f"M{_at(start)}"
    for p, q in pairwise([start, *route, end]):
        half = (q[0] - p[0]) / 2
        path += f"C{p[0] + half:.1f} {p[1]:.1f} {q[0] - half:.1f} {q[1]:.1f} {_at(q)}"
    return f'<path class="{kind}" d="{path}"/>'


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _drawn(box: _Box) -> str:
    width, height = box.size
    node = box.node
    spec = node.type.spec if node.type is not None else None
    kind = "unusable" if spec is None or node.disabled else "event" if spec.is_event else "data"
    kind = "execution" if kind == "data" and node.is_execution else kind
    about = escape(harmless(node.disabled or (spec.description if spec else "")))
    parts = [
        f"<g><title>{escape(harmless(node.path))}: {about}</title>",
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5" '
        f'fill="{_COLORS[kind]}" stroke="#6b7785"/>',
        _text(box.x + width / 2, box.y + 16, _name(node), "bold", "middle"),
        _text(box.x + width / 2, box.y + 30, _type(node), "small", "middle"),
    ]
    for rows, x, anchor in ((box.left, box.x + 9, "start"), (box.right, box.x + width - 9, "end")):
        for number, attribute in enumerate(rows):
            y = box.y + _HEAD + number * _ROW
            parts.append(_text(x, y + 12.5, box.texts[attribute], "", anchor))
            side = box.x if anchor == "start" else box.x + width
            if attribute.sources or anchor == "end":
                color = "#c46a1b" if attribute.type.is_execution else "#5f7fa8"
                parts.append(f'<circle cx="{side:.1f}" cy="{y + _ROW / 2:.1f}" r="3.2" fill="{color}"/>')
    return "".join([*parts, "</g>"])


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(harmless(text))}</text>'


def _name(node: Node) -> str:
    return node.path.rpartition("/")[2]


def _type(node: Node) -> str:
    return node.type_name or "no node:type"
