"""Arrays, element types and devices of JAX: `wp.from_jax`, `wp.to_jax` and the conversions beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from ..arrays.array import array
from ..arrays.dlpack import named
from ..arrays.dtypes import Element, element, element_of, scalar_of_numpy
from ..arrays.factories import from_dlpack
from ..devices.device import Device, get_device
from ..lang.types import BF16, Scalar
from ..lang.values.structs import spell
from ..lang.values.value_classes import python_type
from ..logger import warn
from .foreign_values import check_usable
from .jax_dtypes import jax_dtype

__all__ = ["device_from_jax", "device_to_jax", "dtype_from_jax", "dtype_to_jax", "from_jax", "to_jax"]


def from_jax(jax_array: Any, dtype: Any = None) -> array:
    """Show an array of JAX as an array of this package, over the same memory.

    The result is read-only, as arrays of JAX never change: kernels that write it refuse. `wp.clone` copies it.

    Args:
        jax_array: The array. The call waits until JAX has computed it.
        dtype: The element type: a scalar like that of the array, or a vector or matrix type, whose components are the
            last dimensions. By default the scalar.

    Raises:
        TypeError: `jax_array` is not an array of JAX, or is traced, or has another type of numbers than the elements.
        ValueError: It is in several shards, or JAX has deleted it.

    >>> import jax.numpy as jnp                                                       # doctest: +SKIP
    >>> wp.from_jax(jnp.ones((4, 3)), dtype=wp.vec3).shape                            # doctest: +SKIP
    (4,)
    """
    import jax

    if not isinstance(jax_array, jax.Array):
        raise TypeError(f"from_jax: expected an array of JAX, got {type(jax_array).__name__}")
    try:
        check_usable(jax_array)
    except (TypeError, ValueError) as why:
        raise named("from_jax", why) from None
    jax_array.block_until_ready()
    if device_from_jax(next(iter(jax_array.devices()))).is_cuda:
        return from_dlpack(jax_array, dtype)
    return _over(np.asarray(jax_array), None if dtype is None else element_of(dtype))


def _over(memory: np.ndarray, wanted: Element | None) -> array:
    """An array over the memory of a NumPy array, read-only."""
    number = element(_scalar(memory.dtype))
    found = number if wanted is None else wanted
    split = memory.ndim - len(found.inner)
    if found.numpy != number.numpy or element_scalar(found) != element_scalar(number) or split < 0:
        raise TypeError(f"from_jax: an array of {number.name} cannot show elements of {found.name}")
    if memory.shape[split:] != found.inner:
        raise TypeError(
            f"from_jax: elements of {found.name} need the shape (..., {str(found.inner)[1:]}, got {memory.shape}"
        )
    if split > 4:
        raise ValueError(f"from_jax: arrays have at most 4 dimensions, got {split}")
    dense = np.ascontiguousarray(memory) if memory.size and not memory.flags.c_contiguous else memory
    made = array.__new__(array)
    made._init(found, dense.ctypes.data, dense.shape[:split] or (1,), None, dense, _native.READONLY)
    return made


def element_scalar(found: Element) -> Any:
    """The type of the numbers of an element."""
    return getattr(found.type, "scalar", found.type)


def to_jax(warp_array: Any) -> Any:
    """Show an array of this package as an array of JAX, over the same memory where JAX can.

    JAX shares dense memory that begins at a multiple of 64 bytes, as that of new arrays here does, and copies the rest.
    Programs of JAX take it for constant: do not write to the array while JAX uses it. Components become the last
    dimensions. Without `jax_enable_x64`, numbers of 64 bits become those of 32 bits, with a warning.

    Raises:
        TypeError: `warp_array` is not an array of this package, or its elements are structs.
    """
    import jax
    import jax.numpy as jnp

    if not isinstance(warp_array, array):
        raise TypeError(f"to_jax: expected an array of this package, got {type(warp_array).__name__}")
    scalar = element_scalar(warp_array._require_element())
    if not isinstance(scalar, Scalar):
        raise TypeError(f"to_jax: JAX has arrays of numbers only, and the elements are {spell(scalar)}")
    dense = warp_array if warp_array.is_contiguous else warp_array.contiguous()
    if scalar.size == 8 and not jax.config.jax_enable_x64:
        narrow = np.dtype(f"{jax_dtype(scalar).kind}4")
        warn(
            f"to_jax: JAX has no {jax_dtype(scalar)} unless jax_enable_x64 is set, so the numbers are copied as "
            f'{narrow}: set jax.config.update("jax_enable_x64", True) at the start',
            stacklevel=2,
        )
        return jnp.asarray(dense.numpy().astype(narrow))
    if scalar is BF16:
        return jnp.asarray(dense.numpy().view(jax_dtype(scalar)))
    if dense.readonly and dense.device.is_cpu:  # JAX never writes, but the DLPack that it asks for cannot say so
        return jnp.asarray(dense.numpy())
    return jax.dlpack.from_dlpack(dense)


# -- devices ----------------------------------------------------------------------------------------------------------


def device_from_jax(jax_device: Any) -> Device:
    """The device of this package for a device of JAX.

    Raises:
        RuntimeError: It belongs to another process, or is neither a CPU nor a GPU.
    """
    import jax

    if not hasattr(jax_device, "platform"):
        raise TypeError(f"device_from_jax: expected a device of JAX, got {type(jax_device).__name__}")
    if jax_device.process_index != jax.process_index():
        raise RuntimeError(
            f"device_from_jax: {jax_device} belongs to process {jax_device.process_index}, not to this one"
        )
    if jax_device.platform == "cpu":
        return get_device("cpu")
    if jax_device.platform in ("gpu", "cuda"):
        return get_device(f"cuda:{jax_device.local_hardware_id}")
    raise RuntimeError(f"device_from_jax: kernels run on CPUs and NVIDIA GPUs, not on {jax_device.platform!r}")


def device_to_jax(warp_device: Device | str | None = None) -> Any:
    """The device of JAX for a device of this package; for the CPU, the first one that JAX has.

    Raises:
        RuntimeError: JAX does not have it.
    """
    import jax

    device = get_device(warp_device)
    if device.is_cpu:
        return jax.local_devices(backend="cpu")[0]
    found = [d for d in jax.local_devices(backend="cuda") if d.local_hardware_id == device.ordinal]
    if not found:
        raise RuntimeError(f"device_to_jax: JAX does not have {device}; it has {jax.local_devices()}")
    return found[0]


# -- element types ----------------------------------------------------------------------------------------------------


def dtype_from_jax(jax_type: Any) -> Any:
    """The scalar type for a dtype of JAX, such as `jnp.float32`.

    Raises:
        TypeError: This package has no such numbers, such as complex ones.
    """
    return python_type(_scalar(np.dtype(jax_type)))


def dtype_to_jax(warp_dtype: Any) -> Any:
    """The scalar type of JAX for one of this package, such as `wp.float32`, `float` or `wp.bool`.

    Raises:
        TypeError: It is no scalar type: arrays of vectors have the scalar type with more dimensions.
    """
    import jax.numpy as jnp

    found = element_of(warp_dtype)
    if not isinstance(found.type, Scalar):
        raise TypeError(
            f"dtype_to_jax: {found.name} is not a scalar type: its arrays have {found.inner} more dimensions"
        )
    name = jax_dtype(found.type).name
    return getattr(jnp, "bool_" if name == "bool" else name)


def _scalar(dtype: np.dtype) -> Scalar:
    found = scalar_of_numpy(dtype)
    if found is None:
        raise TypeError(f"kernels have no numbers of JAX's type {dtype}")
    return found
