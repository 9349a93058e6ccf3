"""Ctrl-C while a kernel compiles ends the wait for LLVM and damages nothing. Each program is a process of its own."""

import subprocess

import pytest

from tests.launches.programs import FORKS, command

pytestmark = pytest.mark.cpu

# With more terms, LLVM takes long enough to be interrupted. Tests that compile all kernels of the suite take few.
PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import omni.warp_core as wp
from omni.warp_core.codegen import toolchain
from omni.warp_core.lang import deep_recursion as stack

TERMS = 8
LONG = 50_000  # characters of a module: LLVM ends shorter ones before a signal arrives

@wp.kernel
def large(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = sum(wp.sin(x[j] * float(j)) for j in range(TERMS))

@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]

def in_llvm():  # with a long module
    frames = sys._current_frames()
    for thread in threading.enumerate():
        frame = frames.get(thread.ident)
        while thread.name == "omni-warp-core-compiler" and frame is not None:
            if frame.f_code.co_name == "emit_object":
                return len(frame.f_back.f_locals["text"]) > LONG
            frame = frame.f_back
    return False

def interrupt():
    while not in_llvm():
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

def leave(kernel, x):
    for _ in range(20):  # on a busy machine LLVM may end before the launch can be told
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            wp.launch(kernel, len(x), [x])
        except KeyboardInterrupt:
            if in_llvm():  # the launch has not waited for it
                return
        else:
            raise AssertionError("it was compiled")
    raise AssertionError("each launch has waited for LLVM")

values = np.linspace(0.0, 1.0, 700, dtype=np.float32)
"""


@pytest.fixture(autouse=True)
def _sigint_is_not_ignored(interruptible):
    """The programs inherit it."""


def run(tmp_path, text, code=0, terms=500):
    prelude = PRELUDE.replace("TERMS = 8", f"TERMS = {terms}")
    done = subprocess.run(**command(tmp_path, prelude, text, *FORKS), capture_output=True, timeout=300)
    assert done.returncode == code and not done.stderr, (done.returncode, done.stderr)
    return done.stdout.strip()


def test_kernels_compile_afterwards(tmp_path):
    program = """
    x = wp.array(values)
    leave(large, x)
    assert (x.numpy() == values).all()
    wp.launch(double, 700, [x])
    np.testing.assert_array_equal(x.numpy(), 2.0 * values)
    one = wp.array(values)
    wp.launch(large, 1, [one])
    expected = np.sin(values[:500].astype(float) * np.arange(500)).sum()
    assert abs(one.numpy()[0] - expected) < 1e-3
    """
    run(tmp_path, program)


@pytest.mark.parametrize("code", [0, 7])
def test_the_process_ends_while_llvm_runs(tmp_path, code):
    program = f"""
    leave(large, wp.array(values))
    print("bye")
    sys.exit({code})
    """
    assert run(tmp_path, program, code, terms=2000) == "bye"


def test_a_fork_after_it_compiles(tmp_path):
    program = """
    leave(large, wp.array(values))
    child = os.fork()
    if child == 0:
        signal.alarm(200)
        x = wp.array(values)
        wp.launch(double, 700, [x])
        os._exit(0 if (x.numpy() == 2.0 * values).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    run(tmp_path, program)


def test_python_code_in_a_large_thread_ends(tmp_path):
    program = """
    rounds = 0
    def forever(depth=5000):
        global rounds
        if depth:
            return forever(depth - 1)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        while True:
            rounds += 1

    try:
        stack.with_large_stack(forever, "this")
    except KeyboardInterrupt:
        before = rounds
        time.sleep(0.1)
        assert before == rounds
    else:
        raise AssertionError("it came to its end")
    """
    run(tmp_path, program)
