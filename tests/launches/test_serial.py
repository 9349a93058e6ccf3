"""Serial launches: threads run one after the other, and each sees what earlier ones wrote. NumPy and loops judge."""

import numpy as np
import pytest

import omni.warp_core as wp

N = 20_000


@wp.kernel
def chain(a: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0:
        a[i] = a[i - 1] + 1.0


@wp.kernel
def histogram(counts: wp.array(dtype=int), keys: wp.array(dtype=int)):
    i = wp.tid()
    counts[keys[i]] = counts[keys[i]] + 1


@wp.kernel
def counted(count: wp.array(dtype=int), seen: wp.array(dtype=int)):
    wp.atomic_add(count, 0, 1)
    seen[wp.tid()] = count[0]


@wp.kernel
def summed(x: wp.array(dtype=float), total: wp.array(dtype=float), seen: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])
    seen[i] = total[0]


@wp.kernel
def fill(a: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0:
        a[i, j] = a[i - 1, j] + 2.0 * a[i, j - 1]


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i] * x[i]


def launched(kernel, n, args, **options):
    wp.launch(kernel, dim=n, inputs=args, device="cpu", **options)


def chained(**options):
    a = wp.zeros(N, dtype=float, device="cpu")
    launched(chain, N, [a], **options)
    return np.array_equal(a.numpy(), np.arange(N))


def test_a_thread_sees_what_earlier_ones_wrote():
    assert chained(serial=True)
    keys = np.random.default_rng(1).integers(0, 7, N).astype(np.int32)
    counts = wp.zeros(7, dtype=int, device="cpu")
    launched(histogram, N, [counts, keys], serial=True)
    assert counts.list() == np.bincount(keys).tolist()


def test_atomics_reach_memory_at_once():
    count, seen = wp.zeros(1, dtype=int, device="cpu"), wp.zeros(N, dtype=int, device="cpu")
    launched(counted, N, [count, seen], serial=True)
    assert np.array_equal(seen.numpy(), np.arange(1, N + 1))
    x = np.random.default_rng(2).random(N).astype(np.float32)
    total, sums = wp.zeros(1, dtype=float, device="cpu"), wp.zeros(N, dtype=float, device="cpu")
    launched(summed, N, [x, total, sums], serial=True)
    assert np.array_equal(sums.numpy(), np.cumsum(x, dtype=np.float32))


@pytest.mark.parametrize("shape", [(3, 4000), (4000, 3), (70, 70)])
def test_the_last_dimension_runs_fastest(shape):
    expected = np.ones(shape, np.float32)
    for i in range(1, shape[0]):
        for j in range(1, shape[1]):
            with np.errstate(over="ignore"):
                expected[i, j] = expected[i - 1, j] + np.float32(2) * expected[i, j - 1]
    a = wp.ones(shape, dtype=float, device="cpu")
    launched(fill, shape, [a], serial=True)
    assert np.array_equal(a.numpy(), expected)


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")  # of a race
def test_the_nearest_setting_decides(monkeypatch):
    seen = {}
    for setting in (None, False, True):
        for own in (None, False, True):
            kernel = wp.Kernel(chain.func, options={"serial": own})
            monkeypatch.setattr(wp.config, "serial", bool(setting))
            launched(kernel, 1, [wp.zeros(1, dtype=float, device="cpu")])
            seen[setting, own] = kernel._plan.serial
    assert seen == {(s, own): bool(s) if own is None else own for s, own in seen}


def test_options_of_a_module_and_the_configuration(monkeypatch):
    monkeypatch.setattr(wp.config, "serial", True)
    assert chained()
    monkeypatch.setattr(wp.config, "serial", False)
    try:
        wp.set_module_options({"serial": True})
        assert chained()
    finally:
        wp.set_module_options({"serial": None})
    own = wp.Kernel(chain.func, options={"module_options": {"serial": True}})
    a = wp.zeros(N, dtype=float, device="cpu")
    launched(own, N, [a])
    assert np.array_equal(a.numpy(), np.arange(N))


def test_generic_kernels_recorded_launches_and_graphs():
    @wp.kernel(serial=True)
    def running(a: wp.array(dtype=wp.Scalar)):
        i = wp.tid()
        if i > 0:
            a[i] = a[i - 1] + a[i]

    for dtype in (wp.float64, wp.int32):
        a = wp.ones(N, dtype=dtype, device="cpu")
        launched(running, N, [a])
        assert np.array_equal(a.numpy(), np.arange(1, N + 1))
    a = wp.zeros(N, dtype=float, device="cpu")
    command = wp.launch(chain, dim=N, inputs=[a], device="cpu", record_cmd=True, serial=True)
    command.launch()
    assert np.array_equal(a.numpy(), np.arange(N))
    a.zero_()
    with wp.ScopedCapture(device="cpu") as capture:
        launched(chain, N, [a], serial=True)
    wp.capture_launch(capture.graph)
    assert np.array_equal(a.numpy(), np.arange(N))


def test_a_tape_refuses_what_earlier_threads_wrote():
    a = wp.zeros(8, dtype=float, device="cpu", requires_grad=True)
    with wp.Tape(), pytest.raises(wp.CompileError, match="may read what an earlier thread wrote") as error:
        launched(chain, 8, [a], serial=True)
    assert "a[i - 1]" in str(error.value)


def test_gradients_of_threads_that_share_nothing():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(3, dtype=float, device="cpu", requires_grad=True)
    with wp.Tape() as tape:
        launched(double, 3, [x, y], serial=True)
    tape.backward(grads={y: wp.ones(3, dtype=float, device="cpu")})
    assert x.grad.list() == [2.0, 4.0, 6.0]


def test_errors_of_the_option():
    with pytest.raises(TypeError, match="serial: expected True, False or None, got 'yes'"):
        wp.kernel(serial="yes")(chain.func)
    with pytest.raises(TypeError, match="serial"):
        launched(chain, 1, [wp.zeros(1, dtype=float, device="cpu")], serial="yes")
