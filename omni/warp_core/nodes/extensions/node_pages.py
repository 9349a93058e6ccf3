"""Reference pages of node types, in Markdown: one for each node, and an index."""

from __future__ import annotations

from pathlib import Path

from ...files import write
from ..ogn.ogn_spec import PORTS, AttributeSpec, NodeSpec
from ..stock.type_listing import has_default, shown_default
from ..values.attribute_values import Value

_TITLES = {"inputs": "Inputs", "outputs": "Outputs", "state": "State"}


def write_pages(specs: list[NodeSpec], folder: Path) -> list[Path]:
    """Write a page for each node type and README.md with a list of them into `folder`; return the paths.

    Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{spec.name}.md": page(spec) for spec in specs} | {"README.md": index(specs)}
    for name, text in pages.items():
        write(str(folder / name), text.encode())
    return [folder / name for name in pages]


def index(specs: list[NodeSpec]) -> str:
    """Return the list of node types by category."""
    lines = ["# Node types", ""]
    groups: dict[str, list[NodeSpec]] = {}
    for spec in specs:
        groups.setdefault(", ".join(spec.categories) or "without a category", []).append(spec)
    for name in sorted(groups):
        lines += [f"## {_plain(name)}", "", "| node | version | description |", "|---|---|---|"]
        for spec in sorted(groups[name], key=lambda s: s.name):
            lines.append(f"| [{spec.name}]({spec.name}.md) | {spec.version} | {_plain(spec.description)} |")
        lines.append("")
    return "\n".join(lines)


def page(spec: NodeSpec) -> str:
    """Return the page of one node type."""
    lines = [f"# {_plain(spec.ui_name)}", "", f"`{spec.name}` version {spec.version}", "", _plain(spec.description), ""]
    facts = [("categories", spec.categories), ("scheduling", spec.scheduling)]
    lines += [f"* {name}: {', '.join(values)}" for name, values in facts if values]
    lines += [""] if any(values for _, values in facts) else []
    for port in PORTS:
        rows = [a for a in spec.attributes.values() if a.port == port]
        if rows:
            lines += [f"## {_TITLES[port]}", "", "| name | type | default | description |", "|---|---|---|---|"]
            lines += [_row(a) for a in rows] + [""]
    return "\n".join(lines)


def _row(attribute: AttributeSpec) -> str:
    about = [_plain(attribute.description).rstrip(".")]
    if attribute.allowed_tokens:
        about.append("one of " + ", ".join(f"`{_plain(token)}`" for token in attribute.allowed_tokens))
    if attribute.minimum is not None:
        about.append(f"at least {attribute.minimum}")
    if attribute.maximum is not None:
        about.append(f"at most {attribute.maximum}")
    if attribute.optional:
        about.append("optional")
    if attribute.memory != "cpu":
        about.append(f"memory: {attribute.memory}")
    name = attribute.name.partition(":")[2]
    return f"| `{name}` | `{attribute.type}` | {_default(attribute)} | {'; '.join(about)} |"


def _default(attribute: AttributeSpec) -> str:
    return f"`{_plain(_text(shown_default(attribute)))}`" if has_default(attribute) else ""


def _text(value: Value) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(text: str) -> str:
    """Return a text that stands in one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")
