"""Arrays over the memory of Paddle's tensors and back, with their gradients; dtypes, devices and streams.

Start with `from_paddle`. A tensor of Paddle has a gradient unless its `stop_gradient` is True, the default.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import _native
from ..devices.device import Device, get_device
from ..devices.stream import Stream
from .tensors import Library, array_of, not_here, scalar_class, scalar_key, stream_over, tensor_of, with_streams

__all__ = [
    "device_from_paddle",
    "device_to_paddle",
    "dtype_from_paddle",
    "dtype_to_paddle",
    "from_paddle",
    "stream_from_paddle",
    "to_paddle",
]

# Type keys and Paddle's names.
_NAMES = {"bool": "bool", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_NAMES |= {f"{kind}{bits}": f"{name}{bits}" for kind, name in (("u", "uint"), ("i", "int")) for bits in (8, 16, 32, 64)}


@cache
def _library() -> Library:
    import paddle

    return Library(
        "paddle.Tensor",
        paddle.Tensor,
        lambda t: not t.stop_gradient,
        _leaf_gradient,
        _leaf_gradient,
        lambda t: paddle.zeros_like(t),
    )


def _leaf_gradient(t: Any) -> Any:
    import paddle

    if not (t.is_leaf and paddle.is_grad_enabled()) or not t.is_floating_point():
        return None
    if t.stop_gradient:
        t.stop_gradient = False
    if t.grad is None:
        t.grad = paddle.zeros_like(t)  # which copies: the gradient has memory of its own
    return t.grad if t.grad.strides == t.strides and t.grad.dtype == t.dtype else None


def from_paddle(
    t: Any,
    dtype: Any = None,
    requires_grad: bool | None = None,
    grad: Any = None,
    return_ctype: bool = False,
    retain_grad: bool = False,
) -> Any:
    """An array over the memory of a tensor of Paddle.

    Args:
        t: The tensor. Whatever its strides, nothing is copied.
        dtype: The element type. Trailing dimensions become components; if left out, elements are scalars.
        requires_grad: Whether the array has a gradient; if left out, unless `t.stop_gradient`. The gradient of a leaf
            is `t.grad`, which is made if needed, and then `t.stop_gradient` is set to False. Other tensors, and all
            inside of `paddle.no_grad()` or of `PyLayer`, get a buffer of their own, as Paddle adds to `t.grad` by
            itself there.
        grad: An array or tensor of the same shape for the gradient, in place of that.
        return_ctype: Return a bare descriptor: launches take it, and nothing else does. It is quicker to make.
        retain_grad: As for `wp.array`.

    Returns:
        The array, which holds the tensor's memory; the descriptor holds the tensor. Paddle's own backward pass gives
        `t.grad` new memory: convert the tensor again after it.

    Raises:
        TypeError: `t` is not a tensor of Paddle, or does not hold elements of the dtype.
        ValueError: It cannot be used in place, or the arguments contradict each other.
    """
    return array_of(_library(), t, dtype, requires_grad, grad, return_ctype, retain_grad)


def to_paddle(a: Any, requires_grad: bool | None = None) -> Any:
    """A tensor of Paddle over the memory of an array.

    Args:
        a: The array. Components of its elements become trailing dimensions.
        requires_grad: Whether the tensor has a gradient, so that `stop_gradient` is False; as the array if left out.
            Tensors of integers never do.

    Returns:
        The tensor. If it has a gradient, `.grad` shares the memory of that of the array.

    Raises:
        TypeError: `a` is no array, an indexed one, or one of structs.
        BufferError: It has negative strides.
        ValueError: It is read-only, which tensors cannot be, or strided and with a gradient.
    """
    library = _library()
    made = tensor_of(library, a)
    wanted = a._grad is not None if requires_grad is None else requires_grad
    if wanted and made.is_floating_point():
        made.stop_gradient = False
        if a._grad is not None:
            if not a._grad.is_contiguous:
                raise ValueError(
                    "a: the array is strided and has a gradient, but Paddle shares gradients of dense tensors only: "
                    "pass a.contiguous(), or requires_grad=False"
                )
            made.grad = library.zeros_like(made)  # setting copies, so that the memory is shared afterwards
            _native.exchange.give(library.tensor, a._grad)._share_buffer_to(made.grad)
            a._is_parameter = True
    return made


# -- dtypes, devices and streams --------------------------------------------------------------------------------------


def dtype_from_paddle(paddle_dtype: Any) -> Any:
    """The scalar class for a dtype of Paddle.

    Args:
        paddle_dtype: The dtype, such as `paddle.float32`.

    Returns:
        The class, such as `wp.float32`.

    Raises:
        TypeError: If arrays have no such numbers, or it is no dtype.
    """
    import paddle

    name = paddle_dtype.name.lower() if isinstance(paddle_dtype, paddle.dtype) else ""
    return scalar_class("paddle_dtype", paddle_dtype, name, _NAMES)


def dtype_to_paddle(warp_dtype: Any) -> Any:
    """The dtype of Paddle for a scalar class.

    Args:
        warp_dtype: A scalar class, `int`, `float` or `bool`.

    Returns:
        The dtype, such as `paddle.float32`.

    Raises:
        TypeError: `warp_dtype` is a vector, a matrix or a struct, or not a type.
    """
    import paddle

    return getattr(paddle, _NAMES[scalar_key(warp_dtype)])


def device_from_paddle(paddle_device: Any) -> Device:
    """Our device for one of Paddle.

    Args:
        paddle_device: A place, such as `paddle.CPUPlace()` or `t.place`, or a name: "cpu", "gpu" or "gpu:n".

    Returns:
        The device.

    Raises:
        ValueError: Paddle has no such device.
        RuntimeError: Arrays cannot be there, as on "xpu", or there is no such GPU.
    """
    kind, _, number = _name_of(paddle_device).partition(":")
    if kind in ("cpu", "gpu_pinned") and not number:
        return get_device("cpu")
    if kind == "gpu" and (not number or number.isdecimal()):
        return get_device(f"cuda:{number}" if number else "cuda")
    if kind in ("xpu", "npu", "ipu", "dcu"):
        raise not_here("paddle_device", paddle_device)
    raise ValueError(f"paddle_device: expected a place of Paddle, 'cpu' or 'gpu:n', got {paddle_device!r}")


def _name_of(device: Any) -> str:
    """The name of a place: that of `Place(gpu:0)` is "gpu:0"."""
    text = device if isinstance(device, str) else str(device)
    return text[6:-1] if text.startswith("Place(") else text


def device_to_paddle(warp_device: Any = None) -> str:
    """The name that Paddle has for a device.

    Args:
        warp_device: The device or its name; the current one if left out.

    Returns:
        "cpu" or "gpu:n".

    >>> wp.device_to_paddle("cpu")
    'cpu'
    """
    return get_device(warp_device).alias.replace("cuda", "gpu")


def stream_from_paddle(stream_or_device: Any = None) -> Stream:
    """Our stream over a CUDA stream of Paddle, which goes on to own it.

    Args:
        stream_or_device: A `paddle.device.Stream`, or a device for its current stream; Paddle's current device if left
            out.

    Returns:
        The stream.

    Raises:
        RuntimeError: On the CPU, which has no streams.
    """
    import paddle

    if not isinstance(stream_or_device, paddle.device.Stream):
        where = paddle.device.get_device() if stream_or_device is None else stream_or_device
        device = with_streams(device_from_paddle(where))
        stream_or_device = paddle.device.current_stream(device_to_paddle(device))
    return stream_over(device_from_paddle(stream_or_device.device), stream_or_device.stream_base.raw_stream)
