"""Loads, stores and atomics.

An address is a `LaneValue` like any other value, and its form decides the access. Uniform addresses are scalar
accesses. Linear ones with a small element are wide accesses plus shuffles, so arrays of vectors, matrices and structs
are read at full width. Scattered elements of several numbers are read one lane after the other (scattered.py). The rest
are gathers and scatters. Under a mask, wide accesses become masked ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import gcd
from typing import Any

from ..lang.types import BOOL, I8, I16, I32, I64, MAX_NDIM, Array, Packed, Struct, Type, leaves, members
from .contiguous import ContiguousAccess
from .lane_arithmetic import LaneArithmetic, LaneValue, SpeculatedLinear
from .lane_values import IndexedAddress
from .scattered import ScatteredAccess
from .writer import PTR, Leaf, constant, llvm_type, memory_type, suffix

# Elements of up to this many leaves are accessed as one vector: beyond it the shuffles cost more than gathers.
_WIDE_LEAVES = 16
_RARELY_WIDE_LEAVES = 4
_SAME_SIZE = {1: I8, 2: I16, 4: I32, 8: I64}


@cache
def memory_leaves(t: Type) -> tuple[tuple[int, Leaf], ...]:
    """(byte offset, leaf type) of all that a value of `t` is made of; arrays are taken apart into their descriptors."""
    parts: list[tuple[int, Leaf]] = []
    for offset, leaf in leaves(t):
        if isinstance(leaf, Array):
            parts += [(offset, PTR), (offset + 8, PTR)]
            parts += [(offset + 16 + 8 * k, I64) for k in range(leaf.ndim)]
            parts += [(offset + 16 + 8 * (MAX_NDIM + k), I64) for k in range(leaf.ndim)]
        else:
            parts.append((offset, leaf))  # type: ignore[arg-type]
    return tuple(parts)


def leaf_count(t: Type) -> int:
    return len(memory_leaves(t))


def member_range(t: Type, index: int) -> tuple[int, int]:
    """Return the leaves of `t` that its member `index` occupies: start and end."""
    if isinstance(t, Packed):
        return index, index + 1
    before = members(t)[:index]
    start = sum(leaf_count(m) for m in before)
    return start, start + leaf_count(members(t)[index])


def path_range(t: Type, path: tuple[int, ...]) -> tuple[int, int, int, Type]:
    """(byte offset, first leaf, end leaf, type) of the static part of `path` into an element of type `t`."""
    offset = start = 0
    for step in path:
        if step == -1:
            break
        first, _ = member_range(t, step)
        offset += t.offsets[step] if isinstance(t, Struct) else step * t.scalar.size  # type: ignore[attr-defined]
        start += first
        t = members(t)[step]
    return offset, start, start + leaf_count(t), t


def with_inner_strides(values: list[LaneValue], t: Type) -> list[LaneValue]:
    """Leaves of a value of `t` with the last stride of each array in it replaced by the size of its elements."""
    values, at = list(values), 0
    for _, leaf in leaves(t):
        if isinstance(leaf, Array):
            at += 2 + 2 * leaf.ndim
            values[at - 1] = LaneValue(I64, str(leaf.dtype.size))
        else:
            at += 1
    return values


class Memory:
    """Emits accesses through a `LaneArithmetic`."""

    def __init__(self, lanes: LaneArithmetic):
        self.lanes, self.w = lanes, lanes.w
        self.rarely = False  # what is emitted seldom runs: short code before fast code
        self.often_full: tuple[str, str] | None = None  # a mask, and whether all lanes are on, as they mostly are
        self.aligned = 1  # a power of two that addresses of elements are multiples of
        self.note = ""  # metadata of scalar loads

    # -- addresses ----------------------------------------------------------------------------------------------

    def advance(self, address: LaneValue, offset: LaneValue) -> LaneValue:
        """`address` plus a 64-bit byte offset."""
        if offset.literal_int == 0:
            return address
        n = self.lanes.lanes
        if address.stride is not None and offset.stride is not None:
            text = self.w.inst(f"getelementptr i8, ptr {address.text}, i64 {offset.text}")
            return LaneValue(PTR, text, address.stride + offset.stride)
        base = f"ptr {address.text}" if address.uniform else f"<{n} x ptr> {self.lanes.vector(address)}"
        return LaneValue(PTR, self.w.inst(f"getelementptr i8, {base}, <{n} x i64> {self.lanes.vector(offset)}"), None)

    def displace(self, address: LaneValue, offset: int) -> LaneValue:
        return self.advance(address, LaneValue(I64, str(offset)))

    def element(self, array: list[LaneValue], t: Array, indices: list[LaneValue]) -> LaneValue:
        """The address of an element, or of the sub-array that fewer indices name."""
        of = self._indexed(array, t, indices)
        indices = [self.wide(i) for i in indices]
        address = self._element(array, t, indices)
        address.indexed = of
        conditions = [i.mostly.condition for i in indices if i.mostly is not None]
        if conditions:
            linear = self._element(array, t, [i.mostly.value if i.mostly is not None else i for i in indices])
            address.mostly = SpeculatedLinear(self.lanes.both(conditions), linear)
        return address

    def _indexed(self, array: list[LaneValue], t: Array, indices: list[LaneValue]) -> IndexedAddress | None:
        if len(indices) != 1 or not array[0].uniform or indices[0].stride is not None or indices[0].type is not I32:
            return None
        step = array[2 + t.ndim].literal_int
        return None if step is None else IndexedAddress(array[0].text, indices[0].text, step)

    def _element(self, array: list[LaneValue], t: Array, indices: list[LaneValue]) -> LaneValue:
        address = array[0]
        for k, index in enumerate(indices):
            stride = array[2 + t.ndim + k]
            address = self.advance(address, self._times(index, stride))
        return address

    def wide(self, index: LaneValue) -> LaneValue:
        """An index in 64 bits; a literal stays one. Lanes of a signed index that have wrapped around are in no array;
        those of an unsigned one may be, as it goes on at 0.
        """
        if index.literal_int is not None:
            return LaneValue(I64, index.text)
        found = self.lanes.cast(index, I64, wraps=not index.type.is_signed)
        if index.mostly is not None:
            found.mostly = SpeculatedLinear(index.mostly.condition, self.wide(index.mostly.value))
        return found

    def slice(self, array: list[LaneValue], ndim: int, parts: list[tuple[str, Sequence[LaneValue]]]) -> list[LaneValue]:
        """The descriptor of a view; `parts` are the letters of the operation `slice` with their 64-bit operands."""
        address, gradient, shape, strides = array[0], array[1], array[2 : 2 + ndim], array[2 + ndim :]
        kept, zero = [], LaneValue(I64, "0")
        offset = zero
        for k, (letter, operands) in enumerate(parts):
            if operands:
                step = self._times(operands[0], strides[k])
                address = self.advance(address, step)
                offset = step if offset is zero else self.lanes.binary("add", offset, step)
            if letter == "r":
                shape[k], strides[k] = operands[1], self._times(operands[2], strides[k])
            if letter != "i":
                kept.append(k)
        kept += range(len(parts), ndim)
        return [address, self._gradient(gradient, offset), *(shape[k] for k in kept), *(strides[k] for k in kept)]

    def view_at(
        self, address: LaneValue, offset: LaneValue, extents: list[LaneValue], itemsize: int
    ) -> list[LaneValue]:
        """The descriptor of elements in the order of rows, which begin at bytes behind an address; without gradient."""
        strides = [LaneValue(I64, str(itemsize))]
        for extent in reversed(extents[1:]):
            strides.insert(0, self._times(extent, strides[0]))
        return [self.advance(address, offset), LaneValue(PTR, "null"), *extents, *strides]

    def _gradient(self, gradient: LaneValue, offset: LaneValue) -> LaneValue:
        """The gradient of a view: as far along as the view is, or null as before."""
        if gradient.text == "null":
            return gradient
        missing, moved = self.is_null(gradient), self.advance(gradient, offset)
        if moved.stride is None:
            return self.lanes.select(missing, gradient, moved)
        text = self.w.inst(f"select i1 {missing.text}, ptr {gradient.text}, ptr {moved.text}")
        return LaneValue(PTR, text, moved.stride)

    def is_null(self, pointer: LaneValue) -> LaneValue:
        """Return the condition that a pointer is null. For a linear pointer: that it leads on from null."""
        n = 1 if pointer.stride is not None else self.lanes.lanes
        ty, null = ("ptr", "null") if n == 1 else (f"<{n} x ptr>", "zeroinitializer")
        return self.lanes.result(BOOL, self.w.inst(f"icmp eq {ty} {pointer.text}, {null}"), n)

    def _times(self, a: LaneValue, b: LaneValue) -> LaneValue:
        x, y = a.literal_int, b.literal_int
        return self.lanes.binary("mul", a, b) if x is None or y is None else LaneValue(I64, str(x * y))

    def either(
        self, condition: str, sides: Sequence[Callable[[], Any]], leaves: Sequence[Leaf] = ()
    ) -> list[LaneValue]:
        """Branch on a scalar; what the side taken gives, `leaves`."""

        def vectors(side: Callable[[], Any]) -> list[str]:
            return [self.lanes.vector(v) for v in side() or ()]

        types = [llvm_type(leaf, self.lanes.lanes) for leaf in leaves]
        texts = self.w.either(condition, [partial(vectors, side) for side in sides], types)
        return [LaneValue(leaf, text, None) for leaf, text in zip(leaves, texts)]

    # -- loads --------------------------------------------------------------------------------------------------

    def load(self, address: LaneValue, t: Type, first: int, end: int, mask: str | None) -> list[LaneValue]:
        """Leaves `first` to `end` of the element of type `t` at `address`."""
        parts = memory_leaves(t)
        if address.mostly is not None and self._wide(address.mostly.value, t):
            sides = [
                partial(self.load, at, t, first, end, mask) for at in (address.mostly.value, address.for_each_lane())
            ]
            return self.either(address.mostly.condition, sides, [leaf for _, leaf in parts[first:end]])
        if address.uniform:
            return [self._load_uniform(address, *part) for part in parts[first:end]]
        if self._wide(address, t):
            return self._load_wide(address, t, range(first, end), mask)
        if not self.rarely and ScatteredAccess.takes(parts[first:end], self.lanes.lanes):
            return self._load_scattered(address, parts[first:end], mask)
        return [self.gather(self.displace(address, offset), leaf, mask) for offset, leaf in parts[first:end]]

    def _load_scattered(
        self, address: LaneValue, parts: Sequence[tuple[int, Leaf]], mask: str | None
    ) -> list[LaneValue]:
        """Adjacent numbers of the element at an address for each lane."""
        access, n = ScatteredAccess(self.lanes, parts), self.lanes.lanes
        columns = access.load(address, mask)
        return [LaneValue(leaf, self._from_memory(raw, leaf, n), None) for raw, (_, leaf) in zip(columns, parts)]

    def _load_uniform(self, address: LaneValue, offset: int, leaf: Leaf) -> LaneValue:
        at = self.displace(address, offset).text
        raw = self.w.inst(f"load {memory_type(leaf)}, ptr {at}, align {self._align(offset, leaf)}{self.note}")
        return LaneValue(leaf, self._from_memory(raw, leaf, 1))

    def _from_memory(self, raw: str, leaf: Leaf, n: int) -> str:
        if leaf is BOOL:
            return self.w.inst(f"icmp ne {llvm_type(I8, n)} {raw}, {constant(0, I8, n)}")
        return raw

    def _wide(self, address: LaneValue, t: Type) -> bool:
        """True if lanes' elements are adjacent and all their leaves have one size."""
        parts = memory_leaves(t)
        size = parts[0][1].size
        return (
            address.stride == t.size
            and len(parts) <= (_RARELY_WIDE_LEAVES if self.rarely and self._gathers else _WIDE_LEAVES)
            and len(parts) * size == t.size
            and all(offset == i * size for i, (offset, _) in enumerate(parts))
            and all(leaf.size == size for _, leaf in parts)
        )

    @property
    def _gathers(self) -> bool:
        """True if the target has instructions for masked gathers and scatters. Without them the code is long."""
        return self.lanes.target.vector_bits == 512

    def _when_full(self, mask: str | None) -> str | None:
        """The condition for doing without `mask`, where that is worth a branch."""
        return self.often_full[1] if self.often_full and self.often_full[0] == mask else None

    def _load_wide(self, address: LaneValue, t: Type, wanted: range, mask: str | None) -> list[LaneValue]:
        parts = memory_leaves(t)
        access = ContiguousAccess(self.lanes, [leaf for _, leaf in parts], address.text)
        columns = access.load(wanted, mask, self._when_full(mask))
        return [self._leaf(column, access.element, parts[i][1]) for column, i in zip(columns, wanted)]

    def _leaf(self, raw: str, raw_type: str, leaf: Leaf) -> LaneValue:
        n = self.lanes.lanes
        if raw_type != memory_type(leaf):
            cast = "inttoptr" if leaf is PTR else "bitcast"
            raw = self.w.inst(f"{cast} <{n} x {raw_type}> {raw} to <{n} x {memory_type(leaf)}>")
        return LaneValue(leaf, self._from_memory(raw, leaf, n), None)

    def pointer(self, address: LaneValue) -> LaneValue:
        """The memory address that an integer names."""
        n = self.lanes.width(address)
        number = self.lanes.operand(address, n)
        if self.lanes.target.is_gpu:
            made = self.w.inst(f"inttoptr i64 {number} to ptr addrspace(1)")
            made = self.w.inst(f"addrspacecast ptr addrspace(1) {made} to ptr")
        else:
            made = self.w.inst(f"inttoptr {llvm_type(address.type, n)} {number} to {llvm_type(PTR, n)}")
        return self.lanes.result(PTR, made, n)

    def load_side_by_side(self, address: LaneValue, leaf: Leaf) -> LaneValue:
        """Scalars that lie next to each other for the lanes."""
        if address.uniform:
            return self._load_uniform(address, 0, leaf)
        return self._load_wide(address, leaf, range(1), None)[0]  # type: ignore[arg-type]

    def gather(self, address: LaneValue, leaf: Leaf, mask: str | None) -> LaneValue:
        """A scalar from an address for each lane."""
        n = self.lanes.lanes
        ty = f"<{n} x {memory_type(leaf)}>"
        name = f"llvm.masked.gather.v{n}{suffix(memory_type(leaf))}.v{n}p0"
        self.lanes.declare(f"declare {ty} @{name}(<{n} x ptr>, i32, <{n} x i1>, {ty})")
        pointers = self.lanes.vector(address)
        raw = self.w.inst(
            f"call {ty} @{name}(<{n} x ptr> {pointers}, i32 {leaf.align}, <{n} x i1> {self._mask(mask)}, "
            f"{ty} zeroinitializer)"
        )
        return LaneValue(leaf, self._from_memory(raw, leaf, n), None)

    def _mask(self, mask: str | None) -> str:
        return mask or "splat (i1 true)"

    # -- stores -------------------------------------------------------------------------------------------------

    def store(self, address: LaneValue, t: Type, first: int, values: list[LaneValue], mask: str | None) -> None:
        """Write leaves from `first` on of the element of type `t` at `address`."""
        parts = memory_leaves(t)[first : first + len(values)]
        if address.mostly is not None and self._wide(address.mostly.value, t):
            sides = [
                partial(self.store, at, t, first, values, mask)
                for at in (address.mostly.value, address.for_each_lane())
            ]
            self.either(address.mostly.condition, sides)
        elif address.uniform:
            for (offset, leaf), value in zip(parts, values):
                self._store_uniform(address, offset, leaf, value, mask)
        elif len(values) == leaf_count(t) and self._wide(address, t):
            self._store_wide(address, t, values, mask)
        else:
            for (offset, leaf), value in zip(parts, values):
                self.scatter(self.displace(address, offset), leaf, value, mask)

    def _to_memory(self, text: str, leaf: Leaf, n: int) -> str:
        if leaf is BOOL:
            return self.w.inst(f"zext {llvm_type(BOOL, n)} {text} to {llvm_type(I8, n)}")
        return text

    def _store_uniform(self, address: LaneValue, offset: int, leaf: Leaf, value: LaneValue, mask: str | None) -> None:
        """All active lanes write one place: the last of them wins, as with scalar threads in order."""
        text = value.text if value.uniform else self.lanes.extract(value, self.last_lane(mask))
        text = self._to_memory(text, leaf, 1)
        at = self.displace(address, offset).text
        self.w.do(f"store {memory_type(leaf)} {text}, ptr {at}, align {self._align(offset, leaf)}")

    def _align(self, offset: int, leaf: Leaf) -> int:
        return max(leaf.align, gcd(self.aligned, offset))

    def last_lane(self, mask: str | None) -> str:
        n = self.lanes.lanes
        if mask is None:
            return str(n - 1)
        bits = self.w.inst(f"zext i{n} {self.lanes.mask_bits(mask)} to i64")
        zeros = self.lanes.intrinsic("llvm.ctlz.i64", "i64", ("i64", bits), ("i1", "false"))
        lane = self.w.inst(f"sub i64 63, {zeros}")
        return self.w.inst(f"and i64 {lane}, {n - 1}")  # stays a lane should none be active

    def _store_wide(self, address: LaneValue, t: Type, values: list[LaneValue], mask: str | None) -> None:
        parts = memory_leaves(t)
        access = ContiguousAccess(self.lanes, [leaf for _, leaf in parts], address.text)
        columns = [self._raw(v, leaf, access.element) for v, (_, leaf) in zip(values, parts)]
        access.store(columns, mask, self._when_full(mask))

    def _raw(self, value: LaneValue, leaf: Leaf, raw_type: str) -> str:
        n = self.lanes.lanes
        text = self._to_memory(self.lanes.vector(value), leaf, n)
        if raw_type != memory_type(leaf):
            cast = "ptrtoint" if leaf is PTR else "bitcast"
            text = self.w.inst(f"{cast} <{n} x {memory_type(leaf)}> {text} to <{n} x {raw_type}>")
        return text

    def store_side_by_side(self, address: LaneValue, leaf: Leaf, value: LaneValue) -> None:
        """Write scalars next to each other, of all lanes."""
        if address.uniform:
            self._store_uniform(address, 0, leaf, value, None)
        else:
            self._store_wide(address, leaf, [value], None)  # type: ignore[arg-type]

    def scatter(self, address: LaneValue, leaf: Leaf, value: LaneValue, mask: str | None) -> None:
        """Write a scalar to an address for each lane."""
        n = self.lanes.lanes
        ty = f"<{n} x {memory_type(leaf)}>"
        name = f"llvm.masked.scatter.v{n}{suffix(memory_type(leaf))}.v{n}p0"
        self.lanes.declare(f"declare void @{name}({ty}, <{n} x ptr>, i32, <{n} x i1>)")
        text = self._to_memory(self.lanes.vector(value), leaf, n)
        pointers = self.lanes.vector(address)
        self.w.do(
            f"call void @{name}({ty} {text}, <{n} x ptr> {pointers}, i32 {leaf.align}, <{n} x i1> {self._mask(mask)})"
        )
