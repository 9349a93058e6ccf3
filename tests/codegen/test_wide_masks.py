"""Masks that are numbers of 32 bits: their form, and what kernels with them compute, against plain Python."""

from __future__ import annotations

import re

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.codegen import toolchain
from omni.warp_core.codegen.cpu.cpu_kernel import emit_cpu
from omni.warp_core.codegen.function import EmitOptions
from omni.warp_core.codegen.target import x86
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.passes import pipeline
from tests.codegen.machine import targets

pytestmark = pytest.mark.filterwarnings("ignore:.%. takes the sign:omni.warp_core.lang.errors.KernelWarning")

_NARROW = re.compile(r"(?:phi|and|or|xor|alloca|shufflevector|insertelement) <\d+ x i1>")


@wp.func
def hits(n: int, odd: bool):
    found = odd
    for k in range(2, 60):
        if n % k == 0 and k != n:
            return not odd
        found = found or n == 7 * k
    return found


@wp.kernel(enable_backward=False)
def walk(a: wp.array[int], limit: int, out: wp.array[int], flags: wp.array[bool]):
    i = wp.tid()
    n = a[i]
    steps = 0
    was_odd = False
    ended = bool(limit < 0)
    while not ended:
        odd = n % 2 == 1
        if odd:
            n = 3 * n + 1
        else:
            n = n // 2
        was_odd = (was_odd and n > 40) or (odd and steps > 3)
        steps += 1
        ended = n <= 1 or steps >= limit
        if hits(n, odd) and steps > 7:
            break
    out[i] = steps
    flags[i] = was_odd


def _hits(n: int, odd: bool) -> bool:
    found = odd
    for k in range(2, 60):
        if n % k == 0 and k != n:
            return not odd
        found = found or n == 7 * k
    return found


def _walk(n: int, limit: int) -> tuple[int, bool]:
    steps, was_odd, ended = 0, False, limit < 0
    while not ended:
        odd = n % 2 == 1
        n = 3 * n + 1 if odd else n // 2
        was_odd = (was_odd and n > 40) or (odd and steps > 3)
        steps += 1
        ended = n <= 1 or steps >= limit
        if _hits(n, odd) and steps > 7:
            break
    return steps, was_odd


def _text(level: str, lanes: int) -> str:
    return emit_cpu(pipeline.run(lower_kernel(walk)), x86(level), EmitOptions(lanes)).text


@pytest.mark.parametrize(
    ("level", "lanes", "wide"),
    [("avx512", 16, False), ("avx2", 8, True), ("avx2", 16, True), ("avx2", 4, False), ("sse4", 8, True)],
)
def test_form(level, lanes, wide):
    text = _text(level, lanes)
    assert bool(_NARROW.search(text)) != wide
    toolchain.object_code(text, x86(level))


@pytest.mark.parametrize("level", [t.name for t in targets()])
@pytest.mark.parametrize("limit", [-1, 3, 100])
def test_results(level, limit, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_target", level)
    numbers = np.arange(1, 1000, dtype=np.int32)
    steps, flags = wp.zeros(len(numbers), dtype=int), wp.zeros(len(numbers), dtype=bool)
    wp.launch(walk, dim=len(numbers), inputs=[wp.array(numbers), limit], outputs=[steps, flags])
    expected = [_walk(int(n), limit) for n in numbers]
    assert list(zip(steps.numpy().tolist(), flags.numpy().tolist())) == expected
