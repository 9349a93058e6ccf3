"""Small names of warp-lang 1.19; what each gives on a machine without a GPU was found by running that."""

import numpy as np
import pytest

import omni.warp_core as wp


@pytest.mark.cpu
def test_kinds_of_memory():
    given = np.ones(4, dtype=np.float32)
    arrays = wp.zeros(4), wp.zeros(4)[1:], wp.zeros(0), wp.array(given, copy=False)
    assert [a.memory_kind for a in arrays] == [wp.MemoryKind.HOST] * 4
    assert all(wp.can_access("cpu", a) for a in arrays)
    with pytest.raises(TypeError, match="resource: expected an array, got str"):
        wp.can_access("cpu", "cpu")
    assert [int(kind) for kind in wp.MemoryKind] == list(range(6))


def test_kinds_of_memory_on_each_device(device):
    a = wp.zeros(4)
    kinds = {wp.MemoryKind.HOST} if device.is_cpu else {wp.MemoryKind.CUDA_DEVICE, wp.MemoryKind.CUDA_MEMPOOL}
    assert a.memory_kind in kinds
    assert wp.can_access(device, a) and device.can_access(device)
    if device.is_cuda:
        assert not wp.can_access("cpu", a)
        assert not wp.can_access(device, wp.zeros(4, device="cpu"))
        assert wp.can_access(device, wp.zeros(4, device="cpu", pinned=True))


@pytest.mark.cpu
def test_versions_of_cuda():
    if not wp.is_cuda_available():
        assert wp.get_cuda_driver_version() is None
    assert wp.get_cuda_toolkit_version() is None
    assert sorted(wp.get_cuda_supported_archs()) == wp.get_cuda_supported_archs() != []
    assert wp.clear_lto_cache() is None


def test_block_sizes(device):
    @wp.kernel(launch_bounds=128)
    def fill(x: wp.array[float]):
        x[wp.tid()] = 1.0

    size, blocks = wp.get_suggested_block_size(fill, device)
    assert (size, blocks) == (1, 1) if device.is_cpu else size == 128 and blocks % device.sm_count == 0
    with pytest.raises(TypeError, match="kernel: expected a kernel, got int"):
        wp.get_suggested_block_size(3)


def test_functions_of_python_functions(device):
    def plain(x: float):
        return x + 1.0

    added, module = wp.utils.create_warp_function(plain)
    product, _ = wp.utils.create_warp_function(lambda x, y: x * y)
    assert isinstance(added, wp.Function) and isinstance(module, wp.Module)
    assert added(1.0) == 2.0

    @wp.kernel
    def use(x: wp.array[float]):
        i = wp.tid()
        x[i] = product(added(x[i]), 3.0)

    x = wp.array([0.0, 1.0], dtype=float)
    wp.launch(use, dim=2, inputs=[x])
    assert x.list() == [3.0, 6.0]
    for wrong in (3, wp.sin, use):
        with pytest.raises(TypeError, match="func: expected a Python function"):
            wp.utils.create_warp_function(wrong)


def test_classes():
    assert issubclass(wp.WarpDeterminismError, RuntimeError)
    assert wp.DeviceLike == wp.Device | str | None
    assert wp.config.launch_array_access_mode == wp.config.LaunchArrayAccessMode.RELAXED == 0
    wp.config.launch_array_access_mode = wp.config.LaunchArrayAccessMode.STRICT
    wp.config.launch_array_access_mode = wp.config.LaunchArrayAccessMode.RELAXED


# The keys that warp-lang 1.19 has.
KEYS = """warp_python warp_native warp_clang llvm numpy python platform cuda_enabled cuda_toolkit cuda_driver nvrtc
cuda_compatibility mathdx_enabled libmathdx cubql_enabled nanovdb host_compiler cpu_name cpu_features debug verify_fp
fast_math sanitizer devices"""


@pytest.mark.cpu
def test_diagnostics(capsys):
    found = wp.print_diagnostics()
    assert set(KEYS.split()) <= set(found)
    assert found["numpy"] == np.__version__
    assert found["devices"][0] == {"alias": "cpu", "name": "CPU"}
    assert found["host_compiler"].startswith(("GCC ", "Clang "))
    printed = capsys.readouterr().out
    assert f"  NumPy:            {np.__version__}\n" in printed
    assert [line for line in printed.splitlines() if line and line[0] != " "] == [
        *("Software", "CUDA", "Build", "CPU", "Settings", "Devices"),
    ]
