"""Tests of `wp.utils` and `wp.map` that concern GPUs alone. Those in tests/algo check the results, on GPUs too."""

from contextlib import nullcontext

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.devices import cuda_memory


def test_maps(gpu):
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([10, 20, 30])
    a, b = wp.array(x), wp.array(y)
    with wp.ScopedDevice("cpu"):  # they run where the arrays are
        made = wp.map(lambda p, q: p * 2.0 + q, a, b, block_dim=64)
        assert made.device is gpu
        np.testing.assert_array_equal(made.numpy(), 2 * x + y)
        np.testing.assert_array_equal((a + b - 1.0).numpy(), x + y - 1)
    a *= 3.0
    np.testing.assert_array_equal(a.numpy(), 3 * x)
    low, high = wp.map(lambda p, q: (wp.min(p, q), wp.max(p, q)), a, 5.0)
    np.testing.assert_array_equal(low.numpy(), np.minimum(3 * x, 5))
    np.testing.assert_array_equal(high.numpy(), np.maximum(3 * x, 5))
    flat = wp.array(np.arange(8.0), dtype=float)
    wp.map(wp.neg, flat[:-1], out=flat[1:])
    assert flat.list() == [0, 0, -1, -2, -3, -4, -5, -6]
    with pytest.raises(ValueError, match="is on the CPU but the launch is on"):
        wp.map(wp.add, a, wp.zeros((2, 3), dtype=float, device="cpu"))


# -- wp.utils -------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["cuda:0"])
def gpu(request):
    """A GPU, which is the default device meanwhile."""
    with wp.ScopedDevice(request.param) as device:
        yield device


def everything(x: np.ndarray, device) -> bytes:
    """The results of all algorithms on these integers, checked, as one run of bytes."""
    n = x.size
    a = wp.array(x, dtype=wp.int32, device=device)
    floats, sums = wp.empty(n, dtype=float, device=device), wp.empty(n, dtype=float, device=device)
    wp.utils.array_cast(a, floats)
    wp.utils.array_scan(floats, sums, inclusive=False)
    k, v = (wp.array(np.concatenate([y, y]), device=device) for y in (x, np.arange(n, dtype=np.int32)))
    wp.utils.radix_sort_pairs(k, v, n)
    np.testing.assert_array_equal(v.numpy()[:n], np.argsort(x, kind="stable"))
    values, lengths = wp.zeros(n, dtype=wp.int32, device=device), wp.zeros(n, dtype=wp.int32, device=device)
    runs = wp.utils.runlength_encode(k[:n], values, lengths)
    np.testing.assert_array_equal(values.numpy()[:runs], np.unique(x))
    total, product = wp.utils.array_sum(floats), wp.utils.array_inner(floats, sums)
    assert total == np.float32(x.sum(dtype=np.int64))
    return b"".join(np.asarray(y).tobytes() for y in (sums.numpy(), lengths.numpy(), total, product))


def test_many_chunks_give_the_same_bits_every_time(gpu):
    x = np.random.default_rng(1).integers(-1000, 1000, 4_500_000).astype(np.int32)
    a, out = wp.array(x), wp.empty(x.size, dtype=wp.int32)
    wp.utils.array_scan(a, out)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(x, dtype=np.int32))
    y = wp.array(np.random.default_rng(2).normal(size=1_000_000))
    sums = wp.empty_like(y)
    found = set()
    for _ in range(2):
        wp.utils.array_scan(y, sums)
        parts = sums.numpy(), wp.utils.array_sum(y), wp.utils.array_inner(y, sums)
        found.add(b"".join(np.asarray(p).tobytes() for p in parts))
    assert len(found) == 1


def test_arrays_of_a_gpu_that_is_not_the_current_one():
    x = np.random.default_rng(3).integers(-50, 50, 10_000).astype(np.int32)
    with wp.ScopedDevice("cpu"):
        assert len({everything(x, d) for d in wp.get_cuda_devices()}) == 1


def test_streams(gpu):
    x = np.random.default_rng(4).integers(-50, 50, 10_000).astype(np.int32)
    expected = everything(x, gpu)
    with wp.ScopedStream(wp.Stream(gpu)):
        assert everything(x, gpu) == expected


