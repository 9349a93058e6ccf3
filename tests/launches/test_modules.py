"""Modules as objects: their options, what they hold, and compiling and forgetting the code of all their kernels."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import omni.warp_core as wp

FACTOR = 2.0


@wp.kernel
def scaled(x: wp.array(dtype=float)):
    x[wp.tid()] = FACTOR * x[wp.tid()]


@wp.func
def halved(x: float):
    return 0.5 * x


def plain(x: wp.array(dtype=float)):
    x[wp.tid()] = halved(x[wp.tid()])


def test_kernels_and_functions_know_their_module():
    here = wp.get_module(__name__)
    assert scaled.module is here and halved.module is here
    assert here.kernels["scaled"] is scaled and here.functions["halved"] is halved
    assert here.name == __name__


def test_options_are_read_and_set_in_three_ways():
    here = scaled.module
    here.options["mode"] = "debug"
    try:
        assert wp.get_module_options()["mode"] == wp.get_module_options(here)["mode"] == "debug"
        with pytest.raises(wp.KernelError, match="index"):  # the launch runs in debug mode
            wp.launch(scaled, dim=3, inputs=[wp.zeros(2, dtype=float)])
    finally:
        wp.set_module_options({"mode": None}, here)
    assert here.options["mode"] is None
    with pytest.raises(ValueError, match="no option 'modes'"):
        here.options["modes"] = "debug"


def test_a_unique_module_has_options_of_its_own():
    wp.set_module_options({"enable_backward": False})
    try:

        @wp.kernel(module="unique")
        def alone(x: wp.array(dtype=float)):
            x[wp.tid()] = 1.0

        assert alone.module is not scaled.module
        assert alone.module.options["enable_backward"] is True
        assert scaled.module.options["enable_backward"] is False
    finally:
        wp.set_module_options({"enable_backward": True})


def test_options_of_a_kernel_are_those_of_its_unique_module():
    given = {"mode": "debug", "deterministic": wp.DeterministicMode.RUN_TO_RUN, "deterministic_max_records": 4}
    alone = wp.kernel(module="unique", module_options=given)(plain)
    assert given.items() <= alone.module.options.items()
    with pytest.raises(wp.KernelError, match="index"):
        wp.launch(alone, dim=3, inputs=[wp.zeros(2, dtype=float)])
    alone.module.options["mode"] = "release"
    wp.launch(alone, dim=2, inputs=[wp.zeros(2, dtype=float)])
    assert given["mode"] == "debug"


def test_kernels_and_functions_made_by_their_classes():
    module = wp.get_module("a_module_of_a_test")
    assert wp.get_module("a_module_of_a_test") is module
    kernel = wp.Kernel(func=plain, key="halves", module=module)
    x = wp.array([4.0], dtype=float)
    wp.launch(kernel, dim=1, inputs=[x])
    assert x.list() == [2.0]
    assert (kernel.key, list(module.kernels)) == ("halves", ["halves"])
    function = wp.Function(func=lambda x: x, key="same", namespace="", module=module)
    assert (function.key, list(module.functions)) == ("same", ["same"])


def test_a_name_takes_the_place_of_that_of_the_function():
    made = wp.kernel(name="other", entry_point_abi="warp")(plain)
    assert (made.key, made.name, made.func.__name__) == ("other", "other", "plain")
    with pytest.raises(ValueError, match="an identifier"):
        wp.kernel(name="no name")(plain)
    with pytest.raises(ValueError, match="entry_point_abi"):
        wp.kernel(entry_point_abi="c")(plain)
    with pytest.raises(TypeError, match="module: expected"):
        wp.kernel(module=3)(plain)


def test_loading_and_unloading():
    module = wp.Module("loaded")
    kernel = wp.Kernel(plain, module=module)
    assert module.load("cpu") and kernel._plans
    module.unload()
    assert not kernel._plans
    x = wp.array([4.0], dtype=float)
    wp.launch(kernel, dim=1, inputs=[x])
    assert x.list() == [2.0]
    module.unload()
    wp.load_module(module, device=["cpu"])
    assert kernel._plans
    module.unload()
    wp.force_load(modules=[module])
    assert kernel._plans


def test_a_graph_runs_after_its_modules_were_unloaded():
    module = wp.Module("captured")
    kernel, x = wp.Kernel(plain, module=module), wp.array([4.0], dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(kernel, dim=1, inputs=[x])
    before = x.list()[0]
    module.unload()
    wp.capture_launch(capture.graph)
    assert x.list() == [0.5 * before]


def test_marking_a_module_lets_constants_change_and_gradients_stay(monkeypatch):
    x, y = (wp.ones(1, dtype=float, requires_grad=True) for _ in range(2))
    scaled.module.mark_modified()
    with wp.Tape() as tape:
        wp.copy(y, x)
        wp.launch(scaled, dim=1, inputs=[y])
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 10.0)
    scaled.module.mark_modified()
    tape.backward(y)
    np.testing.assert_allclose(x.grad.numpy(), [2.0])  # of the launch that ran
    wp.launch(scaled, dim=1, inputs=[y])
    assert y.list() == [20.0]


def test_the_hash_of_a_module_follows_its_kernels_and_options():
    def made(body):
        module = wp.Module("hashed")
        return module, wp.Kernel(body, key="k", module=module)

    (first, _k), (second, _l), (other, _m) = made(plain), made(plain), made(scaled.func)
    assert len(first.get_module_hash()) == 32
    assert first.get_module_hash() == second.get_module_hash() != other.get_module_hash()
    second.options["mode"] = "debug"
    assert first.get_module_hash() != second.get_module_hash()
    assert first.get_module_identifier().startswith("wp_hashed_")


def test_a_module_that_does_not_exist():
    with pytest.raises(ValueError, match="no module 'nowhere at all'"):
        wp.get_module_options("nowhere at all")
