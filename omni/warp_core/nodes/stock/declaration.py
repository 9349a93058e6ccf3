"""Declarations of stock nodes: name, version, class and attributes, in the form of a `.ogn` file.

They are no files of their own. Kit registers every `.ogn` that it finds in an extension, and has these nodes already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph.node_graph import NodeType
from ..ogn.ogn_spec import from_dict
from .operands import DataNode, Inputs, Typed

EXEC_IN = {"execIn": {"type": "execution", "description": "Runs the node"}}
EXEC_OUT = {"execOut": {"type": "execution", "description": "Runs after the node"}}


def node_type(
    name: str,
    version: int,
    cls: Any,
    about: str,
    inputs: dict,
    outputs: dict,
    reads: bool = False,
    time: bool = False,
    state: dict | None = None,
    limits: str = "",
    **flags: bool,
) -> NodeType:
    """Declare the node type `omni.graph.<name>`.

    `reads` and `time`: it reads the stage, or the clock. `limits`: a line about what differs from Kit, for the manual.
    `flags` are those of `NodeType`.
    """
    body = {"description": about, "version": version, "language": "Python"}
    body |= {"inputs": inputs, "outputs": outputs, "state": state or {}}
    body |= {"metadata": {"limits": limits}} if limits else {}
    spec = from_dict({f"omni.graph.{name}": body}, name)
    return NodeType(spec, cls, reads_stage=reads, uses_time=time, **flags)


def execution(name: str, about: str) -> dict:
    """Declare an execution attribute."""
    return {name: {"type": "execution", "description": about}}


def attribute(kind: str, about: str, default: Any = None, tokens: str = "") -> dict:
    """Declare an attribute; `tokens` are the values that a token may have, separated by commas."""
    return (
        {"type": kind, "description": about}
        | ({} if default is None else {"default": default})
        | ({"allowedTokens": tokens} if tokens else {})
    )


def untyped(about: str, *names: str) -> dict:
    """Declare attributes whose type is found out at run time."""
    return {name: attribute("any", about) for name in names}


def data_node(
    name: str,
    version: int,
    about: str,
    inputs: dict,
    outputs: dict,
    function: Callable[[Inputs], Typed | dict[str, Typed]],
    limits: str = "",
) -> NodeType:
    """Declare `omni.graph.nodes.<name>`, which computes its outputs from its inputs and from nothing else."""
    return node_type(f"nodes.{name}", version, DataNode(function), about, inputs, outputs, limits=limits)
