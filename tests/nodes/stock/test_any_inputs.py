"""Every stock data node with inputs of every type: it computes, or says in its own words what it cannot take."""

import math

import numpy as np
import pytest

from omni.warp_core.nodes.stock.operands import DataNode
from omni.warp_core.nodes.stock.random_nodes import RandomNode
from omni.warp_core.nodes.values.attribute_types import BASES, AttributeType
from omni.warp_core.nodes.values.attribute_values import coerce
from tests.nodes.stock.single_node import TYPES, Bench

KINDS = [
    AttributeType(base, count, is_array)
    for base, info in BASES.items()
    for count in info.tuples
    for is_array in (False, True)[: 1 + info.arrays]
    if base not in ("any", "execution", "bundle")
]
NUMBERS = (0, 1, 2, -1, 0.5, 1e9, -1e300, math.nan, math.inf)
TEXTS = ("", "a", "XYZ", "/World/a.b", "ä€")


def numbers(kind, shape, generator):
    values = generator.choice(NUMBERS, shape)
    if kind.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return values.astype(kind.dtype)
    lowest, highest = {"b": (0, 1), "i": (-100, 100), "u": (0, 100)}[kind.dtype.kind]
    return np.clip(np.nan_to_num(values), lowest, highest).astype(kind.dtype)


def value_of(kind, generator, tokens):
    """A value of the type, often an odd one."""
    shape = (int(generator.choice([0, 1, 3])), *kind.shape) if kind.is_array else kind.shape
    if kind.is_numeric:
        return numbers(kind, shape, generator)
    texts = [str(generator.choice(tokens or TEXTS)) for _ in range(shape[0] if kind.is_array else 1)]
    return texts if kind.is_array or kind.is_paths else texts[0]


def some_kind(chosen, generator):
    """Mostly the chosen type, with or without array; else any."""
    if generator.random() < 0.15:
        return KINDS[generator.integers(len(KINDS))]
    is_array = chosen.is_array if generator.random() < 0.7 else not chosen.is_array and chosen.info.arrays
    return AttributeType(chosen.base, chosen.count, is_array)


COMPUTED = [name for name in TYPES if isinstance(TYPES[name].cls, (DataNode, RandomNode))]


@pytest.mark.parametrize("name", COMPUTED)
def test_every_type_is_taken_or_refused_with_reasons(name):
    generator = np.random.default_rng(sum(name.encode()))
    specs = [s for s in TYPES[name].spec.attributes.values() if s.port == "inputs" and not s.type.is_execution]
    bench = Bench(name.removeprefix("omni.graph.nodes."))
    outputs = [a for a in bench.node.attributes.values() if a.port == "outputs" and not a.type.is_execution]
    for _ in range(25):
        chosen = KINDS[generator.integers(len(KINDS))]
        for spec in specs:
            kind = some_kind(chosen, generator) if spec.type.is_any else spec.type
            value = coerce(value_of(kind, generator, spec.allowed_tokens), kind)
            bench.node.attributes[spec.name].set(value, kind)
        bench.run()
        assert not [text for text in bench.host.log.errors if ".py:" in text], bench.host.log.errors[-1]
        for output in () if bench.node.failed else outputs:
            value, kind = output.value, output.resolved
            assert not kind.is_any
            assert type(value) is type(coerce(value, kind)), f"{output.name} is not in canonical form"
            assert not hasattr(value, "dtype") or value.dtype == kind.dtype
