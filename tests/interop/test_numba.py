"""Compiled functions of Numba and kernels on the same memory of a CPU, and the example of the page."""

import re
from pathlib import Path

import numba
import numpy as np

import omni.warp_core as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@numba.njit
def add_one(x):
    for i in range(x.shape[0]):
        x[i] += 1.0


@numba.njit
def norm(v):
    return np.sqrt((v * v).sum())


@numba.vectorize
def cube(x):
    return x * x * x


def test_functions_of_numba_write_to_arrays():
    a = wp.array(np.arange(6.0), dtype=float)
    add_one(a.numpy())
    assert a.list() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    add_one(a.numpy()[::2])
    assert a.list() == [2.0, 2.0, 4.0, 4.0, 6.0, 6.0]
    assert norm(wp.array([[3.0, 4.0, 0.0]], dtype=wp.vec3).numpy()) == 5.0
    assert cube(a.numpy()).tolist() == [8.0, 8.0, 64.0, 64.0, 216.0, 216.0]


def test_kernels_write_to_arrays_of_numba():
    @numba.njit
    def make(n):
        return np.arange(n).astype(np.float32), np.ones(n, np.float32)

    x, y = make(5)
    wp.launch(saxpy, dim=5, inputs=[x, y, 2.0], device="cpu")
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]


def test_the_page_runs(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "interop.md").read_text()
    blocks = re.findall(r"```python(?: numba)?\n(.*?)```", page, re.DOTALL)
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    exec(compile(program.read_text(), str(program), "exec"), {"__name__": "page"})
