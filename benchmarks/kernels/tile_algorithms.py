"""The tasks of tiles.py in which tiles are matrices and sequences: kernels for both packages, and the same by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SIZE, STEP = 512, 32  # rows of the matrices that are multiplied, and how far a tile goes along the common axis
SQUARE, SIDE, KEYS = 64, 32, 256


class Algorithm(NamedTuple):
    """A task: what it does, its result's shape, its blocks, and NumPy's way, from rows of 1,024 floats."""

    does: str
    shape: Callable[[int], tuple[int, ...]]
    blocks: Callable[[int], list[int]]
    by_numpy: Callable[[np.ndarray], np.ndarray]


def product(x: np.ndarray) -> np.ndarray:
    return x[:SIZE, :SIZE] @ x[:SIZE, SIZE:]


def spectra(x: np.ndarray) -> np.ndarray:
    return np.fft.fft(x.view(np.complex64), axis=1).astype(np.complex64).view(np.float32)


def solutions(x: np.ndarray) -> np.ndarray:
    b = x.reshape(-1, SIDE, SIDE)
    a = b.transpose(0, 2, 1) @ b + SIDE * np.eye(SIDE, dtype=np.float32)
    return np.linalg.solve(a, b[:, 0, :, None])[..., 0]


def sorted_keys(x: np.ndarray) -> np.ndarray:
    order = np.argsort(x[:, :KEYS], axis=1, kind="stable")
    return np.take_along_axis(x[:, :KEYS], order, axis=1) * order


ALGORITHMS = {
    "product": Algorithm(
        "512 x 512 matrices", lambda rows: (SIZE, SIZE), lambda rows: [SIZE // SQUARE, SIZE // SQUARE], product
    ),
    "spectra": Algorithm("FFT of 512 in each row", lambda rows: (rows, 2 * SIZE), lambda rows: [rows], spectra),
    "solutions": Algorithm("32 equations in each row", lambda rows: (rows, SIDE), lambda rows: [rows], solutions),
    "sort": Algorithm("256 pairs in each row", lambda rows: (rows, KEYS), lambda rows: [rows], sorted_keys),
}


def kernels(wp: Any) -> dict[str, Any]:
    """The kernel of each task."""

    @wp.kernel
    def multiply(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = wp.tile_zeros(shape=(SQUARE, SQUARE), dtype=float)
        for k in range(SIZE // STEP):
            a = wp.tile_load(x, shape=(SQUARE, STEP), offset=(i * SQUARE, k * STEP))
            b = wp.tile_load(x, shape=(STEP, SQUARE), offset=(k * STEP, SIZE + j * SQUARE))
            wp.tile_matmul(a, b, total)
        wp.tile_store(y, total, offset=(i * SQUARE, j * SQUARE))

    @wp.kernel
    def transform(x: wp.array2d(dtype=wp.vec2f), y: wp.array2d(dtype=wp.vec2f)):
        i = wp.tid()
        row = wp.tile_load(x, shape=(1, SIZE), offset=(i, 0))
        wp.tile_fft(row)
        wp.tile_store(y, row, offset=(i, 0))

    @wp.kernel
    def solve(x: wp.array3d(dtype=float), y: wp.array2d(dtype=float)):
        i = wp.tid()
        b = wp.tile_load(x[i], shape=(SIDE, SIDE))
        a = wp.tile_matmul(wp.tile_transpose(b), b)
        a = wp.tile_diag_add(a, wp.tile_ones(shape=SIDE, dtype=float) * float(SIDE))
        wp.tile_store(y[i], wp.tile_cholesky_solve(wp.tile_cholesky(a), wp.tile_load(x[i, 0], shape=SIDE)))

    @wp.kernel
    def sort(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i = wp.tid()
        keys, places = wp.tile_load(x[i], shape=KEYS), wp.tile_arange(KEYS, dtype=int)
        wp.tile_sort(keys, places)
        wp.tile_store(y[i], wp.tile_map(wp.mul, keys, wp.tile_astype(places, dtype=float)))

    return {"product": multiply, "spectra": transform, "solutions": solve, "sort": sort}


def arrays(wp: Any, task: str, x: np.ndarray) -> list[Any]:
    """The array that the kernel of a task reads, and the one that it writes."""
    y = np.zeros(ALGORITHMS[task].shape(len(x)), np.float32)
    if task == "spectra":
        return [wp.array(a.reshape(len(x), -1, 2), dtype=wp.vec2f) for a in (x, y)]
    if task == "solutions":
        x = x.reshape(-1, SIDE, SIDE)
    return [wp.array(a, dtype=float) for a in (x, y)]
