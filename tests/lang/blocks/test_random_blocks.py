"""Random kernels that work in blocks, compiled and before and after each stage in the interpreter."""

import os
import random

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import I32
from omni.warp_core.passes import pipeline
from omni.warp_core.passes.barrier_fission import split

from .random_blocks import Program

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_PROGRAMS", "0:12").split(":"))


def mem(values):
    return interp.MemArray(I32, (len(values),), [int(v) for v in values])


def judged(fn, size, n, x, table):
    out = mem([0] * len(x))
    interp.run_kernel(fn, [mem(x), n, mem(table), out], len(x))
    return out.values()


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")
@pytest.mark.parametrize("seed", range(LOW, HIGH))
def test_random_program(seed, monkeypatch):
    r = random.Random(seed)
    warps = r.random() < 0.5
    size = r.choice([32, 64, 96] if warps else [1, 8, 24, 32, 50])
    program = Program(seed, warps)
    text = "import omni.warp_core as wp\n" + program.text
    kernel = wp.kernel_from_source(text, filename=f"<blocks {seed}>", name="k")
    n, table = r.randrange(5), [2, 1, 4, 3]
    x = [r.randrange(-9, 9) for _ in range(3 * size)]
    fn = lower_kernel(kernel, size)
    verify(fn)
    expected = judged(fn, size, n, x, table)
    passed = pipeline.run(fn)
    verify(passed)
    assert judged(passed, size, n, x, table) == expected, program.text
    alone = split(passed)
    verify(alone)
    if not warps:
        assert judged(alone, size, n, x, table) == expected, program.text
    monkeypatch.setattr(wp.config, "mode", r.choice(["release", "debug"]))
    out = wp.zeros(len(x), dtype=int)
    wp.launch(kernel, len(x), [np.array(x, np.int32), n, np.array(table, np.int32), out], block_dim=size)
    assert out.list() == expected, program.text
