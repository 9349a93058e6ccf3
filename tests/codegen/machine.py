"""Runs emitted code on the interpreter's values, so that both can be given the same program and compared."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm

from omni.warp_core.codegen import toolchain
from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions, EmittedModule, emit_cpu
from omni.warp_core.codegen.target import Target, host, x86
from omni.warp_core.ir.interp.array_memory import MemArray, flatten, unflatten
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.semantics import bits_of, convert, from_bits
from omni.warp_core.lang.types import BF16, F16, F32, F64, Array, Type, leaves

_ORDER = ["sse4", "avx2", "avx512"]


def targets() -> list[Target]:
    """Every level that this machine can run."""
    mine = host().name
    return [x86(name) for name in _ORDER[: _ORDER.index(mine) + 1]] if mine in _ORDER else [host()]


class _Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("grad", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * 4),
        ("strides", ctypes.c_int64 * 4),
    ]


class _Log:
    """What generated code writes additions into, read back as native/include/warp_core/abi.h describes it."""

    types = (F32, F64, F16, BF16)

    def __init__(self) -> None:
        self.bytes = ctypes.create_string_buffer(1 << 16)
        self.start = ctypes.addressof(self.bytes)
        self.own = (ctypes.c_uint64 * 16)()  # eight spans
        # Short, so that it is full soon.
        self.deltas = (ctypes.c_int64 * 8)()  # arrays of integers are added to in place
        table, spans = ctypes.addressof(self.deltas), ctypes.addressof(self.own)
        self.head = (ctypes.c_uint64 * 5)(self.start, self.start + 512, spans, 0, table)
        self.turn_at: int | None = None  # the turn comes when the log has been full so often
        self.records = self.longest = self.times_full = 0
        self.places: set[int] = set()  # addresses that were in logs

    @property
    def turn(self) -> bool:
        """Whether the range's turn has come."""
        return bool(self.head[3])

    @turn.setter
    def turn(self, value: bool) -> None:
        self.head[3] = value

    def full(self) -> None:
        """Apply the log. If the turn has come meanwhile, tell so; more goes into the log then before it is full."""
        self.apply()
        self.times_full += 1
        if self.times_full == self.turn_at:
            self.turn, self.head[1] = True, self.start + 4096

    def _read(self, at: int, count: int) -> int:
        return int.from_bytes(ctypes.string_at(at, count), "little")

    def apply(self) -> None:
        at = self.start
        while at < self.head[0]:
            end = self._apply(at, lambda first, last: self.places.add(first) is None)
            self.longest, at = max(self.longest, end - at), end
            self.records += 1
        assert at == self.head[0]
        self.head[0] = self.start

    def _apply(self, at: int, wanted: Callable[[int, int], bool]) -> int:
        """Add what a record has for the places that are wanted, which leave it; where it ends."""
        header = self._read(at, 8)
        t, lanes, count, mask = self.types[header & 3], header >> 2 & 63, header >> 8 & 0xFFF, header >> 32
        addresses = at + min(8 * lanes, 64)
        values = addresses + 8 * lanes
        for lane in range(lanes):
            to = self._read(addresses + 8 * lane, 8)
            if not mask >> lane & 1 or not wanted(to, to + count * t.size):
                continue
            mask &= ~(1 << lane)
            for i in range(count):
                here, value = to + i * t.size, values + (i * lanes + lane) * t.size
                old, new = (from_bits(self._read(a, t.size), t) for a in (here, value))
                ctypes.memmove(here, bits_of(convert(old + new, t), t).to_bytes(t.size, "little"), t.size)
        ctypes.memmove(at + 4, mask.to_bytes(4, "little"), 4)
        end = values + -(-lanes * count * t.size // 8) * 8
        assert end == at + 8 * (header >> 20 & 0xFFF)
        return end

    def ends(self, end: int, follower: int) -> None:
        low, high = self.own[2 * follower : 2 * follower + 2]
        assert self._apply(self.head[0], lambda first, last: low <= first and last <= high) == end
        self.head[0] = end
        if end > self.head[1]:
            self.apply()


class Machine:
    """A compiled kernel. `run` takes interpreter values and writes arrays back. Of each array that follows the threads,
    `followers` has its parameter, and the first and last element that are the range's own.
    """

    followers: Sequence[tuple[int, int, int]] = ()

    def __init__(
        self,
        fn: Function,
        target: Target,
        lanes: int = 0,
        inner_contiguous: bool = True,
        flat: bool = False,
        additions: str = "atomic",
    ):
        self.unit: EmittedModule = emit_cpu(fn, target, EmitOptions(lanes, inner_contiguous, flat, additions))
        self.failures: list[tuple[int, int, list[int]]] = []
        self.printed: list[str] = []
        self._load(self.unit.text, target)

    def _load(self, text: str, target: Target) -> None:
        self._callbacks()
        code = toolchain.object_code(text, target)
        machine = llvm.Target.from_triple(target.triple).create_target_machine(reloc="pic", codemodel="small")
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self._address = self._engine.get_function_address(self.unit.symbol)

    def _callbacks(self) -> None:
        void, i64, i32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32

        def fail(context, thread, site, count, values):
            slots = (ctypes.c_uint64 * count).from_address(values) if count else []
            self.failures.append((thread, site, list(slots)))

        def printf(context, text, slots):
            self.printed.append(ctypes.string_at(text).decode())

        self._fail = ctypes.CFUNCTYPE(None, void, i64, i32, i32, void)(fail)
        self._printf = ctypes.CFUNCTYPE(None, void, void, void)(printf)
        self.log = _Log()
        self._log_of_thread = ctypes.CFUNCTYPE(void)(lambda: ctypes.addressof(self.log.head))
        self._log_full = ctypes.CFUNCTYPE(None, void)(lambda _: self.log.full())
        llvm.add_symbol("wc_log_of_thread", ctypes.cast(self._log_of_thread, void).value)
        self._log_ends = ctypes.CFUNCTYPE(None, void, void, i64)(lambda _, end, follower: self.log.ends(end, follower))
        llvm.add_symbol("wc_log_full", ctypes.cast(self._log_full, void).value)
        llvm.add_symbol("wc_log_ends", ctypes.cast(self._log_ends, void).value)
        llvm.add_symbol("wc_fail", ctypes.cast(self._fail, void).value)
        llvm.add_symbol("wc_printf", ctypes.cast(self._printf, void).value)

    def run(self, args: Sequence[Any], dim: int | Sequence[int], begin: int = 0, end: int | None = None) -> None:
        """Run threads [begin, end) of the grid `dim`; array arguments are updated in place."""
        dims = [dim] if isinstance(dim, int) else list(dim)
        total = math.prod(dims)
        dims = [total] if self.unit.arity == 1 else dims
        grid = (ctypes.c_int64 * 4)(*dims, *[1] * (4 - len(dims)))
        buffers: list[tuple[MemArray, bytearray, Any]] = []
        block = bytearray()
        for (_, t), value in zip(self.unit.params, args):
            block += bytes(-len(block) % t.align) + self._encode(value, t, buffers)
        raw = (ctypes.c_char * max(1, len(block))).from_buffer(block or bytearray(1))
        stop = total if end is None else end
        for i, (param, first, last) in enumerate(self.followers):
            _, data, place = next(b for b in buffers if b[0] is args[param])
            size = args[param].dtype.size
            self.log.own[2 * i : 2 * i + 2] = [ctypes.addressof(place) + at * size for at in (first, last)]
        self._launch(raw, grid, begin, stop)
        for array, data, _ in buffers:
            array.data[:] = [_decode(data, i * array.dtype.size, array.dtype) for i in range(len(array.data))]

    def _launch(self, block: Any, grid: Any, begin: int, end: int) -> None:
        void, i64 = ctypes.c_void_p, ctypes.c_int64
        entry = ctypes.CFUNCTYPE(None, void, void, i64, i64, void)(self._address)
        entry(ctypes.addressof(block), ctypes.addressof(grid), begin, end, None)
        self.log.apply()

    def _encode(self, value: Any, t: Type, buffers: list) -> bytes:
        if not isinstance(t, Array):
            out = bytearray(t.size)
            for (offset, leaf), number in zip(leaves(t), flatten(value, t)):
                assert not isinstance(leaf, Array)
                out[offset : offset + leaf.size] = bits_of(number, leaf).to_bytes(leaf.size, "little")
            return bytes(out)
        data = bytearray(b"".join(self._encode(v, t.dtype, buffers) for v in value.data) or b"\0")
        raw = (ctypes.c_char * len(data)).from_buffer(data)
        buffers.append((value, data, raw))
        descriptor = _Array(data=ctypes.addressof(raw) + value.offset * t.dtype.size)
        if value.grad is not None:
            descriptor.grad = _Array.from_buffer_copy(self._encode(value.grad, t, buffers)).data
        stride = t.dtype.size
        for k in reversed(range(t.ndim)):
            descriptor.shape[k], descriptor.strides[k] = value.shape[k], stride
            stride *= value.shape[k]
        return bytes(descriptor)


def _decode(data: bytearray, at: int, t: Type) -> Any:
    numbers = []
    for offset, leaf in leaves(t):
        raw = int.from_bytes(data[at + offset : at + offset + leaf.size], "little")
        numbers.append(from_bits(raw, leaf))
    return unflatten(numbers, t)


def same(a: Any, b: Any) -> bool:
    """Equality that holds NaN equal to NaN and tells the zeros apart."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1.0, a) == math.copysign(1.0, b))
    return type(a) is type(b) and a == b
