"""Kernels that use memory which is not there raise, and all goes on. Each program is run as a process of its own."""

import signal
import subprocess

import pytest

from tests.launches.programs import FORKS, command

pytestmark = pytest.mark.cpu

PRELUDE = """
import ctypes, faulthandler, gc, os, signal, sys, threading, time
import numpy as np
import omni.warp_core as wp

FAR = 1_000_000_000

@wp.kernel
def copied(x: wp.array(dtype=float), y: wp.array(dtype=float), use: int):
    i = wp.tid()
    if i >= use:
        x[i] = y[i]
    else:
        x[i] = 2.0

@wp.kernel
def stored(x: wp.array(dtype=float), at: int, last: int):
    i = wp.tid()
    if i == last:
        x[i + at] = 1.0

@wp.kernel
def added(x: wp.array(dtype=float), at: int, last: int):
    i = wp.tid()
    if i == last:
        x[(i * 7919) % 1000 + at] += 1.0
    else:
        x[(i * 7919) % 1000] += 1.0

def works():
    x = wp.zeros(100_000, dtype=float)
    for n in (1, 16, 100_000):
        wp.launch(copied, n, [x, None, n])
        assert (x.numpy()[:n] == 2.0).all()
    sums = wp.zeros(1000, dtype=float)
    wp.launch(added, 100_000, [sums, 0, -1])
    assert (sums.numpy() == 100.0).all()

def fails(launch, *words):
    try:
        launch()
    except wp.KernelError as error:
        assert error.kind == "memory" and all(word in str(error) for word in words), str(error)
        return error
    raise AssertionError("no exception")


def fails_on_a_small_stack(launch, *words):
    done = []
    threading.stack_size(64 * 1024)
    thread = threading.Thread(target=lambda: done.append(fails(launch, *words)))
    thread.start()
    thread.join()
    assert done
"""


def start(tmp_path, text, *options):
    return subprocess.run(**command(tmp_path, PRELUDE, text, *FORKS, *options), capture_output=True, timeout=300)


def run(tmp_path, program):
    done = start(tmp_path, program)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("threads", [1, 2])
def test_launches_of_all_sizes(tmp_path, threads):
    run(
        tmp_path,
        f"""
        wp.config.num_threads = {threads}
        x = wp.zeros(100_000, dtype=float)
        for known in range(3):
            for n in (1, 16, 1000, 100_000):
                fails(lambda: wp.launch(copied, n, [x, None, 0]), "kernel `copied`", "read", "`y` is None", "debug")
                fails(lambda: wp.launch(stored, n, [x, FAR, n - 1]), "wrote", "bytes behind the end of `x`")
                fails(lambda: wp.launch(stored, n, [x, 0 * FAR - FAR, n - 1]), "bytes before `x`")
                fails(lambda: wp.launch(added, n, [x, FAR, n // 2]), "kernel `added`", "`x`")
                works()
        """,
    )


def test_what_the_error_tells(tmp_path):
    run(
        tmp_path,
        """
        x = wp.zeros(1000, dtype=float)
        error = fails(lambda: wp.launch(stored, 7, [x, FAR, 3]))
        assert error.kernel == "stored" and error.threads == (0, 7) and error.thread == (0,)
        assert error.address == x.ptr + 4 * (FAR + 3)
        beyond = error.address - (x.ptr + 4000)
        assert str(error).splitlines() == [
            f"kernel `stored`, threads 0 to 6: it wrote address {error.address:#x}, where there is no memory",
            f"  --> {__file__}:{error.line}",
            f"why: an index is out of range; the address is {beyond} bytes behind the end of `x`",
            'help: run with wp.config.mode = "debug" to see the line, thread and index',
        ]
        assert error.line == stored.func.__code__.co_firstlineno
        for n in (1000, 100_000):  # a part of the launch, which has the thread
            for last in (0, n // 3, n - 1):
                first, end = fails(lambda: wp.launch(stored, n, [x, FAR, last])).threads
                assert first <= last < end <= n
                first, end = fails(lambda: wp.launch(added, n, [x, FAR, last])).threads
                assert first <= last < end <= n
        wp.config.mode = "debug"
        try:
            wp.launch(stored, 7, [x, FAR, 3])
        except wp.KernelError as error:
            assert error.kind == "bounds" and error.thread == (3,)
        """,
    )


def test_arrays_in_arrays_of_structs(tmp_path):
    run(
        tmp_path,
        """
        @wp.struct
        class Mesh:
            points: wp.array(dtype=float)

        @wp.kernel
        def total(meshes: wp.array(dtype=Mesh), out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = meshes[i].points[0]

        mesh = Mesh()
        mesh.points = wp.full(1, 3.0, dtype=float)
        out = wp.zeros(2, dtype=float)
        meshes = wp.array([mesh, Mesh()], dtype=Mesh)
        for _ in range(3):
            fails(lambda: wp.launch(total, 2, [meshes, out]), "address 0x0")
        wp.launch(total, 2, [wp.array([mesh, mesh], dtype=Mesh), out])
        assert out.list() == [3.0, 3.0]
        """,
    )


