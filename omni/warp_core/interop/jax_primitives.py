"""Launches as primitives of JAX, with rules for derivatives and for `vmap`.

Let y = f(x) be a launch. Four primitives are closed under two derivatives.

- `launch` maps x to f(x).
- `tangent` maps x and x' to J(x) x'. It is linear in x'.
- `adjoint` maps x and w to J(x)^T w. It is linear in w.
- `hvp` maps x, w, x' and w' to J(x)^T w' + H(x, w) x', where H is the Hessian of w . f(x). It is linear in x' and w'.

`tangent` runs the tangent kernel, `adjoint` the adjoint kernel, and `hvp` the adjoint of the tangent kernel. The
derivative of `launch` is `tangent`, whose transpose is `adjoint`, whose derivative is `hvp`. The derivative of
`tangent` is the `tangent` of the tangent kernel, and H is symmetric, so `hvp` is its own transpose in x'.

All take operands with leading batch dimensions, and launch once for each example. `batch` has the extents; the bits of
`masks` say which of these dimensions an operand has. Start with `Subject` and `primitives`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..autodiff.vjp.read_time import AFTER, BEFORE
from ..compiler import effects
from ..forward_mode.launch_jvp import facts as tangent_facts
from ..lang.kernel import Kernel, on_redefinition
from ..lang.kernel_transforms import Tangent
from ..lang.types import Array
from ..launches import plans
from ..tape import launch_vjp
from .jax_calls import LEAVE, NONE, ZERO, Call, Code, lower_call
from .jax_dtypes import jax_dtype
from .jax_versions import abstract_value, allow_in_shard_map, result_aval

Shape = tuple[int, ...]
Mask = tuple[bool, ...]
INPUT, IN_OUT, OUTPUT, VALUE = "input", "in-out", "output", "value"


class Subject(NamedTuple):
    """A launch without its operands, of a kernel or of its tangent kernel.

    Attributes:
        kernel: the kernel.
        roles: for each parameter INPUT, IN_OUT, OUTPUT or VALUE, a value that is known.
        shapes: of each array of one example, its shape with components; None for values.
        values: (number of the parameter, bytes) of each value.
        dims: the launch dimensions.
        block_dim: threads of a block.
        has_side_effect: whether XLA must keep the call if its results are not used.
        vmap: whether `vmap` may take it.
        backward: whether it may be differentiated.
        order: how many tangents were taken.
    """

    kernel: Kernel
    roles: tuple[str, ...]
    shapes: tuple[Shape | None, ...]
    values: tuple[tuple[int, bytes], ...]
    dims: Shape
    block_dim: int = 256
    has_side_effect: bool = False
    vmap: bool = True
    backward: bool = True
    order: int = 0

    @property
    def name(self) -> str:
        """The name in errors."""
        return f"kernel `{self.kernel.name}`"

    @property
    def taken(self) -> list[int]:
        """The numbers of the parameters that are operands."""
        return [i for i, role in enumerate(self.roles) if role in (INPUT, IN_OUT)]

    @property
    def made(self) -> list[int]:
        """The numbers of the parameters that are results."""
        return [i for i, role in enumerate(self.roles) if role in (IN_OUT, OUTPUT)]

    @property
    def moving(self) -> list[int]:
        """The results that have tangents."""
        return [i for i in self.made if self.is_active(i)]

    def is_active(self, i: int) -> bool:
        """True if a parameter is an array of floating point numbers."""
        return self.roles[i] != VALUE and self._array(i).dtype.is_differentiable

    def dtype(self, i: int) -> Any:
        """The dtype of an array in JAX."""
        return jax_dtype(self._array(i).dtype)

    def shape(self, i: int) -> Shape:
        """The shape of an array in JAX."""
        found = self.shapes[i]
        assert found is not None
        return found

    def _array(self, i: int) -> Array:
        t = self.kernel.params[i][1]
        assert isinstance(t, Array)
        return t

    def tangent(self, active: Sequence[int]) -> Subject:
        """The launch of the tangent kernel. `active` are the operands with tangents."""
        moving = [i for i in range(len(self.roles)) if i in active or i in self.moving]
        kernel = self.kernel.derive(Tangent(tuple(i in moving for i in range(len(self.roles)))))
        return self._replace(
            kernel=kernel,
            roles=(*self.roles, *(self.roles[i] for i in moving)),
            shapes=(*self.shapes, *(self.shapes[i] for i in moving)),
            order=self.order + 1,
        )

    def with_needed(self, given: Sequence[int]) -> tuple[int, ...]:
        """The operands that have tangents, and those whose tangents the tangent kernel needs in any case."""
        needed = tangent_facts(self.kernel).needed
        return tuple(i for i in self.taken if i in given or (needed[i] and self.is_active(i)))

    def check_differentiable(self) -> None:
        """Raise TypeError if gradients are switched off."""
        if not self.backward:
            raise TypeError(
                f"{self.name} is differentiated, but has no gradient, as its jax_kernel or its kernel was made "
                "with enable_backward=False: leave that out, or pass the arguments through jax.lax.stop_gradient"
            )


_covered: WeakKeyDictionary[Kernel, list[bool]] = WeakKeyDictionary()
on_redefinition.append(_covered.clear)


def _begin(subject: Subject, i: int) -> int:
    """How an output begins: as zeros, unless the launch provably writes each element."""
    if subject.kernel not in _covered:
        _covered[subject.kernel] = [access.covers for access in effects(subject.kernel).params]
    outer = subject.shape(i)[: subject._array(i).ndim]
    return LEAVE if _covered[subject.kernel][i] and outer == subject.dims else ZERO


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
            data = numbers[i] = call.result(subject.shape(i), subject.dtype(i), begin)
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
    (full,) = _full(batch, 1)
    after = {i: call.operand(full) for i in _read_after(subject, facts)}
    cotangents = {i: call.operand(next(given)) for i in subject.moving}
    for i, role in enumerate(subject.roles):
        shape, data, grad = subject.shapes[i], NONE, NONE
        if role == VALUE or shape is None:
            call.arguments.append((NONE, NONE))
            continue
        if i in cotangents:
            grad = gradients[i] = call.result(shape, subject.dtype(i), cotangents[i])
        elif i in wanted:
            grad = gradients[i] = call.result(shape, subject.dtype(i), ZERO)
        if role == INPUT:
            data = operands[i]
        elif facts.reads[i] == AFTER:
            data = call.result(shape, subject.dtype(i), after[i]) if facts.replays else after[i]
        elif facts.reads[i] == BEFORE or facts.replays or grad == NONE:
            begin = operands.get(i, ZERO)
            data = call.result(shape, subject.dtype(i), begin) if facts.replays or begin == ZERO else begin
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


def _lower_launch(ctx: Any, *operands: Any, subject: Subject, batch: Shape, masks: Sequence[int]) -> list[Any]:
    prepared = _launch_call(subject, batch, masks, subject.made)
    return _lower(ctx, operands, ctx.avals_in, prepared, subject.has_side_effect)


def _lower_tangent(
    ctx: Any, *operands: Any, subject: Subject, batch: Shape, masks: Sequence[int], active: Sequence[int]
) -> list[Any]:
    moved = subject.tangent(active)
    tangents = [i for i in moved.moving if i >= len(subject.roles)]
    return _lower(ctx, operands, ctx.avals_in, _launch_call(moved, batch, masks, tangents), False)


def _lower_adjoint(
    ctx: Any, *operands: Any, subject: Subject, batch: Shape, masks: Sequence[int], wanted: Sequence[int]
) -> list[Any]:
    return _lower_any_adjoint(ctx, list(operands), list(ctx.avals_in), subject, batch, list(masks), wanted)


def _lower_hvp(
    ctx: Any,
    *operands: Any,
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    active: Sequence[int],
    wanted: Sequence[int],
) -> list[Any]:
    count, results = len(subject.taken), len(subject.moving)

    def ordered(values: Sequence[Any]) -> list[Any]:  # as operands of the adjoint of the tangent kernel
        x, w, dx, dw = _split(values, (count, results, len(active), results))
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
    shown = [result_aval(avals, (*batch, *subject.shape(i)), subject.dtype(i)) for i in after]
    prepared = _adjoint_call(subject, batch, masks, wanted, facts)
    return _lower(
        ctx, [*operands[:count], *results, *operands[count:]], [*avals[:count], *shown, *avals[count:]], prepared, False
    )


def _split(values: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    ends = np.cumsum(counts)
    return [list(values[end - n : end]) for n, end in zip(counts, ends)]


# -- the primitives ---------------------------------------------------------------------------------------------------


class Primitives(NamedTuple):
    """The four primitives; the docstring of the module says what they compute."""

    launch: Any
    tangent: Any
    adjoint: Any
    hvp: Any


@cache
def primitives() -> Primitives:
    """The primitives, made on the first call."""
    return Primitives(
        _primitive("launch", _lower_launch, lambda subject, **_: subject.made, _launch_jvp, None),
        _primitive("tangent", _lower_tangent, lambda subject, **_: subject.moving, _tangent_jvp, _tangent_transpose),
        _primitive("adjoint", _lower_adjoint, lambda wanted, **_: wanted, _adjoint_jvp, _adjoint_transpose),
        _primitive("hvp", _lower_hvp, lambda wanted, **_: wanted, _hvp_jvp, _hvp_transpose),
    )


def _primitive(
    name: str, lower: Callable, results: Callable[..., Sequence[int]], jvp: Callable, transpose: Callable | None
) -> Any:
    """A primitive. `results` has the parameters whose shapes and types its results have."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    made = Primitive(f"omni_warp_{name}")
    made.multiple_results = True

    @made.def_abstract_eval
    def abstract(*avals: Any, subject: Subject, batch: Shape, **others: Any) -> list[Any]:
        found = results(subject=subject, **others)
        return [result_aval(avals, (*batch, *subject.shape(i)), subject.dtype(i)) for i in found]

    @cache
    def compiled(params: tuple[tuple[str, Any], ...]) -> Callable:
        return jax.jit(partial(made.bind, **dict(params)))

    made.def_impl(lambda *args, **params: compiled(tuple(params.items()))(*args))
    mlir.register_lowering(made, lower, platform="cpu")
    ad.primitive_jvps[made] = jvp
    if transpose is not None:
        ad.primitive_transposes[made] = transpose
    batching.primitive_batchers[made] = partial(batched, made)
    allow_in_shard_map(made)
    return made


