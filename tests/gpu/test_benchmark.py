"""benchmarks/gpu.py runs to its end, and what it compares with computes what it should."""

import ctypes
import importlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.on_gpu import MODE

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

# CUDA C as C++: the thread is said before each call.
AS_CPP = """
#include <cmath>
struct Index { unsigned x; };
static Index blockIdx, blockDim, threadIdx;
#define __global__ __attribute__((visibility("default")))
extern "C" void be_thread(unsigned block, unsigned size, unsigned thread) {
    blockIdx.x = block, blockDim.x = size, threadIdx.x = thread;
}
"""


@pytest.fixture
def module(monkeypatch):
    """Imports modules of the benchmarks, with next to no data."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    sizes = importlib.import_module("harness.gpu_worker").TINY
    for name, size in sizes.items():
        monkeypatch.setattr(importlib.import_module("kernels.programs"), name, size)
    return importlib.import_module


def run(*options):
    simulated = ["--simulated"] * (MODE == "simulated")
    command = [sys.executable, BENCHMARKS / "gpu.py", "--small", *simulated, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_it_runs_to_its_end():
    done = run("--only", "saxpy", "svd3")
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines() if line.startswith("| ")]
    times = {row[1]: row[2] for row in rows[1:]}
    assert len(times) == 13 and all(float(t) > 0 for t in times.values()), times
    notes = " ".join(row[-2] for row in rows)
    for told in (
        "GB/s",
        "TFLOP/s",
        "of the copy, goal 92%",
        "of the multiply-adds",
        "by the driver alone",
        "goal 1.05",
    ):
        assert told in notes
    assert "These numbers mean nothing" in done.stdout


def test_it_ends_in_time():
    done = run("--only", "--seconds", "0")
    assert done.returncode and "no time left of 0 s" in done.stdout and "nothing to measure" in done.stderr


def test_workers_that_take_too_long_are_ended(module, tmp_path):
    contenders = module("harness.contenders")
    script = tmp_path / "slow.py"
    script.write_text(
        f"import sys, time\nsys.path.insert(0, {str(BENCHMARKS)!r})\nfrom harness.contenders import serve\n"
        "class Worker:\n    def sleep(self, seconds): time.sleep(seconds); return seconds\nserve(Worker)\n"
    )
    worker = contenders.Contender(sys.executable, script)
    assert worker.ask("sleep", 0, within=100) == 0
    with pytest.raises(contenders.WorkerError, match="no answer within 1 s"):
        worker.ask("sleep", 1000, within=1)
    assert worker.process.poll() is not None


@pytest.mark.parametrize("name", ["nbody", "mandelbrot", "mix", "stencil", "saxpy", "particles"])
def test_kernels_in_cuda_c(module, tmp_path, name):
    kernels, programs = module("kernels.in_cuda"), module("kernels.programs")
    source, library = tmp_path / "kernels.cpp", tmp_path / "kernels.so"
    source.write_text(AS_CPP + kernels.SOURCE.read_text())
    subprocess.run([os.environ.get("CXX", "c++"), "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    made = ctypes.CDLL(str(library))
    program = next(p for p in programs.PROGRAMS if p.name == name)
    inputs = program.inputs(np.random.default_rng(3))
    dims, scalars, outputs = kernels.CALLS[name]
    correct = program.reference(inputs)
    results = {key: np.zeros(shape, dtype) for key, (shape, dtype) in outputs().items()}
    kinds = {np.float32: ctypes.c_float, np.int32: ctypes.c_int}
    args = [
        *(ctypes.c_void_p(a.ctypes.data) for a in inputs.values()),
        *(kinds[type(x)](x) for x in scalars()),
        *(ctypes.c_void_p(a.ctypes.data) for a in results.values()),
    ]
    blocks = -(-int(np.prod(dims(inputs))) // 64)
    for block, thread in itertools.product(range(blocks), range(64)):
        made.be_thread(block, 64, thread)
        made[name](*args)
    for key, expected in correct.items():
        assert program.tolerance.problem((results or inputs)[key], expected) is None


def test_operations_are_counted(module, monkeypatch):
    """By hand: 20 for a pair of bodies, 8 for a step of Mandelbrot's."""
    monkeypatch.setattr(sys, "argv", ["worker", "omni.warp_core"])
    kernels, operations, programs = module("kernels.in_wp"), module("kernels.operations"), module("kernels.programs")

    def counted(name):
        program = next(p for p in programs.PROGRAMS if p.name == name)
        inputs = program.inputs(np.random.default_rng(3))
        kernel, dim, _, _ = kernels.loaded(name, inputs)
        return operations.of_launch(name, kernel, dim, inputs), program.reference(inputs)

    assert counted("nbody")[0] == 20 * programs.BODIES**2
    done, expected = counted("mandelbrot")
    assert done == pytest.approx(8 * expected["counts"].sum())
    assert counted("svd3")[0] > 217 * programs.FRAMES  # outside of its loop
