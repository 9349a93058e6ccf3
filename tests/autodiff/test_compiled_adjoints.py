"""Compiled adjoints give what the interpreter gives, at every width."""

from __future__ import annotations

import os

import numpy as np
import pytest

import omni.warp_core as wp
from tests.autodiff import reference_gradients
from tests.autodiff.corpus import random_programs

KINDS = tuple(random_programs.SOURCES)
WIDTHS = (None, 1, 4, 8, 16)
# Each kind and each width; `make fuzz` takes each kind at each width.
LOW, HIGH = map(int, os.environ.get("OMNI_WARP_PROGRAMS", "0:7").split(":"))
THREADS = 19  # a full group of lanes and a rest


@pytest.mark.parametrize("seed", range(LOW, HIGH))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_as_interpreted(seed):
    kind = KINDS[seed % len(KINDS)]
    kernel = reference_gradients.kernel_of(random_programs.SOURCES[kind](seed), f"<compiled {kind} {seed}>")
    kernel.lanes = WIDTHS[seed % len(WIDTHS)]
    values = reference_gradients.inputs(seed, kind, THREADS)
    r = np.random.default_rng(seed)
    weights = {name: r.uniform(-1, 1, len(v)).tolist() for name, v in values.items() if name != "x"}
    arrays = {
        name: wp.array(np.reshape(v, reference_gradients.shape_of(name, len(v))), dtype=wp.float64, requires_grad=True)
        for name, v in values.items()
    }
    given = [arrays["x"], reference_gradients.N, *(a for name, a in arrays.items() if name not in "xqg")]
    if "q" in arrays:
        given.append(wp.indexedarray(arrays["q"], [wp.array(reference_gradients.places(THREADS), dtype=int)]))
    if "g" in arrays:
        given.append(arrays["g"])
    with wp.Tape() as tape:
        wp.launch(kernel, THREADS, inputs=given)
    seeds = {n: wp.array(np.reshape(w, arrays[n].shape), dtype=wp.float64) for n, w in weights.items()}
    tape.backward(grads={arrays[n]: seed for n, seed in seeds.items()})
    expected = reference_gradients.interpreted(kernel, THREADS, values, weights)
    for name, found in arrays.items():
        np.testing.assert_allclose(found.grad.numpy().ravel(), expected[name], rtol=1e-9, atol=1e-9)