def batched(
    primitive: Any,
    args: Sequence[Any],
    dims: Sequence[Any],
    *,
    subject: Any,
    batch: Shape,
    masks: Sequence[int],
    **o: Any,
) -> tuple[Sequence[Any], Sequence[int]]:
    """The rule for `vmap`: one more batch dimension, the first."""
    import jax.numpy as jnp

    if not subject.vmap:
        raise NotImplementedError(
            f"{subject.name} was made with vmap_method=None, so jax.vmap cannot take it: pass vmap_method="
            '"broadcast_all" when you make it, or to the call'
        )
    size = next(x.shape[d] for x, d in zip(args, dims) if d is not None)
    moved = [x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(args, dims)]
    bits = tuple(m << 1 | (d is not None) for m, d in zip(masks, dims))
    found = primitive.bind(*moved, subject=subject, batch=(size, *batch), masks=bits, **o)
    return found, [0] * len(found)


def _full(batch: Shape, count: int) -> tuple[int, ...]:
    return ((1 << len(batch)) - 1,) * count


def _check_order(subject: Subject) -> None:
    if subject.order > 1:
        raise _third_order(subject)


def _third_order(subject: Subject) -> NotImplementedError:
    return NotImplementedError(
        f"{subject.name}: third derivatives of kernels are not supported: compute at most two, or write "
        "the function in JAX"
    )


