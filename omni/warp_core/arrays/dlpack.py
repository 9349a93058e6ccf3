"""Memory of GPUs that libraries share: by DLPack (`export_dlpack`, `import_dlpack`) and by the CUDA array interface
(`import_cuda_array_interface`).

Whoever takes memory says which stream it will use; whoever has it lets that stream wait for what is still being done.
Pinned memory goes by DLPack too, and has been waited for when it is handed out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from ..devices.device import get_cuda_devices, get_device, why_no_gpu
from ..devices.stream import Stream
from ..dispatch import capture, observers
from ..lang.types import BF16, Packed, Struct
from . import layouts, transfer
from .dtypes import Element, element, element_of, scalar_of_numpy

HOST, CUDA, PINNED, MANAGED = 1, 2, 3, 13  # kinds of devices in DLPack
LEGACY, PER_THREAD = 1, 2  # handles of a device's two default streams; 0 could mean either, so it is not passed on
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # kinds of numbers in NumPy and in DLPack
_KINDS = {code: kind for kind, code in _CODES.items()}
_BFLOAT = 4


# -- streams ----------------------------------------------------------------------------------------------------------


def handle_of(device: Any) -> int:
    """The handle of a GPU's current stream, as protocols have it."""
    return device.stream.cuda_stream or LEGACY


def _check_handle(handle: Any) -> None:
    if isinstance(handle, bool) or not hasattr(handle, "__index__") or handle < 1:
        raise ValueError(
            f"stream: expected a CUDA stream handle, {LEGACY} or {PER_THREAD} for the default streams, got {handle!r}"
        )


def _let_wait(device: Any, handle: Any) -> None:
    """Let a stream of another library, by its handle, wait for what the current one was given."""
    _check_handle(handle)
    if handle == handle_of(device):
        return
    if capture.active() and device.stream.is_capturing:
        raise BufferError(
            f"{device.stream} captures a graph, and other streams cannot wait for a capturing stream: "
            "export the array before or after the capture, or with stream=-1"
        )
    Stream._over(device, handle).wait_stream(device.stream)


def _wait_for(device: Any, handle: Any) -> None:
    """Let the current stream wait for one of another library. What is captured runs later, and does not."""
    _check_handle(handle)
    if handle != handle_of(device) and capture.gpu() is None:
        device.stream.wait_stream(Stream._over(device, handle))


# -- DLPack -----------------------------------------------------------------------------------------------------------


def dlpack_device(a: Any) -> tuple[int, int]:
    """Kind and number of an array's device in DLPack."""
    if a.device.is_cuda:
        return CUDA, a.device.ordinal
    return (PINNED if a.pinned else HOST), 0


