"""Single stock nodes, computed by the host in memory."""

import numpy as np

from omni.warp_core.nodes.graph.evaluate import Evaluator
from omni.warp_core.nodes.graph.node_graph import Attribute, Graph, Host, Log, Node
from omni.warp_core.nodes.stock.builtin_nodes import node_types
from omni.warp_core.nodes.values.attribute_types import parse
from omni.warp_core.nodes.values.attribute_values import coerce

TYPES = {t.spec.name: t for t in node_types()}


class Bench:
    """One node with inputs; `run` computes it once more and returns its outputs, each as (type, value)."""

    def __init__(self, name, **inputs):
        kind = TYPES[f"omni.graph.nodes.{name}"]
        self.host = Host(Log(emit=lambda text: None))
        graph = Graph("/G", "push", self.host)
        self.node = graph.nodes["/G/n"] = Node("/G/n", kind.spec.name, kind, self.host)
        for spec in kind.spec.attributes.values():
            self.node.add(Attribute(self.node, spec.name, spec.type, spec))
        for key, given in inputs.items():
            self.set(key, given)
        self.evaluator = Evaluator(graph)
        self.evaluator.start()

    def set(self, key, given):
        """Set an input: a pair of type and value, or a value for inputs whose type is fixed."""
        attribute = self.node.attributes.get(f"inputs:{key}")
        kind = parse(given[0]) if isinstance(given, tuple) else attribute.type
        if attribute is None:
            attribute = self.node.add(Attribute(self.node, f"inputs:{key}", kind))
        attribute.set(coerce(given[1] if isinstance(given, tuple) else given, kind), kind)

    def run(self):
        self.evaluator.evaluate()
        outputs = (a for a in self.node.on("outputs") if not a.type.is_execution)
        return {a.base_name: (str(a.resolved), a.value) for a in outputs}

    @property
    def error(self):
        """The error of a node that fails."""
        self.run()
        assert self.host.log.errors, "the node does not fail"
        return self.host.log.errors[-1]


def compute(name, /, **inputs):
    """The outputs of a node, each as (type, value)."""
    bench = Bench(name, **inputs)
    outputs = bench.run()
    assert not bench.host.log.errors, bench.host.log.errors
    return outputs


def check(row):
    """Check a row of a table: name, inputs, outputs as (type, value)."""
    name, inputs, wanted = row
    outputs = compute(name, **inputs)
    for key, (kind_name, value) in wanted.items():
        got, kind = outputs[key], parse(kind_name)
        assert got[0] == kind_name, f"{name}.{key}"
        assert type(got[1]) is type(coerce(value, kind)), f"{name}.{key} is not in canonical form"
        if not kind.is_numeric:
            assert got[1] == value, f"{name}.{key}"
            continue
        rounding = 4 * float(np.finfo(kind.dtype).eps) if kind.dtype.kind == "f" else 0
        expected = np.asarray(value).reshape(-1, *kind.shape) if kind.is_array else value
        np.testing.assert_allclose(got[1], expected, rtol=rounding, atol=rounding, err_msg=f"{name}.{key}")
