"""Basis sweeps: the seeds, blocks and restored arrays that reverse and forward Jacobians share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..arrays.array import array
from .flatten import State, count, set_numbers
from .targets import Pair, Target

Numbers = dict[Pair, np.ndarray]  # float64, (output components, input components); with blocks, one more dimension


@contextmanager
def preserved(target: Target, restore: bool) -> Iterator[State]:
    """Preserve arrays. Afterwards they have their gradients again, and with `restore` their values."""
    before = State(target.arrays())
    try:
        yield before
    finally:
        if restore:
            before.restore()
        before.restore_gradients()


def results_of(target: Target) -> State:
    """Return the writes to arrays that are not inputs, to be restored after more runs."""
    return State([a for a in target.outputs if all(a is not b for b in target.inputs)], gradients=False)


def checked_blocks(target: Target, outputs: list[array], pairs: list[Pair], num_blocks: int | None) -> int:
    """The number of blocks, 1 if there are none. Raises ValueError if an array cannot be divided into them."""
    if num_blocks is None:
        return 1
    labels = target.labels_of(outputs)
    used = {f"input `{target.labels[i]}`": target.inputs[i] for i, _ in pairs}
    used |= {f"output `{labels[o]}`": outputs[o] for _, o in pairs}
    for name, a in used.items():
        if num_blocks < 1 or a.size % num_blocks:
            raise ValueError(f"num_blocks: the {a.size} elements of {name} cannot be divided into {num_blocks} blocks")
    return num_blocks


def shaped(found: Numbers, pairs: list[Pair], num_blocks: int | None) -> Numbers:
    """Jacobians of shape (blocks, rows, columns) in order of the pairs, without blocks if none were asked for."""
    return {pair: found[pair] if num_blocks is not None else found[pair][0] for pair in pairs}


def sweep(
    run: Callable[[array], list[np.ndarray]], x: array, ys: Sequence[array], most: int, blocks: int, what: Sequence[str]
) -> list[np.ndarray]:
    """Start from each component of `x`, of all blocks at once, and collect what arrives at each of `ys`.

    Args:
        run: takes the seed, an array like `x`, and gives the components of what arrives.
        x: the array to start from.
        ys: where something arrives.
        most: how many components of a block to start from, all if not positive. What is left out is NaN.
        blocks: how many.
        what: for the error, which block depends on which, for each of `ys`.

    Returns:
        For each of `ys` an array of shape (blocks, components of a block of `x`, components of a block of it).

    Raises:
        ValueError: what starts in one block arrives in another.
    """
    width = count(x) // blocks
    found = [np.full((blocks, width, count(y) // blocks), np.nan) for y in ys]
    for component in range(width if most <= 0 else min(most, width)):
        seed = np.zeros((blocks, width))
        seed[:, component] = 1.0
        for rows, arrived in zip(found, run(_array(x, seed))):
            rows[:, component] = arrived.reshape(blocks, -1)
    if blocks > 1:
        _check_independence(run, x, blocks, what)
    return found


def _array(like: array, seed: np.ndarray) -> array:
    made = array._empty(like._require_element(), like.shape, like.device)
    set_numbers(made, seed.ravel())
    return made


def _check_independence(run: Callable[[array], list[np.ndarray]], x: array, blocks: int, what: Sequence[str]) -> None:
    """Start from some blocks only, and see that nothing arrives in the others.

    Any two blocks differ in a bit of their numbers. So it is enough to start once from the blocks that have a bit, and
    once from those that lack it.
    """
    weights = np.random.default_rng(0).integers(1, 16, (blocks, count(x) // blocks))  # exact; sums hardly cancel
    for bit in range((blocks - 1).bit_length()):
        for side in (0, 1):
            chosen = np.arange(blocks) >> bit & 1 == side
            for words, arrived in zip(what, run(_array(x, weights * chosen[:, None]))):
                if arrived.reshape(blocks, -1)[~chosen].any():
                    raise ValueError(f"num_blocks: the blocks are not independent: {words}; leave num_blocks out")
