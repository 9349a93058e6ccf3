"""The graph of a tape in the language of Graphviz."""

from __future__ import annotations

from html import escape
from typing import Any

from .loop_folding import Group, Loop
from .tape_graph import Edge, Graph, Port, StepNode, Version

_HEADER = """\
digraph tape {{
    rankdir={direction};
    fontname="Helvetica,Arial,sans-serif";
    node [fontname="Helvetica,Arial,sans-serif", fontsize=11];
    edge [fontname="Helvetica,Arial,sans-serif", fontsize=9, color="#555555"];
"""
COLORS = {
    "launch": "#dbe7f5",
    "passive": "#eeeeee",
    "step": "#f3e3cf",
    "grad": "#bfe3b4",
    "plain": "#e4e4e4",
    "scope": "#f7f9fc",
    "loop": "#fff8e6",
}


def kind_of(node: StepNode) -> str:
    """Return the color class of an operation."""
    return "passive" if node.passive else "launch" if node.dim else "step"


def subtitle(node: StepNode) -> str:
    """Return the text under the name of an operation."""
    parts = [f"dim {node.dim}"] if node.dim else ["no gradient"] if node.passive else []
    return " · ".join([*parts, node.place])


def port_text(port: Port) -> str:
    """A parameter, with its value if it is a number."""
    return f"{port.name} = {port.text}" if port.text else port.name


def lines_of(version: Version) -> list[str]:
    """Return the lines of an array: its name and version, and its type."""
    changed = "" if version.alone else f" v{version.number}"
    later = f"…v{version.last}" if version.last > version.number else ""
    a = version.array
    return [f"{version.label}{changed}{later}", f"{a._require_element().name} {list(a.shape)}"]


def details(version: Version) -> str:
    """Return the text for the pointer over an array."""
    a = version.array
    grad = "with a gradient" if version.has_grad else "without a gradient"
    return f"{version.label}: {a._require_element().name}, shape {a.shape}, {grad}, version {version.number}"


def dot(graph: Graph, direction: str) -> str:
    """The text of a `.dot` file."""
    names: dict[int, str] = {id(n): f"step{i}" for i, n in enumerate(graph.steps)}
    names |= {id(v): f"array{i}" for i, v in enumerate(graph.versions)}
    inside: dict[int, list[Version]] = {}
    for v in graph.versions:
        inside.setdefault(id(v.group or graph.root), []).append(v)
    lines = [_HEADER.format(direction=direction)]
    lines += _group(graph.root, names, inside, "    ", [0])
    lines += [f"    {_edge(e, names)}" for e in graph.edges]
    return "\n".join([*lines, "}", ""])


def _group(group: Group, names: dict[int, str], inside: dict, indent: str, count: list[int]) -> list[str]:
    lines = []
    for child in group.children:
        if isinstance(child, Group):
            count[0] += 1
            color = COLORS["loop" if isinstance(child, Loop) else "scope"]
            lines.append(f"{indent}subgraph cluster{count[0]} {{")
            lines.append(f'{indent}    style="rounded,filled"; fillcolor="{color}"; color="#999999";')
            lines.append(f"{indent}    label={_quoted(child.label)};")
            lines += _group(child, names, inside, indent + "    ", count)
            lines.append(f"{indent}}}")
        else:
            lines.append(f"{indent}{names[id(child)]} [{_step(child)}];")
    return lines + [f"{indent}{names[id(v)]} [{_version(v)}];" for v in inside.get(id(group), [])]


def _step(node: StepNode) -> str:
    rows = "".join(
        f'<TR><TD PORT="p{i}" ALIGN="LEFT" BGCOLOR="white">{escape(port_text(p))}</TD></TR>'
        for i, p in enumerate(node.ports)
        if p.name
    )
    title = f'<B>{escape(node.name)}</B><BR/><FONT POINT-SIZE="9">{escape(subtitle(node))}</FONT>'
    table = (
        f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4" BGCOLOR="{COLORS[kind_of(node)]}">'
        f"<TR><TD>{title}</TD></TR>{rows}</TABLE>"
    )
    return f"shape=plain, label=<{table}>, tooltip={_quoted(node.place)}"


def _version(v: Version) -> str:
    color = COLORS["grad" if v.has_grad else "plain"]
    label = "\\n".join(_escaped(line) for line in lines_of(v))
    return f'shape=ellipse, style=filled, fillcolor="{color}", label="{label}", tooltip={_quoted(details(v))}'


def _edge(e: Edge, names: dict[int, str]) -> str:
    source, target = (_end(x, e.port, names) for x in (e.source, e.target))
    options = []
    if e.back:
        options.append("constraint=false, style=dashed, label=next")
    elif isinstance(e.source, Version) and isinstance(e.target, Version):
        options.append("style=dotted, label=view")
    elif e.unsure:
        options.append("style=dashed, dir=none")
    return f"{source} -> {target}{f' [{options[0]}]' if options else ''};"


def _end(x: Any, port: int, names: dict[int, str]) -> str:
    has_port = isinstance(x, StepNode) and 0 <= port < len(x.ports) and x.ports[port].name
    return f"{names[id(x)]}:p{port}" if has_port else names[id(x)]


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
