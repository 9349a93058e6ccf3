"""Pinned memory, what reports say of memory, and what happens when it is full."""

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from tests.kernels import double


def test_pinned_arrays(gpu):
    data = np.arange(5, dtype=np.float32)
    for make in (
        lambda: wp.array(data, dtype=float, device="cpu", pinned=True),
        lambda: wp.from_numpy(data, device="cpu", pinned=True),
        lambda: wp.clone(wp.array(data, device="cpu"), pinned=True),
        lambda: wp.clone(wp.array(data), device="cpu", pinned=True),
    ):
        a = make()
        assert (a.pinned, str(a.device), a[1:].pinned) == (True, "cpu", True)
        np.testing.assert_array_equal(a.numpy(), data)
    assert all(make(3, dtype=float, device="cpu", pinned=True).pinned for make in (wp.empty, wp.zeros, wp.ones))
    assert wp.full(3, 2.0, device="cpu", pinned=True).list() == [2.0] * 3
    assert wp.empty_like(a).pinned
    assert not wp.zeros(3, device="cpu").pinned
    assert not wp.zeros(3, pinned=True).pinned  # memory of a GPU is not


def test_copies_from_and_to_pinned_memory_are_in_order(gpu):
    host = wp.array(np.arange(1000), dtype=float, device="cpu", pinned=True)
    there, back = wp.zeros(1000, dtype=float), wp.zeros(1000, dtype=float, device="cpu", pinned=True)
    for _ in range(3):
        wp.copy(there, host)
        wp.launch(double, dim=1000, inputs=[there])
        wp.copy(back, there)
        host = wp.clone(back, pinned=True)
    np.testing.assert_array_equal(back.numpy(), 8.0 * np.arange(1000))
    assert host[1] == 8.0


def test_copies_go_on_while_the_program_does(gpu, simulated):
    host, there = wp.ones(10, dtype=float, device="cpu", pinned=True), wp.zeros(10, dtype=float)
    wp.synchronize()
    wp.copy(there, host)
    wp.copy(host, there)
    assert simulated.simulator_pending(gpu.ordinal) >= 2
    assert host.list() == [1.0] * 10  # reading waits
    assert simulated.simulator_pending(gpu.ordinal) == 0


def pinned_and_its_graph():
    host, there, back = (wp.zeros(4, dtype=float, device=d, pinned=d == "cpu") for d in ("cpu", None, "cpu"))
    with wp.ScopedCapture() as inner:
        wp.copy(there, host)
    with wp.ScopedCapture() as capture:
        wp.capture_launch(inner.graph)
        wp.launch(double, dim=4, inputs=[there])
        wp.copy(back, there)
    return host, back, capture.graph


def test_graphs_copy_from_and_to_pinned_memory(gpu):
    host, back, graph = pinned_and_its_graph()
    assert back.list() == [0.0] * 4
    for i in range(1, 5):
        if i % 2:
            host.fill_(10.0 * i)
        else:
            host.assign([10.0 * i] * 4)
        wp.capture_launch(graph)
        assert (back.numpy().tolist() if i < 3 else back.list()) == [20.0 * i] * 4
    wide, there = wp.zeros(8, dtype=float, device="cpu", pinned=True), wp.zeros(4, dtype=float)
    with wp.ScopedCapture():
        with pytest.raises(RuntimeError, match=r"src: an array on the CPU .* must be contiguous"):
            wp.copy(there, wide[::2])
        with pytest.raises(RuntimeError, match=r"dest: an array on the CPU .* must be contiguous"):
            wp.copy(wide[::2], there)


def test_pinned_memory_outlives_a_graph_that_runs(gpu, simulated):
    wp.zeros(1, device="cpu", pinned=True)
    before = simulated.simulator_pinned()
    host, back, graph = pinned_and_its_graph()
    simulated.simulator_stall(20_000)  # nothing is done unless the program waits
    try:
        wp.capture_launch(graph)
        del host, back, graph
        gc.collect()
        assert simulated.simulator_pinned() >= before + 2
    finally:
        simulated.simulator_stall(0)
    wp.synchronize()
    wp.zeros(1, device="cpu", pinned=True)
    assert simulated.simulator_pinned() <= before + 1


def test_pinned_memory_lives_as_long_as_its_copies(gpu, simulated):
    gc.collect()
    wp.synchronize()
    wp.zeros(1, device="cpu", pinned=True)
    before = simulated.simulator_pinned()
    there = wp.zeros(1000, dtype=float)
    for i in range(5):
        wp.copy(there, wp.full(1000, float(i), device="cpu", pinned=True))
    assert simulated.simulator_pinned() > before
    assert there.list() == [4.0] * 1000
    wp.zeros(1, device="cpu", pinned=True)
    assert simulated.simulator_pinned() <= before + 1


