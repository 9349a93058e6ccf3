"""Calls from generated code into the runtime: formatted output and debug-mode failures, lane by lane."""

from __future__ import annotations

from ..lang.blake2 import blake2s
from ..lang.types import BOOL
from .atomics import each_lane
from .lane_arithmetic import LaneArithmetic, LaneValue
from .writer import literal

MAX_SLOTS = 8
# Calls wc_fail for each active lane, with the values of that lane.
_FAIL_LANES = "\n".join(
    (
        "define internal void @fail_lanes(ptr %context, i64 %thread, <{n} x i1> %active, "
        "<{n} x i32> %sites, i32 %count, ptr %slots) noinline cold {{",
        "entry:",
        "  %values = alloca [{most} x i64]",
        "  br label %lanes",
        "lanes:",
        "  %lane = phi i64 [ 0, %entry ], [ %next, %end ]",
        "  %is_active = extractelement <{n} x i1> %active, i64 %lane",
        "  br i1 %is_active, label %copy, label %end",
        "copy:",
        "  %slot = phi i64 [ 0, %lanes ], [ %following, %copy ]",
        "  %from = getelementptr <{n} x i64>, ptr %slots, i64 %slot, i64 %lane",
        "  %to = getelementptr i64, ptr %values, i64 %slot",
        "  %value = load i64, ptr %from",
        "  store i64 %value, ptr %to",
        "  %following = add i64 %slot, 1",
        "  %more = icmp ult i64 %following, {most}",
        "  br i1 %more, label %copy, label %report",
        "report:",
        "  %index = add i64 %thread, %lane",
        "  %site = extractelement <{n} x i32> %sites, i64 %lane",
        "  call void @wc_fail(ptr %context, i64 %index, i32 %site, i32 %count, ptr %values)",
        "  br label %end",
        "end:",
        "  %next = add i64 %lane, 1",
        "  %again = icmp ult i64 %next, {n}",
        "  br i1 %again, label %lanes, label %done",
        "done:",
        "  ret void",
        "}}",
    )
)


class Reports:
    """Emits the calls through a `LaneArithmetic`."""

    def __init__(self, lanes: LaneArithmetic, declare):
        self.lanes, self.w, self.declare = lanes, lanes.w, declare
        self._values = ""

    def printf(self, text: str, slots: list[LaneValue], mask: str | None) -> None:
        """Print `text` with 64-bit operands for every active lane."""
        name = self._string(text)
        self.declare("declare void @wc_printf(ptr, ptr, ptr)")
        buffer = self.w.alloca(f"[{max(1, len(slots))} x i64]")

        def body(lane: str) -> None:
            self._fill(buffer, slots, lane)
            self.w.do(f"call void @wc_printf(ptr %context, ptr {name}, ptr {buffer})")

        each_lane(self.lanes, mask, body)

    def fail(self, site: LaneValue, thread: str, slots: list[LaneValue], mask: str | None) -> None:
        """Report the failure of every active lane, at its `site`; `thread` is the first lane's flattened index."""
        self.declare("declare void @wc_fail(ptr, i64, i32, i32, ptr)")
        n = self.lanes.lanes
        buffer = self._buffer()
        if n == 1:
            self._fill(buffer, slots, "0")
            where = f"i64 {thread}, i32 {site.text}"
            self.w.do(f"call void @wc_fail(ptr %context, {where}, i32 {len(slots)}, ptr {buffer})")
            return
        self.declare(_FAIL_LANES.format(n=n, most=MAX_SLOTS))
        for i, slot in enumerate(slots):
            place = self.w.inst(f"getelementptr <{n} x i64>, ptr {buffer}, i64 {i}")
            self.w.do(f"store <{n} x i64> {self.lanes.vector(slot)}, ptr {place}")
        active = f"<{n} x i1> {mask or 'splat (i1 true)'}"
        where = f"i64 {thread}, {active}, <{n} x i32> {self.lanes.vector(site)}"
        self.w.do(f"call void @fail_lanes(ptr %context, {where}, i32 {len(slots)}, ptr {buffer})")

    def _buffer(self) -> str:
        """The memory in which the function puts the values of a failure."""
        if not self._values:
            self._values = self.w.alloca(f"[{MAX_SLOTS} x <{self.lanes.lanes} x i64>]")
        return self._values

    def is_structure(self, address: LaneValue) -> LaneValue:
        """Whether a structure may be at an address. A wrong address is a fault, which the launch reports."""
        return LaneValue(BOOL, literal(1, BOOL))

    def _fill(self, buffer: str, slots: list[LaneValue], lane: str) -> None:
        for i, slot in enumerate(slots):
            place = self.w.inst(f"getelementptr i64, ptr {buffer}, i64 {i}")
            self.w.do(f"store i64 {self.lanes.extract(slot, lane)}, ptr {place}")

    def _string(self, text: str) -> str:
        data = text.encode() + b"\0"
        name = "@text_" + blake2s(data, digest_size=8).hexdigest()
        escaped = "".join(chr(c) if 32 <= c < 127 and c not in (34, 92) else f"\\{c:02X}" for c in data)
        self.declare(f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{escaped}"')
        return name
