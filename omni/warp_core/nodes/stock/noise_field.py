"""Perlin noise in one to four dimensions for arrays of points: the same field as that of the builtin `noise`.

It is computed by NumPy, since a node must not need a compiler to sample a few points.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ...lib.noise import PRIMES

_MASK = np.uint64(0xFFFFFFFF)
_TINY = 1e-30


def _pcg(x: np.ndarray) -> np.ndarray:
    """The hash of `lib/random.py`, of 32-bit numbers held in 64 bits."""
    s = (x * np.uint64(747796405) + np.uint64(2891336453)) & _MASK
    word = (((s >> ((s >> np.uint64(28)) + np.uint64(4))) ^ s) * np.uint64(277803737)) & _MASK
    return (word >> np.uint64(22)) ^ word


def _symmetric(h: np.ndarray) -> np.ndarray:
    return (h >> np.uint64(8)).astype(np.float64) * 2.0**-23 - 1.0


def _corner(h: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The contribution of the lattice points with hashes (n,) at offsets (n, d)."""
    if offset.shape[1] == 1:
        return _symmetric(_pcg(h)) * offset[:, 0]
    components = []
    for _ in range(offset.shape[1]):
        h = _pcg(h)
        components.append(_symmetric(h))
    direction = np.stack(components, axis=1)
    return np.sum(direction * offset, axis=1) / np.sqrt(np.sum(direction**2, axis=1) + _TINY)


def sample(seed: int, points: np.ndarray) -> np.ndarray:
    """The noise (n,) at points (n, d), d from 1 to 4, all finite."""
    state = _pcg(np.array([seed & 0xFFFFFFFF], np.uint64))
    whole = np.floor(points)
    offset = points - whole
    lattice = np.mod(whole, 2.0**32).astype(np.uint64)
    fade = offset**3 * (offset * (offset * 6.0 - 15.0) + 10.0)
    total = np.zeros(len(points))
    for corner in product((0, 1), repeat=points.shape[1]):
        keys = [((lattice[:, i] + np.uint64(c)) * np.uint64(PRIMES[i])) & _MASK for i, c in enumerate(corner)]
        keys[-1] = (keys[-1] + state) & _MASK
        weight = np.prod(np.where(corner, fade, 1.0 - fade), axis=1)
        total += weight * _corner(np.bitwise_xor.reduce(keys), offset - np.array(corner, np.float64))
    return total
