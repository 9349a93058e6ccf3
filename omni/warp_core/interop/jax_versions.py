"""Differences between versions of JAX: where functions are, and how abstract values are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def ffi() -> Any:
    """The module of JAX for calls of native functions."""
    import jax

    if hasattr(jax, "ffi"):
        return jax.ffi
    from jax.extend import ffi as found  # before JAX 0.5

    return found


def allow_in_shard_map(primitive: Any) -> None:
    """Let the check of `shard_map` take a primitive whose results vary as its operands do."""
    import jax

    if jax.__version_info__ < (0, 6):  # later versions read it off the abstract values of the results
        from jax.experimental import shard_map

        shard_map.register_standard_check(primitive)
        shard_map.register_standard_rewrite(primitive)


def abstract_value(value: Any) -> Any:
    """The abstract value of an array or a tracer."""
    import jax

    return jax.typeof(value) if hasattr(jax, "typeof") else jax.core.get_aval(value)


def varying_axes(aval: Any) -> frozenset[str]:
    """The axes of a mesh that values vary over inside of `shard_map`."""
    manual = getattr(aval, "manual_axis_type", None)  # from JAX 0.10 on
    return frozenset(getattr(manual, "varying", None) or getattr(aval, "vma", None) or ())


def result_aval(operands: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """The abstract value of a result, which varies over the axes that an operand varies over."""
    import jax

    axes = frozenset().union(*map(varying_axes, operands))
    if not axes:
        return jax.core.ShapedArray(shape, dtype)
    like = next(aval for aval in operands if varying_axes(aval) == axes)
    if not hasattr(like.sharding, "mesh"):
        return like.update(shape=shape, dtype=dtype, weak_type=False)
    spec = jax.sharding.PartitionSpec(*(None,) * len(shape))
    sharding = jax.sharding.NamedSharding(like.sharding.mesh, spec)
    return like.update(shape=shape, dtype=dtype, weak_type=False, sharding=sharding)


def aligned(operands: Sequence[Any]) -> Sequence[Any]:
    """The operands, made to vary over the same axes: gradients of those that did not are summed over these."""
    import jax

    axes = [varying_axes(abstract_value(x)) for x in operands]
    union = frozenset().union(*axes)
    if all(a == union for a in axes):
        return operands

    def varying(x: Any, more: tuple[str, ...]) -> Any:
        return jax.lax.pcast(x, more, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary(x, more)

    return [x if a == union else varying(x, tuple(union - a)) for x, a in zip(operands, axes)]
