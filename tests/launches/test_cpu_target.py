"""The option `cpu_target`: kernels use no better instructions than it names, and may be launched under each in turn."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import config
from omni.warp_core.codegen.target import host
from omni.warp_core.launches import plans


@wp.kernel
def smooth(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for k in range(x.shape[0]):
        total += wp.exp(-wp.abs(x[i] - x[k])) * x[k]
    y[i] = total


@pytest.fixture(autouse=True)
def _restored():
    before, config.cpu_target = config.cpu_target, None
    yield
    config.cpu_target = before


def target_of(kernel: wp.Kernel):
    return plans.request(kernel, plans.options_for(kernel), 0).target


@pytest.mark.parametrize(("named", "lanes", "fma"), [("sse4", 4, False), ("avx2", 8, True)])
def test_kernels_use_no_better_instructions(named, lanes, fma):
    config.cpu_target = named
    found = target_of(smooth)
    if host().lanes < lanes:
        assert found == host()
    else:
        assert (found.name, found.lanes, found.fma) == (named, lanes, fma)


def test_without_it_kernels_use_what_the_processor_has():
    assert target_of(smooth) == host()


def test_a_kernel_runs_under_each_in_turn():
    x = np.random.default_rng(4).normal(size=37)
    right = (np.exp(-np.abs(x[:, None] - x)) * x).sum(1)
    for named in ("sse4", "avx512", None, "avx2", "sse4"):
        config.cpu_target = named
        y = wp.zeros(37)
        wp.launch(smooth, 37, [wp.array(x, dtype=float), y])
        np.testing.assert_allclose(y.numpy(), right, rtol=1e-5, atol=1e-6)


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="'avx512', 'avx2', 'sse4'"):
        config.cpu_target = "avx10"
