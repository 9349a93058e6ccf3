"""Memory that libraries share by DLPack: `export_dlpack`, `import_dlpack`. Native code knows its structs
(native/python/interop/exchange.cpp). `cuda_interface.py` has the other protocol for memory of GPUs.

Whoever takes memory says which stream it will use; whoever has it lets that stream wait for what is still being done.
Pinned memory goes by DLPack too, and has been waited for when it is handed out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from ..devices.device import CPU, get_device
from ..devices.stream import Stream, follows_null_stream
from ..dispatch import capture, observers
from ..lang.types import SCALARS, parse_type
from ..late_bound import late
from . import layouts, transfer
from .dtypes import Element, element, element_of

HOST, CUDA, PINNED, MANAGED = 1, 2, 3, 13  # kinds of devices in DLPack
LEGACY, PER_THREAD = 1, 2  # handles of a device's two default streams; 0 could mean either, so it is not passed on
_NEWEST = 3  # minor of the version 1 of DLPack that native code has
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}  # kinds of numbers here and in DLPack
_SCALARS = {(_CODES[s.kind], 8 * s.size): s for s in SCALARS}


# -- streams ----------------------------------------------------------------------------------------------------------


def handle_of(device: Any) -> int:
    """The handle of a GPU's current stream, as protocols have it."""
    return device.stream.cuda_stream or LEGACY


def _stream_over(device: Any, handle: Any) -> Stream:
    """The stream of another library by its handle. Raises ValueError if it is no handle, or that stream is gone."""
    if isinstance(handle, bool) or not hasattr(handle, "__index__") or not 1 <= handle < 2**64:
        raise ValueError(
            f"stream: expected a CUDA stream handle, {LEGACY} or {PER_THREAD} for the default streams, got {handle!r}"
        )
    follows_null_stream("stream", device, handle.__index__())
    return Stream._over(device, handle.__index__())


def _let_wait(device: Any, handle: Any) -> None:
    """Let a stream of another library, by its handle, wait for what the current one was given."""
    other = _stream_over(device, handle)
    if handle == handle_of(device):
        return
    if capture.active() and device.stream.is_capturing:
        raise BufferError(
            f"{device.stream} captures a graph, and other streams cannot wait for a capturing stream: "
            "export the array before or after the capture, or with stream=-1"
        )
    other.wait_stream(device.stream)


def wait_for(device: Any, handle: Any) -> None:
    """Let the current stream wait for one of another library. What is captured runs later, and does not."""
    other = _stream_over(device, handle)
    if handle != handle_of(device) and capture.gpu() is None:
        device.stream.wait_stream(other)


# -- DLPack -----------------------------------------------------------------------------------------------------------


def dlpack_device(a: Any) -> tuple[int, int]:
    """Kind and number of an array's device in DLPack."""
    if a.device.is_cuda:
        return CUDA, a.device.ordinal
    return (PINNED if a.pinned else HOST), 0


