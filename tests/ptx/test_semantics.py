"""Results of kernels as PTX: the tests of tests/codegen that compare GPU code with the interpreter, run by the machine
for PTX in the place of the processor.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from omni.warp_core.codegen.cuda import ptx
from omni.warp_core.codegen.target import cuda
from tests.codegen import gpu, test_nvptx_blocks, test_nvptx_semantics
from tests.codegen.test_nvptx_blocks import (  # noqa: F401 - run here
    test_places_in_blocks_that_are_not_whole,
    test_results,
)
from tests.codegen.test_nvptx_semantics import (  # noqa: F401 - run here
    test_a_counter_gives_every_thread_its_own_place,
    test_a_stash_that_is_too_small_is_told,
    test_a_warp_takes_from_a_counter_at_once,
    test_adjoints_keep_what_loops_need,
    test_atomics_of_16_bits,
    test_atomics_on_arrays_of_the_thread,
    test_conversions,
    test_extrema_of_floats,
    test_failures,
    test_indices,
    test_indices_of_launches_that_are_huge,
    test_one_element_among_others,
    test_output,
    test_random_program,
    test_remainders_are_exact,
    test_totals,
)
from tests.ptx import parse
from tests.ptx.machine import Program
from tests.ptx.memory import Global
from tests.ptx.output import printed


class PtxGpu(gpu.Gpu):
    """As its base, with warps always in step, and addresses that are the thread's own where they are."""

    def __init__(self, fn: Any, capability: int = 75, *args: Any, **kwargs: Any):
        self.capability = capability
        super().__init__(fn, capability, *args, **kwargs)

    def _load(self, text: str, target: Any) -> None:
        needs = [name for name, _ in self.unit.needs]
        text = ptx.ptx(self.unit.text, cuda(self.capability), 0, needs)
        self.program = Program(parse.module(text), {"vprintf": self._vprintf})

    def _vprintf(self, m: Any, who: Any, form: np.ndarray, slots: np.ndarray) -> np.ndarray:
        self.printed += printed(m, who, form, slots)
        return np.zeros(len(form), np.uint32)

    def _encode(self, value: Any, t: Any, buffers: list) -> bytes:
        self.buffers = buffers
        return super()._encode(value, t, buffers)

    def _launch(self, block: Any, grid: Any, begin: int, end: int) -> None:
        assert begin == 0
        self.running = self.blocks if self.blocks and self.unit.strided else -(-end // self.block)
        failure = gpu._Failure(thread=gpu._NEVER)
        launch = gpu._Launch(threads=end, dims=grid, failure=ctypes.addressof(failure))
        memory: list[Any] = [raw for _, _, raw in self.buffers]
        memory.append(failure)
        for i, size in enumerate((4, 8) if self.unit.stashes else ()):
            memory.append(ctypes.create_string_buffer(size * self.cells * self.running * self.block))
            launch.stash[i], launch.cells[i] = ctypes.addressof(memory[-1]), self.cells
        stretches = [(ctypes.addressof(raw), np.frombuffer(raw, np.uint8)) for raw in memory]
        spans = [(at, len(content)) for at, content in stretches]
        params = [
            bytes(block).ljust(self.program.module.functions[self.unit.symbol].params[0].size, b"\0"),
            bytes(launch),
        ]
        only = None if self.only is None else range(self.only // self.block, self.only // self.block + 1)
        self.program.launch(self.unit.symbol, self.running, self.block, params, Global(stretches, spans), only)
        if failure.thread != gpu._NEVER:
            self.failures.append((failure.thread, failure.site, list(failure.values[: failure.count])))


@pytest.fixture(autouse=True)
def _as_ptx(monkeypatch):
    for module in (test_nvptx_semantics, test_nvptx_blocks):
        monkeypatch.setattr(module, "Gpu", PtxGpu)
