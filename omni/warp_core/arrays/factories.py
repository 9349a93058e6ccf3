"""Functions that make arrays: filled, like another, from NumPy and DLPack. Start with `empty`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices.device import DeviceLike, get_device
from ..dispatch import observers
from ..lang.registry import LOCAL_ZEROS
from ..lang.types import BOOL, F32, I32, Mat, Type, Vec
from ..lang.values.scalars import SCALAR_CLASSES, plain_number, scalar_type_of
from ..lang.values.type_registry import python_type
from . import dlpack, layouts
from .array import array
from .dtypes import dtype_from_numpy, element_of, scalar_of_numpy

__all__ = [
    "clone",
    "empty",
    "empty_like",
    "from_dlpack",
    "from_numpy",
    "from_ptr",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "to_dlpack",
    "zeros",
    "zeros_like",
]


def empty(
    shape: Any = None,
    dtype: Any = float,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    *,
    n: Any = None,
    length: Any = None,
    ndim: int | None = None,
) -> array:
    """An array whose elements are not set.

    Args:
        shape: One extent or up to four; 0 if left out.
        dtype: The element type.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        n: An older spelling of `shape`.
        length: An older spelling of `shape`.
        ndim: How many extents `shape` has, if the caller wants that checked.

    Returns:
        The array, in C order.

    Raises:
        TypeError: If `dtype` is no type of the language, or `shape` no shape.
        ValueError: If an extent is negative, there are more than four, or not `ndim`.

    >>> wp.empty((2, 3), dtype=float).shape
    (2, 3)
    """
    where = get_device(device)
    given = [s for s in (shape, n, length) if s is not None]
    if len(given) > 1:
        raise TypeError("shape: pass only one of shape, n and length")
    extents = layouts.check_shape(given[0] if given else 0)
    if ndim is not None and ndim != len(extents):
        raise ValueError(f"ndim: the shape {extents} has {len(extents)} dimensions, not {ndim}")
    made = array._empty(element_of(dtype), extents, where, bool(pinned))
    made.retain_grad = bool(retain_grad)
    if requires_grad:
        made.requires_grad = True
    return made


def zeros(
    shape: Any = None,
    dtype: Any = float,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """An array of zeros.

    Args:
        shape: One extent or up to four; 0 if left out.
        dtype: The element type.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        kwargs: `n` or `length`, older spellings of `shape`; `ndim`, as for `empty`.

    Returns:
        The array.

    Raises:
        TypeError: If `dtype` is no type of the language, or `shape` no shape.
        ValueError: If an extent is negative or there are more than four.

    >>> wp.zeros(2, dtype=int).list()
    [0, 0]
    """
    made = empty(shape, dtype, device, False, pinned, retain_grad, **kwargs)
    made.zero_()
    return _with_gradient(made, requires_grad)


zeros.__wc_intrinsic__ = LOCAL_ZEROS  # type: ignore[attr-defined]


def ones(
    shape: Any = None,
    dtype: Any = float,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """An array whose components are all one.

    Args:
        shape: One extent or up to four; 0 if left out.
        dtype: The element type.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        kwargs: `n` or `length`, older spellings of `shape`; `ndim`, as for `empty`.

    Returns:
        The array.

    Raises:
        TypeError: If `dtype` is no type of the language, or `shape` no shape.
        ValueError: If an extent is negative or there are more than four.

    >>> wp.ones(2, dtype=int).list()
    [1, 1]
    """
    return full(shape, 1, dtype, device, requires_grad, pinned, retain_grad, **kwargs)


def full(
    shape: Any = None,
    value: Any = 0,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """An array of copies of `value`.

    Args:
        shape: One extent or up to four.
        value: A number, a value of the dtype, or a sequence of its components.
        dtype: The element type; taken from `value` if left out.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        kwargs: `n` or `length`, older spellings of `shape`; `ndim`, as for `empty`.

    Returns:
        The array.

    Raises:
        TypeError, ValueError: If `value` is not a value of the dtype.

    >>> wp.full(2, 1.5).list()
    [1.5, 1.5]
    """
    made = empty(shape, _dtype_of(value) if dtype is None else dtype, device, False, pinned, retain_grad, **kwargs)
    made.fill_(value)
    return _with_gradient(made, requires_grad)


def _with_gradient(made: array, wanted: bool) -> array:
    """An array with a gradient, if one is wanted: given after the first values, which no tape has to know then."""
    if wanted and made.grad is None:
        made.requires_grad = True
    return made


def _dtype_of(value: Any) -> Any:
    """The dtype that a fill value implies."""
    t = getattr(value, "__wc_type__", None) or scalar_type_of(value)
    if isinstance(t, Type):
        return python_type(t)
    if plain_number(value) is not None:
        return SCALAR_CLASSES[BOOL if isinstance(value, bool) else I32 if isinstance(value, int) else F32]
    numbers = np.asarray(value)
    scalar = scalar_of_numpy(numbers.dtype)
    if scalar is None or not 1 <= numbers.ndim <= 2 or numbers.size == 0:
        raise TypeError(f"value: no dtype for {value!r}; give dtype")
    return python_type(
        Vec(len(numbers), scalar) if numbers.ndim == 1 else Mat(numbers.shape[0], numbers.shape[1], scalar)
    )


def empty_like(
    src: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: Any = None,
    retain_grad: bool = False,
) -> array:
    """An array of the shape and dtype of `src`, in C order, whose elements are not set.

    Args:
        src: An array, or anything `array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.empty_like(wp.zeros((2, 3))).shape
    (2, 3)
    """
    grad = _wanted(src, requires_grad)
    src = src if isinstance(src, array) else array(src, copy=False, device="cpu")
    pinned = src.pinned if pinned is None else pinned
    return empty(src.shape, src.dtype, src.device if device is None else device, grad, pinned, retain_grad)


def _wanted(src: Any, requires_grad: bool | None) -> bool:
    """True if an array like `src` gets a gradient."""
    return bool(getattr(src, "requires_grad", False)) if requires_grad is None else requires_grad


def zeros_like(
    src: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: Any = None,
    retain_grad: bool = False,
) -> array:
    """Zeros in the shape and dtype of `src`.

    Args:
        src: An array, or anything `wp.array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.zeros_like(wp.ones(2)).list()
    [0.0, 0.0]
    """
    made = empty_like(src, device, False, pinned, retain_grad)
    made.zero_()
    return _with_gradient(made, _wanted(src, requires_grad))


def ones_like(
    src: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: Any = None,
    retain_grad: bool = False,
) -> array:
    """Ones in the shape and dtype of `src`.

    Args:
        src: An array, or anything `wp.array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.ones_like(wp.zeros(2)).list()
    [1.0, 1.0]
    """
    return full_like(src, 1, device, requires_grad, pinned, retain_grad)


def full_like(
    src: Any,
    value: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: Any = None,
    retain_grad: bool = False,
) -> array:
    """Copies of `value` in the shape and dtype of `src`.

    Args:
        src: An array, or anything `wp.array` takes as data.
        value: A number, a value of the dtype, or a sequence of its components.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.full_like(wp.zeros(2), 7.0).list()
    [7.0, 7.0]
    """
    made = empty_like(src, device, False, pinned, retain_grad)
    made.fill_(value)
    return _with_gradient(made, _wanted(src, requires_grad))


def clone(
    src: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: Any = None,
    retain_grad: bool = False,
) -> array:
    """A copy of an array in C order, gradient included.

    Args:
        src: An array, or anything `wp.array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out. With False, nothing flows through the copy.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The copy.

    >>> wp.clone(wp.ones(2)).list()
    [1.0, 1.0]
    """
    src = src if isinstance(src, array) else array(src, copy=False)
    wanted = _wanted(src, requires_grad)
    made = empty_like(src, device, wanted and observers.has_gradient(src), pinned, retain_grad)
    if requires_grad is False:
        made.requires_grad = False  # said outright, so that the copy cuts no gradient by mistake
    made.assign(src)
    return _with_gradient(made, wanted)


def from_numpy(
    arr: np.ndarray,
    dtype: Any = None,
    shape: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    retain_grad: bool = False,
    pinned: bool = False,
) -> array:
    """An array with a copy of the data of a NumPy array.

    Args:
        arr: The NumPy array.
        dtype: The element type. If left out, arrays of two dimensions give vectors, of three matrices, else scalars.
        shape: The shape to give the array.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        retain_grad: As for `array`.
        pinned: As for `array`.

    Returns:
        The array.

    Raises:
        TypeError: If `arr` is no NumPy array.

    >>> wp.from_numpy(np.zeros((4, 3), np.float32)).dtype.__name__
    'vec3f'
    """
    if not isinstance(arr, np.ndarray):
        raise TypeError(f"arr: expected a NumPy array, got {type(arr).__name__}")
    if dtype is None:
        scalar = dtype_from_numpy(arr.dtype).__wc_type__
        kinds = {2: lambda: Vec(arr.shape[1], scalar), 3: lambda: Mat(arr.shape[1], arr.shape[2], scalar)}
        grouped = arr.ndim in kinds and 0 not in arr.shape[1:]
        dtype = python_type(kinds[arr.ndim]() if grouped else scalar)
    return array(
        arr,
        dtype=dtype,
        shape=shape,
        device=device,
        pinned=pinned,
        requires_grad=requires_grad,
        retain_grad=retain_grad,
    )


def from_ptr(ptr: int, length: int, dtype: Any = None, shape: Any = None, device: DeviceLike = None) -> array:
    """An array over existing memory; like `wp.array(ptr=..., shape=..., dtype=...)`.

    Args:
        ptr: The address; the caller keeps the memory alive.
        length: How many elements.
        dtype: The element type; float32 if left out.
        shape: The shape, in place of `length`.
        device: Where the memory is.

    Returns:
        The array, which shares the memory.

    >>> owner = wp.array([1.0, 2.0], dtype=float)
    >>> wp.from_ptr(owner.ptr, 2, dtype=float).list()
    [1.0, 2.0]
    """
    return array(ptr=ptr, shape=length if shape is None else shape, dtype=dtype, device=device)


def from_dlpack(source: Any, dtype: Any = None) -> array:
    """An array that shares the memory of an object with the DLPack protocol. Nothing is ever copied.

    The current stream of a GPU waits for what the object's library still does there; with a capsule, whoever has made
    it has seen to that.

    Args:
        source: The object, or a capsule, as `to_dlpack` makes them; its memory is on the CPU or a GPU.
        dtype: The element type; trailing dimensions become components. Signed and unsigned numbers of one size may
            stand for each other, and a bool for a uint8. If left out, elements are scalars.

    Returns:
        The array, which shares the memory. It is read-only if the object says that the memory is.

    Raises:
        TypeError: The memory does not hold elements of the dtype.
        ValueError: It cannot be used in place: components are not contiguous, or there is no memory.
        BufferError, RuntimeError: The object does not offer its memory.

    >>> wp.from_dlpack(np.arange(3.0)).list()
    [0.0, 1.0, 2.0]
    """
    is_capsule = type(source).__name__ == "PyCapsule"
    if not is_capsule and not hasattr(source, "__dlpack__") and not dlpack.has_data(source):
        raise TypeError(f"source: expected an object with __dlpack__ or a capsule, got {type(source).__name__}")
    if isinstance(source, array):
        return source if dtype is None else source.view(dtype)
    return dlpack.import_dlpack(array, source, dtype)


def to_dlpack(wp_array: array) -> Any:
    """A DLPack capsule of an array's memory, for libraries that do not take the array itself.

    Args:
        wp_array: The array; it is kept alive by the capsule. Of one on a GPU the capsule is for the legacy default
            stream; for another, call `wp_array.__dlpack__(stream=handle)`.

    Returns:
        The capsule, to be used once.

    >>> wp.from_dlpack(wp.to_dlpack(wp.ones(2))).list()
    [1.0, 1.0]
    """
    return wp_array.__dlpack__()