def _is_zero(tangent: Any) -> bool:
    from jax.interpreters import ad

    return isinstance(tangent, ad.Zero)


def _filled(tangent: Any) -> Any:
    """A tangent or cotangent, zeros if it is known to be zero."""
    from jax.interpreters import ad

    return ad.instantiate_zeros(tangent)


def _no_tangents(values: Sequence[Any]) -> list[Any]:
    from jax.interpreters import ad

    return [ad.Zero(abstract_value(v).to_tangent_aval()) for v in values]


def _launch_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, subject: Subject, batch: Shape, masks: Sequence[int]
) -> tuple[Sequence[Any], Sequence[Any]]:
    outs = primitives().launch.bind(*primals, subject=subject, batch=batch, masks=masks)
    found = _no_tangents(outs)
    given = [i for i, t in zip(subject.taken, tangents) if not _is_zero(t) and subject.is_active(i)]
    if not given or not subject.moving:
        return outs, found
    subject.check_differentiable()
    moved = _tangent_of(subject, batch, masks, primals, dict(zip(subject.taken, tangents)), given)
    for i, t in zip(subject.moving, moved):
        found[subject.made.index(i)] = t
    return outs, found


def _tangent_of(
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    primals: Sequence[Any],
    tangents: dict[int, Any],
    given: Sequence[int],
) -> list[Any]:
    """The tangents of the results, by `tangent`."""
    active = subject.with_needed(given)
    bits = dict(zip(subject.taken, masks))
    return primitives().tangent.bind(
        *primals,
        *(_filled(tangents[i]) for i in active),
        subject=subject,
        batch=batch,
        masks=(*masks, *(bits[i] for i in active)),
        active=active,
    )


