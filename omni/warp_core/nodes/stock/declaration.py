"""Declarations of stock nodes: name, version, class and attributes, in the form of a `.ogn` file.

They are no files of their own. Kit registers every `.ogn` that it finds in an extension, and has these nodes already.
"""

from __future__ import annotations

from ..graph.node_graph import NodeType
from ..ogn.ogn_spec import from_dict

EXEC_IN = {"execIn": {"type": "execution", "description": "Runs the node"}}
EXEC_OUT = {"execOut": {"type": "execution", "description": "Runs after the node"}}


def node_type(
    name: str, version: int, cls: type, about: str, inputs: dict, outputs: dict, reads: bool = False, time: bool = False
) -> NodeType:
    """Declare the node type `omni.graph.<name>`. `reads` and `time`: it reads the stage, or the clock."""
    body = {"description": about, "version": version, "language": "Python"}
    body |= {"inputs": inputs, "outputs": outputs}
    return NodeType(from_dict({f"omni.graph.{name}": body}, name), cls, reads_stage=reads, uses_time=time)
