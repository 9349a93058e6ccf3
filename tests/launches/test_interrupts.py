"""Ctrl-C ends launches, also those with threads that never end. Each program is run as a process of its own."""

import signal
import subprocess
import time

import pytest

from tests.launches.programs import FORKS, command

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def _sigint_is_not_ignored(interruptible):
    """The programs inherit it."""


PRELUDE = """
import os, signal, subprocess, threading, time
import numpy as np
import omni.warp_core as wp

@wp.kernel
def endless(x: wp.array(dtype=float), first: int, last: int):
    i = wp.tid()
    if i >= first and i < last:
        while x[i] < 1.0:
            x[i] = x[i] * 0.5
    else:
        x[i] = 2.0

@wp.kernel
def endless_sum(x: wp.array(dtype=float), first: int, last: int):
    i = wp.tid()
    k = int(0)
    while i >= first and i < last:
        x[k] += 1.0
        k += 1
        if k == 1000:
            k = 0

def interrupt(*delays):  # from outside, as small launches keep the GIL
    global before
    before = time.monotonic()
    steps = "; ".join(f"sleep {delay}; kill -INT {os.getpid()}" for delay in delays)
    return subprocess.Popen(["sh", "-c", steps])

def works():
    x = wp.zeros(100_000, dtype=float)
    for n in (1, 16, 100_000):
        wp.launch(endless, n, [x, 0, 0])
        assert (x.numpy()[:n] == 2.0).all()
    sums = wp.zeros(1000, dtype=float)
    wp.launch(endless_sum, 100_000, [sums, 0, 0])
    time.sleep(0.01)  # no signal is left over

for kernel in (endless, endless_sum):  # compiled, but never run
    wp.launch(kernel, 0, [wp.zeros(1, dtype=float), 0, 0])

def ends(launch, least):  # seconds after the call of `interrupt`
    try:
        launch()
    except KeyboardInterrupt:
        assert least < time.monotonic() - before < least + 30, time.monotonic() - before
    else:
        raise AssertionError("it came to its end")
"""


