"""docs/node-types.md agrees with the registry."""

import re
from pathlib import Path

from omni.warp_core.nodes.stock import (
    constant_nodes,
    event_nodes,
    flow_nodes,
    loop_nodes,
    node_registry,
    variable_nodes,
)

PAGE = Path(__file__).parents[3] / "docs" / "node-types.md"
ROW = re.compile(r"^\| `([\w.]+)` \| (\d+) \|", re.MULTILINE)


def test_rows_name_types_with_their_versions():
    rows = ROW.findall(PAGE.read_text())
    registry = node_registry.standard()
    found = {name: registry.find(name) for name, _ in rows}
    assert not [name for name, node_type in found.items() if node_type is None]
    assert [(name, int(version)) for name, version in rows] == [(n, t.spec.version) for n, t in found.items()]


def test_every_type_of_these_families_has_a_row():
    rows = {name for name, _ in ROW.findall(PAGE.read_text())}
    families = (event_nodes, flow_nodes, loop_nodes, variable_nodes, constant_nodes)
    assert not {t.spec.name for family in families for t in family.TYPES} - rows
