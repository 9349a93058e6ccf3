"""Builtins by their names alone, where nothing else has the name, and kernels that failed before a name was defined."""

import numpy as np
import pytest

import omni.warp_core as wp

TEXT = """
import omni.warp_core as wp

@wp.func
def size(v: wp.vec3):
    return length(v)

@wp.kernel
def k(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = tid()
    y[i] = dot(x[i], x[i]) + where(i == 0, 1.0, 2.0) + size(x[i])
    expect_near(y[i], dot(x[i], x[i]) + 1.0 + size(x[i]), 1.5)
    atomic_add(y, 2, 5.0)
"""
OWN = """
import omni.warp_core as wp

@wp.func
def dot(a: wp.vec3, b: wp.vec3):
    return 42.0

@wp.kernel
def k(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    y[wp.tid()] = dot(x[0], x[0])
"""
LATE = """
import omni.warp_core as wp

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = helper(1.0)
"""
HELPER = """
@wp.func
def helper(x: float):
    return x + offset
"""


def run(text):
    space = {"__name__": __name__}
    exec(compile(text, "<text>", "exec"), space)
    return space


@pytest.mark.parametrize("mode", ["release", "debug", "interpret"])
def test_builtins_without_a_module(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    x = np.random.default_rng(1).random((2, 3)).astype(np.float32)
    y = wp.zeros(3, dtype=float)
    wp.launch(run(TEXT)["k"], dim=2, inputs=[wp.array(x, dtype=wp.vec3), y])
    expected = (x * x).sum(axis=1) + np.array([1, 2]) + np.linalg.norm(x, axis=1)
    assert np.allclose(y.numpy(), [*expected, 10.0], rtol=1e-6)


@pytest.mark.parametrize("mode", ["release", "interpret"])
def test_a_name_of_the_program_comes_first(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    y = wp.zeros(1, dtype=float)
    wp.launch(run(OWN)["k"], dim=1, inputs=[wp.zeros(1, dtype=wp.vec3), y])
    assert y.list() == [42.0]


def test_a_launch_that_failed_fixes_no_meaning():
    space = run(LATE)
    x = wp.zeros(1, dtype=float)

    def launch():
        wp.launch(space["k"], dim=1, inputs=[x])

    with pytest.raises(wp.CompileError, match="`helper` is not defined"):
        launch()
    exec(compile(HELPER, "<more>", "exec"), space)
    with pytest.raises(wp.CompileError, match="`offset` is not defined"):
        launch()
    space["offset"] = 2.0
    launch()
    assert x.list() == [3.0]
    space["offset"] = 5.0  # the kernel keeps what it was launched with
    launch()
    assert x.list() == [3.0]


@wp.kernel
def convert(x: wp.array[float], n: wp.array[int]):
    x[0] = wp.float(n[0]) / 2.0
    n[0] = wp.int(x[0] * 3.0)


@pytest.mark.parametrize("mode", ["release", "interpret"])
def test_conversions_as_members_of_the_package(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    x, n = wp.zeros(1, dtype=float), wp.array([5], dtype=int)
    wp.launch(convert, dim=1, inputs=[x, n])
    assert x.list() == [2.5] and n.list() == [7]
