"""A launch on a tape as a target: on copies of its arrays, with the values they had when it was recorded."""

from __future__ import annotations

from typing import Any

from ..arrays.array import array
from ..arrays.factories import clone
from ..arrays.layouts import identity, may_share_memory
from ..compiler import effects
from ..launches.launch import launch
from ..tape.launch_vjp import RecordedLaunch, arrays_in
from .flatten import has_gradient
from .targets import Pair, Target


class Unchecked(Exception):
    """Raised when a launch cannot be run again, with the reason."""


def target_of_launch(step: RecordedLaunch) -> tuple[Target, list[Pair]]:
    """The launch as a function of all its arguments, and the pairs of those it reads and those it writes.

    Raises:
        Unchecked: It has structs with arrays, or different arrays that overlap.
    """
    kernel = step.kernel
    names = [name for name, _ in kernel.params]
    for name, value in zip(names, step.args):
        if not isinstance(value, array) and arrays_in(value):
            raise Unchecked(f"parameter `{name}` is a struct with arrays")
    args = _copies(step, names)
    accesses = effects(kernel).params
    outputs = [i for i, (access, a) in enumerate(zip(accesses, args)) if access.writes and isinstance(a, array)]
    inputs = [i for i, access in enumerate(accesses) if access.reads and has_gradient(args[i])]
    pairs = [(i, o) for i in inputs for o, k in enumerate(outputs) if has_gradient(args[k])]
    if not pairs:
        raise Unchecked("no input or no output has a gradient")
    results = [args[i] for i in outputs]

    def call() -> list[array]:
        launch(kernel, step.dim, inputs=args, device=step.template.device, block_dim=step.template.block_dim)
        return results

    return Target(kernel.name, args, names, call, results, [names[i] for i in outputs]), pairs


def _copies(step: RecordedLaunch, names: list[str]) -> list[Any]:
    """The arguments with copies for arrays; arguments that are the same array get the same copy."""
    made: dict[bytes, array] = {}
    seen: dict[bytes, tuple[str, array]] = {}
    then = step.arguments()
    for name, given, kept in zip(names, step.args, then):
        if not isinstance(given, array):
            continue
        key = identity(given)
        for other, (label, a) in seen.items():
            if other != key and may_share_memory(given, a):
                raise Unchecked(f"`{name}` and `{label}` overlap")
        seen[key] = name, given
        if key not in made or kept is not given:  # of two, the one that the adjoint reads is what was kept
            made[key] = clone(kept, requires_grad=given.requires_grad)
    return [made[identity(a)] if isinstance(a, array) else a for a in step.args]
