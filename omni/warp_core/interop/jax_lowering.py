"""Launches of kernels, of their tangent kernels and of their adjoints in a program of XLA.

jax_primitives.py says what the four primitives compute, and what `batch` and `masks` are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..autodiff.vjp.read_time import AFTER, BEFORE
from ..compiler import effects
from ..lang.kernel import Kernel, on_redefinition
from ..launches import plans
from ..tape import launch_vjp
from .jax_calls import LEAVE, NONE, ZERO, Call, Code, lower_call
from .jax_dtypes import jax_dtype
from .jax_versions import result_aval
from .launch_subject import IN_OUT, INPUT, OUTPUT, VALUE, Shape, Subject

_covered: WeakKeyDictionary[Kernel, list[bool]] = WeakKeyDictionary()
on_redefinition.append(_covered.clear)


def _begin(subject: Subject, i: int) -> int:
    """How an output begins: as zeros, unless the launch provably writes each element."""
    if subject.kernel not in _covered:
        _covered[subject.kernel] = [access.covers for access in effects(subject.kernel).params]
    outer = subject.shape(i)[: subject.array_type(i).ndim]
    return LEAVE if _covered[subject.kernel][i] and outer == subject.dims else ZERO


def dtype_of(subject: Subject, i: int) -> Any:
    """The dtype of an array in JAX."""
    return jax_dtype(subject.array_type(i).dtype)


def full_masks(batch: Shape, count: int) -> tuple[int, ...]:
    """The masks of `count` operands that have all batch dimensions."""
    return ((1 << len(batch)) - 1,) * count


# -- calls ------------------------------------------------------------------------------------------------------------


class _Prepared(NamedTuple):
    """A call, and the numbers of its results that the primitive has."""

    code: Code
    call: Call
    wanted: list[int]


def _new_call(subject: Subject, batch: Shape) -> Call:
    return Call(dims=subject.dims, batch=batch, values=dict(subject.values))


def _launch_call(
    subject: Subject, batch: Shape, masks: Sequence[int], wanted: Sequence[int], exact: bool = False
) -> _Prepared:
    """The call that launches. `wanted` are the parameters whose values the primitive returns."""
    call, given, numbers = _new_call(subject, batch), iter(masks), {}
    for i, role in enumerate(subject.roles):
        data: Any = NONE
        if role in (INPUT, IN_OUT):
            data = call.operand(next(given))
        if role in (IN_OUT, OUTPUT):
            begin = data if role == IN_OUT else _begin(subject, i)
            data = numbers[i] = call.result(subject.shape(i), dtype_of(subject, i), begin)
        call.arguments.append((data, NONE))
    code = Code(subject.kernel, exact=exact, block_dim=subject.block_dim)
    return _Prepared(code, call, [numbers[i] for i in wanted])


class _AdjointFacts(NamedTuple):
    reads: tuple[int, ...]
    replays: bool


def _adjoint_facts(subject: Subject) -> _AdjointFacts:
    """What the adjoint reads. Raises CompileError and NotImplementedError if there is no gradient."""
    options = plans.options_for(subject.kernel, block_dim=subject.block_dim)
    found = launch_vjp.facts(subject.kernel, options._replace(debug=False, adjoint="distinct"))
    if found.notes:
        raise NotImplementedError(
            f"{subject.name}: its gradient needs the results of its atomics, which a program of JAX does not keep: "
            "split the kernel, so that the counters are in a kernel without gradient"
        )
    return _AdjointFacts(tuple(found.reads), found.replays)


def _adjoint_call(
    subject: Subject, batch: Shape, masks: Sequence[int], wanted: Sequence[int], facts: _AdjointFacts
) -> _Prepared:
    """The call of the adjoint. Operands are those of the launch, the results of the launch that it reads, and the
    cotangents of results with tangents. `wanted` are the parameters whose gradients the primitive returns.
    """
    call, given, gradients = _new_call(subject, batch), iter(masks), {}
    operands = {i: call.operand(next(given)) for i in subject.taken}
    (full,) = full_masks(batch, 1)
    after = {i: call.operand(full) for i in _read_after(subject, facts)}
    cotangents = {i: call.operand(next(given)) for i in subject.moving}
    for i, role in enumerate(subject.roles):
        shape, data, grad = subject.shapes[i], NONE, NONE
        if role == VALUE or shape is None:
            call.arguments.append((NONE, NONE))
            continue
        if i in cotangents:
            grad = gradients[i] = call.result(shape, dtype_of(subject, i), cotangents[i])
        elif i in wanted:
            grad = gradients[i] = call.result(shape, dtype_of(subject, i), ZERO)
        if role == INPUT:
            data = operands[i]
        elif facts.reads[i] == AFTER:
            data = call.result(shape, dtype_of(subject, i), after[i]) if facts.replays else after[i]
        elif facts.reads[i] == BEFORE or facts.replays or grad == NONE:
            begin = operands.get(i, ZERO)
            data = call.result(shape, dtype_of(subject, i), begin) if facts.replays or begin == ZERO else begin
        else:
            data = operands.get(i, grad)  # only its shape is read
        call.arguments.append((data, grad))
    code = Code(subject.kernel, adjoint=True, exact=bool(after), block_dim=subject.block_dim)
    return _Prepared(code, call, [gradients[i] for i in wanted])


def _read_after(subject: Subject, facts: _AdjointFacts) -> list[int]:
    return [i for i in subject.made if facts.reads[i] == AFTER]


# -- lowering ---------------------------------------------------------------------------------------------------------


def _lower(
    ctx: Any, operands: Sequence[Any], avals: Sequence[Any], prepared: _Prepared, side_effect: bool
) -> list[Any]:
    """The results of a launch in a program of XLA."""
    code, call, wanted = prepared
    plan = code.plan()  # mistakes of the kernel are told here, and not when the program runs
    if plan.arity > 1 and plan.arity != len(call.dims):
        raise ValueError(
            f"kernel `{plan.kernel_name}` takes {plan.arity} thread indices from wp.tid(), but launch_dims has "
            f"{len(call.dims)} dimension{'s' * (len(call.dims) != 1)}: pass launch_dims=... with {plan.arity}"
        )
    found = lower_call(ctx.replace(avals_in=list(avals)), operands, call, code.key, code.kernel.params, side_effect)
    return [found[i] for i in wanted]


def lower_launch(ctx: Any, *operands: Any, subject: Subject, batch: Shape, masks: Sequence[int]) -> list[Any]:
    """The results of a launch."""
    prepared = _launch_call(subject, batch, masks, subject.made)
    return _lower(ctx, operands, ctx.avals_in, prepared, subject.has_side_effect)


def lower_tangent(
    ctx: Any, *operands: Any, subject: Subject, batch: Shape, masks: Sequence[int], active: Sequence[int]
) -> list[Any]:
    """The tangents of the results, by the tangent kernel."""
    moved = subject.tangent(active)
    tangents = [i for i in moved.moving if i >= len(subject.roles)]
    return _lower(ctx, operands, ctx.avals_in, _launch_call(moved, batch, masks, tangents), False)


def lower_adjoint(
    ctx: Any, *operands: Any, subject: Subject, batch: Shape, masks: Sequence[int], wanted: Sequence[int]
) -> list[Any]:
    """The gradients of the `wanted` operands, by the adjoint kernel."""
    return _lower_any_adjoint(ctx, list(operands), list(ctx.avals_in), subject, batch, list(masks), wanted)


def lower_hvp(
    ctx: Any,
    *operands: Any,
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    active: Sequence[int],
    wanted: Sequence[int],
) -> list[Any]:
    """The gradients of the `wanted` operands of the tangent kernel, by its adjoint."""
    count, results = len(subject.taken), len(subject.moving)

    def ordered(values: Sequence[Any]) -> list[Any]:  # as operands of the adjoint of the tangent kernel
        x, w, dx, dw = split(values, (count, results, len(active), results))
        return [*x, *dx, *dw, *w]

    return _lower_any_adjoint(
        ctx, ordered(operands), ordered(ctx.avals_in), subject.tangent(active), batch, ordered(masks), wanted
    )


def _lower_any_adjoint(
    ctx: Any,
    operands: list[Any],
    avals: list[Any],
    subject: Subject,
    batch: Shape,
    masks: list[int],
    wanted: Sequence[int],
) -> list[Any]:
    facts = _adjoint_facts(subject)
    count, after = len(subject.taken), _read_after(subject, facts)
    results: list[Any] = []
    if after:  # the adjoint reads what the launch leaves, so it is launched again, to the same bits
        again = _launch_call(subject, batch, masks[:count], after, exact=True)
        results = _lower(ctx, operands[:count], avals[:count], again, False)
    shown = [result_aval(avals, (*batch, *subject.shape(i)), dtype_of(subject, i)) for i in after]
    prepared = _adjoint_call(subject, batch, masks, wanted, facts)
    return _lower(
        ctx, [*operands[:count], *results, *operands[count:]], [*avals[:count], *shown, *avals[count:]], prepared, False
    )


def split(values: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    """The values in groups of these lengths."""
    ends = np.cumsum(counts)
    return [list(values[end - n : end]) for n, end in zip(counts, ends)]
