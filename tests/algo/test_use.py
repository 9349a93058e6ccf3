"""The algorithms in forked processes and in several threads at once; their examples; the native guards behind them."""

import doctest
import importlib
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import omni.warp_core as wp
from tests.native.objects import native


def everything(seed: int) -> None:
    """Each algorithm once on its own random data, checked."""
    rng = np.random.default_rng(seed)
    n = 70_000 + seed
    keys = rng.integers(-1000, 1000, n).astype(np.int32)
    k, v = (wp.array(np.concatenate([x, x])) for x in (keys, np.arange(n, dtype=np.int32)))
    wp.utils.radix_sort_pairs(k, v, n)
    assert (v.numpy()[:n] == np.argsort(keys, kind="stable")).all()
    a = wp.array(keys)
    out = wp.empty_like(a)
    wp.utils.array_scan(a, out)
    assert (out.numpy() == np.cumsum(keys)).all()
    assert wp.utils.array_sum(a) == keys.sum()
    floats = wp.empty(n, dtype=float)
    wp.utils.array_cast(a, floats)
    assert wp.utils.array_inner(floats, floats) == np.float32((keys.astype(float) ** 2).sum())
    lengths = wp.empty_like(a)
    runs = wp.utils.runlength_encode(k[:n], out, lengths)
    assert (lengths.numpy()[:runs] == np.unique(keys, return_counts=True)[1]).all()


def test_concurrent_calls(threads):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(everything, range(24)))


@pytest.mark.cpu
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_all_threads(threads):
    everything(0)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            everything(1)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("module", ("cast", "reduce", "scan", "sort"))
def test_examples(module):
    result = doctest.testmod(importlib.import_module(f"omni.warp_core.algo.{module}"), extraglobs={"wp": wp, "np": np})
    assert result.attempted > 0
    assert result.failed == 0


def test_every_function_has_an_example():
    for name in wp.utils.__all__:
        assert ">>> " in getattr(wp.utils, name).__doc__, name


I4, F4 = wp.zeros(4, dtype=int), wp.zeros(4)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("radix_sort_pairs", (I4, F4, 3, 0, 32)),
        ("radix_sort_pairs", (I4, F4, -1, 0, 32)),
        ("radix_sort_pairs", (I4, F4, 2, 0, 33)),
        ("radix_sort_pairs", (I4, F4, 2, 9, 8)),
        ("radix_sort_pairs", (wp.zeros(4, dtype=wp.int8), F4, 2, 0, 8)),
        ("radix_sort_pairs", (wp.zeros(4, dtype=wp.vec2), F4, 2, 0, 32)),
        ("radix_sort_pairs", (I4, wp.zeros(4, dtype=wp.vec3), 2, 0, 32)),
        ("radix_sort_pairs", (wp.zeros(8, dtype=int)[::2], F4, 2, 0, 32)),
        ("segmented_sort_pairs", (I4, F4, 2, F4, None)),
        ("segmented_sort_pairs", (I4, F4, 2, I4, wp.zeros(3, dtype=int))),
        ("scan", (I4, F4, True)),
        ("scan", (I4, wp.zeros(3, dtype=int), True)),
        ("runlength_encode", (I4, 5, I4, I4)),
        ("runlength_encode", (I4, 4, F4, I4)),
        ("runlength_encode", (I4, 4, I4, F4)),
        ("reduce", (F4, F4, None, 1, 5, 1)),
        ("reduce", (F4, F4, None, -1, 1, 1)),
        ("reduce", (F4, F4, None, 2**40, 2**40, 1)),
        ("reduce", (F4, F4, I4, 1, 4, 1)),
        ("reduce", (I4, F4, None, 1, 4, 1)),
        ("reduce", (wp.zeros(1, dtype=wp.vec3), F4, None, 1, 4, 1)),
        ("cast", (F4, I4, 5)),
        ("cast", (F4, I4, -1)),
    ],
)
def test_native_functions_refuse_what_they_cannot_take(name, arguments):
    with pytest.raises(ValueError, match=r"types|range|extent|small|contiguous|int32|know|scalars|bytes"):
        getattr(native, name)(*arguments)
