"""The memory that arrays show, as it is now, for later: copies in which views that overlap still overlap.

A launch on a tape keeps what its adjoint will read. Later writes, by whatever means, change nothing then.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from . import views
from .array import array


class Kept:
    """Copies of the memory of `arrays`, each byte once."""

    def __init__(self, arrays: Sequence[array]):
        self._blocks: list[tuple[int, Any]] = [
            (low, (ctypes.c_char * (high - low)).from_buffer_copy((ctypes.c_char * (high - low)).from_address(low)))
            for low, high in merged([span_of(a) for a in arrays])
        ]

    @property
    def size(self) -> int:
        """The bytes kept."""
        return sum(len(block) for _, block in self._blocks)

    def copy(self) -> Kept:
        """A copy that may be written."""
        made = Kept(())
        made._blocks = [(low, type(block).from_buffer_copy(block)) for low, block in self._blocks]
        return made

    def view(self, a: array) -> array:
        """`a` as it was, with the gradient that it has now."""
        low, _ = span_of(a)
        for start, block in self._blocks:
            if start <= low < start + len(block):
                made = array.__new__(array)  # it keeps the copy alive
                made._init(a._require_element(), ctypes.addressof(block) + a.ptr - start, a.shape, a.strides, block)
                made._set_grad(a.grad)
                return made
        return a  # without elements


def span_of(a: array) -> tuple[int, int]:
    """The addresses that an array covers, from the first to one past the last byte."""
    if a.is_contiguous:
        return a.ptr, a.ptr + a.capacity
    low, high = views.span(a.shape, a.strides, a._require_element().type.size)
    return a.ptr + low, a.ptr + high


def memory_at(span: tuple[int, int]) -> bytes:
    """The bytes from one address to before another."""
    return ctypes.string_at(span[0], span[1] - span[0])


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans with those that overlap made one."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(s for s in spans if s[0] < s[1]):
        if out and low < out[-1][1]:
            out[-1] = out[-1][0], max(high, out[-1][1])
        else:
            out.append((low, high))
    return out
