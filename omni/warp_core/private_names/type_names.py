"""`warp._src.types`: `wp.types`, and what annotations of Python functions are written with (`Vector[Any, Int]`)."""

from __future__ import annotations

from typing import Any

from .. import types
from ..lang.typevars import Float, Int, Scalar
from ..lang.values.value_methods import Matrix, Quaternion, Transformation, Vector

__all__ = ["Any", "Float", "Int", "Matrix", "Quaternion", "Scalar", "Transformation", "Vector", "type_length"]


def type_length(t: Any) -> int:
    """Return the number of components, the rows of a matrix.

    Args:
        t: a class of vectors, matrices, quaternions or transforms.

    Raises:
        TypeError: `t` is another type.
    """
    shape = getattr(t, "_shape_", None)
    if shape is None:
        raise TypeError(f"type_length() takes a class of vectors or matrices, got {t!r}")
    return shape[0]


def __getattr__(name: str) -> Any:
    return getattr(types, name)
