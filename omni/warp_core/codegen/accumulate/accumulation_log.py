"""Additions written into the log of a launch instead of to memory; `eligibility` says which.

One record holds what all lanes add (native/include/warp_core/abi.h). What all of them add to one element is summed
first, and lanes whose elements lie side by side write one piece of memory: both are records of a single lane.

Elements that no other range of threads adds to (`following`) are added to in place. Where a group of lanes meets the
ends of those, the runtime takes the record apart at once: adds what is the range's own and leaves the rest in the log.

A range whose turn has come (`together`) adds in place, too, to arrays to which all lanes add together. As that may be
so from any record on, all additions to such an array look whether it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

from ...ir.nodes import Operation
from ...lang.types import BF16, F16, F32, F64, Scalar, Struct, Type, element
from ..atomics import Atomics
from ..contiguous import ContiguousAccess
from ..lane_arithmetic import LaneArithmetic, LaneValue
from ..memory_access import Memory, leaf_count, memory_leaves
from ..writer import PTR, llvm_type

_TYPES = {F32: 0, F64: 1, F16: 2, BF16: 3}
_NUMBERS = 16  # of each lane, in one record
_MOST_BYTES = 8192 - 16  # in the values of a record with one address: kLogRecord (accumulate.h) without its head


class DeferredAdd(NamedTuple):
    """The additions that go through the log, the number of the array that follows the threads for those to one, and
    those to arrays to which all lanes add together.
    """

    operations: Collection[Operation] = ()
    followers: Mapping[Operation, int] = {}
    together: Collection[Operation] = ()


NONE_LOGGED = DeferredAdd()


class AccumulationLog:
    """Emits additions through a `LaneArithmetic`."""

    def __init__(self, lanes: LaneArithmetic, memory: Memory, atomics: Atomics, logged: DeferredAdd):
        self.lanes, self.w, self.memory, self.atomics = lanes, lanes.w, memory, atomics
        self.operations, self.followers, self.together = logged
        self.pointer = ""
        self.own: dict[int, tuple[str, str]] = {}  # of each follower, the addresses that are this range's own

    def open(self) -> None:
        """Find the log of the range that is about to run."""
        if self.operations:
            self.lanes.declare("declare ptr @wc_log_of_thread()")
            self.lanes.declare("declare void @wc_log_full(ptr)")
            self.pointer = self.w.inst("call ptr @wc_log_of_thread()")
        if self.followers:
            self.lanes.declare("declare void @wc_log_ends(ptr, ptr, i64)")
            spans = self.w.inst(f"load ptr, ptr {self._at(self.pointer, 16)}")
            for i in sorted(set(self.followers.values())):
                low, high = (self.w.inst(f"load ptr, ptr {self._at(spans, 16 * i + k)}") for k in (0, 8))
                self.own[i] = low, high

    def add(
        self, op: Operation, address: LaneValue, t: Type, first: int, values: list[LaneValue], mask: str | None
    ) -> None:
        """Add or subtract leaves of one type, from `first` on, of the elements of type `t` at `address`."""
        s, kind = element(op.args[-1].type), op.attr[0]
        assert isinstance(s, Scalar)
        if address.uniform:
            at = self.memory.displace(address, memory_leaves(t)[first][0])
            sums = [self._signed(kind, self.atomics.reduced(kind, v, mask)) for v in values]
            self._in_place_or(
                self._is_own(op, (at.text, len(sums) * s.size)),
                lambda: self._add_in_place(at, s, sums),
                lambda: self._record(op, len(sums) > _NUMBERS, lambda: self._one(at, s, sums, self.followers.get(op))),
            )
            return
        given = [self._signed(kind, v) for v in values]
        wide = address.stride == t.size and not self.memory.rarely
        self._in_place_or(
            self._is_own(op, (address.text, self.lanes.lanes * t.size)) if wide else "",
            lambda: self._add_wide_in_place(address, t, first, given, mask),
            lambda: self._record(
                op,
                not wide or len(given) > _NUMBERS,
                lambda: self._write(address, t, first, given, mask, self.followers.get(op)),
            ),
        )

    def add_one(self, kind: str, address: LaneValue, values: list[LaneValue], mask: str | None) -> None:
        """Add what the active lanes give, summed, to numbers at one address."""
        sums = [self._signed(kind, self.atomics.reduced(kind, v, mask)) for v in values]
        self._one(address, sums[0].type, sums, None)

    def _signed(self, kind: str, v: LaneValue) -> LaneValue:
        return self.lanes.unary("neg", v) if kind == "sub" else v

    # -- in place ---------------------------------------------------------------------------------------------------

    def _is_own(self, op: Operation, place: tuple[str, int]) -> str:
        """Return a condition: no other chunk adds to the bytes of a place, or not before this range. Return nothing if
        that is not known.
        """
        if op not in self.followers:
            return self._is_turn() if op in self.together else ""
        (low, high), (address, size) = self.own[self.followers[op]], place
        end = self._at(address, size)
        inside = [self.w.inst(f"icmp {test}") for test in (f"uge ptr {address}, {low}", f"ule ptr {end}, {high}")]
        return self.w.inst(f"and i1 {inside[0]}, {inside[1]}")

    def _is_turn(self) -> str:
        return self.w.inst(f"icmp ne i64 {self.w.inst(f'load i64, ptr {self._at(self.pointer, 24)}')}, 0")

    def _in_place_or(self, condition: str, in_place: Callable[[], None], record: Callable[[], None]) -> None:
        """Emit one of them, or both with a branch if there is a condition."""
        if not condition:
            record()
            return
        here, logged, done = (self.w.label(hint) for hint in ("inplace", "record", "added"))
        self.w.cond_br(condition, here, logged)
        for label, emit in ((here, in_place), (logged, record)):
            self.w.start(label)
            emit()
            self.w.br(done)
        self.w.start(done)

    def _add_in_place(self, address: LaneValue, s: Scalar, sums: list[LaneValue]) -> None:
        for i, v in enumerate(sums):
            at = self.memory.displace(address, i * s.size)
            (old,) = self.memory.load(at, s, 0, 1, None)
            self.memory.store(at, s, 0, [self.lanes.binary("add", old, v)], None)

    def _add_wide_in_place(
        self, address: LaneValue, t: Type, first: int, given: list[LaneValue], mask: str | None
    ) -> None:
        """Other leaves of the elements are the range's own as well, and stay as they are."""
        values = self.memory.load(address, t, 0, leaf_count(t), mask)
        for i, v in enumerate(given, first):
            values[i] = self.lanes.binary("add", values[i], v)
        self.memory.store(address, t, 0, values, mask)

    # -- records ----------------------------------------------------------------------------------------------------

    def _record(self, op: Operation, at_once: bool, write: Callable[[], None]) -> None:
        """Write records. Apply those that must not wait (`at_once`) if it is the range's turn, which may have come
        between two of them: additions that follow are in place then.
        """
        write()
        if at_once and op in self.together:
            self._apply_if(self._is_turn())

    def _write(
        self, address: LaneValue, t: Type, first: int, given: list[LaneValue], mask: str | None, follower: int | None
    ) -> None:
        whole = follower is None and not isinstance(t, Struct) and len(given) == leaf_count(t)
        whole = whole and self.lanes.lanes * t.size <= _MOST_BYTES
        if whole and mask is None and address.stride == t.size:
            self._side_by_side(address, t, given)
        elif whole and address.mostly is not None and address.mostly.value.stride == t.size:
            condition, linear = address.mostly
            if mask is not None:
                condition = self.w.inst(f"and i1 {condition}, {self.lanes.all(mask)}")
            row = partial(self._side_by_side, linear, t, given)
            self.memory.either(condition, (row, partial(self._spread, address, t, first, given, mask, None)))
        else:
            self._spread(address, t, first, given, mask, follower)

    def _side_by_side(self, address: LaneValue, t: Type, given: list[LaneValue]) -> None:
        s, count = element(t), self.lanes.lanes * len(given)
        assert isinstance(s, Scalar)
        place = self._begin(s, 1, count, "1", address.text)
        ContiguousAccess(self.lanes, [s] * len(given), place).store([self.lanes.vector(v) for v in given], None)
        self._end(place, s, count, None)

    def _spread(
        self, address: LaneValue, t: Type, first: int, given: list[LaneValue], mask: str | None, follower: int | None
    ) -> None:
        (offset, s), *_ = memory_leaves(t)[first:]
        assert isinstance(s, Scalar)
        for at in range(0, len(given), _NUMBERS):
            columns = given[at : at + _NUMBERS]
            self._scattered(self.memory.displace(address, offset + at * s.size), s, columns, mask, follower)

    def _one(self, address: LaneValue, s: Scalar, sums: list[LaneValue], follower: int | None) -> None:
        for at in range(0, len(sums), _NUMBERS):
            columns = sums[at : at + _NUMBERS]
            place = self._begin(s, 1, len(columns), "1", self.memory.displace(address, at * s.size).text)
            for i, v in enumerate(columns):
                self.w.do(f"store {llvm_type(s)} {v.text}, ptr {self._at(place, i * s.size)}, align {s.align}")
            self._end(place, s, len(columns), follower)

    def _scattered(
        self, address: LaneValue, s: Scalar, columns: list[LaneValue], mask: str | None, follower: int | None
    ) -> None:
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
        self._end(place, s, n * len(columns), follower)
        if mask is not None:
            self.w.br(done)
            self.w.start(done)

    def _begin(self, s: Scalar, n: int, count: int, bits: str, addresses: str) -> str:
        """Write the header and addresses of a record; where its values go."""
        start = self.w.inst(f"load ptr, ptr {self.pointer}")
        head = min(8 * n, 64)
        values = head + 8 * n
        units = (values + n * count * s.size + 7) // 8
        facts = _TYPES[s] | n << 2 | count << 8 | units << 20
        if bits.isdigit():
            header = str(int(bits) << 32 | facts)
        else:
            header = self.w.inst(f"or i64 {self.w.inst(f'shl i64 {bits}, 32')}, {facts}")
        self.w.do(f"store i64 {header}, ptr {start}, align 8")
        self.w.do(f"store {llvm_type(PTR, n)} {addresses}, ptr {self._at(start, head)}, align 8")
        return self._at(start, values)

    def _end(self, values: str, s: Scalar, count: int, follower: int | None) -> None:
        """Make room for the next record, once what is the range's own in this one has been added."""
        following = self._at(values, -(-count * s.size // 8) * 8)
        if follower is not None:
            self.w.do(f"call void @wc_log_ends(ptr {self.pointer}, ptr {following}, i64 {follower})")
            return
        limit = self.w.inst(f"load ptr, ptr {self._at(self.pointer, 8)}")
        self.w.do(f"store ptr {following}, ptr {self.pointer}")
        self._apply_if(self.w.inst(f"icmp ugt ptr {following}, {limit}"))

    def _apply_if(self, condition: str) -> None:
        full, going_on = self.w.label("logfull"), self.w.label("logged")
        self.w.cond_br(condition, full, going_on)
        self.w.start(full)
        self.w.do(f"call void @wc_log_full(ptr {self.pointer})")
        self.w.br(going_on)
        self.w.start(going_on)

    def _at(self, base: str, offset: int) -> str:
        return self.memory.displace(LaneValue(PTR, base), offset).text
