"""`warp._src` and the like: what programs for warp-lang reach into. Expected values are by hand or of NumPy."""

from __future__ import annotations

import os

from tests.package.test_as_warp import RUNNER, python

IMPORTS = """\
import os, sys
os.environ["XDG_CACHE_HOME"] = "/caches"
from warp._src.thirdparty.appdirs import user_cache_dir
from warp._src.thirdparty import appdirs
from warp._src.types import Any, Int, Vector
from warp._src import types as t
import warp._src.context as context
import warp as wp

assert appdirs.user_cache_dir is user_cache_dir
if sys.platform == "linux":
    assert user_cache_dir("newton", "physics", "2") == "/caches/newton/2" and user_cache_dir() == "/caches"
assert Vector[Any, Int].__args__ == (Any, Int)
assert t.type_length(wp.mat33) == 3 and t.type_length(wp.transform) == 7 and t.type_scalar_type(wp.vec2) is wp.float32
assert context.Kernel is wp.Kernel and wp._src.context is context
assert "dot" in context.builtin_functions and "no_such_function" not in context.builtin_functions

@wp.kernel
def fill(x: wp.array(dtype=Any), n: int):
    x[wp.tid()] = x.dtype(n)

assert context.user_modules["__main__"] is fill.module
assert [a.label for a in fill.adj.args] == ["x", "n"] and not fill.adj.has_unresolved_static_expressions
assert fill.adj.args[0].type.dtype is Any and fill.adj.args[0].type.ndim == 1 and fill.adj.args[1].type is int

x = wp.array([1, 0, 1, 1], dtype=int)
total = wp.zeros(4, dtype=int)
wp._src.utils.array_scan(x, total, inclusive=False)
assert total.list() == [0, 1, 1, 2]
"""

TAPE = """\
import warp as wp

@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = 2.0 * x[wp.tid()]

runtime = wp._src.context.runtime
x, y, z = (wp.ones(1, dtype=float, requires_grad=True) for _ in range(3))
assert runtime.tape is None
with wp.Tape() as tape:
    wp.launch(double, dim=1, inputs=[x, y])
    assert runtime.tape is tape
    runtime.tape = None  # pauses it
    assert runtime.tape is None
    wp.launch(double, dim=1, inputs=[x, wp.zeros(1, dtype=float, requires_grad=True)])
    runtime.tape = tape
    wp.launch(double, dim=1, inputs=[y, z])
assert runtime.tape is None and len(tape.launches) == 2
tape.backward(z)
assert x.grad.list() == [4.0]

runtime.tape = other = wp.Tape()  # records without `with`
wp.launch(double, dim=1, inputs=[x, y])
runtime.tape = None
wp.launch(double, dim=1, inputs=[y, z])
assert len(other.launches) == 1
"""

NATIVE = """\
import ctypes
import numpy as np
import warp as wp

core = wp._src.context.runtime.core
number = ctypes.c_float()
core.wp_builtin_dot_vec3f_vec3f(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0), ctypes.byref(number))
assert number.value == 32.0
core.wp_builtin_mul_float32_float32(ctypes.c_float(2.0), 3.0, ctypes.byref(number))
assert number.value == 6.0
moved = wp.transform()
core.wp_builtin_transform_inverse_transformf(wp.transform(1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0), ctypes.byref(moved))
assert np.asarray(moved).tolist() == [-1, -2, -3, 0, 0, 0, 1]
rows = np.zeros((2, 7), np.float32)
core.wp_builtin_mul_transformf_transformf(moved, moved, ctypes.byref(wp.transform.from_buffer(rows[1])))
assert rows.tolist() == [[0] * 7, [-2, -4, -6, 0, 0, 0, 1]]

a, b = np.arange(12.0, dtype=np.float32).reshape(4, 3), np.arange(5.0, 17.0, dtype=np.float32).reshape(4, 3)
given, out = [wp.array(v, dtype=wp.vec3) for v in (a, b)], wp.zeros(3, dtype=float)
core.wp_array_inner_float_host(given[0].ptr, given[1].ptr, out.ptr + 4, 4, 12, 12, 3)
assert out.list() == [0.0, float((a * b).sum()), 0.0]
core.wp_array_sum_float_host(given[0].ptr, out.ptr, 4, 12, 3)
assert out.list() == a.sum(axis=0).tolist()

assert isinstance(moved, ctypes.Array) and isinstance((ctypes.c_int * 2)(), ctypes.Array)
assert not isinstance(3, ctypes.Array) and issubclass(wp.vec3, ctypes.Array)
assert ctypes.sizeof(wp.vec3) == 12 and ctypes.sizeof(ctypes.c_int) == 4
pair = wp.vec2(1.0, 2.0)
assert ctypes.string_at(ctypes.addressof(pair), 8) == np.array([1, 2], np.float32).tobytes()

for name in ("wp_builtin_no_such_vec3f", "wp_builtin_dot_vec3f_words", "wp_alloc_host"):
    try:
        getattr(core, name)
    except AttributeError as why:
        assert name in str(why) and "wp_array_inner_" in str(why)
    else:
        raise AssertionError(name)
"""


def test_private_modules_can_be_imported(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(IMPORTS)
    ran = python(*RUNNER, str(script), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_native_functions_are_called_through_ctypes(tmp_path):
    ran = python(*RUNNER, "-c", NATIVE, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_programs_pause_the_tape_that_records(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(TAPE)
    ran = python(*RUNNER, str(script), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_programs_replace_a_function_where_it_is_defined(tmp_path):
    """Isaac Lab wraps `to_torch` in both places. It does so before the program imports `torch` itself."""
    text = "import warp as wp; wp._src.torch.to_torch = abs; from warp._src.torch import to_torch; print(to_torch(-3))"
    ran = python(*RUNNER, "-c", text, cwd=tmp_path)
    assert ran.stdout == "3\n", ran.stderr


def test_what_private_modules_lack_is_named(tmp_path):
    last = python(*RUNNER, "-c", "import warp as wp; wp._src.build", cwd=tmp_path).stderr.splitlines()[-1]
    assert last == "AttributeError: warp._src has no 'build' here, only context, types, thirdparty, " + (
        "thirdparty.appdirs, fem, jax, optim, paddle, render, sparse, torch, utils"
    )
    assert "no module '_src.build'" in python(*RUNNER, "-c", "import warp._src.build", cwd=tmp_path).stderr


def test_scenes_of_examples_are_where_the_environment_says(tmp_path, monkeypatch):
    text = "import warp.examples; print(warp.examples.get_asset_directory())"
    monkeypatch.delenv("OMNI_WARP_EXAMPLE_ASSETS", raising=False)
    assert "set OMNI_WARP_EXAMPLE_ASSETS" in python(*RUNNER, "-c", text, cwd=tmp_path).stderr
    monkeypatch.setenv("OMNI_WARP_EXAMPLE_ASSETS", os.fspath(tmp_path))
    assert python(*RUNNER, "-c", text, cwd=tmp_path).stdout == f"{tmp_path}\n"
