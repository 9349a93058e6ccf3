"""Some of the programs for Taichi and for Quadrants, one source for both. Same interface as in_wp.py."""

import importlib
import sys
from typing import Any

import numpy as np
from kernels import programs

ti: Any = importlib.import_module(sys.argv[1])
Line, Image = ti.types.ndarray(dtype=ti.f32, ndim=1), ti.types.ndarray(dtype=ti.f32, ndim=2)
Points, Counts = ti.types.ndarray(dtype=ti.math.vec3, ndim=1), ti.types.ndarray(dtype=ti.i32, ndim=2)


@ti.kernel
def nbody(positions: Points, masses: Line, softening: ti.f32, accelerations: Points):
    for i in range(masses.shape[0]):
        here = positions[i]
        total = ti.math.vec3(0.0, 0.0, 0.0)
        for j in range(masses.shape[0]):
            away = positions[j] - here
            inverse = 1.0 / ti.sqrt(away.dot(away) + softening)
            total += away * (masses[j] * inverse * inverse * inverse)
        accelerations[i] = total


@ti.kernel
def mandelbrot(real: Line, imaginary: Line, iterations: ti.i32, counts: Counts):
    for row, column in ti.ndrange(counts.shape[0], counts.shape[1]):
        x, y, count = 0.0, 0.0, 0
        while count < iterations and x * x + y * y <= 4.0:
            t = x * x - y * y + real[column]
            y = 2.0 * x * y + imaginary[row]
            x = t
            count += 1
        counts[row, column] = count


@ti.kernel
def mix(x: Line, y: Line):
    for i in range(x.shape[0]):
        t = x[i]
        y[i] = ti.sin(t) * ti.exp(-0.3 * t) + ti.log(t) + ti.pow(t, 1.7)


@ti.kernel
def stencil(u: Image, k: ti.f32, out: Image):
    for i, j in ti.ndrange(u.shape[0], u.shape[1]):
        c = u[i, j]
        if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
            c += k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * c)
        out[i, j] = c


@ti.kernel
def saxpy(a: ti.f32, x: Line, y: Line):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


@ti.kernel
def particles(positions: Points, velocities: Points, gravity: ti.f32, time_step: ti.f32):
    for i in range(positions.shape[0]):
        v = velocities[i] + ti.math.vec3(0.0, gravity, 0.0) * time_step
        velocities[i] = v
        positions[i] = positions[i] + v * time_step


CALLS = {
    "nbody": (nbody, lambda a, o: [*a, programs.SOFTENING, *o]),
    "mandelbrot": (mandelbrot, lambda a, o: [*a, programs.ITERATIONS, *o]),
    "mix": (mix, lambda a, o: [*a, *o]),
    "stencil": (stencil, lambda a, o: [*a, programs.DIFFUSION, *o]),
    "saxpy": (saxpy, lambda a, o: [programs.FACTOR, *a]),
    "particles": (particles, lambda a, o: [*a, programs.GRAVITY, programs.TIME_STEP]),
}
OUTPUTS = {
    "nbody": ("accelerations", (programs.BODIES, 3), np.float32),
    "mandelbrot": ("counts", (programs.IMAGE, programs.IMAGE), np.int32),
    "mix": ("y", (programs.SAMPLES,), np.float32),
    "stencil": ("out", (programs.CELLS, programs.CELLS), np.float32),
}
IN_PLACE = {"saxpy": ("y",), "particles": ("positions", "velocities")}


def set_threads(count: int) -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=count, fast_math=False, offline_cache=False)


def prepare(name: str, inputs: dict[str, np.ndarray]):
    kernel, arguments = CALLS[name]
    arrays = {key: a.copy() for key, a in inputs.items()}
    outputs = {}
    if name in OUTPUTS:
        key, shape, dtype = OUTPUTS[name]
        outputs[key] = np.zeros(shape, dtype)
    given = arguments(arrays.values(), outputs.values())

    def run() -> None:
        kernel(*given)
        ti.sync()

    return run, outputs or {key: arrays[key] for key in IN_PLACE[name]}


def fetch(array: np.ndarray) -> np.ndarray:
    return array
