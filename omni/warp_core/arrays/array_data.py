"""From the data a user hands over (lists, values, NumPy arrays, anything with an array interface) to a NumPy array and
the element type and shape that it means. Nothing is copied to its destination here; see `array`. Start with `read`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..dispatch import observers
from ..dispatch.operation import refuse
from ..lang.types import BF16, MAX_NDIM, Packed, Struct
from ..lang.values.scalars import ScalarValue
from ..lang.values.structs import StructValue
from ..late_bound import late
from . import dlpack, keepalive, layouts
from .dtypes import Element, bfloat16_bits, bfloat16_numbers, element, scalar_of_numpy
from .elements import match_records, record
from .elements import references as pointed_to
from .keepalive import Refs


class Data(NamedTuple):
    """`numbers` holds items, of any numeric dtype, in the shape `shape + element.inner`."""

    numbers: np.ndarray
    element: Element
    shape: tuple[int, ...]
    refs: Refs = ((),)


def read(data: Any, wanted: Element | None, shape: tuple[int, ...] | None = None) -> Data:
    """Interpret the `data` argument of an array constructor.

    Args:
        data: The user's object.
        wanted: The element type, or None to take it from the data.
        shape: The array's shape, or None to take it from the data.

    Raises:
        TypeError: If `data` is no array or sequence, or of a dtype that arrays cannot have.
        ValueError: If its shape does not fit the element type or `shape`.
    """
    if wanted is None:
        wanted = _typed_element(data)
    if wanted is not None and isinstance(wanted.type, Struct):
        return _read_structs(data, wanted, shape)
    numbers = _to_numpy(data, wanted)
    if wanted is None:
        t = scalar_of_numpy(numbers.dtype)
        if t is None:
            _plain_numbers(numbers, element(BF16))  # says more of those of ml_dtypes
            raise TypeError(f"data: no element type for NumPy dtype {numbers.dtype}; give dtype")
        wanted = element(t)
    numbers = _plain_numbers(numbers, wanted)
    if numbers.dtype.kind not in "biuf":
        raise TypeError(f"data: cannot make {wanted.name} elements from NumPy dtype {numbers.dtype}")
    if wanted.numpy == np.uint16 and _scalar(wanted) is BF16 and numbers.dtype != np.uint16:
        numbers = bfloat16_bits(numbers)
    count, left = divmod(numbers.size, math.prod(wanted.inner))
    if shape is None or left:
        outer = _outer_shape(numbers.shape, wanted)
    else:
        outer = _filled(shape, count, wanted)
    if len(outer) > MAX_NDIM:
        raise ValueError(f"data: arrays have 1 to {MAX_NDIM} dimensions, got {len(outer)}: {outer}")
    return Data(numbers.reshape(outer + wanted.inner), wanted, outer)


def read_plain(data: Any, wanted: Element | None) -> Data | None:
    """`read` for a NumPy array whose bytes are those of the elements in C order, None for other data."""
    if type(data) is not np.ndarray or wanted is None or not has_bytes_of(data, wanted):
        return None
    count = data.ndim - len(wanted.inner)
    if not 1 <= count <= MAX_NDIM or data.shape[count:] != wanted.inner:
        return None
    return Data(data, wanted, data.shape[:count])


def has_bytes_of(numbers: np.ndarray, wanted: Element) -> bool:
    """True if numbers lie in memory as elements that are no structs do, in C order."""
    return numbers.dtype == wanted.numpy and not wanted.numpy.names and numbers.flags.c_contiguous


def _scalar(wanted: Element) -> Any:
    return wanted.type.scalar if isinstance(wanted.type, Packed) else wanted.type


def _is_array(data: Any) -> bool:
    return isinstance(data, _native.ArrayBase)


def _first(data: Any) -> Any:
    """The first leaf of nested lists and tuples."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _typed_element(data: Any) -> Element | None:
    """The element type where NumPy cannot tell it: lists of typed scalars or structs, arrays of structs, bfloat16."""
    if _is_array(data):
        return data._element if isinstance(data._element.type, Struct) or _scalar(data._element) is BF16 else None
    first = _first(data)
    return element(first.__wc_type__) if isinstance(first, (ScalarValue, StructValue)) else None


def _refuse_arrays(data: Any) -> None:
    """Refuse lists of arrays, and indexed arrays, while an observer follows their contents."""
    if isinstance(data, (list, tuple)):
        if not {int, float, bool}.issuperset(map(type, data)):
            for part in data:
                _refuse_arrays(part)
    elif _is_array(data):
        refuse("making an array of a list of arrays", data=data)
    elif hasattr(data, "_copied_from"):
        refuse("copying an indexed array", data=data._data())


