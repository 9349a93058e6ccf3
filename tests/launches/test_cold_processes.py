"""Processes that start on one empty cache at once: all results are right, and the cache is whole after them.

Six by default, $OMNI_WARP_COLD_PROCESSES in `make fuzz`.
"""

import os
import subprocess
import sys

import pytest

from omni.warp_core import config
from omni.warp_core.ir.launch_facts import AdjointFacts, Dependences, Effects
from omni.warp_core.launches import kernel_cache

pytestmark = pytest.mark.cpu
COUNT = int(os.environ.get("OMNI_WARP_COLD_PROCESSES", "6"))
PROGRAM = """
import sys
import omni.warp_core as wp

@wp.func
def rotated(v: wp.vec3, angle: float):
    return wp.quat_rotate(wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), angle), v)

@wp.kernel
def turn(v: wp.array[wp.vec3], out: wp.array[float]):
    i = wp.tid()
    out[i] = 100.0 * rotated(v[i], wp.HALF_PI)[1]

@wp.kernel
def total(x: wp.array[float], out: wp.array[float]):
    wp.atomic_add(out, 0, x[wp.tid()])

print("ready", flush=True)
sys.stdin.readline()
v = wp.array([[float(i), 0.0, 0.0] for i in range(100)], dtype=wp.vec3, requires_grad=True)
x = wp.zeros(100, dtype=float, requires_grad=True)
loss = wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(turn, dim=100, inputs=[v], outputs=[x])
    wp.launch(total, dim=100, inputs=[x], outputs=[loss])
tape.backward(loss)
print(round(loss.list()[0]), round(float(v.grad.numpy()[:, 0].sum())), round(wp.utils.array_sum(x)))
"""
RIGHT = "495000 10000 495000"  # 100 times the sum of 0 to 99; 100 for each of 100 vectors


def start(path, environment):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, str(path)], env=environment, text=True, **pipes)


def is_sound(key):
    """True if an entry reads back as a kernel, or as facts about one."""
    kinds = (Effects, Dependences, AdjointFacts)
    return kernel_cache.load(key) is not None or any(kernel_cache.load_facts(key, kind) for kind in kinds)


def test_many_processes_start_on_an_empty_cache(tmp_path, monkeypatch):
    cache, program = tmp_path / "cache", tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "OMNI_WARP_CACHE_DIR": str(cache)}
    processes = [start(program, environment) for _ in range(COUNT)]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in processes:  # all have imported the package: now they compile the same kernels together
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate() for process in processes]
    assert [(out.strip(), err) for out, err in ends] == [(RIGHT, "")] * COUNT
    assert [process.returncode for process in processes] == [0] * COUNT
    monkeypatch.setattr(config, "kernel_cache_dir", str(cache))
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert len(files) >= 4 and all(path.name.endswith(kernel_cache.SUFFIX) for path in files)
    keys = [path.name.removesuffix(kernel_cache.SUFFIX) for path in files]
    assert all(is_sound(key) for key in keys)
    late = start(program, environment)
    assert late.communicate("go\n")[0].split("\n")[1:2] == [RIGHT]
    assert len([path for path in cache.rglob("*") if path.is_file()]) == len(files)