def export_dlpack(a: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule for the memory of an array on a GPU, or in pinned memory: what `__dlpack__` says.

    Raises:
        BufferError: the memory cannot be lent like this.
        ValueError: `stream` is no stream.
    """
    here = dlpack_device(a)
    wanted = here if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if wanted[0] == HOST or here[0] == PINNED:
        capture.refuse("__dlpack__ for the CPU")
    if wanted != here:
        if wanted != (HOST, 0):
            raise BufferError(f"the array is on {a.device}, not on DLPack's device {wanted}: use .to()")
        if copy is False and here[0] != PINNED:
            raise BufferError(f"the array is on {a.device}: the CPU can only receive a copy, which copy=False forbids")
    versioned = max_version is not None and max_version[0] >= 1
    if copy or (wanted != here and here[0] != PINNED):
        a, copied = _copy(a, get_device("cpu") if wanted[0] == HOST else a.device), True
    else:
        copied = False
    if a.readonly and not versioned:
        raise BufferError(
            "the array is read-only, which DLPack can express from version 1 on: ask with max_version=(1, 0)"
        )
    transfer.share(a)
    if a.device.is_cpu:
        transfer.settle(a)
    elif stream != -1:
        _let_wait(a.device, LEGACY if stream is None else stream)
    shape, strides, (code, bits) = _described(a)
    return _native.dlpack.export_dlpack(
        a, a._address, shape, strides, code, bits, *wanted, a.readonly, copied, versioned
    )


def _copy(a: Any, device: Any) -> Any:
    with observers.NotRecording():
        made = type(a)._empty(a._require_element(), a.shape, device, pinned=a.pinned and device.is_cpu)
        transfer.copy(made, a)
    return made


def _described(a: Any) -> tuple[list[int], list[int], tuple[int, int]]:
    """Shape and strides of an array's numbers, and the code and bits of each."""
    found = a._require_element()
    if isinstance(found.type, Struct):
        raise BufferError(f"DLPack supports only numbers, but the elements are structs {found.name}")
    size = found.numpy.itemsize
    if any(s % size for s in a.strides):
        raise BufferError(
            f"DLPack counts strides in elements, but the byte strides {a.strides} are not multiples of "
            f"the size of {found.name}"
        )
    scalar = found.type.scalar if isinstance(found.type, Packed) else found.type
    kind = (_BFLOAT, 16) if scalar is BF16 else (_CODES[found.numpy.kind], 8 * size)
    return [*a.shape, *found.inner], [s // size for s in (*a.strides, *found.inner_strides)], kind


def import_dlpack(kind: Any, source: Any, dtype: Any, ordinal: int) -> Any:
    """An array, of the class `kind`, over the memory of a GPU that an object or a capsule of DLPack offers.

    Raises:
        BufferError: the capsule cannot be used.
        TypeError: the memory does not hold elements of the type.
        RuntimeError: there is no such GPU.
    """
    device = get_device(f"cuda:{ordinal}")
    capsule = _ask(source, device) if hasattr(source, "__dlpack__") else source
    owner, pointer, shape, strides, code, bits, lanes, read_only = _native.dlpack.take(capsule)
    number = _number(code, bits, lanes)
    if strides is None:
        strides = layouts.c_strides(shape, 1)
    steps = tuple(s * number.numpy.itemsize for s in strides)
    wanted = number if dtype is None else element_of(dtype)
    return _over(kind, owner, (pointer, read_only), (tuple(shape), steps), number, wanted, device)


def _ask(source: Any, device: Any) -> Any:
    """The capsule of an object, whose memory the current stream will use. For a graph there is nothing to wait for."""
    stream = -1 if capture.gpu() is not None else handle_of(device)
    try:
        return source.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # it is of a version before 1.0
        return source.__dlpack__(stream=stream)


def _number(code: int, bits: int, lanes: int) -> Element:
    if lanes == 1 and (code, bits) == (_BFLOAT, 16):
        return element(BF16)
    kind = _KINDS.get(code)
    scalar = None
    if lanes == 1 and kind is not None and bits in (8, 16, 32, 64):
        name = "?" if kind == "b" else f"{kind}{bits // 8}"
        scalar = scalar_of_numpy(np.dtype(name)) if (kind, bits) != ("f", 8) else None
    if scalar is None:
        shown = f"type code {code} of DLPack, {bits} bits, {lanes} lanes"
        raise TypeError(f"source: arrays do not support numbers of {shown}")
    return element(scalar)


# -- the CUDA array interface -----------------------------------------------------------------------------------------


def offers(data: Any) -> bool:
    """True if `data`, which is not an array of this package, offers CUDA memory."""
    return hasattr(data, "__cuda_array_interface__") and not hasattr(data, "__array_interface__")


def over(kind: Any, data: Any, dtype: Any, device: Any) -> Any:
    """An array over memory of a GPU that `data` offers by either protocol; `device` if it does not say which GPU.

    Raises:
        RuntimeError: no GPU can be used here.
    """
    if not get_cuda_devices():
        what = f"the {type(data).__name__} is in CUDA memory"
        raise RuntimeError(f"data: {what}, but this process cannot use a GPU: {why_no_gpu()}")
    where = tuple(data.__dlpack_device__()) if hasattr(data, "__dlpack_device__") else (CUDA, -1)
    if where[0] in (CUDA, MANAGED) and where[1] >= 0:
        device = get_device(f"cuda:{where[1]}")
    elif not device.is_cuda:
        device = get_device("cuda")
    return import_cuda_array_interface(kind, data, data.__cuda_array_interface__, dtype, device)


def import_cuda_array_interface(kind: Any, owner: Any, interface: dict[str, Any], dtype: Any, device: Any) -> Any:
    """An array over the memory that the CUDA array interface tells of; `owner` is kept alive.

    The current stream waits for the one that the interface names, if it does.

    Raises:
        TypeError: the memory does not hold elements of the type, or has a mask.
        ValueError: it names no stream.
    """
    if interface.get("mask") is not None:
        raise TypeError("data: arrays with a mask are not supported")
    found = np.dtype(interface["typestr"])
    scalar = scalar_of_numpy(found)
    wanted = element_of(dtype) if dtype is not None else None
    if wanted is None and scalar is None:
        raise TypeError(f"no element type for the NumPy type {found}")
    number = element(scalar) if scalar is not None else wanted
    assert number is not None
    if number.numpy != found:
        raise TypeError(f"expected elements of {number.name}, got {found}")
    shape = tuple(interface["shape"])
    strides = tuple(interface.get("strides") or layouts.c_strides(shape, found.itemsize))
    stream = interface.get("stream")
    if stream is not None:
        _wait_for(device, stream)
    return _over(kind, owner, interface["data"], (shape, strides), number, wanted or number, device)


def _over(kind: Any, owner: Any, data: tuple, extents: tuple, number: Element, wanted: Element, device: Any) -> Any:
    """An array over memory; trailing dimensions hold the components of the elements."""
    (pointer, read_only), (shape, strides) = data, extents
    split = len(shape) - len(wanted.inner)
    if split < 0 or number.numpy != wanted.numpy or shape[split:] != wanted.inner:
        raise TypeError(f"expected elements of {wanted.name}, got {number.name} of shape {shape}")
    if strides[split:] != wanted.inner_strides and 0 not in shape:
        raise ValueError("the components of an element must be contiguous")
    made = kind.__new__(kind)
    flags = _native.READONLY if read_only else 0
    outer = layouts.check_shape(shape[:split]) if split else (1,)
    steps = strides[:split] if split else (wanted.type.size,)
    made._init(wanted, pointer or 0, outer, steps, owner, flags, device)
    return made