def _to_numpy(data: Any, wanted: Element | None) -> np.ndarray:
    if _is_array(data):
        has_bits = _scalar(data._element) is BF16 and wanted is not None and _scalar(wanted) is not BF16
        return bfloat16_numbers(data._numbers()) if has_bits else data._numbers()
    if observers.is_watched():
        _refuse_arrays(data)
    if isinstance(data, np.ndarray) and data.dtype == object:
        data = data.tolist()
    if isinstance(data, bytes):
        data = memoryview(data)  # numbers from 0 to 255, as bytearray has them; NumPy would take it for a text
    if isinstance(data, np.ndarray):
        return data
    if hasattr(data, "__cuda_array_interface__") and not hasattr(data, "__array_interface__"):
        raise RuntimeError(
            f"data: the {type(data).__name__} is in CUDA memory, but this machine has no usable GPU: "
            "pass a copy on the CPU"
        )
    offers = any(hasattr(data, name) for name in ("__len__", "__array__", "__array_interface__"))
    if not offers or isinstance(data, np.generic):
        raise TypeError(f"data: expected a sequence or an array, got {type(data).__name__}: {data!r}")
    if isinstance(data, (str, dict, set, frozenset)):
        raise TypeError(f"data: expected a sequence of numbers or an array, got {type(data).__name__}")
    numpy_dtype = None
    if wanted is not None and isinstance(data, (list, tuple, range)) and _scalar(wanted) is not BF16:
        numpy_dtype = wanted.numpy
    try:
        with np.errstate(over="ignore"):
            return np.asarray(data, dtype=numpy_dtype)
    except Exception as e:
        _explain(data, e)
        what = f"{wanted.name} elements" if wanted else "an array"
        raise ValueError(f"data: cannot make {what} from this {type(data).__name__}: {e}") from None


def _explain(data: Any, error: Exception) -> None:
    """Raise a better error than NumPy's for data of other libraries. Any error of another kind is raised again."""
    if hasattr(data, "__array__"):
        try:
            late("check_usable")(data)
        except (TypeError, ValueError) as why:
            raise dlpack.named("data", why) from None
    if not isinstance(error, (TypeError, ValueError, OverflowError)):
        raise error


def _plain_numbers(numbers: np.ndarray, wanted: Element) -> np.ndarray:
    """Numbers of ml_dtypes as those of NumPy: bfloat16 as its bits if they are wanted, else as float32."""
    if numbers.dtype.isbuiltin == 1:  # NumPy's own
        return numbers
    if numbers.dtype.name == "bfloat16":
        bits = numbers.view(np.uint16)
        return bits if _scalar(wanted) is BF16 else bfloat16_numbers(bits)
    if numbers.dtype.type.__module__ == "ml_dtypes":
        raise TypeError(
            f"data: kernels have no numbers of {numbers.dtype}: convert them, x.astype(np.float32), or pass their "
            "bits, x.view(np.uint8)"
        )
    return numbers


def _outer_shape(shape: tuple[int, ...], wanted: Element) -> tuple[int, ...]:
    """The array shape when trailing dimensions of the data hold the components of the elements."""
    inner = wanted.inner
    if not inner:
        return shape or (1,)
    if shape[-len(inner) :] == inner:
        return shape[: -len(inner)] or (1,)
    count = math.prod(inner)
    if shape[-1:] == (count,):
        return shape[:-1] or (1,)
    if shape and shape[-1] % count == 0:
        return (*shape[:-1], shape[-1] // count)
    last = f"{count} or a multiple" if len(inner) == 1 else f"{inner}, or {count} or a multiple in the last one"
    raise ValueError(f"data: shape {shape} does not fit {wanted.name}: expected trailing dimensions of {last}")


# -- structs --------------------------------------------------------------------------------------------------------


def _read_structs(data: Any, wanted: Element, shape: tuple[int, ...] | None) -> Data:
    refs: Refs = ((),)
    if _is_array(data):
        refs, data = keepalive.of(data), data._numbers()
    if isinstance(data, np.ndarray):
        try:
            records = match_records(data, wanted)
        except TypeError as why:
            raise TypeError(f"data: {why}") from None
    else:
        if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
            raise TypeError(f"data: expected structs {wanted.name} or a structured array, got {type(data).__name__}")
        records, refs = _pack_structs(data, wanted)
    outer = records.shape or (1,)
    if shape is not None:
        outer = _filled(shape, records.size, wanted)
    return Data(records.reshape(outer), wanted, outer, refs)


def _filled(shape: tuple[int, ...], count: int, wanted: Element) -> tuple[int, ...]:
    found = layouts.filled(shape, count)
    if math.prod(found) != count:
        raise ValueError(f"data: {count} elements of {wanted.name} do not fill shape={shape}")
    return found


def _shape_of(data: Sequence[Any]) -> tuple[int, ...]:
    """The shape of nested lists; tuples and records are elements."""
    shape = []
    while isinstance(data, list):
        shape.append(len(data))
        data = data[0] if data else ()
    return tuple(shape)


def _elements_of(data: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements of nested lists in C order."""
    if not shape:
        return [data]
    if not isinstance(data, list) or len(data) != shape[0]:
        raise ValueError(f"data: the nested lists have different lengths: expected {shape[0]} elements")
    if len(shape) == 1:
        return data
    return [x for part in data for x in _elements_of(part, shape[1:])]


def _pack_structs(data: Sequence[Any], wanted: Element) -> tuple[np.ndarray, Refs]:
    """Instances, tuples and records in nested lists, or in one sequence of another kind, as records."""
    data = data if isinstance(data, list) else list(data)
    shape = _shape_of(data)
    values = _elements_of(data, shape)
    packed = []
    for i, value in enumerate(values):
        try:
            own = getattr(value, "__wc_type__", None) is wanted.type
            packed.append(value._wc_pack() if own else record(value, wanted).tobytes())
        except (TypeError, ValueError) as why:
            raise type(why)(f"data[{', '.join(map(str, np.unravel_index(i, shape)))}]: {why}") from None
    refs = [pointed_to(value) for value in values] if wanted.holds_arrays else ((),)
    return np.frombuffer(b"".join(packed), dtype=wanted.numpy).reshape(shape), refs
