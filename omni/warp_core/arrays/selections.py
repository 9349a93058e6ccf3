"""Elements that a list, a mask or an array of indices selects from one dimension of an array, as NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from ..lang.types import BOOL


def is_selection(key: Any) -> bool:
    """True if a key names several elements one by one."""
    return isinstance(key, (_native.ArrayBase, list)) or (isinstance(key, np.ndarray) and key.ndim > 0)


def has_selection(key: Any) -> bool:
    """True if one of the keys of an access is a selection."""
    return any(map(is_selection, key)) if isinstance(key, tuple) else is_selection(key)


def indices_of(key: Any, extent: int, dimension: int) -> Any:
    """Return the indices that a selection names, as int32 numbers; an array of indices as it is.

    Raises:
        IndexError: an index is out of range, or a mask has another length than the dimension.
        TypeError: the selection has other elements than integers and bools, or several dimensions.
    """
    if isinstance(key, _native.ArrayBase):
        if key._require_element().type is not BOOL:  # type: ignore[attr-defined]
            return key
        key = key.numpy()  # type: ignore[attr-defined]
    numbers = np.asarray(key) if len(key) else np.zeros(0, np.int32)
    if numbers.ndim != 1:
        help = "take elements of x.numpy(), or of x.flatten()"
        raise TypeError(f"an index of {numbers.ndim} dimensions: arrays take those of one: {help}")
    if numbers.dtype == bool:
        if len(numbers) != extent:
            raise IndexError(f"a mask of {len(numbers)} elements for dimension {dimension} with {extent} elements")
        return np.flatnonzero(numbers).astype(np.int32)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"array indices are integers, slices, ... or int32 arrays, got elements of {numbers.dtype}")
    wrong = numbers[(numbers < -extent) | (numbers >= extent)]
    if len(wrong):
        raise IndexError(f"index {wrong[0]} is out of range for dimension {dimension} with {extent} elements")
    return np.where(numbers < 0, numbers + extent, numbers).astype(np.int32)
