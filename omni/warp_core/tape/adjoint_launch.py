"""Launches of an adjoint without a tape: `wp.launch(..., adjoint=True)`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from .. import _native
from ..arrays import dlpack, layouts
from ..arrays.array import array
from ..autodiff.vjp.read_time import AFTER
from ..devices.device import Device
from ..dispatch import call_site, capture
from ..lang.array_structs.array_struct_types import indexed_array
from ..lang.kernel import Kernel
from ..launches import plans
from ..launches.kernel_facts import effects
from . import mutation_check, partial_gradients, structures
from .detached import DependenceTracker
from .launch_vjp import (
    UntrackedLaunch,
    adjoint_options,
    arrays_in,
    as_array,
    at_path,
    facts,
    follow,
    has_derivative,
)


def launch_adjoint(
    kernel: Kernel, dim: Any, args: Sequence[Any], gradients: Sequence[Any], device: Device, block_dim: int
) -> None:
    """Run the adjoint of a launch on arrays as they are now.

    Args:
        kernel: the kernel.
        dim: as for the launch.
        args: as for the launch.
        gradients: for each argument an array of gradients, or a struct of them; None and numbers leave the
            argument's own. Those of arrays that the kernel only overwrites stay as they are, unless they are the
            arrays' own.
        device: where.
        block_dim: as for the launch.

    Raises:
        CompileError: the kernel cannot be differentiated.
        TypeError, ValueError: a gradient does not fit its array; or the kernel overwrites what its gradient needs, so
            that only a tape can tell.
        RuntimeError: a gradient would end in an array without one, which the kernel writes and then reads.
    """
    kernel, args, _ = structures.with_arrays(kernel, device, args, has_derivative)
    held = [as_array(_shown(a, device), t, device) for a, (_, t) in zip(args, kernel.params)]
    own = [a.grad for value in held for a in arrays_in(value)]
    for i, (g, (name, t)) in enumerate(zip(gradients, kernel.params)):
        if not isinstance(g, (type(None), int, float)) and arrays_in(held[i]):
            held[i] = _with_gradient(f"kernel `{kernel.name}`: the gradient of `{name}`", t, held[i], g, device)
    arrays = [a for value in held for a in arrays_in(value)]
    for a in arrays:
        if a.grad is not None:
            mutation_check.check_apart(a, f"kernel `{kernel.name}`")
    options = adjoint_options(kernel, dim, arrays, device, block_dim)
    known = facts(kernel, options)
    if known.replays or known.notes or AFTER in known.reads:
        why = (
            "reads what it overwrites"
            if known.replays
            else "has a gradient that depends on what it leaves in its arrays"
        )
        raise ValueError(
            f"kernel `{kernel.name}` {why}, so its gradient needs the arrays from before and after the launch: record "
            "the launch on a wp.Tape"
        )
    partial_gradients.check(arrays)
    if effects(kernel).rereads:  # no other step comes before, so that a gradient ends only where the kernel reads again
        cut = follow(DependenceTracker(), kernel, dim, held, call_site.here(), device, block_dim)
        if cut is not None and cut.has_nonzero_gradient():
            cut.tell()
    given = [a for a, g in zip(arrays, own) if a.grad is not None and not _is_same(a.grad, g)]
    _keep_cotangents(kernel, held, given)
    plan, step = plans.plan_for(kernel, options), UntrackedLaunch(kernel, arrays)
    try:
        capture.run(kernel, plan, dim, held, keep=[a.grad for a in arrays])
    except BaseException as error:
        partial_gradients.failed.append((error, [step], iter(()), ()))
        partial_gradients.spoil()
        raise


def _with_gradient(name: str, t: Any, value: Any, given: Any, device: Device) -> Any:
    """An argument with another gradient."""
    if isinstance(value, array):
        gradient = as_array(_shown(given, device), t, device)
        if not isinstance(gradient, array):
            raise TypeError(f"{name}: expected an array, got {type(given).__name__}")
        value._check_grad(gradient)
        view = value._view_of(value._layout())
        view._attach(gradient, None)
        return view
    if indexed_array(t) is not None:
        raise TypeError(f"{name}: expected None, as the gradient of an indexed array is that of its array")
    if type(given) is not type(value):
        raise TypeError(f"{name}: expected None or a {type(value).__name__} of arrays, got {type(given).__name__}")
    made = copy.copy(value)
    for field, of in t.fields:
        old, new = getattr(value, field), getattr(given, field)
        if new is not None and arrays_in(old):
            setattr(made, field, _with_gradient(f"{name}.{field}", of, old, new, device))
    return made


def _is_same(g: array, own: array | None) -> bool:
    """True if a gradient is that which the array has."""
    return own is not None and g._address == own._address


def _keep_cotangents(kernel: Kernel, held: Sequence[Any], given: Sequence[array]) -> None:
    """Let the adjoint clear copies of given gradients, where it only takes them over from what the kernel overwrites.
    They may be another library's, which has more use for them. What the adjoint adds to goes to the given ones.
    """
    gradients = [a.grad for value in held for a in arrays_in(value) if a.grad is not None]
    for param, path, access in effects(kernel).arrays:
        if not access.writes or access.reads:
            continue
        for a in at_path(held[param], path):
            own = a.grad
            if own is None or not any(a is x for x in given):
                continue
            if sum(layouts.may_share_memory(own, g) for g in gradients) == 1:  # this one alone
                a._attach(_copy_of(own), None)


def _copy_of(g: array) -> array:
    """A copy with the same strides, as the gradient of an array has."""
    made = array(dtype=g.dtype, shape=g.shape, strides=g.strides, device=g.device)
    made.assign(g)
    return made


def _shown(value: Any, device: Device) -> Any:
    """A bare descriptor as an array; anything else as it is."""
    is_descriptor = isinstance(value, _native.ArrayBase) and not isinstance(value, array)
    return dlpack.shown(array, value, device) if is_descriptor else value
