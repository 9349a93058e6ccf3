"""Reading scattered elements of several adjacent numbers: one lane after the other, in pieces, which shuffles then sort
into a column for each number. Gathers would read every number by itself. Start with `ScatteredAccess.load`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..lang.types import I64
from .interleave import Interleaver
from .lane_arithmetic import LaneArithmetic, LaneValue
from .lane_values import IndexedAddress
from .writer import PTR, Leaf, constant, memory_type, shuffle_mask

_MOST_LEAVES = 16
_ZEROS = 256  # bytes that lanes which are off may read of an element
_LAST_OF_PAGE = 4096 - 16  # the first of the last sixteen bytes of a page

Rows = tuple[str, str, str, str]


class ScatteredAccess:
    """Emits the reads of elements whose `parts`, (byte offset, type), are adjacent numbers of one size."""

    def __init__(self, lanes: LaneArithmetic, parts: Sequence[tuple[int, Leaf]]):
        self.lanes, self.w, self.n = lanes, lanes.w, lanes.lanes
        self.leaf = parts[0][1]
        self.element, self.offsets = memory_type(self.leaf), [offset for offset, _ in parts]

    @staticmethod
    def takes(parts: Sequence[tuple[int, Leaf]], lanes: int) -> bool:
        """True if elements with these parts can be read so."""
        start, size = parts[0][0], parts[0][1].size
        return (
            1 < len(parts) <= _MOST_LEAVES
            and parts[-1][0] + size <= _ZEROS
            and lanes * size <= 64
            and all(offset == start + i * size for i, (offset, _) in enumerate(parts))
            and len({memory_type(leaf) for _, leaf in parts}) == 1
        )

    def load(self, address: LaneValue, mask: str | None) -> list[str]:
        """A column of each number; lanes that are off read zeros instead."""
        four = self.leaf.size == 4 and self.n % 4 == 0
        # Tests of pages pay where shuffles of 512 bits are the limit.
        if four and len(self.offsets) == 3 and self.lanes.target.vector_bits == 512:
            return self._three(self._pointers(address, mask))
        lanes = self._lanes(address, mask)
        if not four:
            return self._pieces(lanes)
        return self._fours(lanes) if len(self.offsets) > 3 else self._pairs(lanes)

    def _pointers(self, address: LaneValue, mask: str | None) -> str:
        pointers = self.lanes.vector(address)
        return pointers if mask is None else self._zeros_instead(pointers, mask)

    def _lanes(self, address: LaneValue, mask: str | None) -> list[str]:
        """The pointer of each lane."""
        if mask is None and address.indexed and self.lanes.target.vector_bits < 512:
            return [self._pointer(address.indexed, i) for i in range(self.n)]
        return self._each(self._pointers(address, mask))

    def _pointer(self, of: IndexedAddress, lane: int) -> str:
        index = self.w.inst(f"extractelement <{self.n} x i32> {of.indices}, i64 {lane}")
        wide = self.w.inst(f"sext i32 {index} to i64")
        return self.w.inst(f"getelementptr i8, ptr {of.base}, i64 {self.w.inst(f'mul i64 {wide}, {of.step}')}")

    def _zeros_instead(self, pointers: str, mask: str) -> str:
        zeros = self.w.alloca(f"<{_ZEROS} x i8>")
        self.w.allocas.append(f"  store <{_ZEROS} x i8> zeroinitializer, ptr {zeros}")
        ty = f"<{self.n} x ptr>"
        return self.w.inst(f"select <{self.n} x i1> {mask}, {ty} {pointers}, {ty} {self.lanes.splat(zeros, PTR)}")

    def _each(self, pointers: str) -> list[str]:
        return [self.w.inst(f"extractelement <{self.n} x ptr> {pointers}, i64 {i}") for i in range(self.n)]

    def _read(self, pointer: str, offset: int, count: int) -> str:
        """Several numbers of an element."""
        ty = self.element if count == 1 else f"<{count} x {self.element}>"
        if offset:
            pointer = self.w.inst(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.w.inst(f"load {ty}, ptr {pointer}, align {self.leaf.align}")

    # -- pieces of two numbers, or as many as 16 bytes have -----------------------------------------------------------

    def _pieces(self, lanes: Sequence[str]) -> list[str]:
        columns: list[str] = []
        while len(columns) < len(self.offsets):
            left = min(len(self.offsets) - len(columns), 16 // self.leaf.size, self.n)
            count = 1 << left.bit_length() - 1
            pieces = [self._read(lane, self.offsets[len(columns)], count) for lane in lanes]
            columns += Interleaver(self.w, self.n, self.element).split(self._registers(pieces, count), range(count))
        return columns

    def _registers(self, pieces: list[str], count: int) -> list[str]:
        """Pieces of `count` numbers, one after the other, in vectors of all lanes."""
        if count == 1:
            ty = f"<2 x {self.element}>"
            pieces = [self.w.inst(f"insertelement {ty} poison, {self.element} {p}, i64 0") for p in pieces]
            mask = shuffle_mask((0, 2))
            pairs = zip(pieces[::2], pieces[1::2])
            pieces = [self.w.inst(f"shufflevector {ty} {a}, {ty} {b}, {mask}") for a, b in pairs]
            count = 2
        while count < self.n:
            mask, ty = shuffle_mask(range(2 * count)), f"<{count} x {self.element}>"
            pairs = zip(pieces[::2], pieces[1::2])
            pieces = [self.w.inst(f"shufflevector {ty} {a}, {ty} {b}, {mask}") for a, b in pairs]
            count *= 2
        return pieces

    # -- pieces of two numbers, then one ------------------------------------------------------------------------------

    def _pairs(self, lanes: Sequence[str]) -> list[str]:
        """Columns of two or three numbers. Lanes are taken in an order in which shuffles stay within 128 bits."""
        pairs = [self._read(lane, self.offsets[0], 2) for lane in lanes]
        a, b = (self._registers([p for i, p in enumerate(pairs) if i % 4 // 2 == half], 2)[0] for half in range(2))
        columns = [self._zip(a, b, (0, 2, 4, 6)), self._zip(a, b, (1, 3, 5, 7))]
        if len(self.offsets) == 3:
            columns += self._registers([self._read(lane, self.offsets[2], 1) for lane in lanes], 1)
        return columns

    # -- pieces of four numbers, whose transposes are columns ---------------------------------------------------------

    def _fours(self, lanes: Sequence[str]) -> list[str]:
        """The last piece overlaps the one before where fewer than four numbers are left."""
        columns: list[str] = []
        count = len(self.offsets)
        while len(columns) < count:
            at = min(len(columns), count - 4)
            columns += self._four(lanes, self.offsets[at])[len(columns) - at :]
        return columns

    def _three(self, pointers: str) -> list[str]:
        """The number behind an element is read, too; or the one before it, where the one behind may lie in a page of
        memory that is not there.
        """
        n, ty = self.n, f"<{self.n} x i64>"
        pointers = self.w.inst(f"getelementptr i8, <{n} x ptr> {pointers}, {ty} {constant(self.offsets[0], I64, n)}")
        numbers = self.w.inst(f"ptrtoint <{n} x ptr> {pointers} to {ty}")
        last = constant(_LAST_OF_PAGE, I64, n)
        in_last = self.w.inst(f"icmp eq {ty} {self.w.inst(f'and {ty} {numbers}, {last}')}, {last}")
        back = self.w.inst(
            f"select <{n} x i1> {in_last}, {ty} {constant(-self.leaf.size, I64, n)}, {ty} zeroinitializer"
        )
        lanes = self._each(self.w.inst(f"getelementptr i8, <{n} x ptr> {pointers}, {ty} {back}"))
        columns, ty = self._four(lanes, 0), f"<{n} x {self.element}>"
        return [
            self.w.inst(f"select <{n} x i1> {in_last}, {ty} {behind}, {ty} {first}")
            for first, behind in pairwise(columns)
        ]

    def _four(self, lanes: Sequence[str], offset: int) -> Rows:
        """Columns of the four numbers that are `offset` bytes behind the pointers of lanes."""
        a, b, c, d = (
            self._registers([self._read(lane, offset, 4) for lane in lanes[first::4]], 4)[0] for first in range(4)
        )
        low, high = (0, 4, 1, 5), (2, 6, 3, 7)
        left, right = (0, 1, 4, 5), (2, 3, 6, 7)
        firsts, lasts = (self._zip(a, b, low), self._zip(c, d, low)), (self._zip(a, b, high), self._zip(c, d, high))
        return self._zip(*firsts, left), self._zip(*firsts, right), self._zip(*lasts, left), self._zip(*lasts, right)

    def _zip(self, a: str, b: str, picks: Sequence[int]) -> str:
        """In each group of four numbers, those of two vectors: 0 to 3 are of the first one, 4 to 7 of the second."""
        ty = f"<{self.n} x {self.element}>"
        picked = [at + k % 4 + (self.n if k > 3 else 0) for at in range(0, self.n, 4) for k in picks]
        return self.w.inst(f"shufflevector {ty} {a}, {ty} {b}, {shuffle_mask(picked)}")
