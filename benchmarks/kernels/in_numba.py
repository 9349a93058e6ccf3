"""The programs for numba: njit(parallel=True), fastmath off. Same interface as in_wp.py.

Constants are typed float32 throughout; a Python float would turn numba's arithmetic into float64.
"""

import math

import numba
import numpy as np
from kernels import programs
from numba import njit, prange

F = np.float32
ONE, TWO, FOUR = F(1), F(2), F(4)
kernel = njit(parallel=True, fastmath=False, error_model="numpy")
inline = njit(inline="always", error_model="numpy")


@kernel
def nbody(positions, masses, softening, accelerations):
    for i in prange(positions.shape[0]):
        px, py, pz = positions[i, 0], positions[i, 1], positions[i, 2]
        ax = ay = az = F(0)
        for j in range(positions.shape[0]):
            dx, dy, dz = positions[j, 0] - px, positions[j, 1] - py, positions[j, 2] - pz
            inverse = ONE / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            s = masses[j] * inverse * inverse * inverse
            ax += dx * s
            ay += dy * s
            az += dz * s
        accelerations[i, 0], accelerations[i, 1], accelerations[i, 2] = ax, ay, az


@kernel
def mandelbrot(real, imaginary, iterations, counts):
    for row in prange(counts.shape[0]):
        for column in range(counts.shape[1]):
            x = y = F(0)
            count = np.int32(0)
            while count < iterations and x * x + y * y <= FOUR:
                t = x * x - y * y + real[column]
                y = TWO * x * y + imaginary[row]
                x = t
                count += np.int32(1)
            counts[row, column] = count


@kernel
def mix(x, y):
    for i in prange(x.shape[0]):
        t = x[i]
        y[i] = math.sin(t) * math.exp(F(-0.3) * t) + math.log(t) + t ** F(1.7)


@kernel
def stencil(u, k, out):
    for i in prange(u.shape[0]):
        for j in range(u.shape[1]):
            c = u[i, j]
            if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
                c += k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - FOUR * c)
            out[i, j] = c


@inline
def cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inline
def rotate(x, y, z, w, vx, vy, vz):
    tx, ty, tz = cross(x, y, z, vx, vy, vz)
    tx, ty, tz = TWO * tx, TWO * ty, TWO * tz
    cx, cy, cz = cross(x, y, z, tx, ty, tz)
    return vx + w * tx + cx, vy + w * ty + cy, vz + w * tz + cz


@inline
def apply(m, x, y, z):
    return (
        m[0, 0] * x + m[0, 1] * y + m[0, 2] * z,
        m[1, 0] * x + m[1, 1] * y + m[1, 2] * z,
        m[2, 0] * x + m[2, 1] * y + m[2, 2] * z,
    )


@kernel
def poses(p, q, v, m, turned, solved):
    for i in prange(v.shape[0]):
        px, py, pz, pw = p[i, 0], p[i, 1], p[i, 2], p[i, 3]
        qx, qy, qz, qw = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
        cx, cy, cz = cross(px, py, pz, qx, qy, qz)
        rx, ry, rz = pw * qx + qw * px + cx, pw * qy + qw * py + cy, pw * qz + qw * pz + cz
        rw = pw * qw - px * qx - py * qy - pz * qz
        length = math.sqrt(rx * rx + ry * ry + rz * rz + rw * rw)
        rx, ry, rz, rw = rx / length, ry / length, rz / length, rw / length
        turned[i, 0], turned[i, 1], turned[i, 2], turned[i, 3] = rx, ry, rz, rw
        vx, vy, vz = v[i, 0], v[i, 1], v[i, 2]
        a = m[i]
        ux, uy, uz = rotate(rx, ry, rz, rw, vx, vy, vz)
        ux, uy, uz = apply(a, ux, uy, uz)
        sx, sy, sz = rotate(qx, qy, qz, qw, vx, vy, vz)
        sx, sy, sz = cross(vx, vy, vz, sx, sy, sz)
        ux, uy, uz = ux + sx, uy + sy, uz + sz
        # The inverse's columns are cross products of rows over the determinant.
        ax, ay, az = cross(a[1, 0], a[1, 1], a[1, 2], a[2, 0], a[2, 1], a[2, 2])
        bx, by, bz = cross(a[2, 0], a[2, 1], a[2, 2], a[0, 0], a[0, 1], a[0, 2])
        cx, cy, cz = cross(a[0, 0], a[0, 1], a[0, 2], a[1, 0], a[1, 1], a[1, 2])
        det = a[0, 0] * ax + a[0, 1] * ay + a[0, 2] * az
        s = ONE / det
        solved[i, 0] = (ax * s * ux + bx * s * uy + cx * s * uz) * det
        solved[i, 1] = (ay * s * ux + by * s * uy + cy * s * uz) * det
        solved[i, 2] = (az * s * ux + bz * s * uy + cz * s * uz) * det


@kernel
def saxpy(a, x, y):
    for i in prange(x.shape[0]):
        y[i] = a * x[i] + y[i]


@kernel
def particles(positions, velocities, gx, gy, gz, dt):
    for i in prange(positions.shape[0]):
        vx, vy, vz = velocities[i, 0] + gx * dt, velocities[i, 1] + gy * dt, velocities[i, 2] + gz * dt
        velocities[i, 0], velocities[i, 1], velocities[i, 2] = vx, vy, vz
        positions[i, 0] += vx * dt
        positions[i, 1] += vy * dt
        positions[i, 2] += vz * dt


CALLS = {
    "nbody": (nbody, lambda a, o: [*a, F(programs.SOFTENING), *o]),
    "mandelbrot": (mandelbrot, lambda a, o: [*a, np.int32(programs.ITERATIONS), *o]),
    "mix": (mix, lambda a, o: [*a, *o]),
    "stencil": (stencil, lambda a, o: [*a, F(programs.DIFFUSION), *o]),
    "poses": (poses, lambda a, o: [*a, *o]),
    "saxpy": (saxpy, lambda a, o: [F(programs.FACTOR), *a]),
    "particles": (particles, lambda a, o: [*a, F(0), F(programs.GRAVITY), F(0), F(programs.TIME_STEP)]),
}

OUTPUTS = {
    "nbody": {"accelerations": ((programs.BODIES, 3), F)},
    "mandelbrot": {"counts": ((programs.IMAGE, programs.IMAGE), np.int32)},
    "mix": {"y": (programs.SAMPLES, F)},
    "stencil": {"out": ((programs.CELLS, programs.CELLS), F)},
    "poses": {"turned": ((programs.FRAMES, 4), F), "solved": ((programs.FRAMES, 3), F)},
}


def set_threads(count: int) -> None:
    numba.set_num_threads(count)


def prepare(name: str, inputs: dict[str, np.ndarray]):
    function, arguments = CALLS[name]
    outputs = {key: np.zeros(shape, dtype) for key, (shape, dtype) in OUTPUTS.get(name, {}).items()}
    arrays = {key: a.copy() for key, a in inputs.items()}
    args = arguments(arrays.values(), outputs.values())
    return (lambda: function(*args)), outputs or arrays


def fetch(array: np.ndarray) -> np.ndarray:
    return array
