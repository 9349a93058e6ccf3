"""Seeds of a backward pass: writes the caller's cotangents and zeroes the gradients of all other recorded outputs.

Start with `given`, then `begin`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _native
from ..arrays import elements, layouts, transfer
from ..arrays.accumulate import add
from ..arrays.array import array
from ..dispatch import capture, observers
from ..lang.types import Scalar


class Seed(NamedTuple):
    """A gradient, and what it begins with: an array like it, or the bytes of one element."""

    gradient: array
    given: array | bytes


def given(loss: array | None, grads: dict[array, array] | None) -> list[Seed]:
    """Return the cotangents of `Tape.backward`, whose errors this raises."""
    if grads is not None and not isinstance(grads, Mapping):
        raise TypeError(f"grads: expected a dictionary from arrays to gradients, got {type(grads).__name__}")
    if loss is None and not grads:
        raise ValueError("grads: give at least one gradient to start with, as {array: gradient}")
    seeds = [] if loss is None else [_loss(loss)]
    return [*(_seed(a, g) for a, g in grads.items()), *seeds] if grads else seeds


def _loss(loss: Any) -> Seed:
    if not isinstance(loss, array):
        kind = type(loss).__name__
        raise TypeError(f"loss: expected the array of one element that a recorded launch wrote, got {kind}")
    if loss.size != 1:
        raise ValueError(f"loss: expected an array of one element, got {loss.shape}; sum it up, or use grads=")
    gradient, one = loss._grad, _ones.get(loss.dtype_id)
    if gradient is None or one is None:
        if not isinstance(loss._require_element().type, Scalar):
            raise ValueError(
                f"loss: expected one number, got a {loss._require_element().name}; sum it up, or use grads="
            )
        gradient = _gradient("loss", loss)
        one = _ones[loss.dtype_id] = elements.item(1, loss._require_element()).tobytes()
    return Seed(gradient, one)


_ones: dict[int, bytes] = {}  # of the types that a loss can have, by their numbers


def _seed(a: Any, wanted: Any) -> Seed:
    gradient = _gradient("grads", a)
    try:
        return Seed(gradient, _like(gradient, wanted))
    except (TypeError, ValueError) as why:
        raise type(why)(f"grads: the gradient of an array of shape {a.shape}: {why}") from None


def _gradient(name: str, a: Any) -> array:
    if not isinstance(a, array):
        raise TypeError(f"{name}: expected arrays, got {type(a).__name__}")
    if a.grad is None:
        raise RuntimeError(f"{name}: the array has no gradient; make it with requires_grad=True")
    if not a._require_element().is_active:
        raise ValueError(
            f"{name}: {a._require_element().name} arrays have no gradient, only floating point numbers do; "
            "compute it in an array with dtype=float"
        )
    return a.grad


def _like(gradient: array, wanted: Any) -> array:
    """Return a cotangent as an array like its gradient; the given array itself if it fits."""
    if isinstance(wanted, array) and wanted.dtype is gradient.dtype and wanted.shape == gradient.shape:
        return wanted
    with observers.NotRecording():
        made = array._empty(gradient._require_element(), gradient.shape, gradient.device)
        made[...] = wanted
    return made


def begin(written: Sequence[array], seeds: Sequence[Seed]) -> list[tuple[array, array]]:
    """Set gradients to their seeds, and those of arrays that are written to zero otherwise.

    Returns what these were, where they were not zero. A seed whose memory nothing else shows is copied, once.
    """
    rest = None if capture.innermost() is not None else _native.begin_gradients(written, seeds)
    return _begin(written, seeds) if rest is None else _stash_existing(rest)


def _begin(written: Sequence[array], seeds: Sequence[Seed]) -> list[tuple[array, array]]:
    """`begin`, whatever the gradients show and wherever they are."""
    gradients = {layouts.identity(g): g for g in [*written, *(seed.gradient for seed in seeds)]}
    others, plain = _split_aliased(list(gradients.values()), seeds)
    sums = [(seed.gradient, _copy(seed)) for seed in others]
    for gradient, _ in plain:
        del gradients[layouts.identity(gradient)]
    for gradient, _ in sums:
        gradient.zero_()
    before = _stash_existing(filter(_may_be_set, gradients.values()))
    for gradient, first in plain:
        _set(gradient, first)
    for gradient, more in sums:
        add(gradient, more)
    return before


def _split_aliased(gradients: Sequence[array], seeds: Sequence[Seed]) -> tuple[list[Seed], list[Seed]]:
    """Seeds that share memory with something, and those that do not."""
    count = Counter(layouts.identity(seed.gradient) for seed in seeds)
    shown = layouts.groups([*gradients, *(seed.given for seed in seeds if isinstance(seed.given, array))])
    alone = {layouts.identity(group[0]) for _, group in shown if len(group) == 1}
    found: tuple[list[Seed], list[Seed]] = [], []
    for seed in seeds:
        arrays = [a for a in seed if isinstance(a, array)]
        found[count[layouts.identity(seed.gradient)] == 1 and all(layouts.identity(a) in alone for a in arrays)].append(
            seed
        )
    return found


def _may_be_set(gradient: array) -> bool:
    """True if a gradient is not zero, or if checking would need a synchronization."""
    return gradient.device.is_cuda or capture.innermost() is not None or transfer.any_set(gradient)


def _set(gradient: array, first: array | bytes) -> None:
    if isinstance(first, bytes):
        transfer.fill(gradient, first)
    else:
        transfer.copy(gradient, first)


def _copy(seed: Seed) -> array:
    """Return a copy of a cotangent."""
    made = array._empty(seed.gradient._require_element(), seed.gradient.shape, seed.gradient.device)
    _set(made, seed.given)
    return made


def _stash_existing(gradients: Iterable[array]) -> list[tuple[array, array]]:
    """Clear gradients, one after the other as they may overlap; what they were."""
    aside = []
    for gradient in gradients:
        aside.append((gradient, gradient._copied()))
        gradient.zero_()
    return aside
