"""Arrays over the memory of PyTorch's tensors and back, with their gradients; dtypes, devices and streams.

Start with `from_torch`. Operations for tensors are in `torch_kernel.py`.
"""

from __future__ import annotations

import weakref
from functools import cache
from typing import Any

from .. import _native
from ..devices.device import Device, get_device
from ..devices.stream import Stream
from .tensors import (
    GradientLink,
    Library,
    array_of,
    not_here,
    scalar_class,
    scalar_key,
    set_link,
    stream_over,
    tensor_of,
    with_streams,
)

__all__ = [
    "device_from_torch",
    "device_to_torch",
    "dtype_from_torch",
    "dtype_to_torch",
    "from_torch",
    "stream_from_torch",
    "stream_to_torch",
    "to_torch",
]

# Type keys and PyTorch's names. It has few operations for unsigned numbers of more than 8 bits.
_NAMES = {"bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}
_NAMES |= {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_SIGNED = {"u16": "int16", "u32": "int32", "u64": "int64"}


@cache
def _library() -> Library:
    import torch

    return Library(
        "torch.Tensor",
        torch.Tensor,
        lambda t: t.requires_grad,
        _leaf_gradient,
        _attached_gradient,
        torch.zeros_like,
        TorchLink,
    )


def _has_own_gradient(t: Any) -> bool:
    """True for a leaf, to whose gradient torch does not add by itself now."""
    import torch

    return t.is_leaf and torch.is_grad_enabled() and t.dtype.is_floating_point


def _leaf_gradient(t: Any) -> Any:
    import torch

    if not _has_own_gradient(t):
        return None
    if t.grad is not None and t.grad.stride() == t.stride() and t.grad.dtype == t.dtype:
        return t.grad
    made = torch.zeros_like(t, requires_grad=False)
    return made if made.stride() == t.stride() else _strided_zeros(torch, t)


def _strided_zeros(torch: Any, t: Any) -> Any:
    if any(step == 0 and n > 1 for n, step in zip(t.shape, t.stride())):
        return None  # elements share memory
    return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device).zero_()


def _attached_gradient(t: Any) -> Any:
    found = _leaf_gradient(t)
    if found is not None:
        t.grad = found
    return found


def _replaced(t: Any, gradient: Any) -> str:
    """The error for a tensor that no longer has the memory of the array with this gradient."""
    return (
        f"the array shows a tensor of {tuple(t.shape)} and {gradient.dtype}, which has {t.dtype} now: its memory was "
        "replaced, as by module.double() or t.data = ...; make a new array, wp.from_torch(t)"
    )


class TorchLink(GradientLink):
    """A link to leaves of PyTorch. `gradient` is the tensor that they get as their `grad`."""

    def __init__(self, t: Any, gradient: Any):
        self.gradient = gradient
        self._leaves = [weakref.ref(t)]

    def add(self, t: Any) -> bool:
        """As `GradientLink.add`."""
        if not _has_own_gradient(t):
            return False
        if all(r() is not t for r in self._leaves):
            self._leaves = [*(r for r in self._leaves if r() is not None), weakref.ref(t)]
        return True

    def attach(self) -> None:
        """As `GradientLink.attach`."""
        for reference in self._leaves:
            t = reference()
            if t is None or t.grad is self.gradient:
                continue
            if t.dtype != self.gradient.dtype:
                raise RuntimeError(_replaced(t, self.gradient))
            if t.grad is None:
                self.gradient.zero_()
            else:
                self.gradient.copy_(t.grad.detach())
            t.grad = self.gradient


def from_torch(
    t: Any,
    dtype: Any = None,
    requires_grad: bool | None = None,
    grad: Any = None,
    return_ctype: bool = False,
    retain_grad: bool = False,
) -> Any:
    """An array over the memory of a tensor.

    Args:
        t: The tensor. Whatever its strides, nothing is copied.
        dtype: The element type. Trailing dimensions become components; if left out, elements are scalars.
        requires_grad: Whether the array has a gradient; as the tensor if left out. The gradient of a leaf is `t.grad`,
            which is made if needed. Other tensors, and all inside of `torch.no_grad()` or of
            `autograd.Function`, get a buffer of their own, as torch adds to `t.grad` by itself there.
        grad: An array or tensor of the same shape for the gradient, in place of that.
        return_ctype: Return a bare descriptor: launches take it, and nothing else does. It is quicker to make. While
            it is in use, the tensor must not be resized or get other memory (`t.data = ...`, `module.double()`).
        retain_grad: As for `wp.array`.

    Returns:
        The array, which holds the tensor's memory; the descriptor holds the tensor.

    Raises:
        TypeError: `t` is no tensor, or does not hold elements of the dtype.
        ValueError: It cannot be used in place, or the arguments contradict each other.
    """
    return array_of(_library(), t, dtype, requires_grad, grad, return_ctype, retain_grad)


def to_torch(a: Any, requires_grad: bool | None = None) -> Any:
    """A tensor over the memory of an array.

    Args:
        a: The array. Components of its elements become trailing dimensions.
        requires_grad: Whether the tensor requires a gradient; as the array if left out. Tensors of integers never do.

    Returns:
        The tensor. If it requires a gradient, `.grad` shares the memory of that of the array.

    Raises:
        TypeError: `a` is no array, an indexed one, or one of structs.
        BufferError: It has negative strides.
        ValueError: It is read-only, which tensors cannot be.
    """
    library = _library()
    made = tensor_of(library, a)
    wanted = a._grad is not None if requires_grad is None else requires_grad
    if wanted and made.dtype.is_floating_point:
        made.requires_grad_(True)
        if a._grad is not None:
            if a._grad._link is None:
                view = a._grad[...]  # the tensor holds it, which must not hold the tensor
                set_link(a._grad, TorchLink(made, _native.exchange.give(library.tensor, view)))
            else:
                a._grad._link.add(made)
            made.grad = a._grad._link.gradient
            a._is_parameter = True
    return made


# -- dtypes, devices and streams --------------------------------------------------------------------------------------


def dtype_from_torch(torch_dtype: Any) -> Any:
    """The scalar class for a dtype of torch.

    Args:
        torch_dtype: The dtype, such as `torch.float32`.

    Returns:
        The class, such as `wp.float32`.

    Raises:
        TypeError: If arrays have no such numbers, or it is no dtype.
    """
    import torch

    name = str(torch_dtype).partition(".")[2] if isinstance(torch_dtype, torch.dtype) else ""
    return scalar_class("torch_dtype", torch_dtype, name, _NAMES)


def dtype_to_torch(warp_dtype: Any) -> Any:
    """The dtype of torch for a scalar class. For uint16, uint32 and uint64 it is the signed one of that size.

    Args:
        warp_dtype: A scalar class, `int`, `float` or `bool`.

    Returns:
        The dtype, such as `torch.float32`.

    Raises:
        TypeError: `warp_dtype` is a vector, a matrix or a struct, or not a type.
    """
    import torch

    return getattr(torch, (_NAMES | _SIGNED)[scalar_key(warp_dtype)])


def device_from_torch(torch_device: Any) -> Device:
    """Our device for one of torch.

    Args:
        torch_device: The device or its name: "cpu", "cuda" or "cuda:n".

    Returns:
        The device.

    Raises:
        ValueError: torch does not know the device.
        RuntimeError: If arrays cannot be there, as on "meta", or there is no such GPU.
    """
    import torch

    try:
        where = torch.device(torch_device)
    except (RuntimeError, TypeError):
        raise ValueError(f"torch_device: expected a device of torch, got {torch_device!r}") from None
    if where.type == "cpu":
        return get_device("cpu")
    if where.type != "cuda":
        raise not_here("torch_device", where)
    return get_device("cuda" if where.index is None else f"cuda:{where.index}")


def device_to_torch(warp_device: Any = None) -> str:
    """The name that torch has for a device.

    Args:
        warp_device: The device or its name; the current one if left out.

    Returns:
        "cpu" or "cuda:n".

    >>> wp.device_to_torch("cpu")
    'cpu'
    """
    return get_device(warp_device).alias


def stream_from_torch(stream_or_device: Any = None) -> Stream:
    """Our stream over a CUDA stream of torch, which goes on to own it.

    Args:
        stream_or_device: A `torch.cuda.Stream`, or a device for its current stream; torch's current device if left out.

    Returns:
        The stream.

    Raises:
        RuntimeError: On the CPU, which has no streams.
    """
    import torch

    if not isinstance(stream_or_device, torch.cuda.Stream):
        if stream_or_device is not None:
            with_streams(device_from_torch(stream_or_device))
        elif not torch.cuda.is_available():
            raise RuntimeError("stream_or_device: torch has no GPU here, and the CPU has no streams")
        stream_or_device = torch.cuda.current_stream(stream_or_device)
    return stream_over(device_from_torch(stream_or_device.device), stream_or_device.cuda_stream)


def stream_to_torch(stream_or_device: Any = None) -> Any:
    """The CUDA stream of torch over one of ours, which must outlive it.

    Args:
        stream_or_device: The stream, or a device for its current stream; the current device if left out.

    Returns:
        A `torch.cuda.ExternalStream`.

    Raises:
        RuntimeError: On the CPU, which has no streams.
    """
    import torch

    is_stream = isinstance(stream_or_device, Stream)
    stream = stream_or_device if is_stream else with_streams(get_device(stream_or_device)).stream
    return torch.cuda.ExternalStream(stream.cuda_stream, device=device_to_torch(stream.device))


def _end_graphs(function: Any) -> None:
    """Let torch.compile end its graph at a call, as it cannot trace native code; with fullgraph=True it says why."""
    function._torchdynamo_disable = True
    function._torchdynamo_disable_msg = (
        "arrays share memory, which traced tensors do not have: call the kernel through wp.torch_kernel"
    )


_end_graphs(from_torch)
_end_graphs(to_torch)
