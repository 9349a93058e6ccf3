"""The worker of gpu.py for numba: `cuda.jit` kernels and its reduction. Scans and sorts it has none.

Constants are typed float32 throughout; a Python float would turn numba's arithmetic into float64. With
NUMBA_ENABLE_CUDASIM=1 numba runs all this without a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from harness.gpu_worker import GpuWorker, Run
from kernels import programs
from numba import cuda

BLOCK = 256
F, I = np.float32, np.int32  # noqa: E741
ZERO, ONE, TWO, FOUR = F(0), F(1), F(2), F(4)
DECAY, POWER = F(programs.DECAY), F(programs.POWER)


@cuda.jit
def nbody(positions, masses, softening, accelerations):
    i = cuda.grid(1)
    if i >= positions.shape[0]:
        return
    px, py, pz = positions[i, 0], positions[i, 1], positions[i, 2]
    ax = ay = az = ZERO
    for j in range(positions.shape[0]):
        dx, dy, dz = positions[j, 0] - px, positions[j, 1] - py, positions[j, 2] - pz
        inverse = ONE / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
        s = masses[j] * inverse * inverse * inverse
        ax += dx * s
        ay += dy * s
        az += dz * s
    accelerations[i, 0], accelerations[i, 1], accelerations[i, 2] = ax, ay, az


@cuda.jit
def mandelbrot(real, imaginary, iterations, counts):
    i = cuda.grid(1)
    if i >= counts.size:
        return
    row, column = i // counts.shape[1], i % counts.shape[1]
    x = y = ZERO
    count = 0
    while count < iterations and x * x + y * y <= FOUR:
        t = x * x - y * y + real[column]
        y = TWO * x * y + imaginary[row]
        x = t
        count += 1
    counts[row, column] = count


@cuda.jit
def mix(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        t = x[i]
        y[i] = math.sin(t) * math.exp(DECAY * t) + math.log(t) + t**POWER


@cuda.jit
def stencil(u, k, out):
    at = cuda.grid(1)
    if at >= u.size:
        return
    i, j = at // u.shape[1], at % u.shape[1]
    c = u[i, j]
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        c += k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - FOUR * c)
    out[i, j] = c


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = a * x[i] + y[i]


@cuda.jit
def particles(positions, velocities, gravity, dt):
    i = cuda.grid(1)
    if i >= positions.shape[0]:
        return
    vx, vy, vz = velocities[i, 0], velocities[i, 1] + gravity * dt, velocities[i, 2]
    velocities[i, 0], velocities[i, 1], velocities[i, 2] = vx, vy, vz
    positions[i, 0] += vx * dt
    positions[i, 1] += vy * dt
    positions[i, 2] += vz * dt


# Program -> kernel, how many threads, its arguments from arrays `a` and outputs `o`, and outputs by shape and type.
CALLS: dict[str, tuple[Any, Callable, Callable, Callable[[], dict]]] = {
    "nbody": (
        nbody, lambda a: len(a["masses"]), lambda a, o: [*a, F(programs.SOFTENING), *o],
        lambda: {"accelerations": ((programs.BODIES, 3), F)},
    ),
    "mandelbrot": (
        mandelbrot, lambda a: programs.IMAGE**2, lambda a, o: [*a, I(programs.ITERATIONS), *o],
        lambda: {"counts": ((programs.IMAGE, programs.IMAGE), I)},
    ),
    "mix": (mix, lambda a: len(a["x"]), lambda a, o: [*a, *o], lambda: {"y": ((programs.SAMPLES,), F)}),
    "stencil": (
        stencil, lambda a: a["u"].size, lambda a, o: [*a, F(programs.DIFFUSION), *o],
        lambda: {"out": ((programs.CELLS, programs.CELLS), F)},
    ),
    "saxpy": (saxpy, lambda a: len(a["x"]), lambda a, o: [F(programs.FACTOR), *a], dict),
    "particles": (
        particles, lambda a: len(a["positions"]), lambda a, o: [*a, F(programs.GRAVITY), F(programs.TIME_STEP)], dict
    ),
}  # fmt: skip


class Worker(GpuWorker):
    """Times kernels of numba."""

    def __init__(self, package: str, small: bool, simulated: bool) -> None:
        super().__init__(small, simulated)
        cuda.current_context()

    def facts(self) -> dict[str, str]:
        name = cuda.get_current_device().name
        return {"device": name.decode() if isinstance(name, bytes) else str(name), "version": numba.__version__}

    def prepare(self, name: str, inputs: dict[str, np.ndarray]) -> tuple[Run, dict[str, Any]]:
        kernel, threads, arguments, outputs = CALLS[name]
        arrays = {key: cuda.to_device(a) for key, a in inputs.items()}
        results = {key: cuda.to_device(np.zeros(shape, dtype)) for key, (shape, dtype) in outputs().items()}
        args = arguments(arrays.values(), results.values())
        configured = kernel[-(-threads(inputs) // BLOCK), BLOCK]
        return (lambda: configured(*args)), results or arrays

    def prepare_algorithm(self, name: str, numbers: np.ndarray) -> tuple[Run, Callable[[], Any]]:
        if name != "sum":
            raise KeyError(name)
        add = cuda.reduce(lambda a, b: a + b)
        given = cuda.to_device(numbers[: len(numbers) // 2].astype(F))
        total = cuda.to_device(np.zeros(1, F))
        return (lambda: add(given, res=total)), total.copy_to_host

    def fetch(self, array: Any) -> np.ndarray:
        return array.copy_to_host()

    def elapsed(self, run: Run) -> float:
        start, end = cuda.event(), cuda.event()
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3