def test_nothing_waits_unless_a_number_is_asked_for(gpu, monkeypatch):
    n = 20_000
    a, out, one = wp.ones(n, dtype=wp.int32), wp.zeros(n, dtype=wp.int32), wp.zeros(1, dtype=wp.int32)
    lengths, pairs = wp.zeros(n, dtype=wp.int32), (wp.ones(2 * n, dtype=wp.int32), wp.zeros(2 * n, dtype=wp.int32))
    bounds = wp.array([0, n // 2, n], dtype=wp.int32)
    copy = cuda_memory.copy

    def watched(to, to_device, from_, from_device, nbytes, pinned=None):
        assert to_device.is_cuda and from_device.is_cuda
        copy(to, to_device, from_, from_device, nbytes, pinned)

    def refused(*_):
        raise AssertionError("waits")

    with monkeypatch.context() as patch:
        patch.setattr(cuda_memory, "copy", watched)
        for name in ("synchronize", "synchronize_stream", "synchronize_event"):
            patch.setattr(cuda_memory.driver, name, refused)
        wp.utils.array_scan(a, out)
        wp.utils.array_sum(a, out=one)
        wp.utils.array_inner(a, a, out=one)
        wp.utils.array_sum(a.reshape((200, 100)), axis=0)
        wp.utils.array_cast(a, out.view(wp.float32))
        wp.utils.radix_sort_pairs(*pairs, n)
        wp.utils.runlength_encode(a, out, lengths, run_count=one)
        with pytest.raises(AssertionError):
            wp.utils.array_sum(a)
    assert one.list() == [1]


def sorted_or_refused(device, keys, count, starts, ends):
    """The keys after they are sorted in segments, or what the error says and that nothing was sorted."""
    k, v = (wp.array(np.concatenate([x, x]), device=device) for x in (keys, np.arange(len(keys), dtype=np.int32)))
    starts = wp.array(starts, dtype=wp.int32, device=device)
    ends = ends if ends is None else wp.array(ends, dtype=wp.int32, device=device)
    try:
        wp.utils.segmented_sort_pairs(k, v, count, starts, ends)
    except ValueError as why:
        np.testing.assert_array_equal(k.numpy()[: len(keys)], keys)
        return str(why)
    return k.list()[:count], v.list()[:count]


def test_segments_that_are_wrong_raise_as_on_the_cpu(gpu):
    rng, outcomes = np.random.default_rng(5), set()
    for case in range(60):
        count, n = int(rng.integers(0, 12)), int(rng.integers(0, 5))
        keys = rng.integers(0, 9, 12).astype(np.int32)
        bounds = np.sort(rng.integers(0, count + 1, 2 * n)).astype(np.int32)
        starts, ends = bounds[::2].copy(), bounds[1::2].copy()
        if n and case % 3:
            wrong = starts if rng.random() < 0.5 else ends
            wrong[rng.integers(n)] += rng.integers(-2, 3)
        order = rng.permutation(n)
        given = (starts[order], ends[order]) if case % 5 else (bounds, None)
        correct = sorted_or_refused("cpu", keys, count, *given)
        assert sorted_or_refused(gpu, keys, count, *given) == correct
        outcomes.add(next((w for w in ("no range", "overlap") if w in correct), "sorted"))
    assert outcomes == {"no range", "overlap", "sorted"}


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_segments_that_are_wrong_in_a_graph(gpu, mode, monkeypatch):
    """Nothing waits when a graph is launched, unless it was captured in debug mode."""
    n, rng = 1000, np.random.default_rng(5)
    keys = rng.integers(0, 100, n).astype(np.int32)
    k, v = (wp.array(np.concatenate([x, x])) for x in (keys, np.arange(n, dtype=np.int32)))
    starts, ends = (wp.array(x, dtype=wp.int32) for x in ([0, 100, 900, 300, 700], [50, 200, 1000, 300, 700]))
    monkeypatch.setattr(wp.config, "mode", mode)
    with wp.ScopedCapture() as capture:
        wp.utils.segmented_sort_pairs(k, v, n, starts, ends)
    wp.capture_launch(capture.graph)
    starts.assign(np.array([-5, 100, 900, 300, 700], np.int32))
    ends.assign(np.array([50, 200, 1001, 290, 700], np.int32))
    k.assign(np.concatenate([keys, keys]))
    v.assign(np.concatenate([np.arange(n, dtype=np.int32)] * 2))
    if mode == "debug":
        with pytest.raises(ValueError, match=r"segment 0 is \[-5, 50\), which is no range within the 1000 pairs"):
            wp.capture_launch(capture.graph)
    else:
        wp.capture_launch(capture.graph)
    order = np.arange(n)
    order[100:200] = 100 + np.argsort(keys[100:200], kind="stable")
    np.testing.assert_array_equal(v.numpy()[:n], order)
    np.testing.assert_array_equal(k.numpy()[:n], keys[order])
    starts.assign(np.array([0, 50, 300, 0, 0], np.int32))
    ends.assign(np.array([400, 600, 350, 0, 0], np.int32))
    with pytest.raises(ValueError, match="overlap") if mode == "debug" else nullcontext():
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(np.sort(v.numpy()[:n]), np.arange(n))
    np.testing.assert_array_equal(k.numpy()[:n], keys[v.numpy()[:n]])


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda u, a, b: u.array_cast(a, b), "out_array: is on cpu, but in_array is on cuda"),
        (lambda u, a, b: u.array_sum(a, out=b[:1]), "out: is on cpu, but the array to sum is on cuda:0"),
        (lambda u, a, b: u.array_inner(a, b), "b: is on cpu, but a is on cuda:0"),
        (lambda u, a, b: u.array_scan(b, a), "out_array: is on cuda:0, but in_array is on cpu"),
        (lambda u, a, b: u.radix_sort_pairs(a, b, 2), "values: is on cpu, but keys is on cuda:0"),
        (lambda u, a, b: u.segmented_sort_pairs(a[:4], a[4:], 2, b), "segment_start_indices: is on cpu, but keys"),
        (lambda u, a, b: u.runlength_encode(a[:2], a[2:4], a[4:], b), "run_count: is on cpu, but values is on cuda:0"),
    ],
)
def test_arrays_on_several_devices_are_refused(gpu, call, why):
    with pytest.raises(ValueError, match=why):
        call(wp.utils, wp.zeros(8, dtype=wp.int32), wp.zeros(8, dtype=wp.int32, device="cpu"))


