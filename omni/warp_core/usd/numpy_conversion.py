"""Between USD values and NumPy: arrays are seen without a copy, and written with the one copy USD makes.

`to_numpy` gives plain numbers, texts, tuples of texts or NumPy arrays; quaternions come as i, j, k, w and matrices as
USD has them (row vectors). `to_usd` goes the other way for a named USD type.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Vt

_QUATERNIONS = (Gf.Quatf, Gf.Quatd, Gf.Quath)
_TEXT_ARRAYS = (Vt.TokenArray, Vt.StringArray)


def to_numpy(value: Any) -> Any:
    """A value of USD as Python or NumPy has it. Numeric `Vt` arrays become read-only views of USD's memory.

    >>> from pxr import Vt
    >>> to_numpy(Vt.Vec3fArray([(1, 2, 3)])).shape
    (1, 3)
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, _TEXT_ARRAYS):
        return tuple(value)
    if isinstance(value, Sdf.AssetPathArray):
        return tuple(file.path for file in value)
    if isinstance(value, Vt.TimeCodeArray):
        return np.array([t.GetValue() for t in value], np.float64)
    if isinstance(value, Sdf.TimeCode):
        return value.GetValue()
    if isinstance(value, Sdf.AssetPath):
        return value.path
    if isinstance(value, _QUATERNIONS):
        return np.array([*value.imaginary, value.real])
    return np.asarray(value)


def from_caller(value: Any) -> Any:
    """Return a value that a caller gave, which may be one of USD that NumPy cannot read, such as a quaternion."""
    return to_numpy(value) if isinstance(value, (*_QUATERNIONS, Sdf.TimeCode, Sdf.AssetPath)) else value


def to_usd(value: Any, type_name: str) -> Any:
    """A value for an attribute of USD type `type_name`, as `to_numpy` would give it. Raises ValueError, TypeError."""
    kind = Sdf.ValueTypeNames.Find(type_name)
    cls = kind.type.pythonClass
    if type_name == "timecode[]":
        return Vt.TimeCodeArray([Sdf.TimeCode(t) for t in value])
    if type_name == "asset[]":
        return Sdf.AssetPathArray([Sdf.AssetPath(path) for path in value])
    if kind.isArray:
        numeric = isinstance(value, np.ndarray)
        return _array_of(cls, np.ascontiguousarray(value)) if numeric and len(value) else cls(list(value))
    if type_name == "timecode":
        return Sdf.TimeCode(value)
    if type_name == "asset":
        return Sdf.AssetPath(value)
    if cls in _QUATERNIONS:
        i, j, k, real = (float(v) for v in value)
        return cls(real, i, j, k)
    if isinstance(value, np.ndarray):
        return cls(value.tolist()) if value.ndim == 2 else cls(*value.tolist())
    return value


def _array_of(cls: Any, numbers: np.ndarray) -> Any:
    """A `Vt` array of numbers, by one copy of their memory. `FromNumpy` goes from element to element, which is slow."""
    made = cls(len(numbers))
    memory = np.asarray(made)  # read-only, as Vt arrays share memory; but no other array has this one yet
    if (memory.dtype, memory.shape) != (numbers.dtype, numbers.shape):
        return cls.FromNumpy(numbers)
    ctypes.memmove(memory.ctypes.data, numbers.ctypes.data, numbers.nbytes)
    return made
