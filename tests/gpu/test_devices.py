"""GPUs as devices, and who may use whose memory."""

import pytest

import omni.warp_core as wp


def test_names():
    gpus = wp.get_cuda_devices()
    assert wp.is_cuda_available()
    assert len(gpus) == wp.get_cuda_device_count() >= 1
    assert [d.alias for d in gpus] == [f"cuda:{i}" for i in range(len(gpus))]
    assert wp.get_devices() == ["cpu", *gpus]
    assert wp.get_device("cuda:0") is gpus[0] is wp.get_cuda_device(0)
    assert wp.get_preferred_device() is gpus[0]


def test_cuda_is_the_current_gpu(gpu):
    assert wp.get_device() is gpu
    assert wp.get_device("cuda") is gpu
    assert wp.get_cuda_device() is gpu
    with wp.ScopedDevice("cpu"):
        assert wp.get_device("cuda").alias == "cuda:0"


def test_facts(gpu):
    assert gpu.is_cuda
    assert not gpu.is_cpu
    assert gpu.is_uva
    assert gpu.arch >= 50
    assert gpu.sm_count >= 1
    assert gpu.max_block_dim == 1024
    assert gpu.uuid.startswith("GPU-")
    assert len(gpu.uuid) == 40
    assert gpu.pci_bus_id.count(":") == 2
    assert 0 < gpu.free_memory <= gpu.total_memory
    assert gpu.has_context
    assert gpu.context
    assert str(gpu) == gpu.alias == f"cuda:{gpu.ordinal}"


def test_wrong_names():
    with pytest.raises(RuntimeError, match=r"'cuda:99' is not available; available: \['cpu', 'cuda:0'"):
        wp.get_device("cuda:99")
    with pytest.raises(ValueError, match="is not a device"):
        wp.get_device("gpu")
    assert not wp.is_device_available("cuda:99")
    assert wp.is_device_available("cuda:0")


def test_pools(gpu):
    assert wp.is_mempool_supported(gpu)
    assert wp.is_mempool_enabled(gpu)
    before = wp.get_mempool_release_threshold(gpu)
    wp.set_mempool_release_threshold(gpu, 1 << 20)
    assert wp.get_mempool_release_threshold(gpu) == 1 << 20
    wp.set_mempool_release_threshold(gpu, 0.25)
    assert wp.get_mempool_release_threshold(gpu) == gpu.total_memory // 4
    wp.set_mempool_release_threshold(gpu, before if before > 1 else 0)
    assert wp.get_mempool_used_mem_high(gpu) >= wp.get_mempool_used_mem_current(gpu) >= 0
    with wp.ScopedMempool(gpu, False):
        assert not wp.is_mempool_enabled(gpu)
    assert wp.is_mempool_enabled(gpu)
    with pytest.raises(ValueError, match="negative"):
        wp.set_mempool_release_threshold(gpu, -1)


def test_the_cpu_has_no_pool():
    for call in (
        wp.get_mempool_release_threshold,
        wp.get_mempool_used_mem_current,
        lambda d: wp.set_mempool_enabled(d, True),
    ):
        with pytest.raises(ValueError, match="cpu has no memory pool"):
            call("cpu")


def test_peers():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    a, b = wp.get_cuda_devices()[:2]
    assert wp.is_peer_access_supported(a, b)
    assert not wp.is_peer_access_enabled(a, b)
    with wp.ScopedPeerAccess(a, b, True):
        assert wp.is_peer_access_enabled(a, b)
        assert not wp.is_peer_access_enabled(b, a)
        assert b.can_access(a)
        assert not a.can_access(b)
    assert not wp.is_peer_access_enabled(a, b)
    with wp.ScopedMempoolAccess(a, b, True):
        assert wp.is_mempool_access_enabled(a, b)
        assert not wp.is_mempool_access_enabled(b, a)
    assert not wp.is_mempool_access_enabled(a, b)
    with pytest.raises(RuntimeError, match="cuda:0 cannot access the memory of cpu"):
        wp.set_peer_access_enabled("cpu", a, True)


def test_a_driver_that_fails_is_named(simulated, gpu):
    simulated.simulator_fail(b"cuMemGetInfo_v2", 2, 0)
    with pytest.raises(RuntimeError, match="cuMemGetInfo_v2: CUDA_ERROR_OUT_OF_MEMORY"):
        gpu.free_memory
    assert gpu.free_memory > 0
