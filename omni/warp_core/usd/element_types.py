"""Types of arrays: from attributes of USD to the kernel language, and back. Start with `to_array` and `usd_type`."""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp

from .stage import StageError

_SCALARS = {
    "float32": ("float", "f"), "float64": ("double", "d"), "float16": ("half", "h"), "int32": ("int", "i"),
    "uint32": ("uint", ""), "int64": ("int64", ""), "uint64": ("uint64", ""), "uint8": ("uchar", ""),
    "bool": ("bool", ""),
}  # fmt: skip


def to_array(values: np.ndarray, type_name: str, device: Any) -> wp.array:
    """Return values of a USD type as an array of the matching type of the kernel language.

    Tuples become vectors, and quaternions `wp.quat`. Matrices stay as USD has them, for row vectors.
    """
    scalar = wp.dtype_from_numpy(values.dtype)
    rows = np.ascontiguousarray(values)
    if values.ndim == 1:
        return wp.array(rows, dtype=scalar, device=device)
    if type_name.startswith("quat"):
        return wp.array(rows, dtype=wp.types.quaternion(scalar), device=device)
    dtype = wp.types.matrix(values.shape[1:], scalar) if values.ndim == 3 else wp.types.vector(values.shape[1], scalar)
    return wp.array(rows, dtype=dtype, device=device)


def usd_type(values: np.ndarray, role: str = "", quaternions: bool = False) -> str:
    """Return the name of the USD type of an array with values in its last dimensions.

    Args:
        values: The array: of shape (n), (n, k) or (n, k, k).
        role: What vectors stand for: "point", "vector", "normal", "color" or "texCoord".
        quaternions: Whether rows of four are quaternions.

    Raises:
        StageError: USD has no such type.

    >>> usd_type(np.zeros((5, 3), np.float32), "color")
    'color3f[]'
    """
    base, letter = _SCALARS.get(values.dtype.name, ("", ""))
    shape = values.shape[1:]
    if base and not shape:
        return f"{base}[]"
    if len(shape) == 2 and base == "double" and shape[0] == shape[1] and 2 <= shape[0] <= 4:
        return f"matrix{shape[0]}d[]"
    if len(shape) == 1 and letter and 2 <= shape[0] <= 4:
        if quaternions and shape == (4,) and letter in "fdh":
            return f"quat{letter}[]"
        return f"{role}{shape[0]}{letter}[]" if role and letter in "fdh" else f"{base}{shape[0]}[]"
    raise StageError(f"USD has no type for arrays of {values.dtype.name} with elements of shape {shape}")
