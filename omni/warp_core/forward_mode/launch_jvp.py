"""Launches in forward mode: `launch_tangent` runs a kernel's tangent kernel in its place, `kernel_jvp` is `wp.jvp` of
a kernel.

A tangent kernel (autodiff/jvp/tangent.py) computes values and tangents in one go; `shadows` has the memory for
tangents. It is an ordinary kernel: a tape records it, and gradients of tangents (Hessian-vector products) come from
running that tape backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..arrays.array import array
from ..arrays.layouts import byte_range, identity, may_share_memory, merge_ranges
from ..arrays.transfer import copy
from ..autodiff.jvp.tangent_values import carries
from ..devices.device import Device, get_device
from ..lang.inference import check_count
from ..lang.kernel import Kernel
from ..lang.kernel_transforms import Tangent
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..launches.kernel_facts import tangent_facts
from ..launches.launch import _check_kernel, _sequence, launch
from ..launches.overloads import instance_for
from ..tape import launch_vjp
from .tangent_storage import TangentStorage, arrays_in, pairs, tangent_value


def launch_tangent(
    kernel: Kernel,
    dim: Any,
    args: Sequence[Any],
    given: Sequence[Any],
    shadows: TangentStorage,
    device: Device,
    block_dim: int,
) -> None:
    """Launch the tangent kernel of a kernel. `given` are tangents of arguments that are no arrays, or None."""
    known_facts = tangent_facts(kernel)
    active, moved = [], []
    for (_, t), value, tangent, need in zip(kernel.params, args, given, known_facts.needed):
        known = any(shadows.of(a) is not None for a in arrays_in(value))
        is_moving = carries(t) and value is not None and (need or known or tangent is not None)
        active.append(is_moving)
        if is_moving:
            moved.append(tangent_value(t, value, tangent, shadows))
    moving = kernel.derive(Tangent(tuple(active)))

    def run(chosen: Kernel, values: list[Any]) -> None:
        launch(chosen, dim, values, device=device, block_dim=block_dim)

    if not known_facts.nearby:
        run(moving, [*args, *moved])
        return
    written = [a for value, w in zip(args, known_facts.written) if w for a in launch_vjp.arrays_in(value)]
    before = [a._copied() for a in written]
    run(moving, [*args, *moved])  # its values are those of arguments nearby, so they are computed again
    for a, kept in zip(written, before):
        copy(a, kept)
    run(kernel, [*args])


# -- kernels ----------------------------------------------------------------------------------------------------------


def kernel_jvp(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    tangents: Sequence[Any] | Mapping[Any, Any] | None = None,
    device: Device | str | None = None,
    block_dim: int = DEFAULT_BLOCK_DIM,
) -> list[array | None]:
    """`jvp` of a kernel; see there."""
    _check_kernel(kernel)
    where = get_device(device)
    args = [*_sequence(kernel, "inputs", inputs), *_sequence(kernel, "outputs", outputs)]
    instance = instance_for(kernel, args) if kernel.is_generic else kernel
    check_count(instance, args)
    args = [launch_vjp.as_array(a, t, where) for a, (_, t) in zip(args, instance.params)]
    given = _given(instance, args, tangents)
    needed, written, *_ = tangent_facts(instance)
    shadows, copied = _shadows(instance, args, given, needed)
    launch_tangent(instance, dim, args, given, shadows, where, block_dim)
    for tangent, view in copied:
        tangent[...] = view
    wanted = range(len(inputs), len(args)) if outputs else [i for i, w in enumerate(written) if w]
    return [_result(args[i], given[i], shadows) for i in wanted]


def _result(value: Any, given: Any, shadows: TangentStorage) -> array | None:
    if not isinstance(value, array) or not arrays_in(value):
        return None
    return shadows.ensure(value) if given is None else given


def _given(kernel: Kernel, args: Sequence[Any], tangents: Sequence[Any] | Mapping[Any, Any] | None) -> list[Any]:
    """The tangent of each argument, arrays of the right type where they are arrays; None where it has none."""
    found: list[Any] = [None] * len(args)
    if isinstance(tangents, Mapping):
        for key, tangent in tangents.items():
            for i in _positions(kernel, args, key):
                found[i] = tangent
    else:
        listed = _sequence(kernel, "tangents", tangents)
        if len(listed) > len(args):
            raise ValueError(f"tangents: {len(listed)} for {len(args)} arguments")
        found[: len(listed)] = listed
    for i, ((name, t), value) in enumerate(zip(kernel.params, args)):
        if found[i] is not None and not carries(t):
            raise TypeError(f"tangent of `{name}`: only floating point arguments have one; give None")
        if isinstance(value, array) and found[i] is not None:
            ((_, found[i]),) = pairs(name, value, found[i])
    return found


def _positions(kernel: Kernel, args: Sequence[Any], key: Any) -> list[int]:
    """Return the arguments that a key of `tangents` names."""
    names = [name for name, _ in kernel.params]
    if isinstance(key, str) and key in names:
        return [names.index(key)]
    if isinstance(key, int) and 0 <= key < len(args):
        return [key]
    found = [i for i, a in enumerate(args) if a is key]
    if not found:
        what = repr(key) if isinstance(key, (str, int)) else f"the {type(key).__name__} given as a key"
        raise ValueError(f"tangents: {what} is no argument of kernel `{kernel.name}` ({', '.join(names)})")
    return found


def _shadows(
    kernel: Kernel, args: Sequence[Any], given: list[Any], needed: Sequence[bool]
) -> tuple[TangentStorage, list[tuple[array, array]]]:
    """The memory of the tangents of a launch, and the given tangents that are to get copies of a part of it."""
    arrays = [a for value in args for a in arrays_in(value)]
    spans = merge_ranges([byte_range(a) for a in arrays])
    shadows, copied = TangentStorage(spans), []
    starts: list[tuple[array, array]] = []
    for (name, _), value, tangent, written in zip(kernel.params, args, given, needed):
        for a, t in pairs(name, value, tangent):
            starts.append((a, _apart(name, t, arrays, written)))
    for low, high in spans:
        inside = [a for a in arrays if a.size and low <= byte_range(a)[0] < high]
        here = [(a, t) for a, t in starts if a.size and low <= byte_range(a)[0] < high]
        if len(set(map(identity, inside))) == 1 and len({id(t) for _, t in here}) == 1:
            shadows.adopt(*here[0])
            continue
        for a, t in here:
            shadows.ensure(a)[...] = t
        for a, t in here:
            view = shadows.ensure(a)
            if view._numbers().tobytes() != t._numbers().tobytes():
                raise ValueError(f"kernel `{kernel.name}`: arguments overlap, and the tangents given for them differ")
            copied.append((t, view))
    return shadows, copied


def _apart(name: str, tangent: array, arrays: Sequence[array], written: bool) -> array:
    """A tangent that shares no memory with the arguments."""
    if not any(may_share_memory(tangent, a) for a in arrays):
        return tangent
    if written:
        raise ValueError(f"tangent of `{name}`: it shares memory with an argument, and the kernel writes both")
    return tangent._copied()
