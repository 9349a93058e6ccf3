"""`wp.jvp`: directional derivatives in forward mode, of kernels, functions, and programs that launch kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arrays.array import array
from ..autodiff.analysis.leaves import leaf_types
from ..autodiff.jvp.tangent import is_nearby, tangent_function
from ..dispatch import capture
from ..eager import call
from ..front.gradients.library_rules import library_gradient
from ..front.lower import lower_function
from ..ir.interp import array_memory, interp
from ..ir.nodes import Function as IrFunction
from ..lang.errors import CompileError, Diagnostic, NotDifferentiable
from ..lang.generics import is_generic
from ..lang.kernel import Function, Kernel
from ..lang.registry import Builtin
from ..lang.types import Array, Type
from ..lang.values.structs import spell
from ..passes import pipeline
from .launch_jvp import kernel_jvp
from .tangent_storage import arrays_in, pairs
from .trace import JvpTrace

__all__ = ["jvp"]


def jvp(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The derivative of outputs along a direction of inputs: the product of the Jacobian with a vector of tangents.

    It is computed in forward mode, beside the values, at about twice to three times the cost of these and whatever the
    number of outputs; nothing is recorded. There are three forms.

    `jvp(kernel, dim, inputs, outputs=(), tangents=None, device=None, block_dim=256)` launches a kernel, as `wp.launch`
    does. `tangents` is a list beside `inputs` and `outputs`, with None for what does not change, or a dict from
    arguments, their names or indices to tangents. The tangent of an array is an array of the same shape, dtype and
    device; that of a number, vector or struct is a value like it. Tangents given for arrays that the kernel writes are
    updated in place, others begin at zero.

    `jvp(function, primals, tangents)` calls a function of Python with `primals`, arrays or structs of arrays, and
    follows the launches, copies and fills that it makes. Nothing that it computes otherwise, as by NumPy, is followed.

    `jvp(function, primals, tangents)` of a `wp.func` or a builtin takes numbers, vectors and structs.

    Args:
        function: a kernel, a `wp.func`, a builtin such as `wp.sin`, or a Python function that launches kernels.
        *args: as above.
        **kwargs: the same by name.

    Returns:
        Of a kernel, a list with the tangent of each output; without `outputs`, of each array that it writes. Else the
        value and its tangent, both as the function returns them; where it returns None, the primals and theirs.

    Raises:
        CompileError: something has no derivative; it names the line.
        TypeError, ValueError: a tangent does not fit its argument.

    >>> import omni.warp_core as wp
    >>> @wp.kernel
    ... def square(x: wp.array[float], y: wp.array[float]):
    ...     i = wp.tid()
    ...     y[i] = x[i] * x[i]
    >>> x, y = wp.array([1.0, 3.0], dtype=float), wp.zeros(2, dtype=float)
    >>> dx = wp.array([1.0, 0.5], dtype=float)
    >>> (dy,) = wp.jvp(square, dim=2, inputs=[x], outputs=[y], tangents=[dx])
    >>> y.list(), dy.list()
    ([1.0, 9.0], [2.0, 3.0])
    >>> def fourth(x):
    ...     y, z = wp.empty_like(x), wp.empty_like(x)
    ...     wp.launch(square, dim=2, inputs=[x, y])
    ...     wp.launch(square, dim=2, inputs=[y, z])
    ...     return z
    >>> z, dz = wp.jvp(fourth, (x,), (dx,))
    >>> z.list(), dz.list()
    ([1.0, 81.0], [4.0, 54.0])
    >>> wp.jvp(wp.dot, (wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)), (wp.vec2(1.0, 0.0), None))
    (11.0, 3.0)
    """
    capture.refuse("wp.jvp")
    if isinstance(function, Kernel):
        return kernel_jvp(function, *args, **kwargs)
    if isinstance(function, (Function, Builtin)):
        return function_jvp(function, *args, **kwargs)
    if not callable(function):
        raise TypeError(f"wp.jvp takes a kernel or a function, got {type(function).__name__}")
    return program_jvp(function, *args, **kwargs)


# -- programs ---------------------------------------------------------------------------------------------------------