def test_reading_waits_for_graphs(gpu, simulated):
    host, there = wp.ones(10, dtype=float, device="cpu", pinned=True), wp.zeros(10, dtype=float)
    with wp.ScopedCapture() as inner:
        wp.copy(there, host)
        wp.launch(double, dim=10, inputs=[there])
        wp.copy(host, there)
    with wp.ScopedCapture() as outer:
        wp.capture_launch(inner.graph)
    for i, graph in enumerate((inner.graph, inner.graph, outer.graph)):
        wp.capture_launch(graph)
        assert host.list() == [2.0 ** (i + 1)] * 10
    wp.capture_launch(inner.graph, stream=wp.Stream(gpu))
    assert host[3] == 16.0
    wp.capture_launch(inner.graph)
    host.fill_(1.0)  # writing waits too
    assert (there.list(), host.list()) == ([32.0] * 10, [1.0] * 10)


def test_copies_on_a_stream(gpu, simulated):
    host, there, other = wp.ones(10, dtype=float, device="cpu", pinned=True), wp.zeros(10, dtype=float), wp.Stream(gpu)
    wp.synchronize()
    wp.copy(there, host, stream=other)
    assert not other.is_complete
    wp.synchronize_stream(other)
    assert there.list() == [1.0] * 10


@pytest.mark.parametrize("n", [10, 10_000])
def test_memory_that_is_not_pinned_has_been_read_and_written(gpu, n):
    """The driver's documentation says that such copies may wait, and not that they do."""
    host, there = wp.zeros(n, dtype=float, device="cpu"), [wp.zeros(n, dtype=float) for _ in range(100)]
    for i, a in enumerate(there):
        host.fill_(float(i))
        wp.copy(a, host)
    for i, a in enumerate(there):
        wp.copy(host, a)
        assert set(host.list()) == {float(i)}


def test_memory_that_comes_from_no_pool_goes_back_behind_the_work(gpu):
    back = wp.zeros(1000, dtype=float)
    with wp.ScopedMempool(gpu, False):
        a = wp.full(1000, 2.0)
        wp.copy(back, a)
        del a
        gc.collect()
        wp.full(1000, 3.0)
    assert set(back.list()) == {2.0}


def test_code_goes_back_behind_the_work(gpu):
    def launch(value):
        @wp.kernel
        def fresh(x: wp.array(dtype=float)):
            x[wp.tid()] = value

        x = wp.zeros(10, dtype=float)
        wp.launch(fresh, dim=10, inputs=[x])
        return x

    found = [launch(float(i)) for i in range(3)]
    gc.collect()
    assert [set(x.list()) for x in found] == [{0.0}, {1.0}, {2.0}]


def test_reports(gpu):
    gc.collect()
    before = wp.get_memory_report(gpu)
    a = wp.zeros(1 << 18, dtype=float)
    report = wp.get_memory_report(gpu)
    assert report.live - before.live == 1 << 20
    assert report.used - before.used >= 1 << 20
    assert report.used_high >= report.used <= report.reserved <= report.reserved_high
    assert 0 < report.free < report.total == gpu.total_memory
    assert f"{report.live} bytes live" in str(report)
    del a
    gc.collect()
    assert wp.get_memory_report(gpu).live == before.live
    with pytest.raises(RuntimeError, match=r"only for CUDA devices, got .cpu."):
        wp.get_memory_report("cpu")


def test_no_memory_left(gpu):
    shape = 2 * gpu.total_memory
    with pytest.raises(MemoryError) as why:
        wp.empty(shape, dtype=wp.uint8)
    for words in (f"shape=({shape},) of uint8", f"{gpu} has no room for {shape} bytes", "are free", "Delete arrays"):
        assert words in str(why.value)
    assert wp.ones(3, dtype=int).list() == [1, 1, 1]


def test_no_pinned_memory_left(gpu, simulated):
    simulated.simulator_fail(b"cuMemHostAlloc", 2, 0)
    with pytest.raises(MemoryError, match="12 bytes of pinned memory: cuMemHostAlloc"):
        wp.zeros(3, dtype=float, device="cpu", pinned=True)
    assert wp.zeros(3, dtype=float, device="cpu", pinned=True).list() == [0.0] * 3
