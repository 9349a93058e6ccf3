"""Random Python against CPython: functions in the IR interpreter, kernels as machine code of several widths.

`OMNI_WARP_RANDOM=1000:2000 pytest tests/lang/test_random_python.py` runs other seeds than the usual ones. `make
fuzz` runs more.
"""

import os
import random
import types
import warnings

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_function
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.verifier import verify
from tests.lang.random_python import NAMES, SCRATCH, SHARED, TABLE, KernelWriter, Writer

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_RANDOM", "0:60").split(":"))
KERNELS = range(LOW, HIGH, 1 if "OMNI_WARP_RANDOM" in os.environ else 3)
TRIALS = 8
THREADS = 37
WIDTHS = (None, 1, 8)
RUN = "wp.tid()", ("wp.array(dtype=int)", "wp.array2d(dtype=int)")


def compile_text(text: str, filename: str) -> dict:
    """What a module given as text defines."""
    space: dict = {}
    suffix = "\n\n@wp.kernel\ndef unused():\n    pass\n"
    wp.kernel_from_source(text + suffix, filename=filename, name="unused", namespace=space)
    return space


@pytest.mark.parametrize("seed", range(LOW, HIGH))
def test_functions_like_cpython(seed, record_property):
    text = Writer(seed).function()
    function = compile_text(text, f"<random python {seed}>")["f"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        lowered = lower_function(function)
    verify(lowered)
    rng = random.Random(seed)
    for _ in range(TRIALS):
        args = [rng.randint(-40, 40) for _ in NAMES]
        assert interp.call(lowered, args) == tuple(map(int, function(*args))), f"{args}\n{text}"
    record_property("cpython", "right")


def data(seed: int) -> list[np.ndarray]:
    """The arrays a kernel gets; each thread starts from its own four numbers."""
    rng = np.random.default_rng(seed)
    shapes = (TABLE,), (THREADS, SCRATCH), (SHARED,), (THREADS, 4)
    return [rng.integers(-40, 40, s).astype(np.int32) for s in shapes]


def in_cpython(seed: int) -> list[list]:
    """The arrays after the threads ran as plain Python, one after the other."""

    def atomic_add(array, i, x):
        array[i] += x

    package = types.SimpleNamespace(vec4i=lambda *x: list(x), atomic_add=atomic_add)
    space = {"wp": package, "same": lambda f: f}
    exec(KernelWriter(seed).kernel("@same", "thread", ("list", "object"), "thread, "), space)
    table, scratch, shared, out = data(seed)
    lists = table.tolist(), scratch.astype(object), shared.tolist(), out.astype(object)
    for thread in range(THREADS):
        space["k"](thread, *lists)
    return [list(lists[0]), lists[1].tolist(), list(lists[2]), lists[3].tolist()]


def as_kernel(seed: int, lanes: int | None):
    decorator = f"@wp.kernel(lanes={lanes})" if lanes else "@wp.kernel"
    text = KernelWriter(seed).kernel(decorator, *RUN).replace(f"@wp.func(lanes={lanes})", "@wp.func")
    return wp.kernel_from_source("import omni.warp_core as wp\n" + text, filename=f"<random kernel {seed} {lanes}>")


@pytest.mark.parametrize("seed", KERNELS)
def test_kernels_like_cpython(seed, record_property):
    expected = in_cpython(seed)
    for lanes in WIDTHS if "OMNI_WARP_RANDOM" in os.environ else (None, WIDTHS[1 + seed % 2]):
        arrays = [wp.array(x, dtype=int) for x in data(seed)]
        kernel = as_kernel(seed, lanes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wp.KernelWarning)
            wp.launch(kernel, THREADS, inputs=arrays)
        for name, found, wanted in zip(("table", "scratch", "shared", "out"), arrays, expected):
            text = KernelWriter(seed).kernel("@same", *RUN)
            assert found.numpy().tolist() == wanted, f"{name}, lanes={lanes}\n{text}"
    record_property("cpython", "right")
