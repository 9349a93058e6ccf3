"""Calls from XLA into native code: how operands and results become the arguments of a launch, and which plan runs.

A compiled program of JAX has two attributes for each call. `key` identifies a kernel by its content, so that a program
that was exported runs in another process, too. `call` is a list of integers in the format that
native/python/interop/jax.cpp reads. Start with `Call`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays.dtypes import element
from ..lang.blake2 import blake2b
from ..lang.kernel import Kernel, on_redefinition
from ..lang.types import Packed
from ..launches import plans
from ..launches.plans import options_for, plan_for
from .jax_versions import ffi

Shape = tuple[int, ...]
NONE = -1  # no buffer
ZERO, LEAVE = -1, -2  # how a result begins: as zeros, or as whatever its memory holds


class Code(NamedTuple):
    """Code that a call runs: a kernel, or its adjoint. `exact`: without fused operations, as adjoints recompute."""

    kernel: Kernel
    adjoint: bool = False
    exact: bool = False
    block_dim: int = 256

    @property
    def key(self) -> int:
        """A number that depends on the content of the kernel alone, the same in every process."""
        return _key(self)

    def plan(self) -> Any:
        """The native plan under the options in force."""
        options = options_for(self.kernel, block_dim=self.block_dim)
        if self.adjoint:
            options = options._replace(debug=False, adjoint="distinct")
        if self.exact:
            options = options._replace(exact=True)
        return plan_for(self.kernel, options)


_codes: dict[int, Code] = {}


@cache
def _key(code: Code) -> int:
    kernel = code.kernel
    types = tuple(t.key for _, t in kernel.params)
    told = (kernel.primal.hash, types, kernel.transform, code.adjoint, code.exact, code.block_dim)
    (key,) = struct.unpack("<q", blake2b(repr(told).encode(), digest_size=8).digest())
    _codes[key] = code
    return key


def _plan_of(key: int) -> Any:
    """The plan for a key; native code keeps it."""
    if key not in _codes:
        raise ValueError(
            f"the program calls a kernel that this process does not know (key {key}): create its wp.jax_kernel in this "
            "process first, from the same source. If the program has derivatives, take them here, too"
        )
    return _codes[key].plan()


@dataclass
class Call:
    """A call, as it is put together: operands and results by their numbers in `sources`, and the arguments.

    Attributes:
        dims: the launch dimensions.
        batch: the extents of batch dimensions; there is a launch for each example.
    """

    dims: Shape = (1,)
    batch: Shape = ()
    operands: list[int] = field(default_factory=list)  # for each, the batch dimensions that it has, as bits
    results: list[tuple[Shape, np.dtype, int]] = field(default_factory=list)  # shape of an example, dtype, beginning
    arguments: list[tuple[Any, Any]] = field(default_factory=list)  # (data, gradient)
    values: dict[int, Any] = field(default_factory=dict)  # those that are no arrays, by the number of the parameter

    def operand(self, mask: int) -> int:
        """Add an operand; return its number."""
        self.operands.append(mask)
        return len(self.operands) - 1

    def result(self, shape: Shape, dtype: Any, begin: int) -> _Result:
        """Add a result. `begin`: ZERO, LEAVE, or the number of the operand that it begins as a copy of."""
        self.results.append((shape, np.dtype(dtype), begin))
        return _Result(len(self.results) - 1)

    @property
    def aliases(self) -> dict[int, int]:
        """Operands whose memory a result may have, as it begins as a copy of one with all batch dimensions."""
        found: dict[int, int] = {}
        for number, (_, _, begin) in enumerate(self.results):
            if begin >= 0 and begin not in found and self.operands[begin] == (1 << len(self.batch)) - 1:
                found[begin] = number
        return found

    def words(self, params: Sequence[tuple[str, Any]]) -> np.ndarray:
        """The integers for native code, with the argument block of parameters of these names and types."""
        count = len(self.operands)
        refs = [count + r if isinstance(r, _Result) else r for pair in self.arguments for r in pair]
        block = _block(params, self.values)
        words = [
            *(len(self.dims), *self.dims, *(1,) * (4 - len(self.dims))),
            *(len(self.batch), *self.batch),
            *(count, len(self.results), *self.operands, *(begin for _, _, begin in self.results)),
            *(len(self.arguments), *refs, len(block)),
        ]
        return np.concatenate([np.array(words, np.int64), block])


class _Result(int):
    """The number of a result, which is not that of an operand."""


def _block(params: Sequence[tuple[str, Any]], values: dict[int, Any]) -> np.ndarray:
    """The argument block of a launch as 64-bit words, with the values that are known and zeros elsewhere."""
    at, align, parts = 0, 8, []
    for number, (_, t) in enumerate(params):
        at = -(-at // t.align) * t.align
        if number in values:
            parts.append((at, values[number]))
        at, align = at + t.size, max(align, t.align)
    size = -(-at // align) * align
    block = bytearray(-(-size // 8) * 8)
    for start, data in parts:
        block[start : start + len(data)] = data
    return np.frombuffer(bytes(block), np.int64)


def packed_value(t: Any, value: Any) -> bytes:
    """The bytes of a number, vector or matrix in an argument block.

    Raises:
        TypeError: it has no such value.
    """
    found = element(t)
    try:
        data = np.asarray(value, dtype=found.numpy)
    except (TypeError, ValueError):
        raise TypeError(f"expected {found.name}, got {value!r}") from None
    if found.type.is_differentiable is False and np.asarray(value).dtype.kind == "f":
        raise TypeError(f"expected {found.name}, got {value!r}")
    if data.size != (int(np.prod(found.inner)) if isinstance(t, Packed) else 1):
        raise TypeError(f"expected {found.name}, got {value!r}")
    return data.tobytes()


# -- Python functions -------------------------------------------------------------------------------------------------

_functions: list[Callable[[list[int]], None]] = []


def function_key(function: Callable[[list[int]], None]) -> int:
    """The key of a Python function, which a call runs with the addresses of its arguments. It holds in this process."""
    _functions.append(function)
    return len(_functions) - 1


def _invoke(key: int, addresses: list[int]) -> None:
    if not 0 <= key < len(_functions):
        raise ValueError("the program calls a Python function of another process: create its wp.jax_callable first")
    _functions[key](addresses)


# -- programs of XLA --------------------------------------------------------------------------------------------------


@cache
def _register_targets() -> None:
    """Tell JAX of the native functions."""
    ffi().register_ffi_target("omni_warp.launch", _native.xla.launch_target, platform="cpu")
    ffi().register_ffi_target("omni_warp.call", _native.xla.call_target, platform="cpu")


def lower_call(
    ctx: Any,
    operands: Sequence[Any],
    call: Call,
    key: int,
    params: Sequence[tuple[str, Any]] | None,
    has_side_effect: bool,
) -> Sequence[Any]:
    """Add a call to a program of XLA; return its results.

    Args:
        ctx: the context of JAX, with the abstract values of the operands.
        operands: values of the program.
        call: the call.
        key: the key of a kernel, or of a Python function.
        params: of the kernel; None for a function.
        has_side_effect: whether the call stays if its results are not used.
    """
    import jax

    _register_targets()
    wanted = len(call.results)
    if wanted == 1 and jax.__version_info__ < (0, 7, 2):
        # XLA there aborts if a call is the last operation of a program that also moves data between devices, unless
        # the call returns a tuple.
        call.result((0,), np.uint8, LEAVE)
    made = [jax.core.ShapedArray((*call.batch, *shape), dtype) for shape, dtype, _ in call.results]
    rule = ffi().ffi_lowering(
        "omni_warp.call" if params is None else "omni_warp.launch",
        operand_output_aliases=call.aliases or None,
        has_side_effect=has_side_effect,
    )
    found = rule(ctx.replace(avals_out=made), *operands, key=np.int64(key), call=call.words(params or ()))
    return found[:wanted]


_native.xla.set_resolver(_plan_of)
_native.xla.set_invoker(_invoke)
plans.on_options.append(_native.xla.forget_plans)
on_redefinition.append(_native.xla.forget_plans)