def start(tmp_path, text):
    return subprocess.Popen(
        **command(tmp_path, PRELUDE, text, *FORKS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run(tmp_path, program):
    process = start(tmp_path, program)
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0 and not err, err
    return out.strip()


LAUNCHES = """
wp.config.num_threads = {threads}
x = wp.zeros(100_000, dtype=float)
if {known}:
    works()
for n, first, last in ((1, 0, 1), (16, 3, 16), (100_000, 0, 1), (100_000, 99_999, 100_000), (100_000, 0, 100_000)):
    for kernel in ({kernels}):
        x.zero_()
        interrupt({delays})
        ends(lambda: wp.launch(kernel, n, [x, first, last]), {least})
        works()
"""


@pytest.mark.parametrize(("threads", "known"), [(1, True), (2, False)])
def test_a_second_request_ends_it_at_once(tmp_path, threads, known):
    run(
        tmp_path,
        LAUNCHES.format(threads=threads, known=known, delays="0.2, 0.1", least=0.3, kernels="endless, endless_sum"),
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_one_request_ends_it_after_a_second(tmp_path, threads):
    run(tmp_path, LAUNCHES.format(threads=threads, known=True, delays="0.2", least=1.2, kernels="endless,"))


def test_chunks_that_end_are_not_left(tmp_path):
    run(
        tmp_path,
        """
        @wp.kernel
        def long(x: wp.array(dtype=float), rounds: int):
            i = wp.tid()
            s = float(i)
            for k in range(rounds):
                s = wp.sin(s) + 1.0
            x[i] = s

        x, rounds = wp.zeros(1, dtype=float), 1_000_000
        wp.launch(long, 1, [x, 1])
        for _ in range(50):  # until the request comes during a launch that ends within the second
            x.zero_()
            sent, is_too_short = interrupt(0.1), False
            try:
                wp.launch(long, 1, [x, rounds])
                is_too_short = True
                time.sleep(30)
            except KeyboardInterrupt:
                pass
            assert sent.wait() == 0
            if is_too_short:
                rounds *= 2
            elif x.list() == [0.0]:
                rounds //= 2
            else:
                break
        else:
            raise AssertionError(rounds)
        handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
        time.sleep(1.5)  # what would have ended it would end the process now
        signal.signal(signal.SIGINT, handler)
        works()
        """,
    )


def test_recorded_launches_graphs_and_tapes(tmp_path):
    run(
        tmp_path,
        """
        works()
        x = wp.zeros(1000, dtype=float, requires_grad=True)
        command = wp.launch(endless, 1000, [x, 5, 6], record_cmd=True)
        with wp.ScopedCapture() as capture:
            wp.launch(endless, 1000, [x, 5, 6])
        tape = wp.Tape()
        def on_tape():
            with tape:
                wp.launch(endless, 1000, [x, 5, 6])
        with tape:  # which loads what gradients need, and runs no thread for long
            wp.launch(endless, 1, [wp.zeros_like(x), 5, 6])
        for launch in (command.launch, lambda: wp.capture_launch(capture.graph), on_tape):
            x.zero_()
            interrupt(0.2, 0.1)
            ends(launch, 0.3)
            works()
        """,
    )


def test_handlers_of_the_program(tmp_path):
    run(
        tmp_path,
        """
        works()
        heard = []
        handler = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
        x = wp.zeros(100_000, dtype=float)
        for at in (0, 99_999):  # in either thread
            x.zero_()
            sent = interrupt(0.5, 1.5, 1.0)  # one alone does not end a launch, as the handler need not raise
            ends(lambda: wp.launch(endless, 100_000, [x, at, at + 1]), 2.0)
            sent.wait()
            assert heard
            works()
        signal.signal(signal.SIGINT, handler)
        time.sleep(0.2)
        for _ in range(100):  # small launches look for handlers now and then
            wp.launch(endless, 16, [x, 0, 0])
        x.zero_()
        interrupt(0.2)
        ends(lambda: wp.launch(endless, 16, [x, 0, 1]), 1.2)
        works()
        """,
    )


def test_launches_of_other_threads_go_on(tmp_path):
    run(
        tmp_path,
        """
        wp.config.num_threads = 2
        works()
        x = wp.zeros(100_000, dtype=float)

        @wp.kernel
        def waits(x: wp.array(dtype=float), go: wp.array(dtype=int), begun: wp.array(dtype=int)):
            i = wp.tid()
            begun[0] = 1
            while wp.atomic_add(go, 0, 0) == 0:
                pass
            x[i] = 7.0

        go, begun = wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)
        other = threading.Thread(target=lambda: wp.launch(waits, 100_000, [x, go, begun]))
        other.start()
        while not begun.numpy()[0]:
            time.sleep(0.01)
        y = wp.zeros(16, dtype=float)
        interrupt(0.2, 0.1)
        ends(lambda: wp.launch(endless, 16, [y, 0, 1]), 0.3)
        assert other.is_alive()
        go.numpy()[0] = 1
        other.join()
        assert (x.numpy() == 7.0).all()
        """,
    )


def test_launches_that_wait_for_others(tmp_path):
    run(
        tmp_path,
        """
        @wp.kernel
        def announced_sum(x: wp.array(dtype=float), begun: wp.array(dtype=int)):
            i = wp.tid()
            begun[0] = 1
            while i == 0:
                x[0] += 1.0

        x, begun = wp.zeros(1000, dtype=float), wp.zeros(1, dtype=int)
        threading.Thread(target=lambda: wp.launch(announced_sum, 100_000, [x, begun]), daemon=True).start()
        while not begun.numpy()[0]:
            time.sleep(0.01)
        interrupt(0.2)
        ends(lambda: wp.launch(endless_sum, 100_000, [x, 0, 0]), 0.2)
        works()
        """,
    )


def test_children_of_fork(tmp_path):
    run(
        tmp_path,
        """
        wp.config.num_threads = 2
        x = wp.zeros(100_000, dtype=float)
        interrupt(0.2, 0.1)
        ends(lambda: wp.launch(endless, 100_000, [x, 0, 1]), 0.3)
        child = os.fork()
        if child == 0:
            for n in (16, 100_000):
                interrupt(0.2, 0.1)
                ends(lambda: wp.launch(endless, n, [x, 0, 1]), 0.3)
                works()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        works()
        """,
    )


def test_outside_of_launches_all_is_as_it_was(tmp_path):
    process = start(tmp_path, "works(); print('now', flush=True); time.sleep(60)")
    assert process.stdout.readline() == "now\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGINT and err.rstrip().endswith("KeyboardInterrupt")
    program = "works(); signal.signal(signal.SIGINT, signal.SIG_DFL); print('now', flush=True); works(); time.sleep(60)"
    process = start(tmp_path, program)
    assert process.stdout.readline() == "now\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=300) == ("", "") and process.returncode == -signal.SIGINT