def export_dlpack(a: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule for the memory of an array: the result of `__dlpack__`.

    Raises:
        BufferError: the memory cannot be lent like this.
        ValueError: `stream` is no stream.
    """
    here = dlpack_device(a)
    wanted = here if dl_device is None else (int(dl_device[0]), int(dl_device[1] or 0))
    if wanted[0] == HOST or here[0] == PINNED:
        capture.refuse("__dlpack__ for the CPU")
    if wanted != here:
        if wanted != (HOST, 0):
            raise BufferError(f"the array is on {a.device}, not on DLPack's device {wanted}: use .to()")
        if copy is False and here[0] != PINNED:
            raise BufferError(f"the array is on {a.device}: the CPU can only receive a copy, which copy=False forbids")
    minor = _minor(max_version)
    copied = bool(copy or (wanted != here and here[0] != PINNED))
    if copied:
        a = _copy(a, get_device("cpu") if wanted[0] == HOST else a.device)
    if a.readonly and minor < 0:
        raise BufferError(
            "the array is read-only, which DLPack can express from version 1 on: ask with max_version=(1, 0)"
        )
    made = _native.exchange.export_dlpack(a, *wanted, copied, minor)
    transfer.share(a)
    if a.device.is_cpu:
        transfer.settle(a)
        if stream not in (None, -1):
            raise BufferError(f"stream: an array on the CPU has no streams, got {stream!r}: pass None")
    elif stream != -1:
        _let_wait(a.device, LEGACY if stream is None else stream)
    return made


def _minor(max_version: Any) -> int:
    """The minor of version 1 that another library knows; -1 for one from before version 1."""
    if max_version is None or max_version[0] < 1:
        return -1
    return int(max_version[1]) if max_version[0] == 1 else _NEWEST


def _copy(a: Any, device: Any) -> Any:
    with observers.NotRecording():
        made = type(a)._empty(a._require_element(), a.shape, device, pinned=a.pinned and device.is_cpu)
        transfer.copy(made, a)
    return made


def import_dlpack(kind: Any, source: Any, dtype: Any = None, name: str = "source") -> Any:
    """An array, of the class `kind`, over the memory that an object or a capsule of DLPack offers.

    `name` is that of the argument in errors; empty if the caller adds it.

    Raises:
        BufferError: the capsule cannot be used.
        TypeError: the memory does not hold elements of the type.
        ValueError: it cannot be used in place.
        RuntimeError: there is no such GPU.
    """
    wanted = -1 if dtype is None else element_of(dtype).id
    found = source
    by_table = _native.exchange.has_table(source)
    made = kind.__new__(kind)
    try:
        if not by_table and hasattr(source, "__dlpack__"):
            found = _ask(source)
        elif by_table and hasattr(source, "detach"):
            found = source.detach()  # keeps the memory, where `t.data = u` or `module.double()` gives a tensor another
        number, where, ordinal = _native.exchange.take(made, found, wanted)
    except (TypeError, ValueError, BufferError) as why:
        raise named(name, why) from None
    if where != HOST:
        _device(where, ordinal)
    made._element = _elements.get(number) or _element_of_id(number)
    made._grad = made._refs = made._view = None
    if by_table and where not in (HOST, PINNED) and capture.gpu() is None:
        wait_for(made.device, _native.exchange.stream_of(source, where, ordinal) or LEGACY)
    return made


def named(name: str, why: Exception) -> Exception:
    """An error with the name of the argument before its words."""
    kind = next(k for k in (TypeError, ValueError, BufferError) if isinstance(why, k))
    return kind(f"{name}: {why}" if name else str(why))


def _device(kind: int, ordinal: int) -> Any:
    if kind in (HOST, PINNED):
        return CPU
    if kind in (CUDA, MANAGED):
        return get_device(f"cuda:{ordinal}")
    raise RuntimeError(f"source: is on a device of kind {kind} of DLPack; arrays are on the CPU or on GPUs of NVIDIA")


def _ask(source: Any) -> Any:
    """The capsule of an object, whose memory the current stream will use. For a graph there is nothing to wait for."""
    if type(source).__module__.startswith("jax"):  # whose own errors name no way out
        late("check_usable")(source)
    kind, ordinal = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (HOST, 0)
    device = _device(int(kind), int(ordinal or 0))
    stream = None if device.is_cpu else -1 if capture.gpu() is not None else handle_of(device)
    try:
        return source.__dlpack__(stream=stream, max_version=(1, _NEWEST))
    except TypeError:  # it is of a version before 1.0
        return source.__dlpack__(stream=stream) if stream is not None else source.__dlpack__()


_elements: dict[int, Element] = {}  # by the native number of the type


def _element_of_id(number: int) -> Element:
    found = _elements[number] = element(parse_type(_native.type_key(number)))
    return found


def shown(kind: Any, descriptor: Any, device: Any) -> Any:
    """An array of the class `kind` over the memory of a bare descriptor, with the gradient of that."""
    element = _elements.get(descriptor.dtype_id) or _element_of_id(descriptor.dtype_id)
    made, gradient = (kind.__new__(kind) for _ in range(2))
    layout = descriptor.shape, descriptor.strides, descriptor
    made._init(element, descriptor._address, *layout, device=device)
    if descriptor.grad_ptr:
        gradient._init(element, descriptor.grad_ptr, *layout, device=device)
        made._attach(gradient, None)
    return made


def has_data(source: Any) -> bool:
    """True if `source` is an object of another library that offers memory by DLPack."""
    return not isinstance(source, (_native.ArrayBase, np.ndarray)) and (
        _native.exchange.has_table(source) or hasattr(source, "__dlpack__")
    )


# -- for native code --------------------------------------------------------------------------------------------------


def _exported(a: Any) -> None:
    capture.refuse("sharing the memory of an array", a.device)
    transfer.share(a)
    transfer.settle(a)


def install(kind: Any) -> None:
    """Let native code give and take arrays of the class `kind`, which gets DLPack's table of functions."""

    def adopt(capsule: Any) -> Any:
        return import_dlpack(kind, capsule)

    def allocate(shape: tuple, code: int, bits: int, lanes: int, where: int, ordinal: int) -> Any:
        scalar = _SCALARS.get((code, bits)) if lanes == 1 else None
        if scalar is None:
            raise TypeError(f"arrays do not support numbers of type code {code} of DLPack with {bits} bits")
        return kind._empty(element(scalar), layouts.check_shape(shape or (1,)), _device(where, ordinal))

    def stream(ordinal: int) -> int:
        return handle_of(get_device(f"cuda:{ordinal}"))

    def check_untracked(tensor: Any) -> None:
        late("check_untracked")(tensor)

    def check_usable(tensor: Any) -> None:
        late("check_usable")(tensor)

    _native.exchange.set_hooks(_exported, adopt, allocate, stream, check_untracked, check_usable)
    kind.__dlpack_c_exchange_api__ = _native.exchange.table()
