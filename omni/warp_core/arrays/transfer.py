"""Moving bytes: fills and copies of arrays, large ones by all threads of the pool.

These functions check what they are given by other modules only; the public `copy` checks the user's arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from .. import _native, config
from ..devices import cuda_memory
from ..devices.device import CPU
from ..devices.stream import ScopedStream
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute
from ..late_bound import late
from . import keepalive, layouts
from .grad_binding import PROGRAM
from .layouts import Span, byte_range, may_share_memory

__all__ = ["copy"]


def assign(target: np.ndarray, numbers: Any) -> None:
    """`target[...] = numbers`, converting between numeric types as C does."""
    same = isinstance(numbers, np.ndarray) and numbers.dtype == target.dtype and numbers.shape == target.shape
    if same and target.flags.c_contiguous and numbers.flags.c_contiguous and not np.may_share_memory(target, numbers):
        _native.copy(target.ctypes.data, numbers.ctypes.data, numbers.nbytes)
        return
    strides = numbers.strides if isinstance(numbers, np.ndarray) else ()
    if target.ndim == 1 and strides not in ((), target.strides) and np.may_share_memory(target, numbers):
        numbers = numbers.copy()  # NumPy would overwrite elements before it reads them
    low, high = layouts.span(target.shape, target.strides, target.itemsize)
    _native.before_write(target.ctypes.data + low, target.ctypes.data + high)
    with np.errstate(over="ignore", invalid="ignore"):
        np.copyto(target, numbers, casting="unsafe")


def from_gpu(source: Any) -> np.ndarray:
    """The elements of an array on a GPU, copied to the host. Waits for the stream, without a report to observers."""
    element, shape, kind = source._require_element(), source.shape, cast(Any, type(source))
    numbers = np.empty(shape + element.inner, element.numpy)
    if not source.is_contiguous:
        buffer = cuda_memory.Allocation(source.device, source.capacity)
        dense = kind.__new__(kind)
        dense._init(
            element, buffer.ptr, shape, layouts.c_strides(shape, element.type.size), buffer, device=source.device
        )
        _strided_on_gpu(dense, source)
        source = dense
    cuda_memory.copy(numbers.ctypes.data, CPU, source._address, source.device, numbers.nbytes)
    return numbers


def put(target: Any, numbers: np.ndarray) -> None:
    """Set the elements of an array, wherever it is, to numbers, converting as `assign`. Nothing is recorded."""
    if target.device.is_cuda:
        host = type(target)._empty(target._require_element(), target.shape, CPU)
        assign(host._numbers(), numbers)
        upload(target, host)
    else:
        assign(target._numbers(), numbers)


def fill(target: Any, pattern: bytes) -> None:
    """Set every element of array `target` to the bytes of `pattern`."""
    if target.device.is_cuda:
        _fill_on_gpu(target, pattern)
        return
    settle(target)
    label = f"fill {target.capacity} bytes"
    if target.is_contiguous:
        capture.call(_native.fill, target._address, target.capacity, pattern, label=label, writes=[target])
    else:
        where = target._address, target.strides, target.shape
        capture.call(_native.fill_strided, *where, pattern, label=label, writes=[target])


def fill_natively(target: Any, pattern: bytes, zero: bool = False) -> bool:
    """Fill an array in one native call, which records it if this is for the tape alone. False if that takes more.

    A method of the array calls this, and the program that method: so native code finds the call site.
    """
    if capture.active():
        return False
    if observers.observed:
        return _native.fill_on_tape(target, pattern, zero)
    return _native.fill_plain(target, pattern)


def _fill_on_gpu(target: Any, pattern: bytes) -> None:
    _native.before_write(*byte_range(target))
    if target.is_contiguous:
        _keep(target)
        cuda_memory.fill(target.device, target._address, target.capacity, pattern)
        return
    dense = type(target)._empty(target._require_element(), target.shape, target.device)
    _fill_on_gpu(dense, pattern)
    _strided_on_gpu(target, dense)


def copy(dest: Any, src: Any, dest_offset: int = 0, src_offset: int = 0, count: int = 0, stream: Any = None) -> None:
    """Copy elements of `src` into `dest`.

    In plain code the gradient is copied too, if both arrays have one. It is not while a tape records, nor in functions
    of a backward pass, where gradients are unfinished sums.

    Args:
        dest: The array to write.
        src: The array to read, of the same dtype or one with the same layout.
        dest_offset: Where to begin writing, in elements.
        src_offset: Where to begin reading, in elements.
        count: How many elements; 0 means all of `src`.
        stream: Where to copy from and to GPUs; by default the current stream. CPU copies are done at once.

    Contiguous arrays are copied in C order whatever their shapes; `src` may be shorter than `dest`. Other arrays must
    have the same shape, or one dimension. Copies between a GPU and pinned memory go on while the program does.

    Raises:
        TypeError: If an argument is no array or the dtypes differ in layout.
        ValueError: If a range does not fit its array, or the shapes differ.

    >>> a = wp.zeros(4)
    >>> wp.copy(a, wp.ones(2), dest_offset=1)
    >>> a.list()
    [0.0, 1.0, 1.0, 0.0]
    """
    if stream is not None:
        with ScopedStream(stream, sync_enter=False):
            copy(dest, src, dest_offset, src_offset, count)
        return
    if not (isinstance(dest, _native.ArrayBase) and isinstance(src, _native.ArrayBase)):
        _copy_selected(dest, src, dest_offset or src_offset or count)
        return
    _copy_arrays(dest, src, dest_offset, src_offset, count)


def _copy_arrays(dest: Any, src: Any, dest_offset: int, src_offset: int, count: int) -> None:
    _check_layouts(dest, src)
    dest._check_writable()
    n = _range(dest, src, dest_offset, src_offset, count)
    run = partial(_copy_elements, dest, src, dest_offset, src_offset, n)
    if n and observers.is_watched():
        assign_array(*_same_shape(dest, src, dest_offset, src_offset, n), run)
    else:
        run()
    if n == dest.size:
        dest._set_by = PROGRAM
    if dest.grad is not None and src.grad is not None and observers.is_idle():
        _copy_elements(dest.grad, src.grad, dest_offset, src_offset, n)
        dest.grad._set_by = dest.grad._set_by or src.grad._set_by


def _copy_selected(dest: Any, src: Any, is_part: bool | int) -> None:
    """Copy where an array is indexed or one of Fabric. `is_part`: not all elements are to be copied."""
    selected = [hasattr(value, "_copied_from") for value in (dest, src)]
    for name, value, is_selected in zip(("dest", "src"), (dest, src), selected):
        if not (is_selected or isinstance(value, _native.ArrayBase)):
            raise TypeError(f"{name}: expected an array, got {type(value).__name__}")
    if is_part:
        raise ValueError(
            "offsets and counts have no meaning for indexed arrays and those of Fabric; copy a part: a[...]"
        )
    if selected[0]:
        dest._copied_from(src)
    else:
        src._copied_to(dest)


def assign_array(dest: Any, src: Any, run: Callable[[], None]) -> None:
    """Run a function that copies the elements of `src` to `dest`, an array of the same shape, as one operation."""
    execute(
        Operation(
            "a copy",
            writes={"dest": Write(dest, overwrites_all=True)},
            reads={"src": src},
            run=run,
            vjp=lambda: lambda: dest._move_gradient(src),
            jvp=[(src, lambda t, out: out.__setitem__(..., t))],
        )
    )


def overwrite(target: Any, run: Callable[[], None]) -> None:
    """Run a function that gives all elements of `target` values without recorded inputs, as one operation."""
    if not observers.observed:
        run()
        return
    execute(
        Operation(
            "a fill or an assignment",
            writes={"the array": Write(target, overwrites_all=True)},
            reads={},
            run=run,
            vjp=lambda: target.grad.zero_,
            jvp=(),
        )
    )


def copy_all(dest: Any, src: Any) -> None:
    """Copy all elements of an array to another of the same type, without a report to observers."""
    _copy_elements(dest, src, 0, 0, _range(dest, src, 0, 0, 0))


def settle(*arrays: Any) -> None:
    """Wait for what GPUs still copy from or to arrays in pinned memory."""
    for a in arrays:
        if isinstance(a.owner, cuda_memory.Pinned):
            a.owner.wait()


def _check_layouts(dest: Any, src: Any) -> None:
    a, b = dest._require_element(), src._require_element()
    if a.type is b.type:
        return
    same_scalar = a.numpy.itemsize == b.numpy.itemsize and (a.numpy.kind in "iu") == (b.numpy.kind in "iu")
    if a.type.size != b.type.size or not same_scalar or a.numpy.names or b.numpy.names:
        raise TypeError(f"src: cannot copy {b.name} elements into {a.name} elements; use .view(dtype) or convert")


def _range(dest: Any, src: Any, dest_offset: int, src_offset: int, count: int) -> int:
    """The number of elements to copy, checked against both arrays."""
    for name, value in (("dest_offset", dest_offset), ("src_offset", src_offset), ("count", count)):
        if value < 0:
            raise ValueError(f"{name}: must not be negative, got {value}")
    n = count or src.size
    for name, a, offset in (("src", src, src_offset), ("dest", dest, dest_offset)):
        if offset + n > a.size:
            raise ValueError(f"{name}: elements {offset} to {offset + n} are beyond its size {a.size}")
    return n


def _copy_elements(dest: Any, src: Any, dest_offset: int, src_offset: int, n: int) -> None:
    size = src._element.type.size
    if n == 0:
        return
    if dest._refs is not None:
        _copy_references(dest, src, dest_offset, src_offset, n)
    if dest.device.is_cuda or src.device.is_cuda:
        _copy_with_gpus(dest, src, dest_offset, src_offset, n)
        return
    settle(dest, src)
    if dest.is_contiguous and src.is_contiguous and not may_share_memory(dest, src):
        to, at = dest._address + dest_offset * size, src._address + src_offset * size
        capture.call(_native.copy, to, at, n * size, label=f"copy {n * size} bytes", writes=[dest], keep=src)
        return
    dest, src = _same_shape(dest, src, dest_offset, src_offset, n)
    if may_share_memory(dest, src):
        src = src._copied()
    places = dest._address, dest.strides, src._address, src.strides, dest.shape, size
    capture.call(_native.copy_strided, *places, label=f"copy {n * size} bytes", writes=[dest], keep=src)


def _same_shape(dest: Any, src: Any, dest_offset: int, src_offset: int, n: int) -> tuple[Any, Any]:
    """Views of what is written and of what is read, of one shape."""
    if dest.shape == src.shape and n == src.size:
        return dest, src
    if not all(a.ndim == 1 or a.is_contiguous for a in (dest, src)):
        raise ValueError(f"src: shape {src.shape} does not match dest {dest.shape}, and one is not contiguous")
    return dest.flatten()[dest_offset : dest_offset + n], src.flatten()[src_offset : src_offset + n]


def _copy_with_gpus(dest: Any, src: Any, dest_offset: int, src_offset: int, n: int) -> None:
    """Copy where at least one array is on a GPU. Gaps are closed and opened on the device that has them."""
    size = src._require_element().type.size
    dest, src = _same_shape(dest, src, dest_offset, src_offset, n)
    _native.before_write(*byte_range(dest))
    if dest.device is src.device and not (dest.is_contiguous and src.is_contiguous):
        _strided_on_gpu(dest, src._copied() if may_share_memory(dest, src) else src)
        return
    _check_pinned(dest, src)
    if not src.is_contiguous or may_share_memory(dest, src):
        src = src._copied()
    to = dest if dest.is_contiguous else type(dest)._empty(dest._require_element(), dest.shape, dest.device)
    _keep(to, src)
    host = next((a.owner for a in (to, src) if isinstance(a.owner, cuda_memory.Pinned)), None)
    cuda_memory.copy(to._address, to.device, src._address, src.device, n * size, host)
    if to is not dest:
        _copy_elements(dest, to, 0, 0, n)


def upload(dest: Any, src: Any) -> None:
    """Copy an array on the CPU that will not last to one of the same type and shape on a GPU."""
    _native.before_write(*byte_range(dest))
    if dest._refs is not None:
        _copy_references(dest, src, 0, 0, src.size)
    to = dest if dest.is_contiguous else type(dest)._empty(dest._require_element(), dest.shape, dest.device)
    _keep(to)
    dense = src.contiguous()
    cuda_memory.upload(to._address, to.device, dense._address, to.capacity)
    if to is not dest:
        _strided_on_gpu(dest, to)


def _keep(*arrays: Any) -> None:
    """Let a graph that is captured on a GPU keep what it copies and fills."""
    captured = capture.gpu()
    if captured is not None:
        captured.keep(*arrays)


def _check_pinned(dest: Any, src: Any) -> None:
    """Refuse copies of pageable memory while a GPU captures: a graph cannot wait for them.

    Nor would anybody close or open gaps on the CPU then.
    """
    if capture.gpu() is None:
        return
    for name, a in (("dest", dest), ("src", src)):
        if a.device.is_cpu and not (a.pinned and a.is_contiguous):
            wrong, mend = ("contiguous", "copy all of it") if a.pinned else ("pinned", "make it with pinned=True")
            raise RuntimeError(
                f"{name}: an array on the CPU that takes part in a graph of a GPU must be {wrong}, as it is copied "
                f"when the graph runs: {mend}"
            )


def _strided_on_gpu(dest: Any, src: Any) -> None:
    """Copy element by element on one GPU, by a kernel."""
    if dest.size:
        late("copy_by_kernel")(dest, src)


def copy_picked(dest: Any, src: Any) -> None:
    """Copy between an indexed array and an array of its shape, both on one GPU, by a kernel."""
    written = dest if isinstance(dest, _native.ArrayBase) else dest.data
    _native.before_write(*byte_range(written))
    _strided_on_gpu(dest, src)


def _copy_references(dest: Any, src: Any, dest_offset: int, src_offset: int, n: int) -> None:
    if dest.shape != src.shape or n != src.size:
        dest = dest.flatten()[dest_offset : dest_offset + n]
        src = src.flatten()[src_offset : src_offset + n]
    refs = keepalive.of(src)
    keepalive.check(dest, refs)
    keepalive.replace(dest, dest._layout(), refs)


# -- bytes where arrays lie --------------------------------------------------------------------------------------------


def any_set(a: Any) -> bool:
    """True if any byte from an array's first to its last element is not 0."""
    capture.refuse("looking at memory", a.device)
    here = a if a.device.is_cpu else a.to("cpu", requires_grad=False)
    low, high = byte_range(here)
    return _native.any_set(low, high - low)


