"""Programs that end, fork or run short of threads in the middle of launches: each is run as a process of its own."""

import subprocess

from tests.launches.programs import command

PRELUDE = """
import os, resource, threading, time
import numpy as np
import omni.warp_core as wp

@wp.kernel
def spin(x: wp.array(dtype=float), rounds: int):
    i = wp.tid()
    s = float(0.0)
    for j in range(rounds):
        s += wp.sin(float(j))
    x[i] = s * 0.0 + float(i)

def variant(c):
    @wp.kernel
    def scaled(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * c
    return scaled
"""


def run(tmp_path, text: str) -> str:
    done = subprocess.run(**command(tmp_path, PRELUDE, text), capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_exit_while_daemon_threads_launch(tmp_path):
    program = """
    def forever():
        x = wp.zeros(100_000)
        while True:
            wp.launch(spin, 100_000, [x, 100])
            started.set()
    started = threading.Event()
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    started.wait()
    print("bye")
    """
    assert run(tmp_path, program) == "bye"


def test_fork_while_another_thread_compiles(tmp_path):
    """The child compiles too; were a lock of the parent's other thread left in it, the alarm would end it."""
    program = """
    def forever():
        c = 0.0
        while not stop.is_set():
            c += 1.0
            wp.launch(variant(c), 1, [wp.zeros(1)])
            started.set()
    wp.config.kernel_cache_dir = None
    stop, started = threading.Event(), threading.Event()
    thread = threading.Thread(target=forever)
    thread.start()
    started.wait()
    codes = set()
    for i in range(4):
        child = os.fork()
        if not child:
            import signal
            signal.alarm(200)
            x = wp.ones(1)
            wp.launch(variant(0.5 + i), 1, [x])
            os._exit(0 if x.list() == [0.5 + i] else 1)
        codes.add(os.waitpid(child, 0)[1])
    stop.set()
    thread.join()
    print(codes)
    """
    assert run(tmp_path, program) == "{0}"


def test_no_more_threads_to_be_had(tmp_path):
    program = """
    x = wp.zeros(2_000_000)
    wp.launch(spin, 1, [x, 1])
    wp.config.num_threads = 16
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if os.getuid() == 0:
        os.setuid(65534)  # the limit does not count for root
    for _ in range(2):
        wp.launch(spin, x.size, [x, 1])
    print((x.numpy() == np.arange(x.size, dtype=np.float32)).all())
    """
    assert run(tmp_path, program) == "True"


def test_parameters_replaced_while_the_launch_runs(tmp_path):
    program = """
    n = 3_000_000
    first = wp.zeros(n)
    command = wp.launch(spin, n, [first, 50], record_cmd=True)
    def replace():
        running.wait()
        for _ in range(20):
            command.set_param_at_index(0, wp.zeros(n))  # drops the last reference to what the launch writes
            time.sleep(0.001)
    running = threading.Event()
    thread = threading.Thread(target=replace)
    del first
    thread.start()
    running.set()
    for _ in range(3):
        command.launch()
    thread.join()
    last = wp.zeros(n)
    command.set_param_by_name("x", last)
    command.launch()
    print((last.numpy() == np.arange(n, dtype=np.float32)).all())
    """
    assert run(tmp_path, program) == "True"
