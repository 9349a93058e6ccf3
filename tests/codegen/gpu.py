"""Runs the assembly that is made for a GPU on the processor: a thread of a grid after the other, or warps in step.

What only the hardware knows (the thread's number, what its warp votes) comes from Python functions in the place of the
intrinsics. So everything that the code generator writes for a GPU is executed; that LLVM makes the right PTX of it is
taken for granted.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions
from omni.warp_core.codegen.cuda.cuda_kernel import emit_cuda
from omni.warp_core.codegen.target import GpuOptions, cuda, host
from omni.warp_core.ir.nodes import Function
from tests.codegen.machine import Machine

FACTS = GpuOptions(aligned=True, disjoint=True)
WARP = 32
_I32, _F32, _VOID = ctypes.c_int32, ctypes.c_float, ctypes.c_void_p
_NEVER = (1 << 63) - 1

# The hardware's conversions and a C library, as functions of the module.
_HELPERS = """
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare i32 @llvm.fptoui.sat.i32.f32(float)
define internal i32 @nv_f2i_rz(float %x) {
  %y = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  ret i32 %y
}
define internal i32 @nv_f2ui_rz(float %x) {
  %y = call i32 @llvm.fptoui.sat.i32.f32(float %x)
  ret i32 %y
}
"""


class _Launch(ctypes.Structure):
    _fields_ = [
        ("threads", ctypes.c_int64),
        ("dims", ctypes.c_int64 * 4),
        ("failure", _VOID),
        ("stash", _VOID * 2),
        ("cells", ctypes.c_int64 * 2),
    ]


class _Failure(ctypes.Structure):
    _fields_ = [("thread", ctypes.c_int64), ("site", _I32), ("count", _I32), ("values", ctypes.c_uint64 * 8)]


class Gpu(Machine):
    """A kernel made for a GPU. `block` and `blocks` are the launch's; `in_step` runs the threads of a warp together,
    which is needed where they exchange values. Kernels that work in blocks run so, a block after the other.
    """

    def __init__(
        self,
        fn: Function,
        capability: int = 75,
        gpu: GpuOptions = FACTS,
        block: int = WARP,
        blocks: int = 0,
        in_step: bool = False,
        inner_contiguous: bool = True,
        cells: int = 1024,
    ):
        self.unit = emit_cuda(fn, cuda(capability), EmitOptions(0, inner_contiguous), gpu)
        self.block, self.blocks, self.cells = fn.block_dim or block, blocks, cells
        self.in_blocks = fn.block_dim > 0
        self.in_step = in_step or self.in_blocks
        self.own = False  # what the hardware says of addresses: whether they are the thread's own
        self.only: int | None = None  # the one thread to run
        self.failures, self.printed = [], []
        self.local = threading.local()
        self.warps: dict[int, _Group] = {}
        self.together = _Group(0)
        self._load(_for_host(self.unit.text), host())

    def _callbacks(self) -> None:
        known: dict[str, tuple[Callable, list]] = {
            "read_ptx_sreg_tid_x": (lambda: self.local.thread, []),
            "read_ptx_sreg_ctaid_x": (lambda: self.local.block, []),
            "read_ptx_sreg_ntid_x": (lambda: self.block, []),
            "read_ptx_sreg_nctaid_x": (lambda: self.running, []),
            "read_ptx_sreg_lanemask_lt": (lambda: (1 << self._lane()) - 1, []),
            "isspacep_local": (lambda at: self.own, [_VOID]),
            "activemask": (lambda: self._together(1 << self._lane(), sum), []),
            "vote_ballot_sync": (lambda m, p: self._together((p & 1) << self._lane(), sum), [_I32, ctypes.c_bool]),
            "shfl_sync_bfly_i32": (lambda m, x, d, c: self._fetch(x, self._lane() ^ d), [_I32] * 4),
            "shfl_sync_idx_i32": (lambda m, x, i, c: self._fetch(x, i % WARP), [_I32] * 4),
            "shfl_sync_up_i32": (lambda m, x, d, c: self._fetch(x, self._lane() - d % WARP), [_I32] * 4),
            "shfl_sync_down_i32": (lambda m, x, d, c: self._fetch(x, self._lane() + d % WARP), [_I32] * 4),
            "barrier0": (self._wait, []),
        }
        for name, combine in _REDUX.items():
            known[f"redux_sync_{name}"] = (lambda x, m, c=combine: self._together(x, c), [_I32] * 2)
        self._kept = []
        for name, (function, types) in known.items():
            self._symbol(f"nv_{name}", ctypes.CFUNCTYPE(_I32, *types)(lambda *a, f=function: _signed(f(*a))))
        self._symbol("vprintf", ctypes.CFUNCTYPE(_I32, _VOID, _VOID)(self._print))

    def _symbol(self, name: str, function: Any) -> None:
        self._kept.append(function)
        llvm.add_symbol(name, ctypes.cast(function, _VOID).value)

    def _lane(self) -> int:
        return self.local.thread % WARP

    def _together(self, value: int, combine: Callable) -> int:
        if not self.in_step:
            return combine([value])
        return combine(self.warps[self.local.warp].exchange(self._lane(), value).values())

    def _fetch(self, value: int, lane: int) -> int:
        if not self.in_step:
            assert lane == self._lane()
            return value
        found = self.warps[self.local.warp].exchange(self._lane(), value)
        return found[lane] if 0 <= lane < WARP else value

    def _wait(self) -> int:
        assert self.in_blocks
        self.together.exchange(self.local.thread, 0)
        return 0

    def _print(self, text: int, slots: int) -> int:
        form = ctypes.string_at(text).decode()
        values: list[Any] = []
        for i, m in enumerate(re.findall(r"%[-+ 0#]*\d*(?:\.\d+)?(ll[diuxXo]|[cfeEgGs])", form)):
            at = slots + 8 * i
            if m == "s":
                values.append(ctypes.string_at(ctypes.c_uint64.from_address(at).value).decode())
            elif m in "feEgG":
                values.append(ctypes.c_double.from_address(at).value)
            else:
                kind = ctypes.c_int64 if m[-1] in "di" else _I32 if m == "c" else ctypes.c_uint64
                values.append(kind.from_address(at).value)
        self.printed.append(form.replace("ll", "") % tuple(values))
        return len(values)

    def _launch(self, block: Any, grid: Any, begin: int, end: int) -> None:
        assert begin == 0
        self.running = self.blocks if self.blocks and self.unit.strided else -(-end // self.block)
        failure = _Failure(thread=_NEVER)
        launch = _Launch(threads=end, dims=grid, failure=ctypes.addressof(failure))
        keep = []
        for i, size in enumerate((4, 8) if self.unit.stashes else ()):
            keep.append(ctypes.create_string_buffer(size * self.cells * self.running * self.block))
            launch.stash[i], launch.cells[i] = ctypes.addressof(keep[i]), self.cells
        entry = ctypes.CFUNCTYPE(None, _VOID, _VOID)(self._address)

        def run(thread: int) -> None:
            self.local.block, self.local.thread = divmod(thread, self.block)
            self.local.warp = thread // WARP
            entry(ctypes.addressof(block), ctypes.addressof(launch))
            if self.in_step:
                self.warps[self.local.warp].leave()
                self.together.leave()

        threads = range(self.running * self.block)
        if self.in_blocks:
            for first in threads[:: self.block]:
                self._run_together(run, range(first, first + self.block))
        elif self.in_step:
            assert self.block % WARP == 0
            self._run_together(run, threads)
        else:
            for t in threads if self.only is None else [self.only]:
                run(t)
        if failure.thread != _NEVER:
            self.failures.append((failure.thread, failure.site, list(failure.values[: failure.count])))

    def _run_together(self, run: Callable[[int], None], threads: range) -> None:
        counts: dict[int, int] = {}
        for t in threads:
            counts[t // WARP] = counts.get(t // WARP, 0) + 1
        self.warps = {warp: _Group(count) for warp, count in counts.items()}
        self.together = _Group(len(threads))
        running = [threading.Thread(target=run, args=(t,)) for t in threads]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()


class _Group:
    """The threads of a warp or block that are still running meet at every exchange: so all must make the same ones."""

    def __init__(self, running: int) -> None:
        self.running = running
        self.meeting = threading.Condition()
        self.given: dict[int, int] = {}
        self.result: dict[int, int] = {}
        self.round = 0

    def exchange(self, lane: int, value: int) -> dict[int, int]:
        """What all lanes gave."""
        with self.meeting:
            self.given[lane] = value
            mine = self.round
            self._close()
            while self.round == mine:
                assert self.meeting.wait(300), "threads of a warp wait for others that do something else"
            return self.result

    def leave(self) -> None:
        with self.meeting:
            self.running -= 1
            self._close()

    def _close(self) -> None:
        if self.given and len(self.given) == self.running:
            self.result, self.given = self.given, {}
            self.round += 1
            self.meeting.notify_all()


def _signed(x: int) -> int:
    return ctypes.c_int32(x & 0xFFFFFFFF).value


def _unsigned(values: Any) -> list[int]:
    return [v & 0xFFFFFFFF for v in values]


_REDUX: dict[str, Callable] = {
    "add": sum,
    "min": min,
    "max": max,
    "umin": lambda v: min(_unsigned(v)),
    "umax": lambda v: max(_unsigned(v)),
    "and": lambda v: _fold(v, int.__and__),
    "or": lambda v: _fold(v, int.__or__),
    "xor": lambda v: _fold(v, int.__xor__),
}


def _fold(values: Any, combine: Callable[[int, int], int]) -> int:
    first, *rest = values
    for v in rest:
        first = combine(first, v)
    return first


def _for_host(text: str) -> str:
    """The module for this processor: hardware and C library are functions of other names."""
    text = re.sub(r"^target triple.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"ptr byval\(\[\d+ x i8\]\) align \d+", "ptr", text).replace("ptx_kernel ", "")
    text = re.sub(r"@llvm\.nvvm\.([\w.]+)", lambda m: "@nv_" + m[1].replace(".", "_"), text)
    text = re.sub(r"^declare i32 @nv_f2u?i_rz.*$", "", text, flags=re.MULTILINE)
    return text.replace("@__nv_", "@") + _HELPERS
