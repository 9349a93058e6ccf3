"""Writes docs/node-types.md from the declarations of node types, so that the page shows what the host has.

python -m tools.docs    rewrites the page; tests/nodes/stock/test_type_listing.py checks that it is up to date
"""

from __future__ import annotations

from pathlib import Path

from omni.warp_core.nodes.ogn.ogn_spec import AttributeSpec, NodeSpec
from omni.warp_core.nodes.stock import builtin_nodes, node_registry, type_listing

PAGE = Path(__file__).resolve().parent.parent / "docs" / "node-types.md"
INTRO = """\
# Node types

This page is written by `tools/type_pages.py` from the declarations in `omni/warp_core/nodes/stock`; edit those.

`omni-warp nodes` prints these types in a terminal, and `omni-warp nodes NAME` the attributes of one. Names, versions
and attributes are those of Kit. An attribute without a type here takes its type from what is connected to it.

* Numbers, tuples, matrices and arrays of them compute by components. A number goes with all components of a tuple. A
  single value, or an array of one element, goes with all elements of an array. Other sizes must be equal.
* The result of two types is what NumPy promotes them to, in the role of the first operand: a `pointf[3]` and a `double`
  give a `pointd[3]`. Integers wrap around on overflow. A conversion to an integer type saturates.
* A node that cannot compute says why, and names the attribute. Examples are division by zero, an index out of range,
  and arrays of unequal length.
* A scene may use an older version of a type; a newer one plays with a warning. `omni.graph.action.X` may also be
  written `omni.graph.action_nodes.X`.
* An array that a node makes has at most 134 million numbers.
"""
HEAD = """\
| type | version | description | inputs | outputs | unlike in Kit |
|---|---|---|---|---|---|
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _attribute(attribute: AttributeSpec) -> str:
    kind = type_listing.type_name(attribute)
    name = attribute.name.partition(":")[2]
    return f"`{name}`" if kind == "any" else f"`{name}` {kind}"


def _row(spec: NodeSpec) -> str:
    ports = (", ".join(map(_attribute, type_listing.attributes(spec, port))) for port in ("inputs", "outputs"))
    cells = (f"`{spec.name}`", str(spec.version), spec.description, *ports, type_listing.limits(spec))
    return "| " + " | ".join(map(_cell, cells)) + " |\n"


def _section(title: str, specs: list[NodeSpec]) -> str:
    return f"\n## {title}\n\n{HEAD}" + "".join(map(_row, specs))


def page() -> str:
    """The whole page."""
    sections, seen = [], set()
    for family in builtin_nodes.FAMILIES:
        specs = [node_type.spec for node_type in family.TYPES]
        seen |= {spec.name for spec in specs}
        sections.append(_section((family.__doc__ or "").partition(":")[0].partition(".")[0], specs))
    own = [spec for spec in type_listing.all_specs(node_registry.standard()) if spec.name not in seen]
    return INTRO + "".join(sections) + _section("Nodes of this package", own)
