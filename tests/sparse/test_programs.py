"""The programs of programs.py, whose results SciPy computes from the equations in float64."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

from omni.warp_core import as_warp, config

N = 12
PROGRAM = Path(__file__).with_name("programs.py")
PEER = os.environ.get("OMNI_WARP_PEER_PYTHON")  # an interpreter that has warp-lang


def grid_laplacian():
    path = sp.diags_array([np.r_[1.0, np.full(N - 2, 2.0), 1.0], -np.ones(N - 1), -np.ones(N - 1)], offsets=[0, 1, -1])
    return (sp.kron(path, sp.eye_array(N)) + sp.kron(sp.eye_array(N), path)).tocsc()


def implicit_diffusion():
    u = np.sin(np.arange(N * N))
    for _ in range(4):
        u = scipy.sparse.linalg.spsolve(sp.eye_array(N * N).tocsc() + 0.3 * grid_laplacian(), u)
    return u


def pressure_projection():
    faces = [(i * N + j, i * N + j + 1) for i in range(N) for j in range(N - 1)]
    faces += [(i * N + j, (i + 1) * N + j) for i in range(N - 1) for j in range(N)]
    gradient = np.zeros((len(faces), N * N))
    for row, (a, b) in enumerate(faces):
        gradient[row, a], gradient[row, b] = -1.0, 1.0
    velocity = np.cos(np.arange(len(faces)))
    return velocity - gradient @ np.linalg.lstsq(gradient, velocity, rcond=None)[0]


def mass_springs():
    at = np.stack([np.arange(N) % 4, np.arange(N) // 4, 0.1 * np.arange(N) ** 1.5], axis=1)
    matrix = 2.0 * np.eye(3 * N)
    for i in range(N):
        for j in range(i):
            d = at[j] - at[i]
            if np.linalg.norm(d) < 2.5:
                k = 0.01 * 50.0 * np.outer(d, d) / (d @ d)
                for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                    matrix[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += sign * k
    return np.linalg.solve(matrix, np.sin(np.arange(3 * N)))


def advection():
    n = N * N
    matrix = sp.diags_array([np.full(n, 1.5), np.full(n - 1, -0.5)], offsets=[0, -1]).tocsc()
    x = scipy.sparse.linalg.spsolve(matrix, np.cos(np.arange(n)))
    return np.concatenate([x, x, np.full(n, 1.5)])


PROGRAMS = {
    "implicit_diffusion": (implicit_diffusion, 1e-5),
    "pressure_projection": (pressure_projection, 1e-4),
    "mass_springs": (mass_springs, 1e-5),
    "advection": (advection, 1e-9),
}


@pytest.fixture(scope="module")
def programs():
    before = list(sys.meta_path), set(sys.modules)
    as_warp.install()
    yield importlib.import_module("tests.sparse.programs")
    config.dialect, config.cut_gradients = "python", "error"
    sys.meta_path[:] = before[0]
    for name in set(sys.modules) - before[1]:
        if name.partition(".")[0] == "warp":
            del sys.modules[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, programs, device):
    right, error = PROGRAMS[name]
    assert np.abs(getattr(programs, name)().numpy().astype(np.float64).ravel() - right()).max() <= error


@pytest.mark.cpu
@pytest.mark.skipif(not PEER, reason="OMNI_WARP_PEER_PYTHON names no interpreter that has warp-lang")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_under_warp_lang(name):
    right, error = PROGRAMS[name]
    done = subprocess.run([PEER, str(PROGRAM), name], capture_output=True, text=True, check=True)
    assert np.abs(np.array(json.loads(done.stdout.splitlines()[-1])) - right()).max() <= error


@pytest.mark.cpu
def test_a_program_runs_unchanged():
    command = [sys.executable, "-m", "omni.warp_core.as_warp", str(PROGRAM), "advection"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert np.abs(np.array(json.loads(done.stdout.splitlines()[-1])) - advection()).max() <= 1e-9