def test_printed_text_and_faults_of_other_threads(tmp_path):
    printed = run(
        tmp_path,
        """
        @wp.kernel
        def told(x: wp.array(dtype=float)):
            wp.printf("%d\\n", wp.tid())
            x[FAR] = 1.0

        def launch():
            fails(lambda: wp.launch(told, 1, [wp.zeros(1, dtype=float)]))
            works()

        launch()
        for _ in range(50):
            thread = threading.Thread(target=launch)
            thread.start()
            thread.join()
        """,
    )
    assert printed.split() == ["0"] * 51


def test_at_once_on_several_threads(tmp_path):
    run(
        tmp_path,
        """
        wp.config.num_threads = 2
        done = []

        def go():
            x = wp.zeros(1000, dtype=float)
            for k in range(30):
                fails(lambda: wp.launch(added, 100_000, [x, FAR, 50_000 + k]))
                fails(lambda: wp.launch(copied, 1000, [x, None, 500]))
                works()
            done.append(1)

        threads = [threading.Thread(target=go) for _ in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert len(done) == 3
        """,
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_again_and_again_without_a_leak(tmp_path, threads):
    run(
        tmp_path,
        f"""
        wp.config.num_threads = {threads}
        x = wp.zeros(100_000, dtype=float)

        def go(times):
            for k in range(times):
                fails(lambda: wp.launch(copied, 16, [x, None, k % 16]))
                fails(lambda: wp.launch(stored, 1000, [x, FAR, k % 1000]))
                fails(lambda: wp.launch(added, 100_000, [x, FAR, k]))

        def resident():
            gc.collect()
            return int(open("/proc/self/statm").read().split()[1]) * 4096

        go(100)
        before, threads = resident(), len(os.listdir("/proc/self/task"))
        go(1000)
        assert resident() - before < 8e6 and len(os.listdir("/proc/self/task")) == threads
        works()
        """,
    )


def test_recorded_launches_graphs_and_maps(tmp_path):
    run(
        tmp_path,
        """
        x, y = wp.zeros(100_000, dtype=float), wp.ones(100_000, dtype=float)
        for n in (16, 100_000):
            command = wp.launch(copied, n, [x, None, 0], record_cmd=True)
            for _ in range(3):
                fails(command.launch, "`y` is None")
            command.set_param_by_name("y", y)
            command.launch()
            assert (x.numpy()[:n] == 1.0).all()
            with wp.ScopedCapture() as capture:
                wp.launch(copied, n, [x, None, n])
                wp.launch(copied, n, [y, None, 0])
            for _ in range(3):
                x.zero_()
                fails(lambda: wp.capture_launch(capture.graph))
                assert (x.numpy()[:n] == 2.0).all()
            works()

        @wp.func
        def picked(i: int, values: wp.array(dtype=float)):
            return values[i]

        @wp.kernel
        def gathered(i: wp.array(dtype=int), values: wp.array(dtype=float), out: wp.array(dtype=float)):
            k = wp.tid()
            out[k] = picked(i[k], values)

        fails(lambda: wp.launch(gathered, 2, [wp.array([0, FAR], dtype=int), y, x]), "`values`")

        @wp.struct
        class Held:
            values: wp.array(dtype=float)

        @wp.func
        def looked_up(i: int, held: Held):
            return held.values[i]

        held = Held()
        held.values = y
        fails(lambda: wp.map(looked_up, wp.array([0, FAR], dtype=int), held), "behind the end of `held`")
        assert wp.map(looked_up, wp.array([0, 1], dtype=int), held).list() == y.list()[:2]
        """,
    )


def test_tapes(tmp_path):
    run(
        tmp_path,
        """
        @wp.kernel
        def scaled(x: wp.array(dtype=float), at: int, y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = 3.0 * x[i + at]

        x, y = wp.ones(1000, dtype=float, requires_grad=True), wp.zeros(1000, dtype=float, requires_grad=True)
        for _ in range(3):
            tape = wp.Tape()
            with tape:
                wp.launch(scaled, 1000, [x, 0], [y])
                fails(lambda: wp.launch(scaled, 1000, [x, FAR], [y]))
            tape.backward(grads={y: wp.ones(1000, dtype=float)})
            assert (x.grad.numpy() == 3.0).all()
            x.grad.zero_()

        @wp.kernel
        def nested(x: wp.array(dtype=float), at: wp.array(dtype=int), y: wp.array(dtype=float)):
            i = wp.tid()
            if at[0] > 0:
                y[i] = x[i + at[0]]

        at = wp.zeros(1, dtype=int)
        adjoint = dict(adj_inputs=[None, None], adj_outputs=[y.grad], adjoint=True)
        wp.launch(nested, 1000, [x, at], [y], **adjoint)
        at.fill_(FAR)
        fails(lambda: wp.launch(nested, 1000, [x, at], [y], **adjoint))
        works()
        """,
    )


def test_a_stack_that_is_too_small(tmp_path):
    run(
        tmp_path,
        """
        @wp.kernel
        def large(x: wp.array(dtype=float)):
            i = wp.tid()
            a = wp.zeros(shape=20_000, dtype=float)
            for k in range(i + 10):
                a[(k * 7919) % 20_000] += 1.0
            x[i] = a[0]

        fails_on_a_small_stack(lambda: wp.launch(large, 16, [wp.zeros(16, dtype=float)]), "stack")
        x = wp.zeros(16, dtype=float)
        wp.launch(large, 16, [x])
        assert (x.numpy() == 1.0).all()
        """,
    )


def test_compiling_on_a_small_stack(tmp_path):
    run(
        tmp_path,
        """
        @wp.kernel
        def large(x: wp.array(dtype=float), n: int):
            i = wp.tid()
            a = wp.zeros(shape=120_000, dtype=float)
            for k in range(n):
                a[(k * 7919 + i) % 120_000] += float(k)
            s = float(0.0)
            for k in range(n):
                s += a[(k * 13) % 120_000]
            x[i] = s

        fails_on_a_small_stack(lambda: wp.launch(large, 1, [wp.zeros(1, dtype=float), 5]), "its stack is full")
        """,
    )


def test_memory_below_a_stack_is_none_of_it(tmp_path):
    run(
        tmp_path,
        """
        (stack,) = (line for line in open("/proc/self/maps") if "[stack]" in line)
        below = int(stack.split("-")[0], 16) - (40 << 20)  # where nothing is
        x = wp.array(ptr=below, shape=1000, dtype=float)
        fails(lambda: wp.launch(stored, 1000, [x, 0, 5]), "inside `x`")
        works()
        """,
    )


FOREIGN = """
if {early}: faulthandler.enable()
x = wp.zeros(100, dtype=float)
fails(lambda: wp.launch(copied, 16, [x, None, 0]))
if {late}: faulthandler.enable()
if {again}: fails(lambda: wp.launch(stored, 16, [x, FAR, 0]))
works()
print("works", flush=True)
{crash}
"""


CRASH = "ctypes.string_at(0)"


@pytest.mark.parametrize("crash", [CRASH, f"threading.Thread(target=lambda: {CRASH}).start()"])
@pytest.mark.parametrize(("early", "late", "again"), [(1, 0, 1), (0, 0, 1), (0, 1, 1), (1, 1, 0), (0, 1, 0)])
def test_faults_elsewhere_end_the_process_as_before(tmp_path, early, late, again, crash):
    done = start(tmp_path, FOREIGN.format(early=early, late=late, again=again, crash=crash + "; time.sleep(60)"))
    assert done.returncode == -signal.SIGSEGV and done.stdout == "works\n"
    assert done.stderr.count("Fatal Python error: Segmentation fault") == (early or late)
    assert ("string_at" in done.stderr) == bool(early or late)


def test_a_handler_that_came_later_tells_first(tmp_path):
    program = """
    x = wp.zeros(100, dtype=float)
    wp.launch(copied, 16, [x, None, 16])
    faulthandler.enable()
    for _ in range(3):
        fails(lambda: wp.launch(copied, 16, [x, None, 0]))
    works()
    """
    done = start(tmp_path, program)
    assert done.returncode == 0 and done.stderr.count("Fatal Python error") <= 1


def test_a_signal_that_somebody_sends_is_no_fault(tmp_path):
    done = start(tmp_path, "works(); os.kill(os.getpid(), signal.SIGSEGV); time.sleep(60)")
    assert done.returncode == -signal.SIGSEGV
    handled = "signal.signal(signal.SIGBUS, lambda *_: print('heard')); works(); os.kill(os.getpid(), signal.SIGBUS)"
    assert run(tmp_path, handled + "; works()") == "heard"


def test_children_of_fork(tmp_path):
    run(
        tmp_path,
        """
        wp.config.num_threads = 2
        x = wp.zeros(100_000, dtype=float)
        for n in (16, 100_000):
            fails(lambda: wp.launch(copied, n, [x, None, 0]))
            for crash in (False, True):
                child = os.fork()
                if child == 0:
                    for _ in range(3):
                        fails(lambda: wp.launch(copied, n, [x, None, n // 2]))
                        fails(lambda: wp.launch(added, n, [x, FAR, n // 2]))
                        works()
                    if crash:
                        ctypes.string_at(0)
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == (signal.SIGSEGV if crash else 0)
            works()
        """,
    )


def test_files_that_have_become_shorter(tmp_path):
    run(
        tmp_path,
        f"""
        path = {str(tmp_path / "data")!r}
        np.zeros(100_000, dtype=np.float32).tofile(path)
        data = np.memmap(path, dtype=np.float32)
        os.truncate(path, 0)
        fails(lambda: wp.launch(copied, 16, [wp.zeros(100, dtype=float), data, 0]), "the file that is mapped there")
        works()
        """,
    )