def program_jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], differentiated: bool = False
) -> tuple[Any, Any]:
    """`jvp` of a Python function; see there. `differentiated` is for a tape around it."""
    _check_parallel(primals, tangents)
    forward = JvpTrace(strict=differentiated, gradients=differentiated)
    starts: list[tuple[array, array]] = []
    for i, (value, tangent) in enumerate(zip(primals, tangents)):
        if tangent is not None and not arrays_in(value):
            kind = type(value).__name__
            raise TypeError(f"tangents[{i}]: a {kind} cannot be followed through Python; pass an array, or give None")
        starts += pairs(f"primals[{i}]", value, tangent)
    for a, t in starts:
        forward.shadows.ensure(a)[...] = t
    for a, t in starts:
        if forward.shadows.ensure(a)._numbers().tobytes() != t._numbers().tobytes():
            raise ValueError("primals overlap, and the tangents given for them differ: pass a copy, wp.clone(a)")
    moving = [a for value in primals for a in arrays_in(value)]
    with forward:
        forward.seal("wp.jvp", moving)
        value = function(*primals)
    if value is None:
        value = tuple(primals)
    return value, _tangents_of(value, forward)


def _check_parallel(primals: Any, tangents: Any) -> None:
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"{name}: expected a tuple, got {type(given).__name__}; write (x,) for a single one")
    if len(primals) != len(tangents):
        raise ValueError(f"tangents: expected {len(primals)}, one for each of primals, got {len(tangents)}")


def _tangents_of(value: Any, forward: JvpTrace) -> Any:
    """The tangents of arrays, in the structure that they come in; None for other values."""
    if isinstance(value, array):
        forward.seal("wp.jvp: a result", arrays_in(value))
        return forward.shadows.ensure(value) if arrays_in(value) else None
    if isinstance(value, dict):
        return {key: _tangents_of(x, forward) for key, x in value.items()}
    if isinstance(value, (tuple, list)):
        items = [_tangents_of(x, forward) for x in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return None


# -- functions of the kernel language ---------------------------------------------------------------------------------


def function_jvp(function: Function | Builtin, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`jvp` of a `wp.func` or builtin; see there. It runs in the interpreter."""
    _check_parallel(primals, tangents)
    types = [_type_of(function, i, x) for i, x in enumerate(primals)]
    for t in types:
        if any(isinstance(leaf, Array) for leaf in leaf_types(t)):
            raise TypeError(f"`{function.name}`: arrays are for kernels; use wp.jvp of a kernel that calls it")
    active = tuple(t is not None for t in tangents)
    for i, t in enumerate(types):
        if active[i] and not t.is_differentiable:
            raise TypeError(f"tangents[{i}]: a {spell(t)} has none, only floating point numbers do; give None")
    plain, moving = _lowered(function, types, active)
    args = [call._to_ir(call.BoundArguments(t, x)) for t, x in zip(types, primals)]
    moved = [call._to_ir(call.BoundArguments(t, x)) for t, x in zip(types, tangents) if x is not None]
    found = list(interp.call(moving, [*args, *moved]))
    rest = iter(found[len(plain.results) :])
    if is_nearby(plain, library_gradient):
        found = list(interp.call(plain, args))
    values = [call._from_ir(x, t) for x, t in zip(found, plain.results)]
    changes = [_tangent_value(t, rest) for t in plain.results]
    return call._result(tuple(values)), call._result(tuple(changes))


def _type_of(function: Function | Builtin, index: int, value: Any) -> Type:
    """The type of an argument: that of the value, or for a plain number that of the parameter."""
    given = call._given(value)
    if given.type is not None:
        return given.type
    if isinstance(function, Function) and index < len(function.params):
        t = function.params[index][1]
        if not is_generic(t) and isinstance(t, Type):
            return t
    literal = call._literal_type(value, None)
    if literal is None:
        raise TypeError(f"primals[{index}]: a {type(value).__name__} is no value of the kernel language")
    return literal


def _lowered(function: Function | Builtin, types: Sequence[Type], active: tuple[bool, ...]) -> tuple[IrFunction, ...]:
    """The IR of a call, and that of its tangent."""
    names = [f"a{i}" for i in range(len(types))]
    body = f"    return callee({', '.join(names)})\n"
    caller = call.define(function.name, body, dict(zip(names, types)), {"callee": function}, Function)
    caller.quiet = True
    plain = lower_function(caller)
    try:
        moving = tangent_function(plain, active, library_gradient)
    except NotDifferentiable as why:
        subject = f"the tangent of {getattr(function, 'subject', f'wp.{function.name}')}"
        raise CompileError(subject, [Diagnostic("gradient", why.reason, None)]) from None
    return plain, pipeline.run(moving, call.pass_options())


def _tangent_value(t: Type, rest: Any) -> Any:
    """The tangent of a result, None if it is no floating point number."""
    if not t.is_differentiable:
        return None
    leaves = [next(rest) if leaf.is_differentiable else 0 for leaf in leaf_types(t)]
    return call._from_ir(array_memory.unflatten(leaves, t), t)
