"""Nodes of our own without a scene."""

from types import SimpleNamespace

import pytest

from omni.warp_core.nodes.graph.database import Database, start
from omni.warp_core.nodes.graph.node_graph import Attribute, Host, Log, Node
from omni.warp_core.nodes.stock import node_registry
from omni.warp_core.nodes.values.attribute_values import coerce
from omni.warp_core.nodes.values.bundles import Bundle, prims_of


class LoneNode:
    """One node: call it with inputs, and look at its outputs."""

    def __init__(self, node_type, name, device):
        self.host = Host(Log(emit=lambda text: None), device=device)
        self.node = Node("/G/n", name, node_type, self.host)
        for spec in node_type.spec.attributes.values():
            self.node.add(Attribute(self.node, spec.name, spec.type, spec))
        self.db = Database(self.node)
        start(self.node)

    def __call__(self, **inputs):
        for name, value in inputs.items():
            attribute = self.node.attributes[f"inputs:{name}"]
            attribute.set(coerce(value, attribute.type))
        self.node.failed = ""
        self.node.type.cls.compute(self.db)
        self.db.finish()
        assert not self.node.failed, self.node.failed
        outputs = {a.base_name: a.value for a in self.node.on("outputs") if not a.type.is_execution}
        return SimpleNamespace(**outputs)

    def prim(self, **inputs) -> Bundle:
        """Compute, and return the one prim of the first output."""
        (found,) = prims_of(next(iter(vars(self(**inputs)).values())))
        return found

    def error(self, **inputs) -> str:
        """Compute, and return the error."""
        with pytest.raises(AssertionError):
            self(**inputs)
        return self.node.failed


@pytest.fixture(scope="session")
def registry():
    return node_registry.standard()


@pytest.fixture
def lone(registry, device):
    """lone("GridCreate") -> a node of omni.warp_core; a name with dots is complete."""

    def make(name):
        full = name if "." in name else f"omni.warp_core.{name}"
        return LoneNode(registry.find(full), full, str(device))

    return make
