"""Local arrays: memory of the thread's own, on the stack, for all lanes of a group.

An array that is only accessed in place (`ir.locals`) lies in planes: for each element and each leaf of it, the values
of all lanes side by side. Then an index that is the same in all lanes names one whole vector, which is loaded and
stored without a mask. LLVM keeps arrays that are indexed by constants in registers. An array that is passed on needs an
address for each lane that works like any other. There the lanes' elements lie side by side. In both layouts, one
element is as far from the next as the elements of all lanes are long.
"""

from __future__ import annotations

import math

from ..lang.types import BOOL, I32, I64, FixedArray, Type
from .lane_arithmetic import LaneValue
from .memory_access import Memory, memory_leaves
from .writer import PTR, Leaf, literal

ALIGN = 64


class Locals:
    """Emits local arrays through a `Memory`. Lanes that `whole` leaves out are off throughout the function's body."""

    def __init__(self, memory: Memory):
        self.memory, self.lanes, self.w = memory, memory.lanes, memory.w
        self.whole: str | None = None

    def allocate(self, t: FixedArray) -> str:
        """The register that holds the address of an array of type `t` for every lane."""
        return self.w.alloca(f"[{max(1, t.bytes) * self.lanes.lanes} x i8], align {ALIGN}")

    def descriptor(self, t: FixedArray, address: str, in_planes: bool) -> list[LaneValue]:
        """The array value of the memory at `address`."""
        n = self.lanes.lanes
        element = t.dtype.size
        data = LaneValue(PTR, address, 0 if in_planes or n == 1 else element)
        strides = [element * n * math.prod(t.shape[k + 1 :]) for k in range(t.ndim)]
        return [data, LaneValue(PTR, "null"), *(LaneValue(I64, str(x)) for x in (*t.shape, *strides))]

    def load(self, address: LaneValue, t: Type, first: int, end: int, mask: str | None) -> list[LaneValue]:
        """Leaves `first` to `end` of the element of type `t` at `address`, which lies in planes."""
        return [self._load(self._plane(address, *part), part[1], mask) for part in memory_leaves(t)[first:end]]

    def store(self, address: LaneValue, t: Type, first: int, values: list[LaneValue], mask: str | None) -> None:
        """Write leaves from `first` on of the element of type `t` at `address`, which lies in planes."""
        for (offset, leaf), value in zip(memory_leaves(t)[first:], values):
            at = self._plane(address, offset, leaf)
            if not self._is_whole(at, leaf):
                self.memory.scatter(at, leaf, value, mask)
            elif mask is None or mask == self.whole:
                self.memory.store_side_by_side(at, leaf, value)
            else:
                kept = self._load(at, leaf, mask)
                self.memory.store_side_by_side(at, leaf, self.lanes.select(LaneValue(BOOL, mask, None), value, kept))

    def _plane(self, address: LaneValue, offset: int, leaf: Leaf) -> LaneValue:
        """Return where the lanes' values of the leaf at byte `offset` of an element lie."""
        n = self.lanes.lanes
        at = self.memory.displace(address, offset * n)
        if n == 1:
            return at
        return (
            LaneValue(PTR, at.text, leaf.size)
            if at.uniform
            else self.memory.advance(at, LaneValue(I64, "0", leaf.size))
        )

    def _is_whole(self, at: LaneValue, leaf: Leaf) -> bool:
        return at.stride == (leaf.size if self.lanes.lanes > 1 else 0)

    def _load(self, at: LaneValue, leaf: Leaf, mask: str | None) -> LaneValue:
        if self._is_whole(at, leaf):
            return self.memory.load_side_by_side(at, leaf)
        return self.memory.gather(at, leaf, mask)


# For arrays of up to this many leaves, an access compares the index with that of every element, so that they may stay
# in registers. Measured: counting into 8 numbers takes half the time of gathers and scatters, into 16 almost all.
_PICKED_LEAVES = 8


def is_promotable(t: FixedArray) -> bool:
    """True if an array is small enough to select among its elements."""
    return math.prod(t.shape) * len(memory_leaves(t.dtype)) <= _PICKED_LEAVES


class PromotedArray:
    """An access of a small local array at `address` in planes, whose `indices` differ between lanes.

    What is read outside the array is zero, and what is written there goes nowhere.
    """

    def __init__(self, places: Locals, t: FixedArray, address: str, indices: list[LaneValue]):
        self.places, self.lanes, self.type = places, places.lanes, t
        self.address = LaneValue(PTR, address)
        flat = self.lanes.cast(indices[0], I32)
        for index, extent in zip(indices[1:], t.shape[1:]):
            flat = self.lanes.binary("mul", flat, LaneValue(I32, str(extent)))
            flat = self.lanes.binary("add", flat, self.lanes.cast(index, I32))
        self.here = [self.lanes.binary("eq", flat, LaneValue(I32, str(e))) for e in range(math.prod(t.shape))]

    def _element(self, number: int) -> LaneValue:
        return self.places.memory.displace(self.address, number * self.type.dtype.size * self.lanes.lanes)

    def load(self, first: int, end: int) -> list[LaneValue]:
        """Leaves `first` to `end` of the element that each lane names."""
        leaves = memory_leaves(self.type.dtype)[first:end]
        found = [LaneValue(leaf, literal(0, leaf)) for _, leaf in leaves]
        for e, here in enumerate(self.here):
            values = self.places.load(self._element(e), self.type.dtype, first, end, None)
            found = [self.lanes.select(here, value, other) for value, other in zip(values, found)]
        return found

    def store(self, first: int, values: list[LaneValue], mask: str | None) -> None:
        """Write leaves from `first` on of the element that each lane names."""
        for e, here in enumerate(self.here):
            there = self.lanes.mask_and(mask, self.lanes.vector(here))
            self.places.store(self._element(e), self.type.dtype, first, values, there)
