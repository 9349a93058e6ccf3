"""Devices and drivers that fail, launches that do, and long work that is interrupted."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import omni.warp_core as wp
from tests.kernels import double

ILLEGAL_ADDRESS = 700


@wp.kernel
def spin(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    y = x[i]
    for _ in range(n):
        y = wp.sin(y) + 1.0
    x[i] = y


@pytest.fixture
def healed(simulated, gpu):
    yield simulated
    simulated.simulator_heal(gpu.ordinal)


def test_launches_that_the_driver_refuses_are_named(gpu, simulated):
    x = wp.ones((3, 4), dtype=float).flatten()
    simulated.simulator_fail(b"cuLaunchKernel", 701, 0)
    with pytest.raises(RuntimeError, match=r"kernel `double`, launched with dim=\(12\): cuLaunchKernel: "):
        wp.launch(double, dim=12, inputs=[x])
    wp.launch(double, dim=12, inputs=[x])
    assert x.list() == [2.0] * 12


def test_a_lost_device_says_so_and_what_to_do(gpu, healed):
    x = wp.ones(3, dtype=float)
    wp.launch(double, dim=3, inputs=[x])
    healed.simulator_fail(b"cuStreamQuery", ILLEGAL_ADDRESS, 0)
    with pytest.raises(
        RuntimeError, match=r"CUDA_ERROR_ILLEGAL_ADDRESS.*; kernel `double` was launched last: .* start a"
    ):
        x.numpy()
    for use in (lambda: wp.zeros(3, dtype=float), lambda: wp.launch(double, dim=3, inputs=[x]), wp.synchronize):
        with pytest.raises(RuntimeError, match="it failed after kernel `double`: this process cannot use the GPU any"):
            use()
    assert wp.ones(2, device="cpu").list() == [1.0, 1.0]


def test_every_launch_can_be_waited_for(gpu, healed):
    x = wp.ones(3, dtype=float)
    wp.config.verify_cuda = True
    try:
        wp.launch(double, dim=3, inputs=[x])
        assert healed.simulator_pending(gpu.ordinal) == 0
        healed.simulator_fail(b"cuStreamSynchronize", ILLEGAL_ADDRESS, 0)
        with pytest.raises(
            RuntimeError, match=r"kernel `double`, launched with dim=\(3\): cuStreamSynchronize: CUDA_E"
        ):
            wp.launch(double, dim=3, inputs=[x])
    finally:
        wp.config.verify_cuda = False


def test_arrays_of_another_gpu_are_refused():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    x = wp.ones(3, dtype=float, device="cuda:1")
    with pytest.raises(ValueError, match="argument `x` is on"):
        wp.launch(double, dim=3, inputs=[x], device="cuda:0")


def test_interpreted_launches_refuse_them_too():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    x = wp.ones(3, dtype=float, device="cuda:1")
    with pytest.raises(ValueError, match="argument `x` is on cuda:1 but the launch is on cuda:0"):
        wp.launch(double, dim=3, inputs=[x], device="cuda:0", interpret=True)


@wp.struct
class Holder:
    values: wp.array(dtype=float)


@wp.kernel
def add_there(h: Holder):
    i = wp.tid()
    h.values[i] += 1.0


def test_arrays_of_another_device_in_structs_are_refused(gpu):
    here, there = Holder(wp.zeros(4, dtype=float)), Holder(wp.zeros(4, dtype=float, device="cpu"))
    with pytest.raises(ValueError, match=f"`h` has an array that is on the CPU but the launch is on {gpu}"):
        wp.launch(add_there, 4, [there])
    with pytest.raises(ValueError, match=f"`h` has an array that is on {gpu} but the launch is on the CPU"):
        wp.launch(add_there, 4, [here], device="cpu")
    rows = wp.zeros(2, dtype=Holder)
    for write in (
        lambda: rows.fill_(there),
        lambda: rows.__setitem__(0, there),
        lambda: rows.assign([there, there]),
        lambda: wp.copy(rows, wp.array([there, there], dtype=Holder, device="cpu")),
        lambda: wp.array([there], dtype=Holder),
    ):
        with pytest.raises(ValueError, match=f"an array in a struct is on cpu, but the struct would be on {gpu}"):
            write()
    rows.fill_(there.to(gpu))
    wp.launch(add_there, 4, [here])
    assert here.values.list() == [1.0] * 4 and rows.to("cpu").list()[1].values.device is gpu


def test_many_threads_launch_at_once(gpu):
    x = wp.zeros(8, dtype=float)
    arrays = [wp.full(1000, 1.0 + k) for k in range(8)]

    def work(a):
        for _ in range(20):
            wp.launch(double, dim=1000, inputs=[a], device=gpu)

    threads = [threading.Thread(target=work, args=[a]) for a in arrays]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, a in enumerate(arrays):
        np.testing.assert_array_equal(a.numpy(), (1.0 + k) * 2.0**20)
    assert x.list() == [0.0] * 8


def test_long_kernels_let_other_threads_run(gpu):
    x = wp.ones(1 << 10, dtype=float)
    wp.launch(spin, dim=x.shape, inputs=[x, 1 << 14])
    ticks = []
    ticker = threading.Thread(target=lambda: ticks.append(True))
    ticker.start()
    wp.synchronize()
    ticker.join()
    assert ticks
    assert np.isfinite(x.numpy()).all()


def test_ctrl_c_while_waiting(gpu, simulated, interruptible):
    x = wp.ones(3, dtype=float)
    for wait in (x.numpy, wp.synchronize, lambda: wp.synchronize_stream(gpu), lambda: wp.synchronize_event(event)):
        wp.launch(double, dim=3, inputs=[x])
        event = wp.record_event()
        simulated.simulator_stall(600_000)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            wait()
        assert simulated.simulator_pending(gpu.ordinal) > 0  # it was the signal that ended the waiting, not the work
        simulated.simulator_stall(0)
        timer.join()
    assert x.list() == [16.0] * 3


def test_other_threads_run_while_launches_wait_for_the_queue(gpu, simulated):
    x, found = wp.ones(3, dtype=float), []
    wp.launch(double, dim=3, inputs=[x])

    def free_the_queue():
        while not simulated.simulator_waiting():
            time.sleep(0.001)
        found.append(True)
        simulated.simulator_hold(0)

    try:
        simulated.simulator_hold(1)
        for _ in range(16):  # of which one is timed
            wp.launch(double, dim=3, inputs=[x])
        simulated.simulator_hold(20_000)
        helper = threading.Thread(target=free_the_queue, daemon=True)
        helper.start()
        wp.launch(double, dim=3, inputs=[x])
        assert found
        helper.join()
    finally:
        simulated.simulator_hold(0)
    assert x.list() == [2.0**18] * 3


PROGRAM = """
import omni.warp_core as wp
print(wp.is_cuda_available(), wp.get_devices())
for use in (lambda: wp.get_device("cuda"), lambda: wp.zeros(3, device="cuda:0"),
            lambda: wp.zeros(3, device="cpu", pinned=True)):
    try:
        use()
    except RuntimeError as why:
        print(why)
print(wp.ones(2).list())
"""


def run_with(driver, **environment):
    env = os.environ | {"OMNI_WARP_CUDA_DRIVER": str(driver)} | environment
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_driver():
    out = run_with("/no/such/libcuda.so")
    assert out.startswith("False ['cpu']")
    assert out.count("no CUDA driver: /no/such/libcuda.so") == 3
    assert "device 'cuda' is not available" in out
    assert "pinned memory needs a GPU, and this process cannot use one" in out
    assert out.endswith("[1.0, 1.0]\n")


def test_no_gpu(simulated):
    out = run_with(simulated._name, SIMULATED_GPUS="0")
    assert "CUDA_ERROR_NO_DEVICE" in out
    assert out.endswith("[1.0, 1.0]\n")


def test_a_driver_that_is_too_old(tmp_path):
    source = tmp_path / "old.c"
    source.write_text("int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int* v) { *v = 11020; return 0; }")
    library = tmp_path / "libold.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-xc", "-shared", "-fPIC", source, "-o", library], check=True)
    assert "the CUDA driver is too old: it is for CUDA 11.2 and has no cu" in run_with(library)
