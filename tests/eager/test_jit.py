"""Builtins at Python scope as machine code: the answers of the interpreter, to the bit, when calls are many."""

from __future__ import annotations

import gc
import math
import os
import random
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import build_library_pack
from omni.warp_core.eager import call as scope
from omni.warp_core.eager import jit
from omni.warp_core.ir.interp import interp
from omni.warp_core.lang import registry, semantics
from omni.warp_core.lang.generics import Reference
from omni.warp_core.lang.types import Packed, Scalar, leaves
from omni.warp_core.lang.values.scalars import typed_components
from omni.warp_core.lang.values.value_classes import from_leaves, python_type, to_leaves

NOT_IN_MATH = () if hasattr(math, "cbrt") else ("cbrt",)  # of Python 3.10
INTERPRETED = ("index", "quat_from_euler", "quat_to_euler")  # their arguments are indices, which may be out of range


def takes_id(overload: registry.Overload) -> bool:
    """True if the overload takes the id of a structure, which few numbers are."""
    return any(name == "id" for name, _, _ in overload.params)


def first_instances():
    """One instance of each builtin that takes and gives values."""
    found = {}
    for builtin, i, types in build_library_pack.instances():
        changes = any(isinstance(pattern, Reference) for _, pattern, _ in builtin.overloads[i].params)
        values = all(isinstance(t, (Scalar, Packed)) for t in types) and not changes
        if values and builtin.name not in INTERPRETED and not takes_id(builtin.overloads[i]):
            found.setdefault(builtin.name, (builtin, types))
    return [pytest.param(*found[name], id=name) for name in sorted(found)]


def number(rng: random.Random, t: Scalar):
    if t.is_int:
        low, high = semantics.int_range(t)
        return rng.randint(max(low, -20), min(high, 20))
    return rng.random() < 0.5 if t.kind == "bool" else semantics.convert(rng.uniform(-3, 3), t)


def argument(rng: random.Random, t):
    numbers = [number(rng, leaf) for _, leaf in leaves(t)]
    return python_type(t)(numbers[0]) if isinstance(t, Scalar) else from_leaves(t, numbers)


def bits(result):
    parts = result if isinstance(result, tuple) else (result,)
    out = []
    for x in parts:
        t = getattr(x, "__wc_type__", None)
        numbers = (x,) if t is None else to_leaves(x, t)
        out.append((type(x), ["nan" if n != n else float(n).hex() if isinstance(n, float) else n for n in numbers]))
    return out


@pytest.mark.parametrize("builtin, types", first_instances())
def test_compiled_and_interpreted_calls_agree_to_the_bit(builtin, types):
    rng = random.Random(builtin.name)
    fresh = registry.Builtin(builtin.name)
    fresh.overloads, fresh.updates = builtin.overloads, builtin.updates
    sample = tuple(argument(rng, t) for t in types)
    jit.compile_call(fresh, sample, jit.COMPILE_AFTER_CALLS)
    fresh._interpret = None  # from here on nothing is interpreted
    for _ in range(20):
        args = tuple(argument(rng, t) for t in types)
        assert bits(fresh(*args)) == bits(scope.call(builtin, args, {})), args


def fresh(name: str) -> registry.Builtin:
    original = registry.get(name)
    made = registry.Builtin(name)
    made.overloads = original.overloads
    return made


def compiled(name: str, *args) -> registry.Builtin:
    made = fresh(name)
    jit.compile_call(made, args, jit.COMPILE_AFTER_CALLS)
    return made


def test_calls_are_compiled_once_they_are_many(monkeypatch):
    dot, v = fresh("dot"), wp.vec3(1, 2, 3)
    interpreted = []
    run = interp.call
    monkeypatch.setattr(interp, "call", lambda *args, **kw: interpreted.append(1) or run(*args, **kw))
    for _ in range(2 * jit.COMPILE_AFTER_CALLS):
        assert dot(v, v) == 14.0
    assert 100 < len(interpreted) <= jit.COMPILE_AFTER_CALLS


def test_numbers_take_the_types_they_take_in_interpreted_calls():
    for name, args, others in [
        ("clamp", (wp.float64(0.3), 0, 1), [(wp.float64(7.5), 0, 1), (wp.float64(7.5), 0, 2**60)]),
        ("max", (0.5, 0.25), [(0.1, 0.7), (1e300, 0.5)]),
        ("max", (3, 4), [(7, -9)]),
        ("max", (0.5, 1), [(0.5, 2), (2.5, 7), (0.5, -3)]),
        ("lerp", (wp.vec3(1, 2, 3), wp.vec3(3, 2, 1), 0.5), [(wp.vec3(1, 2, 3), wp.vec3(3, 2, 1), 1)]),
    ]:
        call = compiled(name, *args)
        for given in (args, *others):
            assert bits(call(*given)) == bits(scope.call(registry.get(name), given, {})), given
    with pytest.raises(ValueError, match="out of range for int32"):
        compiled("max", 3, 4)(2**31, 0)


@pytest.mark.parametrize("name", sorted(n for n in semantics.LIBM if registry.is_builtin(n) and n not in NOT_IN_MATH))
def test_functions_of_the_c_library_agree_in_double_precision(name):
    rng = random.Random(name)
    binary = name in ("atan2", "pow")
    call = compiled(name, *[wp.float64(0.5)] * (1 + binary))
    for _ in range(100):
        args = [wp.float64(rng.uniform(-3.0, 3.0)) for _ in range(1 + binary)]
        assert bits(call(*args)) == bits(scope.call(registry.get(name), args, {})), args


