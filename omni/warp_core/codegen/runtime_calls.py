"""Calls from generated code into the runtime: formatted output and debug-mode failures, lane by lane."""

from __future__ import annotations

from ..lang.blake2 import blake2s
from ..lang.types import BOOL
from .atomics import each_lane
from .lane_arithmetic import LaneArithmetic, LaneValue
from .writer import literal


class Reports:
    """Emits the calls through a `LaneArithmetic`."""

    def __init__(self, lanes: LaneArithmetic, declare):
        self.lanes, self.w, self.declare = lanes, lanes.w, declare

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
        buffer = self.w.alloca(f"[{max(1, len(slots))} x i64]")

        def body(lane: str) -> None:
            self._fill(buffer, slots, lane)
            index, place = self.w.inst(f"add i64 {thread}, {lane}"), self.lanes.extract(site, lane)
            self.w.do(f"call void @wc_fail(ptr %context, i64 {index}, i32 {place}, i32 {len(slots)}, ptr {buffer})")

        each_lane(self.lanes, mask, body)

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
