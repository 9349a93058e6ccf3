"""Arrays over tensors of a library that differentiates, and back: what PyTorch and Paddle have in common.

Start with `array_of`. `torch.py` and `paddle.py` have the public functions, and describe their library as a `Library`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _native
from ..arrays import dlpack, grad_binding
from ..arrays.array import array
from ..arrays.dlpack import LEGACY
from ..arrays.dtypes import element_of
from ..devices.device import Device
from ..devices.stream import Stream
from ..lang.types import SCALARS, Scalar, Struct
from ..lang.values.scalars import SCALAR_CLASSES


class GradientLink:
    """Lets tensors have the gradient of an array as their own, whenever a program may ask for it.

    An optimizer drops the gradients of tensors to clear them, so the link is made anew for each backward pass.
    """

    def add(self, t: Any) -> bool:
        """Link one more tensor. False if its library adds to its gradient by itself."""
        raise NotImplementedError

    def attach(self) -> None:
        """Give the gradient to the tensors. It is cleared if one has none, and has the numbers of one with another."""
        raise NotImplementedError


def set_link(gradient: Any, link: GradientLink) -> None:
    """Link a gradient to tensors."""
    gradient._link = link
    grad_binding.are_linked = True


class Library(NamedTuple):
    """A library of tensors.

    Attributes:
        name: the name of its class of tensors, as `torch.Tensor`.
        tensor: the class.
        requires_grad: True if a tensor has a gradient.
        leaf_gradient: the gradient of a leaf as a tensor, made if needed; None if the library adds to it by itself.
        attached_gradient: the same, which the tensor also has as its gradient from then on.
        zeros_like: a tensor of zeros like another one.
        link: links a tensor and its gradient, where `leaf_gradient` only makes it.
    """

    name: str
    tensor: type
    requires_grad: Callable[[Any], bool]
    leaf_gradient: Callable[[Any], Any]
    attached_gradient: Callable[[Any], Any]
    zeros_like: Callable[[Any], Any]
    link: Callable[[Any, Any], GradientLink] | None = None


def array_of(
    library: Library, t: Any, dtype: Any, requires_grad: bool | None, grad: Any, return_ctype: bool, retain_grad: bool
) -> Any:
    """An array over a tensor, or its descriptor; `from_torch` has the meaning of the arguments."""
    if not isinstance(t, library.tensor):
        raise TypeError(f"t: expected a {library.name}, got {type(t).__name__}")
    if retain_grad and requires_grad is False:
        raise ValueError("retain_grad: the array has no gradient, as requires_grad is False")
    wanted = grad is None and (library.requires_grad(t) if requires_grad is None else requires_grad)
    if return_ctype:
        return _descriptor(library, t, dtype, wanted, grad)
    made = dlpack.import_dlpack(array, t, dtype, "t")
    if grad is not None:
        made.grad = grad if isinstance(grad, array) else dlpack.import_dlpack(array, grad, made.dtype, "grad")
    elif wanted:
        _share_gradient(library, t, made)
    if retain_grad:
        if made.grad is None:
            raise ValueError("retain_grad: the array has no gradient: pass requires_grad=True")
        made.retain_grad = True
    return made


def _share_gradient(library: Library, t: Any, made: array) -> None:
    known = None if library.link is None else grad_binding.bound_gradient(made)
    if known is not None and known._link is not None and known._link.add(t):
        made._resolve_grad("t")
        made._is_parameter = True
        return
    shared = library.leaf_gradient(t)
    if shared is None:
        made.requires_grad = True
        return
    made.grad = dlpack.import_dlpack(array, shared, made.dtype)
    made._is_parameter = True
    if library.link is not None:
        set_link(made._grad, library.link(t, shared))


def _descriptor(library: Library, t: Any, dtype: Any, wanted: bool, grad: Any) -> Any:
    number = -1 if dtype is None else element_of(dtype).id
    if wanted:
        grad = library.attached_gradient(t)
        if grad is None:
            grad = library.zeros_like(t)
    try:
        if grad is None:
            return _native.exchange.describe_tensor(t, number)
        shown = grad if isinstance(grad, array) else _native.exchange.describe_tensor(grad, number)
        found = _native.exchange.describe_tensor(t, number, shown)
    except (TypeError, ValueError, BufferError) as why:
        raise dlpack.named("t", why) from None
    if (found.shape, found.strides) != (shown.shape, shown.strides):
        raise ValueError(f"grad: expected shape {found.shape} and strides {found.strides}, got those of {shown.shape}")
    return found


def tensor_of(library: Library, a: Any) -> Any:
    """A tensor over an array, without its gradient."""
    if not isinstance(a, array):
        raise TypeError(f"a: expected a wp.array, got {type(a).__name__}; of an indexed array pass a.contiguous()")
    element = a._require_element()
    if isinstance(element.type, Struct):
        raise TypeError(f"a: tensors hold numbers, but the elements are structs {element.name}")
    if a.readonly:
        raise ValueError("a: the array is read-only, but all tensors can be written: pass a copy, wp.clone(a)")
    return _native.exchange.give(library.tensor, a)


# -- dtypes, devices and streams --------------------------------------------------------------------------------------


def scalar_class(argument: str, dtype: Any, name: str, names: dict[str, str]) -> Any:
    """The scalar class for a dtype that its library calls `name`.

    Args:
        argument: what errors call the dtype.
        dtype: the dtype.
        name: its name; "" if the argument is not a dtype.
        names: names that may differ from ours, by the key of the type.

    Raises:
        TypeError: arrays have no such numbers.
    """
    for scalar in SCALARS:
        if names.get(scalar.key, SCALAR_CLASSES[scalar].__name__) == name:
            return SCALAR_CLASSES[scalar]
    raise TypeError(f"{argument}: no scalar type for {dtype!r}")


def scalar_key(warp_dtype: Any) -> str:
    """The key of a scalar type. Raises TypeError for others."""
    found = element_of(warp_dtype)
    if not isinstance(found.type, Scalar):
        raise TypeError(f"warp_dtype: tensors hold scalars, not {found.name}; ask for its scalar type")
    return found.type.key


def not_here(argument: str, device: Any) -> RuntimeError:
    """The error for a device of another library that has no arrays."""
    return RuntimeError(f"{argument}: arrays are on the CPU or on GPUs of NVIDIA, not on {device}")


def with_streams(device: Device) -> Device:
    """The device, if it has streams."""
    if not device.is_cuda:
        raise RuntimeError("stream_or_device: the CPU has no streams; pass a GPU or one of its streams")
    return device


def stream_over(device: Device, handle: int) -> Stream:
    """Our stream over a stream of another library, which goes on to own it."""
    return Stream(device, cuda_stream=handle or LEGACY)  # 0 does not say which default stream
