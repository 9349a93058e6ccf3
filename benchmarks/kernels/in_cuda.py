"""Launch parameters of the kernels in in_cuda.cu. gpu_cupy.py compiles them; a test runs them on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from kernels import programs

SOURCE = Path(__file__).with_name("in_cuda.cu")
F, I = np.float32, np.int32  # noqa: E741

# Program -> dimensions, scalar arguments, and outputs by shape and type. Kernels take input arrays, scalars, outputs.
CALLS: dict[str, tuple[Callable[[dict], tuple[int, ...]], Callable[[], list], Callable[[], dict]]] = {
    "nbody": (
        lambda a: (programs.BODIES,), lambda: [I(programs.BODIES), F(programs.SOFTENING)],
        lambda: {"accelerations": ((programs.BODIES, 3), F)},
    ),
    "mandelbrot": (
        lambda a: (programs.IMAGE, programs.IMAGE), lambda: [I(programs.IMAGE), I(programs.ITERATIONS)],
        lambda: {"counts": ((programs.IMAGE, programs.IMAGE), I)},
    ),
    "mix": (lambda a: a["x"].shape, lambda: [I(programs.SAMPLES)], lambda: {"y": (programs.SAMPLES, F)}),
    "stencil": (
        lambda a: a["u"].shape, lambda: [I(programs.CELLS), F(programs.DIFFUSION)],
        lambda: {"out": ((programs.CELLS, programs.CELLS), F)},
    ),
    "saxpy": (lambda a: a["x"].shape, lambda: [I(programs.STREAM), F(programs.FACTOR)], dict),
    "particles": (
        lambda a: (programs.STREAM,), lambda: [I(programs.STREAM), F(programs.GRAVITY), F(programs.TIME_STEP)], dict
    ),
}  # fmt: skip
