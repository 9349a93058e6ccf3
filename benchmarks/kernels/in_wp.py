"""The programs as kernels; one source for this package and for warp-lang: the worker's first argument says which.

`prepare(name, inputs)` returns a function that runs the program once on the device's arrays, and those arrays.
`prepare_backward` is for this package alone, and returns two functions: the program and its adjoint.
"""

# ruff: noqa: UP018, RUF046  (warp-lang wants float(0.0) and int(0) for variables that a loop changes)

import importlib
import os
import sys
from typing import Any

import numpy as np
from kernels import programs

PACKAGE = sys.argv[1]
DEVICE = os.environ.get("BENCHMARK_DEVICE", "cpu")
wp: Any = importlib.import_module(PACKAGE)


@wp.kernel
def nbody(
    positions: wp.array(dtype=wp.vec3),
    masses: wp.array(dtype=float),
    softening: float,
    accelerations: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    here = positions[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(positions.shape[0]):
        away = positions[j] - here
        distance2 = wp.dot(away, away) + softening
        inverse = 1.0 / wp.sqrt(distance2)
        total += away * (masses[j] * inverse * inverse * inverse)
    accelerations[i] = total


@wp.kernel
def mandelbrot(
    real: wp.array(dtype=float), imaginary: wp.array(dtype=float), iterations: int, counts: wp.array2d(dtype=int)
):
    row, column = wp.tid()
    x = float(0.0)
    y = float(0.0)
    count = int(0)
    while count < iterations and x * x + y * y <= 4.0:
        t = x * x - y * y + real[column]
        y = 2.0 * x * y + imaginary[row]
        x = t
        count += 1
    counts[row, column] = count


@wp.kernel
def mix(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    y[i] = wp.sin(t) * wp.exp(-0.3 * t) + wp.log(t) + wp.pow(t, 1.7)


@wp.kernel
def stencil(u: wp.array2d(dtype=float), k: float, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    c = u[i, j]
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        c += k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * c)
    out[i, j] = c


@wp.kernel
def poses(
    p: wp.array(dtype=wp.quat),
    q: wp.array(dtype=wp.quat),
    v: wp.array(dtype=wp.vec3),
    m: wp.array(dtype=wp.mat33),
    turned: wp.array(dtype=wp.quat),
    solved: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    r = wp.normalize(p[i] * q[i])
    moved = m[i] * wp.quat_rotate(r, v[i]) + wp.cross(v[i], wp.quat_rotate(q[i], v[i]))
    turned[i] = r
    solved[i] = wp.inverse(m[i]) * moved * wp.determinant(m[i])


@wp.kernel
def svd3(a: wp.array(dtype=wp.mat33), sigma: wp.array(dtype=wp.vec3), rebuilt: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    u, s, v = wp.svd3(a[i])
    sigma[i] = wp.vec3(wp.abs(s[0]), wp.abs(s[1]), wp.abs(s[2]))
    rebuilt[i] = u * wp.diag(s) * wp.transpose(v)


@wp.kernel
def noise2(points: wp.array(dtype=wp.vec2), seed: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.noise(wp.rand_init(seed), points[i])


@wp.kernel
def noise3(points: wp.array(dtype=wp.vec3), seed: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.noise(wp.rand_init(seed), points[i])


@wp.kernel
def pnoise(points: wp.array(dtype=wp.vec3), seed: int, px: int, py: int, pz: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.pnoise(wp.rand_init(seed), points[i], px, py, pz)


@wp.kernel
def curlnoise(points: wp.array(dtype=wp.vec2), seed: int, flow: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    flow[i] = wp.curlnoise(wp.rand_init(seed), points[i])


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def particles(
    positions: wp.array(dtype=wp.vec3), velocities: wp.array(dtype=wp.vec3), gravity: wp.vec3, time_step: float
):
    i = wp.tid()
    v = velocities[i] + gravity * time_step
    velocities[i] = v
    positions[i] = positions[i] + v * time_step


@wp.kernel
def copy(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


MATRICES, VECTORS, QUATS = ("m", "a"), ("v", "positions", "velocities"), ("p", "q")
DTYPES = dict.fromkeys(MATRICES, wp.mat33) | dict.fromkeys(VECTORS, wp.vec3) | dict.fromkeys(QUATS, wp.quat)

# Program -> kernel, launch dimensions, and its arguments from the device's input arrays `a` and output arrays `o`.
CALLS: dict[str, Any] = {
    "nbody": (nbody, lambda a: a["masses"].shape, lambda a, o: [*a.values(), programs.SOFTENING, *o.values()]),
    "mandelbrot": (
        mandelbrot, lambda a: (programs.IMAGE, programs.IMAGE),
        lambda a, o: [*a.values(), programs.ITERATIONS, *o.values()],
    ),
    "mix": (mix, lambda a: a["x"].shape, lambda a, o: [*a.values(), *o.values()]),
    "stencil": (stencil, lambda a: a["u"].shape, lambda a, o: [a["u"], programs.DIFFUSION, o["out"]]),
    "poses": (poses, lambda a: a["v"].shape, lambda a, o: [*a.values(), *o.values()]),
    "svd3": (svd3, lambda a: a["a"].shape, lambda a, o: [a["a"], *o.values()]),
    "noise2": (noise2, lambda a: a["points"].shape, lambda a, o: [a["points"], programs.SEED, *o.values()]),
    "noise3": (noise3, lambda a: a["points"].shape, lambda a, o: [a["points"], programs.SEED, *o.values()]),
    "pnoise": (
        pnoise, lambda a: a["points"].shape,
        lambda a, o: [a["points"], programs.SEED, *programs.PERIODS, *o.values()],
    ),
    "curlnoise": (curlnoise, lambda a: a["points"].shape, lambda a, o: [a["points"], programs.SEED, *o.values()]),
    "saxpy": (saxpy, lambda a: a["x"].shape, lambda a, o: [programs.FACTOR, a["x"], a["y"]]),
    "particles": (
        particles, lambda a: a["positions"].shape,
        lambda a, o: [*a.values(), wp.vec3(0.0, programs.GRAVITY, 0.0), programs.TIME_STEP],
    ),
    "copy": (copy, lambda a: a["x"].shape, lambda a, o: [a["x"], a["y"]]),
}  # fmt: skip

OUTPUTS: dict[str, dict[str, Any]] = {
    "nbody": {"accelerations": (programs.BODIES, wp.vec3)},
    "mandelbrot": {"counts": ((programs.IMAGE, programs.IMAGE), wp.int32)},
    "mix": {"y": (programs.SAMPLES, wp.float32)},
    "stencil": {"out": ((programs.CELLS, programs.CELLS), wp.float32)},
    "svd3": {"sigma": (programs.FRAMES, wp.vec3), "rebuilt": (programs.FRAMES, wp.mat33)},
    **{name: {"out": (programs.POINTS, wp.float32)} for name in ("noise2", "noise3", "pnoise")},
    "curlnoise": {"flow": (programs.POINTS, wp.vec2)},
    "poses": {"turned": (programs.FRAMES, wp.quat), "solved": (programs.FRAMES, wp.vec3)},
}

# Inputs that hold what comes out.
IN_PLACE = {"saxpy": ("y",), "particles": ("positions", "velocities"), "copy": ("y",)}


def set_threads(count: int) -> None:
    if PACKAGE != "warp":  # warp-lang runs CPU kernels on the calling thread
        wp.config.num_threads = count


def dtype_of(key: str, a: np.ndarray) -> Any:
    return {2: wp.vec2, 3: wp.vec3}[a.shape[1]] if key == "points" else DTYPES.get(key, wp.float32)


def loaded(name: str, inputs: dict[str, np.ndarray]) -> tuple[Any, Any, list[Any], dict[str, Any]]:
    """Kernel, launch dimensions and arguments of a program, and the arrays that hold what comes out."""
    kernel, dim, arguments = CALLS[name]
    arrays = {key: wp.array(a, dtype=dtype_of(key, a), device=DEVICE) for key, a in inputs.items()}
    outputs = {
        key: wp.zeros(shape, dtype=dtype, device=DEVICE) for key, (shape, dtype) in OUTPUTS.get(name, {}).items()
    }
    results = outputs or {key: arrays[key] for key in IN_PLACE[name]}
    return kernel, dim(arrays), arguments(arrays, outputs), results


def prepare(name: str, inputs: dict[str, np.ndarray]):
    kernel, size, args, results = loaded(name, inputs)

    def run() -> None:
        wp.launch(kernel, dim=size, inputs=args, device=DEVICE)

    return run, results


def prepare_backward(name: str, inputs: dict[str, np.ndarray]):
    """Functions that run a program and its adjoint, or None where it has no gradient."""
    kernel, size, args, results = loaded(name, inputs)
    for a in args:
        if isinstance(a, wp.array) and a.dtype is not wp.int32:
            a.requires_grad = True
    seeds = {a: wp.clone(a) for a in results.values() if a.requires_grad}
    tape = wp.Tape()
    try:
        with tape:
            wp.launch(kernel, dim=size, inputs=args)
    except (wp.CompileError, ValueError):
        return None
    if not seeds:
        return None
    return (lambda: wp.launch(kernel, dim=size, inputs=args)), (lambda: tape.backward(grads=seeds))


def fetch(array: Any) -> np.ndarray:
    return array.numpy()
