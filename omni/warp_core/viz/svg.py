"""The graph of a tape as a picture in SVG, laid out here, so that nothing else has to be installed.

Groups are laid out from the inside out: each is a box in the one around it. Start with `svg`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

from .dot import COLORS, details, kind_of, lines_of, port_text, subtitle
from .layered_layout import Placed, Point, layered
from .loop_folding import Group, Loop
from .tape_graph import Edge, Graph, StepNode, Version

_SIZE, _SMALL = 12.0, 10.0  # of letters
_ROW, _PAD = 18.0, 14.0
_TITLE = 22.0  # over a group
_WIDTH = 0.6  # of a letter, in its size

_STYLE = """\
text { font-family: Helvetica, Arial, "DejaVu Sans", sans-serif; font-size: 12px; fill: #1c1c1c; }
.small { font-size: 10px; fill: #555555; }
.bold { font-weight: bold; }
.edge { fill: none; stroke: #5f6b7a; stroke-width: 1.2; marker-end: url(#arrow); }
.back { stroke-dasharray: 5 3; stroke: #b06a00; }
.view { stroke-dasharray: 2 3; }
.unsure { stroke-dasharray: 4 4; marker-end: none; }
"""
_ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#5f6b7a"/></marker>'
)


@dataclass
class _Drawing:
    """The positions of all boxes as (x, y, width, height)."""

    graph: Graph
    down: bool  # layers go from top to bottom
    boxes: dict[Hashable, tuple[float, float, float, float]] = field(default_factory=dict)
    routes: dict[tuple[Hashable, Hashable], list[Point]] = field(default_factory=dict)
    plans: dict[Group, Placed] = field(default_factory=dict)


def svg(graph: Graph, direction: str) -> str:
    """The text of a `.svg` file. `direction` is LR or TB.

    Raises:
        ValueError: for another direction.
    """
    if direction not in ("LR", "TB"):
        raise ValueError(
            f"graph_direction: expected LR or TB, got {direction!r}; a .dot file takes all directions of Graphviz"
        )
    drawing = _Drawing(graph, direction == "TB")
    parents = {id(child): group for group in _groups(graph.root) for child in group.children}
    parents |= {id(v): v.group or graph.root for v in graph.versions}
    width, height = _plan(drawing, graph.root, parents)
    _settle(drawing, graph.root, _PAD, _PAD)
    low = max((24.0 for e in graph.edges if e.back), default=0.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2 * _PAD:.0f}" '
        f'height="{height + 2 * _PAD + low:.0f}" font-size="12">',
        f"<style>{_STYLE}</style><defs>{_ARROW}</defs>",
        '<rect width="100%" height="100%" fill="white"/>',
        *(_group(drawing, g) for g in _groups(graph.root) if g is not graph.root),
        *(_edge(drawing, e, parents) for e in graph.edges),
        *(_step(drawing, n) for n in graph.steps),
        *(_version(drawing, v) for v in graph.versions),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _groups(group: Group) -> list[Group]:
    return [group, *(g for child in group.children if isinstance(child, Group) for g in _groups(child))]


# -- layout -----------------------------------------------------------------------------------------------------------


def _plan(drawing: _Drawing, group: Group, parents: dict[int, Group]) -> Point:
    """Lay out a group and those in it; its size."""
    inside = [*group.children, *(v for v in drawing.graph.versions if parents[id(v)] is group)]
    sizes: dict[Hashable, Point] = {}
    for item in inside:
        size = _plan(drawing, item, parents) if isinstance(item, Group) else _size(item)
        sizes[item] = size[::-1] if drawing.down else size
    links = []
    for e in drawing.graph.edges:
        if not e.back:
            a, b = (_item(x, group, parents) for x in (e.source, e.target))
            if a is not None and b is not None and a is not b:
                links.append((a, b))
    placed = layered(sizes, links)
    drawing.plans[group] = placed
    width, height = (placed.height, placed.width) if drawing.down else (placed.width, placed.height)
    if group is drawing.graph.root:
        return width, height
    return max(width, _text_width(group.label) + _PAD) + 2 * _PAD, height + 2 * _PAD + _TITLE


def _item(x: Any, group: Group, parents: dict[int, Group]) -> Any:
    """Return the item of a group that `x` is, or is in; None if it is outside."""
    while id(x) in parents:
        if parents[id(x)] is group:
            return x
        x = parents[id(x)]
    return None


def _settle(drawing: _Drawing, group: Group, x: float, y: float) -> None:
    """Give absolute coordinates to what is in a group whose inside begins at (x, y)."""
    placed = drawing.plans[group]
    turn = (lambda p: p[::-1]) if drawing.down else (lambda p: p)
    for item, corner in placed.corners.items():
        left, top = turn(corner)
        if isinstance(item, Group):
            inner = drawing.plans[item]
            width, height = turn((inner.width, inner.height))
            width = max(width, _text_width(item.label) + _PAD) + 2 * _PAD
            drawing.boxes[item] = x + left, y + top, width, height + 2 * _PAD + _TITLE
            _settle(drawing, item, x + left + _PAD, y + top + _PAD + _TITLE)
        else:
            drawing.boxes[item] = x + left, y + top, *_size(item)
    for link, points in placed.routes.items():
        drawing.routes[link] = [(x + p, y + q) for p, q in map(turn, points)]


def _size(item: Any) -> Point:
    if isinstance(item, StepNode):
        words = [item.name, *(port_text(p) for p in item.ports if p.name)]
        wide = max(_text_width(w) for w in words)
        return max(wide * 1.08, _text_width(subtitle(item), _SMALL)) + 20, 2 * _ROW + 2 + _rows(item) * _ROW
    first, second = lines_of(item)
    return max(_text_width(first), _text_width(second, _SMALL)) + 30, 38.0


def _rows(node: StepNode) -> int:
    return sum(bool(p.name) for p in node.ports)


def _text_width(text: str, size: float = _SIZE) -> float:
    return len(text) * size * _WIDTH


# -- drawing ----------------------------------------------------------------------------------------------------------


def _group(drawing: _Drawing, group: Group) -> str:
    x, y, w, h = drawing.boxes[group]
    color = COLORS["loop" if isinstance(group, Loop) else "scope"]
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="8" fill="{color}" stroke="#aaaaaa"/>'
        f'<text class="bold" x="{x + _PAD:.1f}" y="{y + 18:.1f}">{escape(group.label)}</text>'
    )


def _step(drawing: _Drawing, node: StepNode) -> str:
    x, y, w, h = drawing.boxes[node]
    middle = x + w / 2
    parts = [
        f"<g><title>{escape(f'{node.name}, {node.place}')}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="3" fill="{COLORS[kind_of(node)]}" '
        'stroke="#6b7785"/>',
        f'<text class="bold" text-anchor="middle" x="{middle:.1f}" y="{y + 15:.1f}">{escape(node.name)}</text>',
        f'<text class="small" text-anchor="middle" x="{middle:.1f}" y="{y + 30:.1f}">{escape(subtitle(node))}</text>',
    ]
    for i, port in enumerate(p for p in node.ports if p.name):
        top = y + 2 * _ROW + 2 + i * _ROW
        parts.append(
            f'<rect x="{x + 0.5:.1f}" y="{top:.1f}" width="{w - 1:.1f}" height="{_ROW}" fill="white" stroke="#c3cad3"/>'
            f'<text x="{x + 8:.1f}" y="{top + 13:.1f}">{escape(port_text(port))}</text>'
        )
    return "".join([*parts, "</g>"])


def _version(drawing: _Drawing, v: Version) -> str:
    x, y, w, h = drawing.boxes[v]
    first, second = lines_of(v)
    return (
        f'<g><title>{escape(details(v))}</title><rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" '
        f'rx="{h / 2:.1f}" fill="{COLORS["grad" if v.has_grad else "plain"]}" stroke="#6b7785"/>'
        f'<text text-anchor="middle" x="{x + w / 2:.1f}" y="{y + 16:.1f}">{escape(first)}</text>'
        f'<text class="small" text-anchor="middle" x="{x + w / 2:.1f}" y="{y + 30:.1f}">{escape(second)}</text></g>'
    )


def _edge(drawing: _Drawing, e: Edge, parents: dict[int, Group]) -> str:
    if e.back:
        return f'<path class="edge back" d="{_back(drawing, e)}"><title>to the next turn</title></path>'
    start, end = _end(drawing, e.source, e.port, False), _end(drawing, e.target, e.port, True)
    points = [start, *_route(drawing, e, parents), end]
    path = "".join(_curve(p, q, drawing.down) for p, q in pairwise(points))
    both = isinstance(e.source, Version) and isinstance(e.target, Version)
    kind = " view" if both else " unsure" if e.unsure else ""
    return f'<path class="edge{kind}" d="M{_at(start)}{path}"/>'


def _back(drawing: _Drawing, e: Edge) -> str:
    """Around the boxes between: below them, or on the right where layers go down."""
    if drawing.down:
        boxes = [drawing.boxes[x] for x in (e.source, e.target)]
        (a, b), (c, d) = ((x + w, y + h / 2) for x, y, w, h in boxes)
        far = max(a, c) + 40
        return f"M{a:.1f} {b:.1f}C{far:.1f} {b:.1f} {far:.1f} {d:.1f} {c:.1f} {d:.1f}"
    (a, b), (c, d) = _end(drawing, e.source, e.port, False), _end(drawing, e.target, e.port, True)
    low = max(drawing.boxes[x][1] + drawing.boxes[x][3] for x in (e.source, e.target)) + 40
    return f"M{a:.1f} {b:.1f}C{a + 50:.1f} {low:.1f} {c - 50:.1f} {low:.1f} {c:.1f} {d:.1f}"


def _route(drawing: _Drawing, e: Edge, parents: dict[int, Group]) -> list[Point]:
    """Return where an edge passes layers of the group that it crosses."""
    for group in _groups(drawing.graph.root):
        a, b = (_item(x, group, parents) for x in (e.source, e.target))
        if a is not None and b is not None and a is not b:
            return drawing.routes.get((a, b), [])
    return []


def _end(drawing: _Drawing, x: Any, port: int, arriving: bool) -> Point:
    """Return where an edge leaves a box, or arrives: at the row of its parameter."""
    left, top, width, height = drawing.boxes[x]
    if drawing.down:
        return left + width / 2, top if arriving else top + height
    side = left if arriving else left + width
    if isinstance(x, StepNode) and 0 <= port < len(x.ports) and x.ports[port].name:
        return side, top + 2 * _ROW + 2 + (sum(bool(p.name) for p in x.ports[:port]) + 0.5) * _ROW
    return side, top + height / 2


def _curve(p: Point, q: Point, down: bool) -> str:
    if down:
        half = (q[1] - p[1]) / 2
        return f"C{p[0]:.1f} {p[1] + half:.1f} {q[0]:.1f} {q[1] - half:.1f} {_at(q)}"
    half = (q[0] - p[0]) / 2
    return f"C{p[0] + half:.1f} {p[1]:.1f} {q[0] - half:.1f} {q[1]:.1f} {_at(q)}"


def _at(p: Point) -> str:
    return f"{p[0]:.1f} {p[1]:.1f}"