def test_the_errors_are_those_of_interpreted_calls():
    dot = compiled("dot", wp.vec3(), wp.vec3())
    for args in [(wp.vec3(), wp.vec2()), (wp.vec3(),), (wp.vec3(), None), (wp.vec3(), wp.vec3(), 1)]:
        with pytest.raises(TypeError, match=r"wp\.dot"):
            dot(*args)
    assert dot(a=wp.vec3(1), b=wp.vec3(2)) == 6.0


def test_subclasses_are_taken_and_odd_numbers_interpreted():
    class Point(wp.vec3):
        pass

    dot = compiled("dot", wp.vec3(), wp.vec3())
    assert dot(Point(1, 2, 3), wp.vec3(1)) == 6.0
    root = compiled("sqrt", 4.0)
    assert root(9.0) == 3.0 and root(wp.float64(2.0)) == 2.0**0.5 and type(root(wp.float64(2.0))) is wp.float64
    assert root(np.float64(16.0)) == 4.0 and root(np.float32(25.0)) == 5.0
    with pytest.raises(TypeError, match="not the literal True"):
        root(True)


@pytest.mark.parametrize(
    "name, value, more",
    [("index", wp.vec3(), ()), ("quat_from_euler", wp.vec3(), (1, 2)), ("quat_to_euler", wp.quat(), (1, 2))],
)
def test_indices_are_checked_by_the_interpreter(name, value, more):
    call = compiled(name, value, 0, *more)
    with pytest.raises(IndexError, match=f"wp.{name}: an index is out of range: component 7"):
        call(value, 7, *more)


def test_ids_are_checked_by_the_interpreter():
    grid = wp.HashGrid(2, 2, 2, device="cpu")
    call = compiled("hash_grid_point_id", grid.id, 0)
    assert call(grid.id, 0) == -1
    with pytest.raises(ValueError, match=r"wp\.hash_grid_point_id: 12345 is no id of a hash grid"):
        call(wp.uint64(12345), 0)


def test_results_are_typed_while_a_kernel_is_interpreted():
    dot, v = compiled("dot", wp.vec3(), wp.vec3()), wp.vec3(1, 2, 3)
    token = typed_components.set(True)
    try:
        assert type(dot(v, v)) is wp.float32
    finally:
        typed_components.reset(token)


def test_compiled_calls_keep_no_memory():
    dot, v, w = compiled("dot", wp.vec3(), wp.vec3()), wp.vec3(1, 2, 3), wp.vec3(3, 2, 1)
    cross = compiled("cross", v, w)
    counts = [sys.getrefcount(x) for x in (v, w, wp.vec3, dot)]
    for _ in range(1000):
        dot(v, w), cross(v, w), wp.vec3(1.0, 2.0, 3.0), v + w, v[0:2], hash(v), v == w, list(v)
    assert [sys.getrefcount(x) for x in (v, w, wp.vec3, dot)] == counts
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(10_000):
        dot(v, w), cross(v, w), wp.vec3(1.0, 2.0, 3.0), v + w, v[0:2], v * 2.0, hash(v), v == w, list(v)
    assert tracemalloc.get_traced_memory()[0] - before < 2000
    tracemalloc.stop()


def test_values_too_large_for_a_call_are_interpreted():
    large = wp.types.vector(400, wp.float32)(2.0)
    assert compiled("dot", large, large)(large, large) == 1600.0


def test_builtins_and_their_code_can_go_away():
    for _ in range(3):
        made = compiled("dot", wp.vec3(), wp.vec3())
        assert made(wp.vec3(1), wp.vec3(2)) == 6.0
        del made
        gc.collect()


def test_threads_may_call_while_one_compiles():
    length, wrong = fresh("length"), []

    def work():
        for i in range(2000):
            if length(wp.vec2(3.0 * i, 4.0 * i)) != 5.0 * i:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_of_fork_calls_and_compiles():
    dot, v = compiled("dot", wp.vec3(), wp.vec3()), wp.vec3(1, 2, 3)
    child = os.fork()
    if child == 0:
        fine = dot(v, v) == 14.0 and all(compiled("length_sq", v)(v) == 14.0 for _ in range(3))
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0


PROGRAM = """
import sys
import omni.warp_core as wp
v = wp.vec3(1.0, 2.0, 3.0)
for _ in range({calls}):
    assert wp.dot(v, v) == 14.0
print("llvmlite" in sys.modules)
"""


def loads_llvm(calls: int, cache) -> bool:
    environment = {**os.environ, "OMNI_WARP_CACHE_DIR": str(cache)}
    program = [sys.executable, "-c", PROGRAM.format(calls=calls)]
    return subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout == "True\n"


def test_few_calls_and_known_code_load_no_compiler(tmp_path):
    assert not loads_llvm(jit.COMPILE_AFTER_CALLS - 1, tmp_path)
    assert loads_llvm(2 * jit.COMPILE_AFTER_CALLS, tmp_path)
    assert not loads_llvm(2 * jit.COMPILE_AFTER_CALLS, tmp_path)