def _tangent_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    active: tuple[int, ...],
) -> tuple[Sequence[Any], Sequence[Any]]:
    bind = partial(primitives().tangent.bind, batch=batch)
    outs = bind(*primals, subject=subject, masks=masks, active=active)
    count = len(subject.taken)
    if all(map(_is_zero, tangents[:count])):  # linear in the rest
        moved = [_filled(t) for t in tangents[count:]]
        return outs, bind(*primals[:count], *moved, subject=subject, masks=masks, active=active)
    whole = subject.tangent(active)
    _check_order(whole)
    given = [i for i, t in zip(whole.taken, tangents) if not _is_zero(t)]
    found = _tangent_of(whole, batch, masks, primals, dict(zip(whole.taken, tangents)), given)
    return outs, found[len(subject.moving) :]


def _tangent_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    active: tuple[int, ...],
) -> list[Any]:
    """By `adjoint`: J^T w for each x' that is unknown."""
    count = len(subject.taken)
    _check_known(subject, operands[:count])
    gradients = _adjoint_of(subject, batch, masks[:count], operands[:count], cotangents, active)
    return [None] * count + _summed(operands[count:], masks[count:], gradients, batch)


def _adjoint_of(
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    primals: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Sequence[int],
) -> list[Any]:
    return primitives().adjoint.bind(
        *primals,
        *map(_filled, cotangents),
        subject=subject,
        batch=batch,
        masks=(*masks, *_full(batch, len(cotangents))),
        wanted=tuple(wanted),
    )


def _summed(operands: Sequence[Any], masks: Sequence[int], gradients: Sequence[Any], batch: Shape) -> list[Any]:
    """Gradients of operands that are unknown, summed over the batch dimensions that an operand does not have."""
    from jax.interpreters import ad

    found: list[Any] = []
    for operand, mask, gradient in zip(operands, masks, gradients):
        axes = tuple(d for d in range(len(batch)) if not mask >> d & 1)
        found.append(gradient.sum(axes) if ad.is_undefined_primal(operand) else None)
    return found


def _check_known(subject: Subject, operands: Sequence[Any]) -> None:
    from jax.interpreters import ad

    if any(map(ad.is_undefined_primal, operands)):
        raise NotImplementedError(f"{subject.name} is not linear in these operands, so it has no transpose")


