"""The values of inactive entries in a `.vdb` file, which saves few of them.

Inactive entries mostly have the background, or plus and minus the background of a level set. So a file saves active
values, and for the others of a node a code, at most two values, and a mask that selects between them. It saves all
values of a node whose inactive entries have more than two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BACKGROUND, MINUS, ONE_OTHER, SIGN, BACKGROUND_OR_OTHER, TWO, ALL_SAVED = range(7)
_UNSIGNED = {1: np.uint8, 4: np.uint32, 8: np.uint64}


class Inactive(NamedTuple):
    """The inactive entries of n nodes of k entries.

    Attributes:
        codes: int8 (n,): as the file has them.
        first: (n,): the value of code `ONE_OTHER`, `BACKGROUND_OR_OTHER` or `TWO`.
        second: (n,): the other one of code `TWO`.
        chosen: bool (n, k): where the background (`SIGN`, `BACKGROUND_OR_OTHER`) or `second` (`TWO`) is.
    """

    codes: np.ndarray
    first: np.ndarray
    second: np.ndarray
    chosen: np.ndarray

    def head(self, row: int) -> bytes:
        """Return what the file has of a node before its saved values."""
        code = int(self.codes[row])
        found = bytes([code])
        if code in (ONE_OTHER, BACKGROUND_OR_OTHER, TWO):
            found += self.first[row].tobytes()
        if code == TWO:
            found += self.second[row].tobytes()
        if code in (SIGN, BACKGROUND_OR_OTHER, TWO):
            found += np.packbits(self.chosen[row], bitorder="little").tobytes()
        return found


def inactive_values(values: np.ndarray, inactive: np.ndarray, background: np.ndarray) -> Inactive:
    """Find the codes of nodes.

    Args:
        values: (n, k) numbers, or (n, k, 3) vectors: of all entries.
        inactive: bool (n, k): which of them matter here.
        background: of the grid, a value.
    """
    bits, plus, minus = _bits(values), _bits(background), _bits(negative(background))
    rows = np.arange(len(values))
    at = inactive.argmax(axis=1)
    is_first = _equal(bits, bits[rows, at][:, None])
    others = inactive & ~is_first
    other_at = others.argmax(axis=1)
    is_second = _equal(bits, bits[rows, other_at][:, None])
    count = np.stack([inactive.any(axis=1), others.any(axis=1), (others & ~is_second).any(axis=1)]).sum(axis=0)
    first, second = values[rows, at], values[rows, other_at]
    plus_first, plus_second = _equal(bits[rows, at], plus), _equal(bits[rows, other_at], plus)
    minus_first, minus_second = _equal(bits[rows, at], minus), _equal(bits[rows, other_at], minus)
    two = np.full(len(values), TWO)
    two[plus_first | plus_second] = BACKGROUND_OR_OTHER
    two[(plus_first & minus_second) | (minus_first & plus_second)] = SIGN
    one = np.where(plus_first, BACKGROUND, np.where(minus_first, MINUS, ONE_OTHER))
    codes = np.select([count == 0, count == 1, count == 2], [np.zeros_like(two), one, two], ALL_SAVED)
    swapped = (codes == BACKGROUND_OR_OTHER) & plus_first  # the value that is saved is the other one
    first = np.where(swapped.reshape(-1, *[1] * (first.ndim - 1)), second, first)
    is_plus = np.where(plus_first[:, None], is_first, is_second)
    return Inactive(codes.astype(np.int8), first, second, np.where((codes == TWO)[:, None], is_second, is_plus))


def negative(value: np.ndarray) -> np.ndarray:
    """Return the value that a file calls minus another one."""
    with np.errstate(over="ignore"):
        return ~value if value.dtype == bool else np.negative(value)


def _bits(values: np.ndarray) -> np.ndarray:
    """The components of values as integers, in a last dimension, so that NaN and zeros of both signs compare."""
    components = values if values.ndim and values.shape[-1] == 3 and values.ndim in (1, 3) else values[..., None]
    return np.ascontiguousarray(components).view(_UNSIGNED[values.dtype.itemsize])


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b).all(axis=-1)
