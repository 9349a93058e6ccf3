"""Wide accesses: the elements of all lanes lie side by side, and registers of them are read or written at once.

A leaf of a compound element, such as a component of a vector, is every k-th number of them; `interleave` takes
registers apart and puts them together. All is done in registers of the target's width, masks too: LLVM needs up to half
more instructions where it is left to cut wider vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ..lang.types import BOOL
from .interleave import Interleaver
from .lane_arithmetic import LaneArithmetic
from .writer import Leaf, memory_type, shuffle_mask, suffix


class ContiguousAccess:
    """An access of elements made of `leaves`, all of one size, that start at `address`.

    `element` is the LLVM type that stands for all of them. One leaf is one vector, which needs no shuffles.
    """

    def __init__(self, lanes: LaneArithmetic, leaves: Sequence[Leaf], address: str):
        self.lanes, self.w, self.address = lanes, lanes.w, address
        self.count, self.size, self.align = len(leaves), leaves[0].size, leaves[0].align
        kinds = {memory_type(leaf) for leaf in leaves}
        self.element = kinds.pop() if len(kinds) == 1 else f"i{8 * self.size}"
        n = lanes.lanes
        self.width = n if self.count == 1 else min(n, lanes.target.vector_bits // (8 * self.size))
        self.type = f"<{self.width} x {self.element}>"
        self.interleaver = Interleaver(self.w, self.width, self.element)

    def load(self, wanted: range, mask: str | None, full: str | None = None) -> list[str]:
        """The leaves `wanted`, each a vector of all lanes. If `full`, a condition, holds, the mask is not looked at."""
        if full is None:
            registers = self._registers(mask)
        else:
            sides = [partial(self._registers, m) for m in (None, mask)]
            registers = self.w.either(full, sides, [self.type] * (self.lanes.lanes * self.count // self.width))
        groups = [
            self.interleaver.split(registers[i : i + self.count], wanted) for i in range(0, len(registers), self.count)
        ]
        return [self._concatenate(list(column)) for column in zip(*groups)]

    def store(self, columns: Sequence[str], mask: str | None, full: str | None = None) -> None:
        """Write all leaves, each given as a vector of all lanes; `full` as for `load`."""
        registers = [r for start in range(0, self.lanes.lanes, self.width) for r in self._part(columns, start)]
        if full is None:
            self._write(registers, mask)
        else:
            self.w.either(full, [partial(self._write, registers, m) for m in (None, mask)])

    def _registers(self, mask: str | None) -> list[str]:
        return [self._load(address, lanes, mask) for address, lanes in self._pieces()]

    def _write(self, registers: Sequence[str], mask: str | None) -> None:
        for (address, lanes), register in zip(self._pieces(), registers):
            self._store(address, lanes, register, mask)

    def _pieces(self) -> Iterator[tuple[str, list[int]]]:
        """(address, lane of each element) of one register after the other."""
        for at in range(0, self.lanes.lanes * self.count, self.width):
            lanes = [(at + i) // self.count for i in range(self.width)]
            yield self.address if at == 0 else self._displaced(at * self.size), lanes

    def _displaced(self, offset: int) -> str:
        return self.w.inst(f"getelementptr i8, ptr {self.address}, i64 {offset}")

    def _load(self, address: str, lanes: list[int], mask: str | None) -> str:
        if mask is None:
            return self.w.inst(f"load {self.type}, ptr {address}, align {self.align}")
        name = f"llvm.masked.load.v{self.width}{suffix(self.element)}.p0"
        self.lanes.declare(f"declare {self.type} @{name}(ptr, i32, <{self.width} x i1>, {self.type})")
        given = f"ptr {address}, i32 {self.align}, <{self.width} x i1> {self._spread(mask, lanes)}"
        return self.w.inst(f"call {self.type} @{name}({given}, {self.type} zeroinitializer)")

    def _store(self, address: str, lanes: list[int], register: str, mask: str | None) -> None:
        if mask is None:
            self.w.do(f"store {self.type} {register}, ptr {address}, align {self.align}")
            return
        name = f"llvm.masked.store.v{self.width}{suffix(self.element)}.p0"
        self.lanes.declare(f"declare void @{name}({self.type}, ptr, i32, <{self.width} x i1>)")
        given = f"ptr {address}, i32 {self.align}, <{self.width} x i1> {self._spread(mask, lanes)}"
        self.w.do(f"call void @{name}({self.type} {register}, {given})")

    def _spread(self, mask: str, lanes: list[int]) -> str:
        """The bit of each element's lane."""
        n = self.lanes.lanes
        return mask if lanes == list(range(n)) else self.lanes.shuffle(BOOL, n, mask, "poison", lanes)

    def _part(self, columns: Sequence[str], start: int) -> list[str]:
        """The registers that hold the elements of the lanes from `start` on, as many as a register is wide."""
        n = self.lanes.lanes
        if self.width == n:
            return self.interleaver.join(columns)
        ty, cut = f"<{n} x {self.element}>", shuffle_mask(range(start, start + self.width))
        return self.interleaver.join([self.w.inst(f"shufflevector {ty} {c}, {ty} poison, {cut}") for c in columns])

    def _concatenate(self, parts: list[str]) -> str:
        width = self.width
        while len(parts) > 1:
            ty, both = f"<{width} x {self.element}>", shuffle_mask(range(2 * width))
            parts = [self.w.inst(f"shufflevector {ty} {a}, {ty} {b}, {both}") for a, b in zip(parts[::2], parts[1::2])]
            width *= 2
        return parts[0]
