"""Launches that a tape records quickly: those that are like one it has recorded before.

Most launches of a program differ in their arrays and numbers only. What recording one takes besides is found once and
kept as the `recipe` of the kernel's plan. Native code asks `taping` before it runs a launch while a tape records; where
that finds anything out of the ordinary, the launch goes the long way through `backward.record`.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from .. import _native, config
from ..arrays import layouts
from ..arrays.array import array
from ..autodiff.vjp.read_time import BEFORE
from ..dispatch import call_site, capture, observers
from ..lang.kernel import Kernel
from ..lang.types import Array, Struct, indexed_array
from ..launches import plans
from .launch_vjp import AdjointInfo, RecordedLaunch, SkippedLaunch
from .recorder import Recorder
from .saved import SavedArrays

_PLAIN = (float, int, bool, type(None))
_epoch = [0]  # counts changes of the options that recipes depend on


class RecordTemplate(NamedTuple):
    """Template for recording a launch of a kernel on disjoint arrays. Parameters are identified by their numbers."""

    kernel: Kernel
    options: plans.Options  # of the adjoint
    facts: AdjointInfo
    block_dim: int
    epoch: int
    enable_backward: bool | None  # what the kernel said
    arrays: tuple[int, ...]
    values: tuple[int, ...]
    written: tuple[int, ...]
    results: tuple[int, ...]  # written arrays of floating point numbers
    read: tuple[int, ...]  # by the adjoint
    names: tuple[str, ...]  # of those
    needs: str  # what messages call the launch


def _changed(_: object = None) -> None:
    _epoch[0] += 1


config.watch("enable_backward", _changed)
plans.on_options.append(_changed)


def remember(step: RecordedLaunch) -> None:
    """Keep how a launch was recorded, if others can be recorded like it."""
    kernel, params = step.kernel, step.kernel.params
    if step.exact or step.options.adjoint != "distinct" or step.device.is_cuda or plans.may_bitcast_gradients(kernel):
        return
    if any(isinstance(t, Struct) or indexed_array(t) is not None for _, t in params):
        return
    plan = plans.plan_for(kernel, step.forward_options())
    arrays = tuple(i for i, (_, t) in enumerate(params) if isinstance(t, Array))
    written = tuple(i for i in arrays if plan.written[i])
    read = tuple(i for i in arrays if step.facts.reads[i] == BEFORE)
    plan.recipe = RecordTemplate(
        kernel,
        step.options,
        step.facts,
        step.block_dim,
        _epoch[0],
        kernel.enable_backward,
        arrays,
        tuple(i for i in range(len(params)) if i not in arrays),
        written,
        tuple(i for i in written if params[i][1].dtype.is_differentiable),  # type: ignore[attr-defined]
        read,
        tuple(params[i][0] for i in read),
        f"the launch of kernel `{kernel.name}`",
    )


def taping(recipe: RecordTemplate, dim: Any, args: list[Any]) -> RecordedLaunch | SkippedLaunch | None:
    """Record a launch that is about to run; None if it is not like the one that the recipe is from."""
    tape, *others = observers.stack() or (None,)
    if not isinstance(tape, Recorder) or tape.cuts or not _fits(recipe, args):
        return None
    if others and not all(observer.notices_launches for observer in others):
        return None
    arrays = [args[i] for i in recipe.arrays]
    if not _native.are_disjoint_with_gradients(arrays):
        return None
    active = [a for a in arrays if a._grad is not None]
    place = call_site.here("launch")
    if active and (any(map(layouts.has_internal_overlap, active)) or tape.seals.use(active, place) is not None):
        return None
    if not tape.records:  # it looks for gradients that end, and none does here
        for observer in others:
            observer.notice_launch(recipe.kernel, dim, args)
        return SkippedLaunch(active)
    if not active:
        return None
    kept = SavedArrays([args[i] for i in recipe.read], recipe.names, recipe.needs, place, tape.keeper)
    step = RecordedLaunch(
        recipe.kernel,
        tuple(dim) if type(dim) is list else dim,
        args,
        recipe.options,
        kept,
        recipe.facts,
        active,
        arrays,
        [args[i] for i in recipe.written],
        recipe.block_dim,
    )
    for observer in others:
        observer.notice_launch(recipe.kernel, dim, args)
    tape.launches.append(step)
    tape.notes.append(place)
    return step


def _fits(recipe: RecordTemplate, args: list[Any]) -> bool:
    """True if arguments match those of the template. Values that may change until the backward pass are copied."""
    if recipe.epoch != _epoch[0] or recipe.enable_backward is not recipe.kernel.enable_backward:
        return False
    if len(args) != len(recipe.arrays) + len(recipe.values):
        return False
    for i in recipe.arrays:
        if type(args[i]) is not array:
            return False
    for i in recipe.values:
        if type(args[i]) not in _PLAIN:
            if not hasattr(type(args[i]), "__wc_type__"):
                return False
            args[i] = copy.copy(args[i])
    return all(args[i]._grad is not None for i in recipe.results)


def taped(step: RecordedLaunch | SkippedLaunch) -> None:
    """Report that a launch has run."""
    if step.active:
        observers.tape().seals.wrote(step.active, True)


def failed(step: RecordedLaunch | SkippedLaunch) -> None:
    """Forget a launch that did not run."""
    tape = observers.tape()
    if tape.length() and tape.launches[-1] is step:
        tape.cut(tape.length() - 1)


def _attach(_: object = None) -> None:
    """Let native code ask here where launches are recorded or watched."""
    usual = not config.print_launches and config.mode != "interpret"
    if usual and observers.observed and not capture.active():
        _native.set_recorder(taping, taped, failed)
    else:
        _native.set_recorder(None, None, None)


for _name in ("mode", "print_launches"):
    config.watch(_name, _attach)
observers.watch(_attach)
capture.watch(_attach)
_attach()