def test_temporary_memory_goes_back(gpu, simulated):
    x = np.arange(50_000, dtype=np.int32)[::-1].copy()
    everything(x, gpu)
    wp.synchronize()
    before = simulated.simulator_allocations(0)
    everything(x, gpu)
    wp.synchronize()
    assert simulated.simulator_allocations(0) == before


def test_in_graphs(gpu):
    n, rng = 10_000, np.random.default_rng(6)
    x = rng.integers(-50, 50, n).astype(np.int32)
    a, out, one, floats = wp.array(x), wp.zeros(n, dtype=wp.int32), wp.zeros(1, dtype=wp.int32), wp.zeros(n)
    k, v = (wp.array(np.concatenate([y, y])) for y in (x, np.arange(n, dtype=np.int32)))
    values, lengths, runs = wp.zeros(n, dtype=wp.int32), wp.zeros(n, dtype=wp.int32), wp.zeros(1, dtype=wp.int32)
    bounds = wp.array([0, n // 3, n], dtype=wp.int32)

    def steps():
        wp.utils.array_scan(a, out)
        wp.utils.array_sum(a, out=one)
        wp.utils.array_cast(a, floats)
        wp.utils.segmented_sort_pairs(k, v, n, bounds)
        wp.utils.radix_sort_pairs(k, v, n)
        wp.utils.runlength_encode(k[:n], values, lengths, run_count=runs)

    with wp.ScopedCapture() as captured:
        steps()
    y = rng.integers(-9, 9, n).astype(np.int32)
    for target, data in ((a, y), (k, np.concatenate([y, y])), (v, np.arange(2 * n, dtype=np.int32))):
        target.assign(data)
    wp.capture_launch(captured.graph)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(y))
    np.testing.assert_array_equal(floats.numpy(), y)
    np.testing.assert_array_equal(v.numpy()[:n], np.argsort(y, kind="stable"))
    assert one.list() == [y.sum()]
    assert values.list()[: runs.list()[0]] == np.unique(y).tolist()


def test_on_tapes(gpu):
    x = wp.array(np.random.default_rng(7).normal(size=3000), dtype=wp.float64, requires_grad=True)
    sums, loss = (wp.zeros(n, dtype=wp.float64, requires_grad=True) for n in (3000, 1))
    keys, order = wp.array([2, 1, 0, 0], dtype=int), wp.array([0, 1, 2, 3], dtype=int)
    tape = wp.Tape()
    with tape:
        wp.utils.array_scan(x, sums)
        wp.utils.radix_sort_pairs(keys, order, 2)
        assert wp.utils.runlength_encode(keys[:2], order[:2], order[2:]) == 2
        wp.utils.array_inner(sums, sums, out=loss)
    tape.backward(loss)
    expected = np.cumsum(2 * np.cumsum(x.numpy())[::-1])[::-1]
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9, atol=1e-9)
