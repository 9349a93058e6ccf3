"""Checks of the arrays that structures are made of."""

from __future__ import annotations

from typing import Any

from ..algo.argument_checks import require_contiguous, require_elements
from ..lang.types import Type

CONSTRUCTORS = (None, "sah", "median", "lbvh", "cubql")


def check_array(name: str, a: Any, t: Type) -> None:
    """Raise an error unless `a` is a contiguous array of one dimension with elements of type `t`."""
    require_elements(name, a, t)
    if a.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {a.shape}; pass {name}.flatten()")
    require_contiguous(name, a)


def is_fast(name: str, constructor: Any) -> bool:
    """True if a tree is to be built in the fastest way. Raises ValueError for an unknown constructor."""
    if constructor not in CONSTRUCTORS:
        raise ValueError(f'{name}: expected "sah", "median", "lbvh" or "cubql", got {constructor!r}')
    return constructor == "lbvh"
