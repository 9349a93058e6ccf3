"""Modules compiled ahead of time for GPUs: launches take the PTX of the file."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import config
from omni.warp_core.codegen.target import CUDA_ARCHITECTURES, cuda
from omni.warp_core.launches import ahead_table, module_file, plans


def waves():
    module = wp.Module("waves")

    @wp.kernel(module=module)
    def wave(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i] + 1.0

    module.kept = wave
    return module


def launch(module, gpu):
    x = wp.array(np.arange(40.0), dtype=float, requires_grad=True, device=gpu)
    y = wp.zeros(40, dtype=float, requires_grad=True, device=gpu)
    with wp.Tape() as tape:
        wp.launch(module.kept, 40, [x, y], device=gpu)
    tape.backward(grads={y: wp.ones(40, dtype=float, device=gpu)})
    gaps = wp.zeros(20, dtype=float, device=gpu)
    wp.launch(module.kept, 20, [x[::2], gaps], device=gpu)
    return y.numpy(), x.grad.numpy(), gaps.numpy()


@pytest.fixture
def forbid(monkeypatch):
    monkeypatch.setattr(ahead_table, "_tables", {kind: {} for kind in ahead_table._tables})

    compile = plans.compile

    def only_for_cpus(request):
        assert not request.target.is_gpu, f"{request.subject} is compiled"
        return compile(request)  # the simulator runs kernels as CPU code

    def forbidden():
        monkeypatch.setattr(plans, "compile", only_for_cpus)
        monkeypatch.setattr(plans, "_loaded", {})
        monkeypatch.setattr(config, "kernel_cache_dir", None)

    return forbidden


@pytest.mark.parametrize("arch", [None, CUDA_ARCHITECTURES[0]])
def test_launches_take_the_code_of_the_file(gpu, tmp_path, forbid, arch):
    """PTX for an older GPU runs on a newer one."""
    (path,) = wp.compile_aot_module(waves(), device=gpu, arch=arch, module_dir=tmp_path, use_ptx=True)
    assert module_file.from_bytes(path.read_bytes()).target == cuda(arch or gpu.arch).name
    forbid()
    module = waves()
    wp.load_aot_module(module, device=gpu, module_dir=tmp_path)
    y, slope, gaps = launch(module, gpu)
    x = np.arange(40.0)
    np.testing.assert_allclose(y, x * x + 1.0)
    np.testing.assert_allclose(slope, 2.0 * x)
    np.testing.assert_allclose(gaps, (x * x + 1.0)[::2])


def test_machine_code_is_there_if_it_was_asked_for(gpu, tmp_path, forbid):
    wp.compile_aot_module(waves(), device=gpu, module_dir=tmp_path, use_ptx=True)
    with pytest.raises(FileNotFoundError, match="has no machine code for"):
        wp.load_aot_module(waves(), device=gpu, module_dir=tmp_path, use_ptx=False)


def test_graphs_of_gpus_cannot_be_saved_yet(gpu, tmp_path):
    x = wp.zeros(3, dtype=float, device=gpu)
    with wp.ScopedCapture(device=gpu, apic=True) as captured:
        x.fill_(1.0)
    with pytest.raises(RuntimeError, match=f"graphs of {gpu} cannot be saved yet"):
        wp.capture_save(captured.graph, tmp_path / "no")