def _adjoint_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    wanted: tuple[int, ...],
) -> tuple[Sequence[Any], Sequence[Any]]:
    bind, count = primitives().adjoint.bind, len(subject.taken)
    params = {"subject": subject, "batch": batch, "wanted": wanted}
    outs = bind(*primals, masks=masks, **params)
    given = [i for i, t in zip(subject.taken, tangents) if not _is_zero(t) and subject.is_active(i)]
    filled = [_filled(t) for t in tangents[count:]]
    if not given:  # linear in the cotangents
        return outs, bind(*primals[:count], *filled, masks=masks, **params)
    _check_order(subject._replace(order=subject.order + 1))
    active = subject.with_needed(given)
    known, bits = dict(zip(subject.taken, tangents)), dict(zip(subject.taken, masks))
    found = primitives().hvp.bind(
        *primals,
        *(_filled(known[i]) for i in active),
        *filled,
        masks=(*masks, *(bits[i] for i in active), *masks[count:]),
        active=active,
        **params,
    )
    return outs, found


def _adjoint_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    wanted: tuple[int, ...],
) -> list[Any]:
    """By `tangent`: J c for each w that is unknown."""
    count = len(subject.taken)
    _check_known(subject, operands[:count])
    found = _along(subject, batch, masks[:count], operands[:count], cotangents, wanted)
    return [None] * count + _summed(operands[count:], masks[count:], found, batch)


def _along(
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    primals: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Sequence[int],
) -> list[Any]:
    """J c, where c are cotangents of gradients: directions in x."""
    import jax.numpy as jnp

    active = subject.with_needed(wanted)
    known = dict(zip(wanted, map(_filled, cotangents)))
    zeros = {i: jnp.zeros((*batch, *subject.shape(i)), subject.dtype(i)) for i in active if i not in known}
    return primitives().tangent.bind(
        *primals,
        *({**known, **zeros}[i] for i in active),
        subject=subject,
        batch=batch,
        masks=(*masks, *_full(batch, len(active))),
        active=active,
    )


def _hvp_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, subject: Subject, **params: Any) -> Any:
    count = len(subject.taken) + len(subject.moving)
    if all(map(_is_zero, tangents[:count])):  # linear in the rest
        bind = partial(primitives().hvp.bind, subject=subject, **params)
        return bind(*primals), bind(*primals[:count], *map(_filled, tangents[count:]))
    raise _third_order(subject)


def _hvp_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    subject: Subject,
    batch: Shape,
    masks: Sequence[int],
    active: tuple[int, ...],
    wanted: tuple[int, ...],
) -> list[Any]:
    """H c for each x' that is unknown, J c for each w'."""
    count, results = len(subject.taken), len(subject.moving)
    x, w, dx, dw = _split(operands, (count, results, len(active), results))
    x_masks, w_masks, dx_masks, dw_masks = _split(masks, (count, results, len(active), results))
    _check_known(subject, [*x, *w])
    import jax.numpy as jnp

    directions = subject.with_needed(wanted)
    known = dict(zip(wanted, map(_filled, cotangents)))
    zeros = {i: jnp.zeros((*batch, *subject.shape(i)), subject.dtype(i)) for i in directions if i not in known}
    nothing = [jnp.zeros((*batch, *subject.shape(i)), subject.dtype(i)) for i in subject.moving]
    curved = primitives().hvp.bind(
        *x,
        *w,
        *({**known, **zeros}[i] for i in directions),
        *nothing,
        subject=subject,
        batch=batch,
        masks=(*x_masks, *w_masks, *_full(batch, len(directions) + results)),
        active=directions,
        wanted=active,
    )
    along = _along(subject, batch, x_masks, x, cotangents, wanted)
    return [
        *[None] * (count + results),
        *_summed(dx, dx_masks, curved, batch),
        *_summed(dw, dw_masks, along, batch),
    ]
