"""Additions written into the log of a launch instead of to memory; `accumulation` says which.

One record holds what all lanes add (native/include/warp_core/abi.h). What all of them add to one element is summed
first, and lanes whose elements lie side by side write one piece of memory: both are records of a single lane.
"""

from __future__ import annotations

from collections.abc import Collection

from ..ir.nodes import Operation
from ..lang.types import BF16, F16, F32, F64, Packed, Scalar, Type, element
from .atomics import Atomics
from .lanes import Lanes, V
from .memory import Memory
from .wide import Wide
from .writer import PTR, llvm_type

_TYPES = {F32: 0, F64: 1, F16: 2, BF16: 3}
_NUMBERS = 16  # of each lane, in one record


class Log:
    """Emits additions through a `Lanes`."""

    def __init__(self, lanes: Lanes, memory: Memory, atomics: Atomics, operations: Collection[Operation]):
        self.lanes, self.w, self.memory, self.atomics = lanes, lanes.w, memory, atomics
        self.operations = operations
        self.pointer = ""

    def open(self) -> None:
        """Find the log of the range that is about to run."""
        if self.operations:
            self.lanes.declare("declare ptr @wc_log_of_thread()")
            self.lanes.declare("declare void @wc_log_full(ptr)")
            self.pointer = self.w.inst("call ptr @wc_log_of_thread()")

    def add(self, kind: str, address: V, t: Type, first: int, values: list[V], mask: str | None) -> None:
        """Add or subtract leaves from `first` on of the elements of type `t` at `address`."""
        s = element(t)
        assert isinstance(s, Scalar)
        if address.uniform:
            self.add_one(kind, self.memory.displace(address, first * s.size), values, mask)
            return
        given = [self._signed(kind, v) for v in values]
        side_by_side = address.stride == t.size and len(values) == (t.count if isinstance(t, Packed) else 1)
        if side_by_side and mask is None:
            n = self.lanes.lanes
            place = self._begin(s, 1, n * len(given), "1", address.text)
            Wide(self.lanes, [s] * len(given), place).store([self.lanes.vector(v) for v in given], None)
            self._end(place, s, n * len(given))
            return
        for at in range(0, len(given), _NUMBERS):
            columns = given[at : at + _NUMBERS]
            self._scattered(self.memory.displace(address, (first + at) * s.size), s, columns, mask)

    def add_one(self, kind: str, address: V, values: list[V], mask: str | None) -> None:
        """Add what the active lanes give, summed, to numbers at one address."""
        sums = [self._signed(kind, self.atomics.reduced(kind, v, mask)) for v in values]
        s = sums[0].type
        for at in range(0, len(sums), _NUMBERS):
            columns = sums[at : at + _NUMBERS]
            place = self._begin(s, 1, len(columns), "1", self.memory.displace(address, at * s.size).text)
            for i, v in enumerate(columns):
                self.w.do(f"store {llvm_type(s)} {v.text}, ptr {self._at(place, i * s.size)}, align {s.align}")
            self._end(place, s, len(columns))

    def _signed(self, kind: str, v: V) -> V:
        return self.lanes.unary("neg", v) if kind == "sub" else v

    def _scattered(self, address: V, s: Scalar, columns: list[V], mask: str | None) -> None:
        n = self.lanes.lanes
        done = self.w.label("added") if mask is not None else ""
        bits = str((1 << n) - 1)
        if mask is not None:
            bits = self.w.inst(f"zext i{n} {self.lanes.mask_bits(mask)} to i64")
            some = self.w.label("adding")
            self.w.cond_br(self.w.inst(f"icmp ne i64 {bits}, 0"), some, done)
            self.w.start(some)
        place = self._begin(s, n, len(columns), bits, self.lanes.vector(address))
        for i, v in enumerate(columns):
            at = self._at(place, i * n * s.size)
            self.w.do(f"store {llvm_type(s, n)} {self.lanes.vector(v)}, ptr {at}, align 8")
        self._end(place, s, n * len(columns))
        if mask is not None:
            self.w.br(done)
            self.w.start(done)

    def _begin(self, s: Scalar, n: int, count: int, bits: str, addresses: str) -> str:
        """Write the header and addresses of a record; where its values go."""
        start = self.w.inst(f"load ptr, ptr {self.pointer}")
        facts = _TYPES[s] | n << 8 | count << 16
        if bits.isdigit():
            header = str(int(bits) << 32 | facts)
        else:
            header = self.w.inst(f"or i64 {self.w.inst(f'shl i64 {bits}, 32')}, {facts}")
        self.w.do(f"store i64 {header}, ptr {start}, align 8")
        head = min(8 * n, 64)
        self.w.do(f"store {llvm_type(PTR, n)} {addresses}, ptr {self._at(start, head)}, align 8")
        return self._at(start, head + 8 * n)

    def _end(self, values: str, s: Scalar, count: int) -> None:
        """Make room for the next record."""
        following = self._at(values, -(-count * s.size // 8) * 8)
        limit = self.w.inst(f"load ptr, ptr {self._at(self.pointer, 8)}")
        self.w.do(f"store ptr {following}, ptr {self.pointer}")
        full, going_on = self.w.label("logfull"), self.w.label("logged")
        self.w.cond_br(self.w.inst(f"icmp ugt ptr {following}, {limit}"), full, going_on)
        self.w.start(full)
        self.w.do(f"call void @wc_log_full(ptr {self.pointer})")
        self.w.br(going_on)
        self.w.start(going_on)

    def _at(self, base: str, offset: int) -> str:
        return self.memory.displace(V(PTR, base), offset).text
