"""Inputs of nodes whose names are probably misspelt: not of the node type, and much like one that is.

A node may have attributes that its type does not declare, such as parameters of a kernel. So other names are not told,
except of node types of omni.warp, whose names are not all known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

from ...lang.errors import nearest
from ..graph.node_graph import Node
from ..stock.node_registry import OLDER_LIBRARY

_ALIKE = 0.75  # of names: 1 for the same
_CODE = "inputs:codeStr"


def misspelt(node: Node, authored: Iterable[str]) -> dict[str, str]:
    """Return authored inputs that the node type does not have, each with the input that was probably meant or ""."""
    if node.type is None:
        return {}
    declared = node.type.spec.attributes
    names = [name for name in authored if name.startswith("inputs:") and name not in declared]
    known = tuple(name for name in declared if name.startswith("inputs:"))
    is_older = node.type_name in OLDER_LIBRARY
    found = {name: meant for name in names if ((meant := _similar(name, known)) or is_older) and meant not in authored}
    code = node.attributes[_CODE].value if found and _CODE in node.attributes else ""
    return {name: meant for name, meant in found.items() if not _is_in_code(name, str(code))}


def similar(name: str, names: Iterable[str]) -> list[str]:
    """Return the names of the same port that are most like `name`: what follows "inputs:" or "outputs:" decides."""
    port, _, base = name.partition(":")
    bases = [other.removeprefix(f"{port}:") for other in names if other.startswith(f"{port}:")]
    return [f"{port}:{near}" for near in nearest(base, bases)]


@lru_cache(maxsize=4096)
def _similar(name: str, known: tuple[str, ...]) -> str:
    """Return the declared name that is most like another one, "" if none is. Numbered names may all be meant."""
    word = name.partition(":")[2]
    best, meant = _ALIKE, ""
    for other in known:
        declared = other.partition(":")[2]
        if ":" in word or word.rstrip("0123456789") == declared.rstrip("0123456789"):
            continue
        alike = SequenceMatcher(None, word.lower(), declared.lower()).ratio()
        if alike >= best and min(len(word), len(declared)) > 2:
            best, meant = alike, other
    return meant


def _is_in_code(name: str, code: str) -> bool:
    """True if the text of a kernel may have a parameter of the name of an attribute."""
    return re.search(rf"\b{re.escape(name.partition(':')[2])}\b", code) is not None
