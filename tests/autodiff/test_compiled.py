"""Compiled adjoints give what the interpreter gives, at every width."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.autodiff import judge, programs

SEEDS = range(24)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_as_interpreted(seed):
    kernel = judge.kernel_of(programs.text(seed), f"<compiled {seed}>")
    kernel.lanes = (None, 1, 4, 8, 16)[seed % 5]
    threads = 19  # a full group of lanes and a rest
    r = np.random.default_rng(seed)
    values = {"x": r.uniform(-1, 1.5, 4 * threads), "y": r.uniform(-1, 1, 2 * threads), "z": r.uniform(-1, 1, threads)}
    weights = {name: r.uniform(-1, 1, len(values[name])) for name in "yz"}
    arrays = {name: wp.array(v, dtype=wp.float64, requires_grad=True) for name, v in values.items()}
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, threads, inputs=[arrays["x"], judge.N, arrays["y"], arrays["z"]])
    tape.backward(grads={arrays[name]: wp.array(w, dtype=wp.float64) for name, w in weights.items()})
    expected = judge.interpreted(
        kernel, threads, *({n: list(map(float, v)) for n, v in d.items()} for d in (values, weights))
    )
    for name, found in arrays.items():
        np.testing.assert_allclose(found.grad.numpy(), expected[name], rtol=1e-9, atol=1e-9)
