"""Waiting times of a user (import, first compile, edit to result, cached kernel, launch), and the memory used.

    python benchmarks/latency.py [--repeat N] [--json FILE]

Each figure is taken in fresh processes, in user-like conditions: byte code cached, an own empty kernel cache. Printed
is the median and the best of the repeats beside the budget. Start with `FIGURES`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

KERNEL = """
@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    v = x[i]
    if v > 0.5:
        v = wp.sqrt(v) * a
    y[i] = v + 1.0

x = np.linspace(0.0, 1.0, 64, dtype=np.float32)
y = np.zeros(64, np.float32)
expected = np.where(x > 0.5, np.sqrt(x) * np.float32(2), x) + np.float32(1)
"""

CHECK = "assert np.allclose(y, expected, rtol=1e-6), y"


class Figure(NamedTuple):
    """One thing to measure: a program that prints a number, and the most it may be."""

    name: str
    unit: str
    budget: float
    program: str
    warm: bool = False  # run once before, on the same kernel cache


def program(setup: str, measured: str, after: str = CHECK) -> str:
    """A program that prints the milliseconds `measured` takes after `setup`."""
    lines = [
        "import time",
        setup,
        "_t = time.perf_counter()",
        measured,
        "_ms = (time.perf_counter() - _t) * 1e3",
        after,
    ]
    return "\n".join([*lines, "print(_ms)"])


# Fifteen lines of a kernel and two functions, with two loops and quaternions.
SPINNING = """
@wp.func
def spin(q: wp.quat, w: wp.vec3, dt: float):
    return wp.normalize(q + wp.quat(w[0], w[1], w[2], 0.0) * q * (0.5 * dt))

@wp.func
def pull(p: wp.vec3, c: wp.vec3, k: float):
    d = p - c
    return d * (-k / (wp.length(d) + 0.01))

@wp.kernel
def step(x: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.quat), n: int, dt: float, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = x[i]
    r = q[i]
    f = wp.vec3()
    for j in range(n):
        if wp.length(p - x[j]) > 0.1:
            f = f + pull(p, x[j], 2.0)
        else:
            f = f - wp.quat_rotate(r, x[j]) * 0.1
    for s in range(4):
        r = spin(r, f, dt)
        p = p + wp.quat_rotate(r, f) * dt
    out[i] = p
"""
POINTS = """
x = wp.array(np.random.default_rng(1).random((64, 3), dtype=np.float32), dtype=wp.vec3)
q = wp.array(np.tile(np.float32([0, 0, 0, 1]), (64, 1)), dtype=wp.quat)
before, after = wp.zeros(64, dtype=wp.vec3), wp.zeros(64, dtype=wp.vec3)
wp.launch(step, 64, [x, q, 64, 0.01, before])
"""

PRELUDE = (
    "import numpy as np\nimport omni.warp_core as wp\nwp.init(), wp.launch, wp.array, wp.kernel, wp.tid, wp.sqrt\n"
)

LOOP = """
import gc
a, b = wp.array(x, dtype=float), wp.zeros(64, dtype=float)
c, d = wp.zeros(64, dtype=float), wp.zeros(64, dtype=float)

@wp.kernel
def six(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), d: wp.array(dtype=float),
        s: float, n: int):
    i = wp.tid()
    if i < n:
        d[i] = a[i] + b[i] + c[i] + s

wp.launch(six, 1, [a, b, c, d, 1.0, 1])
cmd = wp.launch(six, 1, [a, b, c, d, 1.0, 1], record_cmd=True)

def best(f, n=20000):
    gc.disable()
    rounds = []
    for _ in range(9):
        t = time.perf_counter()
        f(n)
        rounds.append((time.perf_counter() - t) / n * 1e6)
    return min(rounds)

def launches(n):
    for _ in range(n):
        wp.launch(six, 1, [a, b, c, d, 1.0, 1])

def keywords(n):
    for _ in range(n):
        wp.launch(kernel=six, dim=1, inputs=[a, b, c, d, 1.0, 1], device="cpu")

def recorded(n):
    run = cmd.launch
    for _ in range(n):
        run()
"""

MEMORY = """
import resource
wp.launch(k, 64, [x, y, 2.0])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

FIGURES = [
    Figure("import beyond NumPy", "ms", 50, program("import numpy as np", "import omni.warp_core as wp", "")),
    Figure("... and the names a program uses", "ms", 50, program("import numpy as np", PRELUDE, "")),
    Figure("first compile, fresh process", "ms", 250, program(PRELUDE + KERNEL, "wp.launch(k, 64, [x, y, 2.0])")),
    Figure(
        "edit to result, warm process",
        "ms",
        40,
        program(
            PRELUDE + KERNEL + "wp.launch(k, 64, [x, y, 2.0])\n" + KERNEL.replace("+ 1.0", "+ 1.5", 1),
            "wp.launch(k, 64, [x, y, 2.0])",
            "assert np.allclose(y, expected + np.float32(0.5), rtol=1e-6), y",
        ),
    ),
    Figure(
        "... of two functions and two loops",
        "ms",
        30,
        program(
            PRELUDE + SPINNING + POINTS + SPINNING.replace("out[i] = p", "out[i] = p + wp.vec3(1.0, 0.0, 0.0)"),
            "wp.launch(step, 64, [x, q, 64, 0.01, after])",
            "assert np.allclose(after.numpy(), before.numpy() + np.float32([1, 0, 0]), rtol=1e-6), after",
        ),
    ),
    Figure("cached kernel, fresh process", "ms", 5, program(PRELUDE + KERNEL, "wp.launch(k, 64, [x, y, 2.0])"), True),
    Figure("launch, 6 arguments", "us", 1.5, f"import time\n{PRELUDE}{KERNEL}{LOOP}\nprint(best(launches))", True),
    Figure(
        "... by keywords, device named", "us", 1.5, f"import time\n{PRELUDE}{KERNEL}{LOOP}\nprint(best(keywords))", True
    ),
    Figure("recorded launch", "us", 0.5, f"import time\n{PRELUDE}{KERNEL}{LOOP}\nprint(best(recorded))", True),
    Figure("memory after a small kernel", "MB", 150, PRELUDE + KERNEL + MEMORY),
]


def run(figure: Figure, folder: Path) -> float:
    """One measurement in a fresh process with an empty kernel cache (or, if warm, with the kernel in it)."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(figure.program))
    cache = tempfile.mkdtemp(dir=folder)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env |= {"OMNI_WARP_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    for _ in range(2 if figure.warm else 1):
        done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{figure.name}: the program failed\n{done.stderr}")
    return float(done.stdout.split()[-1])


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="fresh processes for each figure")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    rows = {}
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}"
    )
    print(f"{'':34}{'median':>10}{'best':>10}{'budget':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for figure in FIGURES:
            run(figure, folder)  # byte code
            values = [run(figure, folder) for _ in range(options.repeat)]
            median, best = statistics.median(values), min(values)
            rows[figure.name] = {"median": median, "best": best, "budget": figure.budget, "unit": figure.unit}
            verdict = "" if median <= figure.budget else "  over budget"
            print(f"{figure.name:34}{median:10.2f}{best:10.2f}{figure.budget:10.1f} {figure.unit}{verdict}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
