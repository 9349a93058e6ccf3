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
`masks` say which of these dimensions an operand has. Start with `Subject` of launch_subject.py and
`primitives`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from .jax_lowering import dtype_of, full_masks, lower_adjoint, lower_hvp, lower_launch, lower_tangent, split
from .jax_versions import abstract_value, allow_in_shard_map, result_aval
from .launch_subject import Shape, Subject


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
        _primitive("launch", lower_launch, lambda subject, **_: subject.made, _launch_jvp, None),
        _primitive("tangent", lower_tangent, lambda subject, **_: subject.moving, _tangent_jvp, _tangent_transpose),
        _primitive("adjoint", lower_adjoint, lambda wanted, **_: wanted, _adjoint_jvp, _adjoint_transpose),
        _primitive("hvp", lower_hvp, lambda wanted, **_: wanted, _hvp_jvp, _hvp_transpose),
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
        return [result_aval(avals, (*batch, *subject.shape(i)), dtype_of(subject, i)) for i in found]

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
        masks=(*masks, *full_masks(batch, len(cotangents))),
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
    zeros = {i: jnp.zeros((*batch, *subject.shape(i)), dtype_of(subject, i)) for i in active if i not in known}
    return primitives().tangent.bind(
        *primals,
        *({**known, **zeros}[i] for i in active),
        subject=subject,
        batch=batch,
        masks=(*masks, *full_masks(batch, len(active))),
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
    x, w, dx, dw = split(operands, (count, results, len(active), results))
    x_masks, w_masks, dx_masks, dw_masks = split(masks, (count, results, len(active), results))
    _check_known(subject, [*x, *w])
    import jax.numpy as jnp

    directions = subject.with_needed(wanted)
    known = dict(zip(wanted, map(_filled, cotangents)))
    zeros = {i: jnp.zeros((*batch, *subject.shape(i)), dtype_of(subject, i)) for i in directions if i not in known}
    nothing = [jnp.zeros((*batch, *subject.shape(i)), dtype_of(subject, i)) for i in subject.moving]
    curved = primitives().hvp.bind(
        *x,
        *w,
        *({**known, **zeros}[i] for i in directions),
        *nothing,
        subject=subject,
        batch=batch,
        masks=(*x_masks, *w_masks, *full_masks(batch, len(directions) + results)),
        active=directions,
        wanted=active,
    )
    along = _along(subject, batch, x_masks, x, cotangents, wanted)
    return [
        *[None] * (count + results),
        *_summed(dx, dx_masks, curved, batch),
        *_summed(dw, dw_masks, along, batch),
    ]
