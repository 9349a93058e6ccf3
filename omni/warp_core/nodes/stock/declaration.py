"""Declarations of stock nodes: name, version, class and attributes, in the form of a `.ogn` file.

They are no files of their own. Kit registers every `.ogn` that it finds in an extension, and has these nodes already.
"""

from __future__ import annotations

from ..graph.node_graph import NodeType
from ..ogn.ogn_spec import from_dict

EXEC_IN = {"execIn": {"type": "execution", "description": "Runs the node"}}
EXEC_OUT = {"execOut": {"type": "execution", "description": "Runs after the node"}}


def node_type(
    name: str,
    version: int,
    cls: type,
    about: str,
    inputs: dict,
    outputs: dict,
    reads: bool = False,
    time: bool = False,
    state: dict | None = None,
    **flags: bool,
) -> NodeType:
    """Declare the node type `omni.graph.<name>`. `reads` and `time`: it reads the stage, or the clock.

    `flags` are those of `NodeType`.
    """
    body = {"description": about, "version": version, "language": "Python"}
    body |= {"inputs": inputs, "outputs": outputs, "state": state or {}}
    spec = from_dict({f"omni.graph.{name}": body}, name)
    return NodeType(spec, cls, reads_stage=reads, uses_time=time, **flags)


def execution(name: str, about: str) -> dict:
    """Declare an execution attribute."""
    return {name: {"type": "execution", "description": about}}
