"""Numbers of lattice points, by which points are compared and found."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


class Lattice(NamedTuple):
    """A box of a lattice, whose points have numbers in the order of their first coordinate, then of the next."""

    lower: np.ndarray
    span: tuple[int, ...]

    @staticmethod
    def around(points: np.ndarray, *others: np.ndarray) -> Lattice:
        """Return the smallest box that has all points.

        Raises:
            ValueError: The points lie too far apart for numbers of 64 bits.
        """
        lower = np.min([p.min(axis=0) for p in (points, *others)], axis=0)
        upper = np.max([p.max(axis=0) for p in (points, *others)], axis=0)
        span = tuple((upper - lower + 1).tolist())
        if math.prod(span) >= 2**63:
            raise ValueError(f"voxels lie too far apart, in a box of {list(span)} points of a lattice")
        return Lattice(lower, span)

    def numbers(self, points: np.ndarray) -> np.ndarray:
        """The numbers of points; -1 for those beyond the box."""
        at = points - self.lower
        inside = ((at >= 0) & (at < self.span)).all(axis=1)
        return np.where(inside, np.ravel_multi_index(tuple(np.where(inside[:, None], at, 0).T), self.span), -1)

    def points(self, numbers: np.ndarray) -> np.ndarray:
        """The points of numbers."""
        return np.stack(np.unravel_index(numbers, self.span), axis=1) + self.lower


def distinct(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points without repetitions, x first, and which of them each point is.

    Raises:
        ValueError: The points lie too far apart for numbers of 64 bits.
    """
    lattice = Lattice.around(points)
    kept, which = np.unique(lattice.numbers(points), return_inverse=True)
    return lattice.points(kept), which


class Places:
    """Where points are in a list of points."""

    def __init__(self, lattice: Lattice, points: np.ndarray):
        self._lattice, found = lattice, lattice.numbers(points)
        self._order = np.argsort(found, kind="stable")
        self._sorted = found[self._order]

    def find(self, points: np.ndarray) -> np.ndarray:
        """The place of each point in the list, -1 for those that it lacks."""
        if not len(self._sorted):
            return np.full(len(points), -1)
        wanted = self._lattice.numbers(points)
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        return np.where((self._sorted[at] == wanted) & (wanted >= 0), self._order[at], -1)
