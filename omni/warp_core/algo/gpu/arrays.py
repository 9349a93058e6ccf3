"""What the algorithms on GPUs take arrays apart with, and their temporary memory."""

from __future__ import annotations

from typing import Any

from ...runtime.array import array
from ...runtime.dtypes import element
from ..arguments import components, scalar_of


def numbers(a: array, count: int | None = None) -> array:
    """The first `count` components of the elements of a contiguous array, in C order: a view of one dimension."""
    kind = element(scalar_of(a))
    size = a.size * components(a) if count is None else count
    view = array.__new__(array)
    view._init(kind, a._address, (size,), (kind.type.size,), a.owner, a.flags, a.device)
    return view


def temporary(like: array, size: int, t: Any) -> array:
    """Memory for `size` elements of a type, where `like` is; it goes back to the pool in the order of streams."""
    return array._empty(element(t), (size,), like.device)
