"""Some of the programs for Dr.Jit with its LLVM back end, for which the system must have libLLVM. Same interface as
in_wp.py.
"""

from typing import Any

import drjit as dr
import numpy as np
from drjit.llvm import Array3f, Float, Int, UInt32
from kernels import programs


@dr.syntax
def nbody(positions, masses):
    here, total, j = dr.unravel(Array3f, positions), dr.zeros(Array3f, dr.width(masses)), UInt32(0)
    while j < UInt32(programs.BODIES):
        away = dr.gather(Array3f, positions, j) - here
        inverse = 1 / dr.sqrt(dr.dot(away, away) + programs.SOFTENING)
        total += away * (dr.gather(Float, masses, j) * inverse * inverse * inverse)
        j += 1
    return {"accelerations": dr.ravel(total)}


@dr.syntax
def mandelbrot(real, imaginary):
    index = dr.arange(UInt32, programs.IMAGE * programs.IMAGE)
    a, b = dr.gather(Float, real, index % programs.IMAGE), dr.gather(Float, imaginary, index // programs.IMAGE)
    x, y, count = dr.zeros(Float, dr.width(index)), dr.zeros(Float, dr.width(index)), Int(0)
    while (count < programs.ITERATIONS) & (x * x + y * y <= 4):
        t = x * x - y * y + a
        y = 2 * x * y + b
        x = t
        count += 1
    return {"counts": count}


def mix(x):
    return {"y": dr.sin(x) * dr.exp(programs.DECAY * x) + dr.log(x) + dr.power(x, programs.POWER)}


def stencil(u):
    index = dr.arange(UInt32, programs.CELLS * programs.CELLS)
    i, j, last = index // programs.CELLS, index % programs.CELLS, programs.CELLS - 1
    inner = (i > 0) & (i < last) & (j > 0) & (j < last)
    c = dr.gather(Float, u, index)
    beside = (index - programs.CELLS, index + programs.CELLS, index - 1, index + 1)
    near = sum((dr.gather(Float, u, k, inner) for k in beside), Float(0))
    return {"out": dr.select(inner, c + programs.DIFFUSION * (near - 4 * c), c)}


def saxpy(x, y):
    return {"y": programs.FACTOR * x + y}


def particles(positions, velocities):
    v = velocities + Array3f(0, programs.GRAVITY, 0) * programs.TIME_STEP
    return {"positions": positions + v * programs.TIME_STEP, "velocities": v}


CALLS = {f.__name__: f for f in (nbody, mandelbrot, mix, stencil, saxpy, particles)}
SHAPES = {"accelerations": (-1, 3), "counts": (programs.IMAGE,) * 2, "out": (programs.CELLS,) * 2, "y": (-1,)}


def set_threads(count: int) -> None:
    dr.set_thread_count(count)


def prepare(name: str, inputs: dict[str, np.ndarray]):
    """Vectors of the particles lie component by component, as Dr.Jit has them."""
    kind = Array3f if name == "particles" else Float
    arrays = [kind(a.T.copy()) if kind is Array3f else kind(a.ravel()) for a in inputs.values()]
    names = ("positions", "velocities") if name == "particles" else tuple(CALLS[name](*arrays))
    results: dict[str, list[Any]] = {key: [] for key in names}

    def run() -> None:
        found = CALLS[name](*arrays)
        dr.eval(found)
        dr.sync_thread()
        for key, value in found.items():
            results[key][:] = [key, value]

    return run, results


def fetch(array: list[Any]) -> np.ndarray:
    key, value = array
    numbers = np.array(value)
    return numbers.T if isinstance(value, Array3f) else numbers.reshape(SHAPES[key])