def memory_at(span: Span, device: Any = CPU) -> bytes:
    """The bytes from one address of a device to before another."""
    low, high = span
    if device.is_cuda:
        return cuda_memory.read(device, low, high - low)
    return ctypes.string_at(low, high - low)


def write_host(at: int, data: bytes) -> None:
    """Put bytes at an address of the host that is not shared."""
    ctypes.memmove(at, data, len(data))


# -- spans of memory as they were -------------------------------------------------------------------------------------


# Told of memory that is made for elements: the memory, where it is, and what it is for. None unless someone tracks it.
tracker: Callable[[Any, str, str], None] | None = None
config.watch("track_memory", lambda _: late("track_memory")())
if config.track_memory:
    late("track_memory")()


def track_copy(memory: Any, device: Any) -> None:
    """Tell who tracks memory of a copy that keeps elements, for a tape or a check."""
    if tracker is not None:
        tracker(memory, device.alias, "copy of an array")


def copy_of(span: Span, device: Any) -> Any:
    """A buffer on the same device with the bytes of a span."""
    low, high = span
    made = cuda_memory.Allocation(device, high - low) if device.is_cuda else _native.Buffer(high - low)
    copy_bytes(made.ptr, low, high - low, device, made)
    track_copy(made, device)
    return made


def copy_bytes(to: int, from_: int, nbytes: int, device: Any, keep: Any = None) -> None:
    """Copy bytes within a device; on a GPU in the order of its stream. A graph that is captured keeps `keep`."""
    if device.is_cuda:
        _keep(keep)
        _native.before_write(to, to + nbytes)
        cuda_memory.copy(to, device, from_, device, nbytes)
    elif capture.current() is None:
        _native.copy(to, from_, nbytes)
    else:
        _native.before_write(to, to + nbytes)
        capture.call(_native.copy, to, from_, nbytes, label=f"copy {nbytes} bytes", writes=(), keep=keep)


def same_bytes(a: int, b: int, nbytes: int, device: Any) -> bool:
    """True if two places of a device hold the same bytes. Waits for a GPU."""
    capture.refuse("comparing memory", device)
    return late("compare_by_kernel")(a, b, nbytes, device) if device.is_cuda else _native.same_bytes(a, b, nbytes)


# -- who may write there ----------------------------------------------------------------------------------------------

_OWN = (_native.Buffer, cuda_memory.Allocation, cuda_memory.Pinned)  # memory that this package has made


def share(a: Any) -> None:
    """Mark an array's memory as exported: other libraries may write there at any time, unseen."""
    owner = a.owner
    if type(owner) in _OWN and not owner.shared:
        owner.shared = True
        _native.before_sharing(owner.ptr, owner.ptr + owner.nbytes)


def is_private(a: Any) -> bool:
    """True if only this package writes to the array's memory."""
    return type(a.owner) is _native.TriangleBvh or (type(a.owner) in _OWN and not a.owner.shared)
