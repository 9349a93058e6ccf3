"""Where control goes: joins of real branches, and accumulators that lanes reach one after another.

Both are places that a region can leave to. `take` sends all active lanes there and ends the block; `bail` ends the
block when no lane is active. An accumulator also has `accumulate`, which notes that the active lanes have arrived while
the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .lane_arithmetic import LaneArithmetic, LaneValue
from .writer import Leaf, llvm_type


class Scope(Protocol):
    """The parts of the emitter that exits need: the lanes, and the mask of the point being emitted."""

    lanes: LaneArithmetic
    mask: str | None


# (leaf type, whether lanes differ) of each value that an exit carries
Slots = Sequence[tuple[Leaf, bool]]


def slot_type(scope: Scope, slot: tuple[Leaf, bool]) -> str:
    leaf, varying = slot
    return llvm_type(leaf, scope.lanes.lanes if varying else 1)


def slot_text(scope: Scope, slot: tuple[Leaf, bool], value: LaneValue) -> str:
    return scope.lanes.vector(value) if slot[1] else value.text


def slot_value(slot: tuple[Leaf, bool], text: str, lanes: int) -> LaneValue:
    leaf, varying = slot
    return LaneValue(leaf, text, None if varying and lanes > 1 else 0)


class PhiJoin:
    """A block reached by real branches; values meet in phis, and so do masks that differ."""

    def __init__(self, scope: Scope, hint: str, slots: Slots):
        self.scope, self.slots = scope, list(slots)
        self.w = scope.lanes.w
        self.label = self.w.label(hint)
        self.edges: list[tuple[str, list[str], str | None]] = []
        self.only: list[LaneValue] = []

    def take(self, values: Sequence[LaneValue]) -> None:
        texts = [slot_text(self.scope, s, v) for s, v in zip(self.slots, values)]
        self.only = list(values)
        self.edges.append((self.w.block, texts, self.scope.mask))
        self.w.br(self.label)

    def bail(self) -> None:
        self.only = []
        self.edges.append((self.w.block, ["zeroinitializer"] * len(self.slots), "zeroinitializer"))
        self.w.br(self.label)

    def finish(self) -> list[LaneValue]:
        """Start the block; returns the values and sets the mask. Without edges the block is unreachable."""
        w, lanes = self.w, self.scope.lanes.lanes
        w.start(self.label)
        if len(self.edges) == 1 and len(self.only) == len(self.slots):
            self.scope.mask = self.edges[0][2]
            return self.only
        if not self.edges:
            return [slot_value(s, "zeroinitializer", lanes) for s in self.slots]
        values = []
        for i, slot in enumerate(self.slots):
            edges = [(texts[i], block) for block, texts, _ in self.edges]
            same = all(t == edges[0][0] for t, _ in edges)
            text = edges[0][0] if same else w.phi(slot_type(self.scope, slot), edges)
            values.append(slot_value(slot, text, lanes))
        self._merge_masks()
        return values

    def _merge_masks(self) -> None:
        masks = [m for _, _, m in self.edges]
        if all(m == masks[0] for m in masks):
            self.scope.mask = masks[0]
            return
        edges = [(m or "splat (i1 true)", block) for block, _, m in self.edges]
        self.scope.mask = self.w.phi(f"<{self.scope.lanes.lanes} x i1>", edges)


class LaneAccumulator:
    """A label that lanes reach at different times: values, and if tracked the mask of the arrived, wait in stack slots.

    Without `blend` only one group of lanes ever arrives between resets, so values need no selecting.
    """

    def __init__(self, scope: Scope, label: str, slots: Slots, blend: bool = True, track: bool = True):
        self.scope, self.label, self.slots, self.blend, self.track = scope, label, list(slots), blend, track
        self.w = scope.lanes.w
        self.mask_type = f"<{scope.lanes.lanes} x i1>"
        self.places = [self.w.alloca(slot_type(scope, s)) for s in self.slots]
        self.mask_place = self.w.alloca(self.mask_type)

    def reset(self) -> None:
        """Nothing has arrived yet."""
        for slot, place in zip(self.slots, self.places):
            self.w.do(f"store {slot_type(self.scope, slot)} zeroinitializer, ptr {place}")
        self.w.do(f"store {self.mask_type} zeroinitializer, ptr {self.mask_place}")

    def accumulate(self, values: Sequence[LaneValue]) -> None:
        mask = self.scope.mask
        for slot, place, value in zip(self.slots, self.places, values):
            ty, text = slot_type(self.scope, slot), slot_text(self.scope, slot, value)
            if self.blend and slot[1] and mask is not None:
                old = self.w.inst(f"load {ty}, ptr {place}")
                text = self.w.inst(f"select {self.mask_type} {mask}, {ty} {text}, {ty} {old}")
            self.w.do(f"store {ty} {text}, ptr {place}")
        if self.track:
            self._arrive(mask)

    def _arrive(self, mask: str | None) -> None:
        arrived = self.w.inst(f"load {self.mask_type}, ptr {self.mask_place}")
        arrived = self.w.inst(f"or {self.mask_type} {arrived}, {mask or 'splat (i1 true)'}")
        self.w.do(f"store {self.mask_type} {arrived}, ptr {self.mask_place}")

    def take(self, values: Sequence[LaneValue]) -> None:
        self.accumulate(values)
        self.w.br(self.label)

    def bail(self) -> None:
        self.w.br(self.label)

    def load(self) -> tuple[list[LaneValue], str]:
        """Load the values and the mask that have arrived."""
        lanes = self.scope.lanes.lanes
        values = [
            slot_value(s, self.w.inst(f"load {slot_type(self.scope, s)}, ptr {place}"), lanes)
            for s, place in zip(self.slots, self.places)
        ]
        return values, self.w.inst(f"load {self.mask_type}, ptr {self.mask_place}")
