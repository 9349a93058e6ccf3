"""Templates of recorded launches, by which native code records a launch like an earlier one.

Most launches of a program differ in their arrays and numbers only. The first launch is recorded by `launch_vjp.record`,
which finds out everything else. `remember` keeps that with the kernel's plan. From then on native code
(native/python/launches/record.cpp) checks that a launch is like the first one, and calls `_record`. If it is not, the
launch is recorded by `launch_vjp.record` again.
"""

from __future__ import annotations

import copy

from .. import _native, config
from ..arrays.array import array
from ..autodiff.vjp.read_time import BEFORE
from ..dispatch import call_site, capture
from ..dispatch.call_site import CallSite
from ..lang.array_structs.array_struct_types import indexed_array
from ..lang.types import Array, Struct
from ..launches import plans
from .launch_vjp import RecordedLaunch
from .recorder import Fill, Recorder


def _outdate(_: object = None) -> None:
    _native.outdate_launch_templates()


config.watch("enable_backward", _outdate)
plans.on_options.append(_outdate)


def remember(step: RecordedLaunch) -> None:
    """Keep how a launch was recorded, if others can be recorded like it."""
    template = step.template
    kernel, params = template.kernel, template.kernel.params
    finds_structures = step.structures.saved or step.structures.params
    options = step.forward_options()
    is_special = finds_structures or step.exact or options.serial or template.options.adjoint != "distinct"
    if is_special or template.device.is_cuda or plans.may_bitcast_gradients(kernel):
        return
    if any(isinstance(t, Struct) or indexed_array(t) is not None for _, t in params):
        return
    plan = plans.plan_for(kernel, options)
    arrays = [i for i, (_, t) in enumerate(params) if isinstance(t, Array)]
    written = [i for i in arrays if plan.written[i]]
    plan.recipe = _native.LaunchTemplate(
        template,
        array,
        arrays=arrays,
        values=[i for i in range(len(params)) if i not in arrays],
        results=[i for i in written if params[i][1].dtype.is_differentiable],  # type: ignore[attr-defined]
        read=[i for i in arrays if template.facts.reads[i] == BEFORE],
        written=written,
    )


def _forget(tape: Recorder, step: RecordedLaunch | Fill) -> None:
    """Forget a step that did not run."""
    if tape.length() and tape.launches[-1] is step:
        tape.cut(tape.length() - 1)


def _attach(_: object = None) -> None:
    """Let native code record launches, where nothing else has to see them."""
    usual = not config.print_launches and config.mode != "interpret"
    _native.enable_native_recording(usual and not capture.active())


_native.set_recorder(_forget, copy.copy, CallSite, call_site.here, call_site.PACKAGE)
for _name in ("mode", "print_launches"):
    config.watch(_name, _attach)
capture.watch(_attach)
_attach()
