"""Python functions that launch kernels, as functions of JAX: `wp.jax_callable`.

XLA runs the function with arrays over its own memory. There are no derivatives: JAX sees the arrays, and not what the
function does.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays.array import array
from ..lang.values.value_classes import python_type
from . import call_signature, jax_memory
from .call_signature import Parameter, Signature
from .jax_calls import NONE, ZERO, Call, function_key, lower_call
from .jax_dtypes import jax_dtype
from .jax_kernel import (
    Argument,
    CallOptions,
    JaxModulePreloadMode,
    check_method,
    hashable,
    merged_options,
    mode_of,
    read_argument,
)
from .jax_primitives import batched
from .jax_versions import aligned, allow_in_shard_map, result_aval

__all__ = ["JaxCallableGraphMode", "clear_jax_callable_graph_cache", "jax_callable"]


class JaxCallableGraphMode(enum.IntEnum):
    """Which graph of a GPU the launches of a `jax_callable` go into: none, that of JAX, or one of this package."""

    NONE = 0
    JAX = 1
    WARP = 2
    WARP_STAGED = 3
    WARP_STAGED_EX = 4


def jax_callable(
    func: Callable[..., None],
    num_outputs: int = 1,
    graph_mode: Any = JaxCallableGraphMode.JAX,
    vmap_method: str | None = "broadcast_all",
    output_dims: Any = None,
    in_out_argnames: str | Sequence[str] | None = None,
    stage_in_argnames: Any = None,
    stage_out_argnames: Any = None,
    graph_cache_max: int | None = 32,
    module_preload_mode: Any = JaxModulePreloadMode.CURRENT_DEVICE,
    has_side_effect: bool = False,
    graph_compatible: bool | None = None,
) -> Callable[..., list[Any]]:
    """Make a function of JAX of a Python function that launches kernels.

    Args:
        func: A function or bound method with annotations like those of a kernel: inputs, then outputs. It writes the
            outputs, which begin as zeros; inputs are read-only. XLA frees the memory of its arrays after the call, and
            then they cannot be used. Keep copies, and no views, NumPy arrays or recorded launches of them. A process
            keeps all functions that were called: make a `jax_callable` once.
        num_outputs: How many arrays a call returns: in-outs and outputs.
        graph_mode: A `JaxCallableGraphMode`, its name or its number. On the CPU all mean the same: each call runs the
            function, as there are graphs of GPUs only.
        vmap_method: As for `jax_kernel`.
        output_dims: The shape of all outputs, or a dictionary; by default that of the first array, without components.
        in_out_argnames: Arrays that the function reads and writes.
        stage_in_argnames: Names of inputs. Staged graphs of GPUs copy them; on the CPU they are only checked.
        stage_out_argnames: Names of in-outs and outputs; the same.
        graph_cache_max: How many graphs of a GPU to keep, None for any number; on the CPU it is only checked.
        module_preload_mode: As for `jax_kernel`.
        has_side_effect: Whether XLA must keep a call whose results are not used.
        graph_compatible: The older way to say graph_mode: True is JAX, False is NONE.

    Returns:
        A function of the inputs, in which numbers are known when JAX traces the call. It returns a list.

    Raises:
        TypeError, ValueError: An annotation is missing, or numbers, names or modes do not fit.
    """
    signature = call_signature.of_function(func, num_outputs, in_out_argnames)
    check_method(signature, vmap_method)
    mode_of(signature, JaxModulePreloadMode, "module_preload_mode", module_preload_mode)
    _check_names(signature, "stage_in_argnames", stage_in_argnames, signature.inputs)
    _check_names(signature, "stage_out_argnames", stage_out_argnames, signature.results)
    check_cache_max(graph_cache_max)
    asked = graph_mode if graph_compatible is None else bool(graph_compatible)
    mode_of(signature, JaxCallableGraphMode, "graph_mode", asked)
    return JaxCallable(func, signature, CallOptions(None, output_dims, vmap_method), bool(has_side_effect))


def _check_names(signature: Signature, what: str, given: Any, allowed: Sequence[Parameter]) -> None:
    names = [p.name for p in allowed if p.is_array]
    for name in (given,) if isinstance(given, str) else given or ():
        if name not in names:
            raise ValueError(f"{signature.name}: {what}: expected names of {names}, got {name!r}")


def check_cache_max(count: Any) -> None:
    """Raise ValueError unless it is a number of graphs, or None for any number."""
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise ValueError(f"graph_cache_max: expected a number from 0 on, or None for any number, got {count!r}")


def clear_jax_callable_graph_cache(callable: Any = None) -> None:
    """Forget the graphs of a `jax_callable`, or of all. Launches on CPUs make no graphs, so that nothing is left to do.

    Raises:
        TypeError: `callable` is not the result of `jax_callable`.

    >>> wp.clear_jax_callable_graph_cache()
    """
    if callable is not None and not isinstance(callable, JaxCallable):
        raise TypeError(f"callable: expected the result of wp.jax_callable, got {type(callable).__name__}")


class _Subject(NamedTuple):
    """A call without its operands; of each argument and output, the role and the shape with components."""

    name: str
    key: int  # of the function
    inputs: tuple[tuple[bool, bool], ...]  # (is an operand, is an in-out)
    results: tuple[tuple[tuple[int, ...], Any], ...]  # (shape, dtype) of in-outs and outputs
    vmap: bool
    has_side_effect: bool


class JaxCallable:
    """A Python function as a function of JAX; see `jax_callable`."""

    def __init__(self, func: Callable, signature: Signature, defaults: CallOptions, has_side_effect: bool):
        self.func, self.signature, self.defaults, self.has_side_effect = func, signature, defaults, has_side_effect
        self.__name__, self.__doc__ = func.__name__, func.__doc__
        self._subjects: dict[Any, _Subject] = {}

    def __repr__(self) -> str:
        return f"<jax_callable of {self.func.__name__}>"

    def __getstate__(self) -> dict[str, Any]:
        """What pickle keeps: all but the calls that this process has seen."""
        return {**self.__dict__, "_subjects": {}}

    def __call__(self, *args: Any, output_dims: Any = None, vmap_method: Any = ...) -> list[Any]:
        """Call the function in a program of JAX."""
        options = merged_options(self.defaults, None, output_dims, vmap_method)
        self.signature.check_count(args)
        args = tuple(x if p.is_array else _known(x) for p, x in zip(self.signature.inputs, args))
        given = [read_argument(self.signature, p, x) for p, x in zip(self.signature.inputs, args)]
        for p, g in zip(self.signature.inputs, given):
            if g.is_late:
                raise TypeError(
                    f"{self.signature.name}: argument `{p.name}` is a traced number, but the function needs its value "
                    "when it is traced: make it static (jax.jit(..., static_argnames=...)), or pass an array"
                )
        key = tuple(g.key for g in given), hashable(options)
        if key not in self._subjects:
            self._subjects[key] = self._subject(given, args, options)
        subject = self._subjects[key]
        operands = aligned([g.operand for g in given if g.value is None])
        return _primitive().bind(*operands, subject=subject, batch=(), masks=(0,) * len(operands))

    def _subject(self, given: Sequence[Argument], args: Sequence[Any], options: CallOptions) -> _Subject:
        signature = self.signature
        check_method(signature, options.vmap_method)
        outer = [
            signature.outer_shape(p, g.shape) if p.is_array and g.shape is not None else None
            for p, g in zip(signature.inputs, given)
        ]
        dims = next((shape for shape in outer if shape is not None), None)
        if dims is None and options.output_dims is None:
            raise ValueError(
                f"{signature.name}: no input is an array to take the shape of outputs from: pass output_dims="
            )
        shapes = signature.output_shapes(options.output_dims, dims or ())
        slots: list[Any] = []  # of each parameter, how an address becomes an argument, or the argument itself
        for p, shape, x in zip(signature.inputs, outer, args):
            flags = 0 if p.is_in_out else _native.READONLY
            slots.append(_value(p, x) if shape is None else _ArrayAt(p, shape, flags))
        slots += [_ArrayAt(p, signature.outer_shape(p, shape), 0) for p, shape in zip(signature.outputs, shapes)]
        in_outs = [g.shape or () for p, g in zip(signature.inputs, given) if p.is_in_out]
        results = [(s, jax_dtype(p.element.type)) for p, s in zip(signature.results, [*in_outs, *shapes])]
        inputs = tuple((g.value is None, p.is_in_out) for p, g in zip(signature.inputs, given))
        key = function_key(partial(_run, self.func, slots))
        return _Subject(
            signature.name,
            key,
            inputs,
            tuple(results),
            options.vmap_method is not None,
            self.has_side_effect,  # type: ignore[arg-type]
        )


class _ArrayAt(NamedTuple):
    """An array over the memory at an address that XLA gives."""

    parameter: Parameter
    shape: tuple[int, ...]
    flags: int

    def at(self, address: int) -> array:
        made = array.__new__(array)
        made._init(self.parameter.element, address, self.shape, None, None, self.flags)
        return made


def _known(x: Any) -> Any:
    """A number, vector or matrix; that of an array of JAX if it has one now."""
    import jax

    return np.asarray(x) if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer) else x


def _value(p: Parameter, x: Any) -> Any:
    kind = python_type(p.type)
    return x if isinstance(x, (bool, int, float)) else kind(*np.ravel(x).tolist())


def _run(func: Callable[..., None], slots: Sequence[Any], addresses: Sequence[int]) -> None:
    """Call a function on arrays over memory of XLA."""
    args = [slot.at(at) if type(slot) is _ArrayAt else slot for slot, at in zip(slots, addresses)]
    try:
        func(*args)
    finally:
        jax_memory.end(args)


@cache
def _primitive() -> Any:
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    made = Primitive("omni_warp_call")
    made.multiple_results = True

    @made.def_abstract_eval
    def abstract(*avals: Any, subject: _Subject, batch: tuple[int, ...], **_: Any) -> list[Any]:
        return [result_aval(avals, (*batch, *shape), dtype) for shape, dtype in subject.results]

    @cache
    def compiled(params: tuple[tuple[str, Any], ...]) -> Callable:
        return jax.jit(partial(made.bind, **dict(params)))

    made.def_impl(lambda *args, **params: compiled(tuple(params.items()))(*args))
    mlir.register_lowering(made, _lower, platform="cpu")
    ad.primitive_jvps[made] = _refuse_derivative
    batching.primitive_batchers[made] = partial(batched, made)
    allow_in_shard_map(made)
    return made


def _lower(ctx: Any, *operands: Any, subject: _Subject, batch: tuple[int, ...], masks: Sequence[int]) -> Sequence[Any]:
    call, given, results = Call(batch=batch), iter(masks), iter(subject.results)
    for is_operand, is_in_out in subject.inputs:
        data: Any = call.operand(next(given)) if is_operand else NONE
        if is_in_out:
            data = call.result(*next(results), data)
        call.arguments.append((data, NONE))
    for shape, dtype in results:
        call.arguments.append((call.result(shape, dtype, ZERO), NONE))
    return lower_call(ctx, operands, call, subject.key, None, subject.has_side_effect)


def _refuse_derivative(primals: Any, tangents: Any, *, subject: _Subject, **_: Any) -> Any:
    raise TypeError(
        f"{subject.name} is differentiated. JAX does not see what a jax_callable does: give it a rule with "
        "jax.custom_vjp or launch kernels by wp.jax_kernel, or pass its arguments through jax.lax.stop_gradient"
    )
