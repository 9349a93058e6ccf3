"""The memory of structs, as the module `struct` and NumPy take it: codes of the fields, and values of arrays in it."""

from __future__ import annotations

from typing import Any

from .. import semantics
from ..array_structs.array_struct_types import is_array_struct
from ..types import BF16, BOOL, MAX_NDIM, Array, Mat, Packed, Scalar, Struct, Type, leaves

_CODES = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
_CODES |= {"bool": "?", "f16": "e", "bf16": "H", "f32": "f", "f64": "d"}
_ARRAY_CODES = f"2Q{2 * MAX_NDIM}q"
_NULL_ARRAY = (0,) * (2 + 2 * MAX_NDIM)


def _descriptor(array: Any) -> tuple[int, ...]:
    if array is None:
        return _NULL_ARRAY
    missing = MAX_NDIM - array.ndim
    return (array._address or 0, array.grad_ptr, *array.shape, *(1,) * missing, *array.strides, *(0,) * missing)


def binary_format(t: Struct) -> str:
    """The struct module's format of the memory layout, padding made explicit."""
    text, at = "<", 0
    for offset, leaf in leaves(t):
        text += f"{offset - at}x" + (_ARRAY_CODES if isinstance(leaf, Array) else _CODES[leaf.key])
        at = offset + leaf.size
    return text + f"{t.size - at}x"


_ARRAY_SPEC = {
    "names": ["data", "grad", "shape", "strides"],
    "formats": ["<u8", "<u8", f"{MAX_NDIM}<i8", f"{MAX_NDIM}<i8"],
}


def numpy_spec(t: Type) -> Any:
    """Return the argument of `numpy.dtype` for one element of type `t`; bfloat16 appears as its bits (uint16)."""
    if isinstance(t, Scalar):
        kind = "u" if t is BF16 else t.kind[0]
        return "|b1" if t is BOOL else f"<{kind}{t.size}"
    if isinstance(t, Packed):
        shape = (t.rows, t.cols) if isinstance(t, Mat) else (t.count,)
        return (numpy_spec(t.scalar), shape)
    if isinstance(t, Struct):
        formats = [numpy_spec(ft) for _, ft in t.fields]
        return {"names": list(t.index), "formats": formats, "offsets": list(t.offsets), "itemsize": t.size}
    return _ARRAY_SPEC


def numpy_value(t: Type, value: Any) -> Any:
    """Return a value as an element of a NumPy array of `numpy_spec(t)`."""
    if isinstance(t, Scalar):
        return semantics.bits_of(value, t) if t is BF16 else value
    if isinstance(t, Array):
        words = _descriptor(value)
        return (*words[:2], words[2 : 2 + MAX_NDIM], words[2 + MAX_NDIM :])
    if isinstance(t, Struct) and is_array_struct(t):
        members = [None] * len(t.fields) if value is None else value._leaves()
        return tuple(numpy_value(member, x) for (_, member), x in zip(t.fields, members))
    if isinstance(t, Struct):
        return value.numpy_value()
    assert isinstance(t, Packed)
    flat = [numpy_value(t.scalar, x) for x in value._leaves()]
    return [flat[i : i + t.cols] for i in range(0, len(flat), t.cols)] if isinstance(t, Mat) else flat
