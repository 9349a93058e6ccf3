"""One of each of the kernels that the package brings, small enough for the emulator of PTX (tests/ptx)."""

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.usefixtures("gpu")
rng = np.random.default_rng(1)


@wp.kernel
def _tell(x: wp.array(dtype=float), n: wp.array(dtype=wp.int64)):
    i = wp.tid()
    if i > 1:
        print(f"{x[i]} of {n[i]}")


def test_sums_and_products():
    x = rng.normal(size=3000).astype(np.float32)
    a = wp.array(x)
    assert wp.utils.array_sum(a) == np.float32(np.sum(x.astype(np.float64)))
    assert wp.utils.array_inner(a, a) == np.float32(np.dot(x.astype(np.float64), x.astype(np.float64)))


@pytest.mark.parametrize("n", [5, 9000])
def test_scan(n):
    x = rng.integers(-9, 9, n).astype(np.int32)
    out = wp.empty(n, dtype=wp.int32)
    wp.utils.array_scan(wp.array(x), out, inclusive=False)
    assert (out.numpy() == np.cumsum(x) - x).all()


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_sort(dtype):
    n = 2500
    keys, values = (rng.normal(size=n) * 100).astype(dtype), np.arange(n, dtype=np.int32)
    k, v = wp.array(np.resize(keys, 2 * n)), wp.array(np.resize(values, 2 * n))
    wp.utils.radix_sort_pairs(k, v, n)
    order = np.argsort(keys, kind="stable")
    assert (k.numpy()[:n] == keys[order]).all()
    assert (v.numpy()[:n] == order).all()


def test_runs():
    x = np.sort(rng.integers(0, 40, 700)).astype(np.int32)
    values, lengths = wp.empty(700, dtype=wp.int32), wp.empty(700, dtype=wp.int32)
    count = wp.utils.runlength_encode(wp.array(x), values, lengths)
    found, counts = np.unique(x, return_counts=True)
    assert count == len(found)
    assert (values.numpy()[:count] == found).all()
    assert (lengths.numpy()[:count] == counts).all()


def test_products_and_maps():
    a, b = (rng.integers(-4, 4, (9, 9)).astype(np.float32) for _ in range(2))
    x, y = wp.array(a), wp.array(b)
    assert ((x @ y).numpy() == a @ b).all()
    assert ((x + y).numpy() == a + b).all()


@pytest.mark.parametrize(
    "wait",
    [
        wp.synchronize,
        wp.synchronize_device,
        wp.synchronize_stream,
        lambda: wp.synchronize_event(wp.record_event()),
        lambda: wp.zeros(1).list(),
    ],
)
def test_output(capfd, wait):
    """The driver writes it for calls that wait, and not for those that ask over and over."""
    x = wp.array([0.0, 0.5, 1.5, 2.5], dtype=float)
    n = wp.array([1, 2, 3, -(1 << 40)], dtype=wp.int64)
    wp.launch(_tell, dim=4, inputs=[x, n])
    wait()
    assert sorted(capfd.readouterr().out.split("\n")) == ["", "1.5 of 3", "2.5 of -1099511627776"]
