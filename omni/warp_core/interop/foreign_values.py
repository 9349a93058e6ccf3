"""Values of other libraries that launches and conversions refuse, and what to pass in their place.

`check_usable` is about memory: traced values, layouts that hide it, memory that was freed. `check_untracked` is about
tensors that require a gradient, as their library would not see what a plain launch computes. Both run only where
something has gone wrong, or is about to.
"""

from __future__ import annotations

import sys
from typing import Any

from ..arrays.dtypes import scalar_of_numpy

_BY_KERNEL = "call the kernel through wp.torch_kernel"


def check_usable(value: Any) -> None:
    """Raise if it is known why kernels cannot use the memory of a value.

    Raises:
        TypeError: no value of its kind has memory for kernels.
        ValueError: this one has none, or not in one place.
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(value, torch.Tensor):
        _check_tensor(torch, value)
    elif jax is not None and isinstance(value, jax.core.Tracer):
        raise TypeError(
            "it is traced by JAX and has no memory: call the kernel through wp.jax_kernel, or return the value from "
            "the traced function and use the result"
        )
    elif jax is not None and isinstance(value, jax.Array):
        _check_array(value)


def _check_tensor(torch: Any, t: Any) -> None:
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    if fake is not None and isinstance(t, fake.FakeTensor):
        raise ValueError(
            f"it is a fake tensor, as torch.compile and torch.export trace, and has no memory: {_BY_KERNEL}"
        )
    if torch._C._functorch.is_functorch_wrapped_tensor(t):
        raise ValueError(f"it is inside of a transform of torch.func, which hides its memory: {_BY_KERNEL}")
    if t.is_meta:
        raise ValueError(
            f"it is on the device meta, which has no memory: pass a tensor on another device, or {_BY_KERNEL}"
        )
    check_layout(t)
    if t.untyped_storage().nbytes() == 0:
        raise ValueError("it has no memory, as its storage was freed by resize_(0): pass a live tensor")


def check_layout(t: Any) -> None:
    """Raise TypeError for tensors of torch that are not numbers in one piece of dense memory."""
    import torch

    if t.is_nested:
        raise TypeError("it is nested, with rows of several lengths: pass its parts, x.unbind()")
    if t.is_quantized:
        raise TypeError("it is quantized: pass x.dequantize(), or its integers, x.int_repr()")
    if t.layout is not torch.strided:
        raise TypeError(f"it has the layout {t.layout}, but kernels use dense memory: pass x.to_dense()")


def check_numbers(x: Any) -> None:
    """Raise TypeError for random keys of JAX, and ValueError for an array that JAX has deleted."""
    import jax

    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        raise TypeError(f"it holds random keys of JAX, {x.dtype}: pass their numbers, jax.random.key_data(x)")
    if x.is_deleted():
        raise ValueError("it has no memory, as JAX has deleted it or donated it to a function: pass a live array")


def _check_array(x: Any) -> None:
    check_numbers(x)
    count = len(x.addressable_shards)
    if count != 1 or not x.is_fully_addressable:
        raise ValueError(
            f"it is in {count} shards here, each with memory of its own: pass the parts, [s.data for s in "
            "x.addressable_shards]. To launch on all of them, call wp.jax_kernel in jax.shard_map"
        )
    if x.dtype.isbuiltin != 1 and scalar_of_numpy(x.dtype) is None:  # 1: NumPy's own, as all know
        raise TypeError(f"it holds numbers of {x.dtype}, which kernels do not have: convert it, as x.astype('float32')")


def check_untracked(tensor: Any) -> None:
    """Raise TypeError if the tensor's library records operations for a backward pass now."""
    library = type(tensor).__module__.partition(".")[0]
    module = sys.modules.get(library)
    is_recording = getattr(module, "is_grad_enabled", None)
    if is_recording is not None and not is_recording():
        return
    made, off = (
        ("wp.from_paddle(x) with a wp.Tape", "paddle.no_grad()")
        if library == "paddle"
        else ("wp.torch_kernel(kernel), or wp.from_torch(x) with a wp.Tape", "torch.no_grad()")
    )
    raise TypeError(
        f"it requires a gradient, which {library} would not see flow through a plain launch: use {made}; or, if no "
        f"gradient is wanted, pass x.detach() or launch inside of {off}"
    )
