"""Attributes of a Kernel node that no kernel reads: misspelt, or left over from an older text.

An attribute has a reader if it is a parameter, says something about one, or if `dimSource` or a token such as
`inputs:x:length` names it. Misspelt settings of the node are told when the graph is loaded, and so not here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ...lang.errors import did_you_mean, nearest
from .node_values import NodeValues, python_name
from .signature import COMPANIONS, is_companion


def unread(values: NodeValues, names: Collection[str]) -> Iterator[str]:
    """Yield a text about each input and state without a reader. `names` are the parameters of the kernels."""
    named = _named(values)
    for attribute in values.db.node.get_attributes():
        port, _, name = attribute.get_name().partition(":")
        known = {"inputs": values.attributes.inputs, "state": values.attributes.states}.get(port, {})
        parameter = python_name(name)
        is_told = port == "inputs" and bool(nearest(name, values.attributes.own))
        is_read = is_told or parameter in named or parameter in names or is_companion(parameter, names)
        if attribute.is_dynamic() and parameter in known and not is_read:
            yield f"nothing reads {port}:{name}, as no parameter has this name{_meant(port, name, names)}"


def _named(values: NodeValues) -> set[str]:
    """Return the words of the tokens of a node, which may name inputs."""
    tokens = [name for name, kind in values.attributes.inputs.items() if kind.base == "token" and not kind.is_array]
    texts = [values.db.inputs.dimSource, *(values.value(name) for name in tokens)]
    return {word for text in texts for word in re.findall(r"\w+", str(text))}


def _meant(port: str, name: str, names: Collection[str]) -> str:
    """Return which attribute was probably meant, "" if none is like it."""
    base, _, what = name.rpartition(":")
    if python_name(base) in names:
        return did_you_mean([f"{port}:{base}:{near}" for near in nearest(what, COMPANIONS)])
    return did_you_mean([f"{port}:{near}" for near in nearest(name, names)])
