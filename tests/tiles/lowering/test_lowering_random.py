"""Random programs with tiles give what NumPy gives, before and after they are lowered."""

from __future__ import annotations

import os

import numpy as np
import pytest

from omni.warp_core.ir import verifier
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.types import I32
from omni.warp_core.passes.tiles.tile_lowering import has_tiles, lower_tiles
from tests.tiles.lowering.lowering_programs import COLUMNS, ROWS, THREADS, build, evaluate, random_program

PROGRAMS = int(os.environ.get("OMNI_WARP_PROGRAMS", "40"))


def inputs(seed: int) -> list[np.ndarray]:
    """Three arrays, of which the last two are one in every third program."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-9, 9, (ROWS, COLUMNS), dtype=np.int32) for _ in range(3)]
    return arrays if seed % 3 else [*arrays[:2], arrays[1]]


def run(kernel: Function, arrays: list[np.ndarray]) -> list[np.ndarray]:
    memory = {id(a): MemArray(I32, a.shape, a.ravel().tolist()) for a in arrays}
    interp.run_kernel(kernel, [memory[id(a)] for a in arrays], (THREADS,), steps=1_000_000)
    return [np.array(memory[id(a)].data, np.int32).reshape(a.shape) for a in arrays]


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_lowered_program(seed: int) -> None:
    program = random_program(seed)
    arrays = inputs(seed)
    expected = {id(a): a.copy() for a in arrays}
    evaluate(program, [expected[id(a)] for a in arrays])
    kernel = build(program)
    verifier.verify(kernel)
    lowered = lower_tiles(kernel, compares=seed % 2 == 0)
    verifier.verify(lowered)
    assert not has_tiles(lowered)
    for got, array in zip(run(lowered, arrays), arrays):
        np.testing.assert_array_equal(got, expected[id(array)])
