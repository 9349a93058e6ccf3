"""Facts about kernels that tapes and forward mode ask for: they come from the kernel cache in later processes."""

import os
import subprocess
import sys

import pytest

import omni.warp_core as wp
from omni.warp_core import config
from omni.warp_core.ir.launch_facts import (
    Access,
    AdjointFacts,
    ArrayAccess,
    ArrayLookups,
    Dependences,
    Effects,
    Reread,
    TangentFacts,
)
from omni.warp_core.lang.kernel_transforms import Lookup
from omni.warp_core.lang.types import F32, U64, Array, Vec
from omni.warp_core.launches import artifact as codec
from omni.warp_core.launches import kernel_facts

KEY = "cd" * 20
FACTS = [
    Effects((Access(True, False, False), Access(False, True, True)), (), (), False, False, None, False, True),
    Effects(
        *((), (ArrayAccess(1, ("grid", "cells"), Access(True)),), (Reread(0, 0, (0,), ()),)),
        *(True, True, (0, 2), True, False),
    ),
    Dependences(((), (0, 1))),
    Dependences(None),
    TangentFacts((True, False), (False, True), True),
    AdjointFacts((0, 1, 2), True),
    AdjointFacts((), False, (Array(U64, 1), F32)),
    ArrayLookups((Lookup(2, (("points", Array(Vec(3, F32), 1)), ("values", Array(F32, 2))), True),), ("points",)),
]
PROGRAM = """
import sys
import omni.warp_core as wp

@wp.kernel
def double(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = 2.0 * x[i]

x, y = (wp.zeros(4, dtype=float, requires_grad=True) for _ in range(2))
seen = wp.zeros(4, dtype=float)
with wp.Tape() as tape:
    wp.launch(double, 4, [x], [y])
    wp.launch(double, 4, [y], [seen])
tape.backward(grads={y: wp.ones(4, dtype=float)})
moved, tangent = wp.jvp(double, 4, [x, y], {x: wp.ones(4, dtype=float)}) if JVP else (None, None)
print(x.grad.list(), "omni.warp_core.front.lower" in sys.modules, "omni.warp_core.passes.dce" in sys.modules)
"""


@pytest.mark.parametrize("facts", FACTS)
def test_round_trip(facts):
    assert codec.facts_from_bytes(codec.facts_to_bytes(facts, KEY), KEY, type(facts)) == facts


@pytest.mark.parametrize("facts", FACTS)
def test_damage_is_refused(facts):
    data = codec.facts_to_bytes(facts, KEY)
    for end in range(len(data)):
        with pytest.raises(codec.DamagedArtifact):
            codec.facts_from_bytes(data[:end], KEY, type(facts))
    for i in range(len(data)):
        with pytest.raises(codec.DamagedArtifact):
            codec.facts_from_bytes(data[:i] + bytes([data[i] ^ 4]) + data[i + 1 :], KEY, type(facts))
    with pytest.raises(codec.DamagedArtifact):
        codec.facts_from_bytes(data, "ef" * 20, type(facts))


def test_facts_are_not_those_of_another_kind():
    data = codec.facts_to_bytes(FACTS[0], KEY)
    with pytest.raises(codec.DamagedArtifact):
        codec.facts_from_bytes(data, KEY, Dependences)


def test_a_process_with_a_full_cache_does_not_lower_what_it_records(tmp_path):
    program, environment = tmp_path / "program.py", {**os.environ, "OMNI_WARP_CACHE_DIR": str(tmp_path / "cache")}
    program.write_text(PROGRAM.replace("JVP", "False"))
    found = [subprocess.check_output([sys.executable, program], env=environment, text=True) for _ in range(2)]
    assert found == ["[2.0, 2.0, 2.0, 2.0] True True\n", "[2.0, 2.0, 2.0, 2.0] False False\n"]


SEARCH = """
import sys
import omni.warp_core as wp

@wp.kernel
def squared(id: wp.uint64, x: wp.array[wp.vec3], y: wp.array[float]):
    i = wp.tid()
    found = wp.mesh_query_point(id, x[i], 10.0)
    y[i] = wp.length_sq(wp.mesh_eval_position(id, found.face, found.u, found.v) - x[i])

mesh = wp.Mesh(wp.array([(0, 0, 0), (4, 0, 0), (0, 4, 0)], dtype=wp.vec3), wp.array([0, 1, 2], dtype=int))
x = wp.array([(1.0, 1.0, 3.0)], dtype=wp.vec3, requires_grad=True)
y = wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape():
    wp.launch(squared, 1, [mesh.id, x], [y])
print(y.list(), "omni.warp_core.front.lower" in sys.modules, "omni.warp_core.autodiff.vjp.adjoint" in sys.modules)
"""


def test_a_process_with_a_full_cache_does_not_look_for_adjoints_that_never_run(tmp_path):
    program, environment = tmp_path / "program.py", {**os.environ, "OMNI_WARP_CACHE_DIR": str(tmp_path / "cache")}
    program.write_text(SEARCH)
    found = [subprocess.check_output([sys.executable, program], env=environment, text=True) for _ in range(2)]
    assert found == ["[9.0] True True\n", "[9.0] False False\n"]


def chosen(first: bool):
    @wp.kernel(module="unique")
    def store(a: wp.array[float], b: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        if wp.static(first):
            out[i] = a[i]
        else:
            out[i] = b[i]

    return store


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "cache_kernels", True)


@pytest.mark.parametrize("turn", ["found", "from the cache"])
def test_kernels_that_differ_in_a_constant_have_facts_of_their_own(empty_cache, turn):
    for first in (True, False) if turn == "found" else (True, False, True, False):
        kernel = chosen(first)
        reads = [access.reads for access in kernel_facts.effects(kernel).params]
        assert reads == [first, not first, False]
        assert kernel_facts.differentiable_dependences(kernel).of == ((), (), (0,) if first else (1,))


def test_a_kernel_without_a_derivative_says_so_each_time(empty_cache):
    def made():
        @wp.kernel(module="unique")
        def doubled(x: wp.array[float], y: wp.array[float], count: wp.array[int]):
            place = wp.atomic_add(count, 0, 1)
            y[place] = 2.0 * x[wp.tid()]

        return doubled

    assert [kernel_facts.differentiable_dependences(made()).of for _ in range(2)] == [None, None]
