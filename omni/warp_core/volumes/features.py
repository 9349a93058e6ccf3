"""Arrays that a grid carries along, as fVDB and NanoVDB write them: the types of their elements."""

from __future__ import annotations

from typing import Any

from ..lang.values import scalars
from .allocation import dtype_of
from .layout import OTHER_TYPES, VALUE_TYPES

TYPE_NAMES = {0: "unknown", **{n: t.name for n, t in VALUE_TYPES.items()}, **OTHER_TYPES}
_FVDB = "fvdb_jdata"  # and the name of a scalar type
_FVDB_TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")
_SIMPLE = {9: scalars.float16, 19: scalars.uint64, 20: scalars.uint64}


def feature_dtype(header: Any) -> Any:
    """Return the class of the elements, by the type that the header says or by its name; uint8 without either."""
    name, number = header["name"].decode("utf-8", "replace"), int(header["data_type"])
    if number in _SIMPLE or (number in VALUE_TYPES and VALUE_TYPES[number].bits is None):
        return _SIMPLE.get(number) or dtype_of(VALUE_TYPES[number])
    named = name.removeprefix(_FVDB) if name.startswith(_FVDB) else ""
    return getattr(scalars, named if named in _FVDB_TYPES else "uint8")
