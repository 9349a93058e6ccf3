"""The programs that every implementation runs: inputs, a float64 judge, tolerances, and what to count.

Start with `PROGRAMS`. The kernels are in in_wp.py (this package and warp-lang, one source for both) and in
in_numba.py. Both find the inputs by the names given here, and return outputs by the names that `reference` uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]

BODIES = 8192
IMAGE = 1024
ITERATIONS = 200
SAMPLES = 1 << 22
CELLS = 2048
FRAMES = 1 << 20
POINTS = 1 << 20
STREAM = 10_000_000

# Parameters, as the float32 values that the kernels get.
SOFTENING, DIFFUSION, FACTOR, TIME_STEP, DECAY, POWER, GRAVITY = (
    float(np.float32(value)) for value in (0.01, 0.2, 1.5, 0.01, -0.3, 1.7, -9.81)
)


class Tolerance(NamedTuple):
    """|out - ref| <= relative * |ref| + absolute must hold, except for a share `strays` of the elements."""

    relative: float = 0.0
    absolute: float = 0.0
    strays: float = 0.0

    def __str__(self) -> str:
        parts = [f"rel {self.relative:g}"] * bool(self.relative) + [f"abs {self.absolute:g}"] * bool(self.absolute)
        parts += [f"{self.strays:.1%} of elements may differ"] * bool(self.strays)
        return ", ".join(parts) or "equal"

    def problem(self, out: np.ndarray, ref: np.ndarray) -> str | None:
        """What is wrong with `out`, or None."""
        if out.shape != ref.shape:
            return f"shape {out.shape}, should be {ref.shape}"
        off = np.abs(out.astype(np.float64) - ref)
        wrong = ~(off <= self.relative * np.abs(ref) + self.absolute)  # NaN counts as wrong
        if np.count_nonzero(wrong) <= self.strays * wrong.size:
            return None
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        share = f"{np.count_nonzero(wrong)} of {wrong.size} elements"
        return f"{share}; first at {first}: {out[first]}, should be {ref[first]}"


class Program(NamedTuple):
    """One program. `work` is per run, in units of `unit`; `moved` is the bytes a run must read and write, 0 if moot."""

    name: str
    title: str
    inputs: Callable[[np.random.Generator], Arrays]
    reference: Callable[[Arrays], Arrays]
    tolerance: Tolerance
    work: float
    unit: str
    goal: float = 0.0  # wanted speed over warp-lang
    moved: int = 0
    bandwidth_goal: float = 0.0  # wanted share of the machine's copy bandwidth
    numba: bool = True  # whether in_numba.py has it


def _floats(rng: np.random.Generator, *shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return rng.uniform(low, high, shape).astype(np.float32)


def _doubles(arrays: Arrays) -> list[np.ndarray]:
    return [a.astype(np.float64) for a in arrays.values()]


# n-body: one step's acceleration, all pairs, softened ------------------------------------------------------------


def _bodies(rng: np.random.Generator) -> Arrays:
    return {"positions": _floats(rng, BODIES, 3), "masses": _floats(rng, BODIES, low=0.5)}


def _accelerations(arrays: Arrays) -> Arrays:
    positions, masses = _doubles(arrays)
    out = np.empty_like(positions)
    for start in range(0, BODIES, 512):
        rows = slice(start, start + 512)
        away = positions[None] - positions[rows, None]
        distance2 = np.einsum("ijk,ijk->ij", away, away) + SOFTENING
        out[rows] = np.einsum("ijk,ij->ik", away, masses / distance2**1.5)
    return {"accelerations": out}


# Mandelbrot: steps until escape ----------------------------------------------------------------------------------


def _plane(rng: np.random.Generator) -> Arrays:
    return {
        "real": np.linspace(-2.0, 0.5, IMAGE, dtype=np.float32),
        "imaginary": np.linspace(-1.25, 1.25, IMAGE, dtype=np.float32),
    }


def _escapes(arrays: Arrays) -> Arrays:
    real, imaginary = (a.astype(np.float32) for a in arrays.values())
    c = np.stack(np.broadcast_arrays(real[None, :], imaginary[:, None]))
    counts = np.zeros((IMAGE, IMAGE), np.int32)
    live, z, c = np.arange(counts.size), np.zeros((2, counts.size), np.float32), c.reshape(2, -1).copy()
    for _ in range(ITERATIONS):
        x2, y2 = z * z
        inside = x2 + y2 <= 4
        live, z, c = live[inside], z[:, inside], c[:, inside]
        counts.flat[live] += 1
        z = np.stack((z[0] * z[0] - z[1] * z[1] + c[0], np.float32(2) * z[0] * z[1] + c[1]))
    return {"counts": counts}


# sin, exp, log and pow of four million floats ---------------------------------------------------------------------


def _abscissae(rng: np.random.Generator) -> Arrays:
    return {"x": _floats(rng, SAMPLES, low=0.1, high=10.0)}


def _mixed(arrays: Arrays) -> Arrays:
    (x,) = _doubles(arrays)
    return {"y": np.sin(x) * np.exp(DECAY * x) + np.log(x) + np.power(x, POWER)}


# 5-point stencil, the rim held ------------------------------------------------------------------------------------


def _field(rng: np.random.Generator) -> Arrays:
    return {"u": _floats(rng, CELLS, CELLS)}


def _diffused(arrays: Arrays) -> Arrays:
    (u,) = _doubles(arrays)
    out = u.copy()
    out[1:-1, 1:-1] += DIFFUSION * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return {"out": out}


# quaternions and matrices -----------------------------------------------------------------------------------------


def _poses(rng: np.random.Generator) -> Arrays:
    """Unit quaternions (x, y, z, w), vectors, and matrices near the identity, so that inverses are well conditioned."""
    quats = [rng.normal(size=(FRAMES, 4)) for _ in range(2)]
    p, q = ((q / np.linalg.norm(q, axis=1, keepdims=True)).astype(np.float32) for q in quats)
    matrices = (np.eye(3) + rng.uniform(-0.2, 0.2, (FRAMES, 3, 3))).astype(np.float32)
    return {"p": p, "q": q, "v": _floats(rng, FRAMES, 3), "m": matrices}


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    axis = a[:, 3:] * b[:, :3] + b[:, 3:] * a[:, :3] + np.cross(a[:, :3], b[:, :3])
    return np.hstack((axis, a[:, 3:] * b[:, 3:] - np.sum(a[:, :3] * b[:, :3], axis=1, keepdims=True)))


def _rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    twice = 2 * np.cross(q[:, :3], v)
    return v + q[:, 3:] * twice + np.cross(q[:, :3], twice)


def _posed(arrays: Arrays) -> Arrays:
    p, q, v, m = _doubles(arrays)
    r = _product(p, q)
    r /= np.linalg.norm(r, axis=1, keepdims=True)
    moved = np.einsum("nij,nj->ni", m, _rotated(r, v)) + np.cross(v, _rotated(q, v))
    solved = np.einsum("nij,nj->ni", np.linalg.inv(m), moved) * np.linalg.det(m)[:, None]
    return {"turned": r, "solved": solved}


# singular values ---------------------------------------------------------------------------------------------------


def _matrices(rng: np.random.Generator) -> Arrays:
    return {"a": _floats(rng, FRAMES, 3, 3)}


def _decomposed(arrays: Arrays) -> Arrays:
    (a,) = _doubles(arrays)
    return {"sigma": np.linalg.svd(a, compute_uv=False), "rebuilt": a}


# noise: a random gradient at every point of a lattice, blended between -----------------------------------------------

SEED, PERIODS = 42, (5, 6, 7)
_PRIMES = [np.uint32(p) for p in (73856093, 19349663, 53471161)]


def _points(dimensions: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: {"points": _floats(rng, POINTS, dimensions, low=0.0, high=20.0)}


def _hash(x: np.ndarray) -> np.ndarray:
    s = x * np.uint32(747796405) + np.uint32(2891336453)
    word = ((s >> ((s >> np.uint32(28)) + np.uint32(4))) ^ s) * np.uint32(277803737)
    return (word >> np.uint32(22)) ^ word


def _noise(points: np.ndarray, periods: tuple[int, ...] = ()) -> np.ndarray:
    """Noise in float64 at points of shape (n, dimensions)."""
    dimensions, low = points.shape[1], np.floor(points)
    state = _hash(np.full(1, SEED, np.uint32))
    total = np.zeros(len(points))
    for corner in np.ndindex(*[2] * dimensions):
        offset = points - low - corner
        way = np.abs(offset)
        weight = np.prod(1 - way**3 * (way * (way * 6 - 15) + 10), axis=1)
        place = (low + corner).astype(np.int64)
        place = place % periods if periods else place
        keys = [place[:, d].astype(np.uint32) * _PRIMES[d] for d in range(dimensions)]
        keys[-1] = keys[-1] + state
        h, gradient = np.bitwise_xor.reduce(keys), []
        for _ in range(dimensions):
            h = _hash(h)
            gradient.append((h >> np.uint32(8)) / 2.0**23 - 1)
        g = np.stack(gradient, 1)
        total += weight * np.sum(g * offset, 1) / np.linalg.norm(g, axis=1)
    return total


def _sampled(arrays: Arrays) -> Arrays:
    return {"out": _noise(*_doubles(arrays))}


def _sampled_periodic(arrays: Arrays) -> Arrays:
    return {"out": _noise(*_doubles(arrays), PERIODS)}


def _curl(arrays: Arrays) -> Arrays:
    """By central differences."""
    (points,) = _doubles(arrays)
    step = 1e-5
    dx, dy = ((_noise(points + d) - _noise(points - d)) / (2 * step) for d in np.eye(2) * step)
    return {"flow": np.stack((-dy, dx), 1)}


# streams ----------------------------------------------------------------------------------------------------------


def _lines(rng: np.random.Generator) -> Arrays:
    return {"x": _floats(rng, STREAM), "y": _floats(rng, STREAM)}


def _saxpy(arrays: Arrays) -> Arrays:
    x, y = _doubles(arrays)
    return {"y": FACTOR * x + y}


def _particles(rng: np.random.Generator) -> Arrays:
    return {"positions": _floats(rng, STREAM, 3), "velocities": _floats(rng, STREAM, 3)}


def _stepped(arrays: Arrays) -> Arrays:
    x, v = _doubles(arrays)
    v = v + TIME_STEP * np.array([0.0, GRAVITY, 0.0])
    return {"positions": x + TIME_STEP * v, "velocities": v}


PROGRAMS = (
    Program(
        "nbody", f"n-body, {BODIES} bodies, all pairs", _bodies, _accelerations,
        Tolerance(relative=1e-5, absolute=0.02), BODIES**2 / 1e9, "Gpair/s", goal=12,
    ),
    Program(
        "mandelbrot", f"Mandelbrot {IMAGE}², {ITERATIONS} iterations", _plane, _escapes,
        Tolerance(strays=0.01), IMAGE**2 / 1e6, "Mpixel/s", goal=10,
    ),
    Program(
        "mix", "sin, exp, log, pow of 4 M floats", _abscissae, _mixed,
        Tolerance(relative=5e-7, absolute=1e-6), SAMPLES / 1e6, "M/s", goal=8,
    ),
    Program(
        "stencil", f"5-point stencil {CELLS}²", _field, _diffused,
        Tolerance(absolute=1e-6), CELLS**2 / 1e6, "Mcell/s", goal=4, moved=8 * CELLS**2,
    ),
    Program(
        "poses", "quaternions and matrices, 1 M", _poses, _posed,
        Tolerance(relative=1e-5, absolute=1e-5), FRAMES / 1e6, "M/s", goal=6,
        moved=(4 + 4 + 3 + 9 + 4 + 3) * 4 * FRAMES,
    ),
    Program(
        "svd3", "svd3 of 1 M matrices, and the product", _matrices, _decomposed,
        Tolerance(absolute=5e-5, strays=0.01), FRAMES / 1e6, "M/s", goal=6, numba=False,
    ),
    Program(
        "noise2", "noise, 1 M vec2", _points(2), _sampled,
        Tolerance(absolute=2e-6), POINTS / 1e6, "M/s", goal=8, numba=False,
    ),
    Program(
        "noise3", "noise, 1 M vec3", _points(3), _sampled,
        Tolerance(absolute=2e-6), POINTS / 1e6, "M/s", goal=8, numba=False,
    ),
    Program(
        "pnoise", "pnoise, 1 M vec3", _points(3), _sampled_periodic,
        Tolerance(absolute=2e-6), POINTS / 1e6, "M/s", goal=8, numba=False,
    ),
    Program(
        "curlnoise", "curlnoise, 1 M vec2", _points(2), _curl,
        Tolerance(absolute=2e-5), POINTS / 1e6, "M/s", goal=8, numba=False,
    ),
    Program(
        "saxpy", "saxpy, 10 M floats", _lines, _saxpy,
        Tolerance(absolute=5e-7), STREAM / 1e6, "M/s", moved=12 * STREAM, bandwidth_goal=0.85,
    ),
    Program(
        "particles", "particle step, 10 M vec3", _particles, _stepped,
        Tolerance(absolute=5e-7), STREAM / 1e6, "M/s", moved=48 * STREAM, bandwidth_goal=0.85,
    ),
)  # fmt: skip
