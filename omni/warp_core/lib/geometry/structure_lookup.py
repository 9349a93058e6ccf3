"""The lookup of a structure by its id: of meshes, trees over boxes, hash grids and volumes alike."""

from __future__ import annotations

from typing import Any

from ...lang import prim
from ...lang.generics import Constant
from ...lang.registry import builtin
from ...lang.values.scalars import int32, uint64
from .structure_ids import ADDRESS, KIND_SHIFT


def unknown(structure: str, name: str) -> str:
    """Return the text of the error for an id of no structure; `name` is that of a variable."""
    text = f"{{0}} is no id of a {structure} that exists on this device{{0:no {structure}}}"
    return f"{text}: pass {name}.id, and keep the {structure} while kernels use it"


@builtin(name="_structure_of")
def structure_of(id: uint64, layout: Constant) -> Any:
    """The descriptor of an id that was checked."""
    return prim.array_at(prim.bit_and(id, uint64(ADDRESS)), int32(1), layout)[0]


@builtin(name="_structure_at")
def structure_at(id: uint64, kind: Constant, layout: Constant, error: Constant) -> Any:
    """The descriptor of an id. Without a structure the launch raises, and queries go on in an empty one.

    Args:
        id: of the structure.
        kind: of structure_ids.py.
        layout: the struct of the descriptor, whose first member is `id`. Without values it is an empty structure.
        error: the text that `unknown` returns.
    """
    data = layout()
    if id >> uint64(KIND_SHIFT) == uint64(kind) and prim.is_structure(prim.bit_and(id, uint64(ADDRESS))):
        data = structure_of(id, layout)
    if data.id != id or id == uint64(0):
        prim.fail("handle", error, id)
        data = layout()
    return data
