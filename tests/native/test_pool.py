"""The thread pool, seen through launches of a kernel that counts the visits of each thread index."""

import os
import signal
import threading

import numpy as np
import pytest

from omni.warp_core.lang.types import F64, I32, I64, Array
from tests.native.objects import count_plan, loop, native, plan_of


@pytest.fixture(autouse=True)
def restore_threads():
    before = native.get_num_threads()
    yield
    native.set_num_threads(before)


# x: array1<f64>, rounds: i32. Heavy: `rounds` dependent multiplications for each thread.
HEAVY = """
define void @kernel(ptr %args, ptr %dims, i64 %begin, i64 %end, ptr %context) {
entry:
  %x = load ptr, ptr %args
  %rp = getelementptr i8, ptr %args, i64 80
  %rounds = load i32, ptr %rp
  br label %check
check:
  %i = phi i64 [%begin, %entry], [%inext, %store]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %start, label %done
start:
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  br label %inner
inner:
  %k = phi i32 [0, %start], [%knext, %inner]
  %a = phi double [%v, %start], [%b, %inner]
  %b = fmul double %a, 0.9999999
  %knext = add i32 %k, 1
  %again = icmp slt i32 %knext, %rounds
  br i1 %again, label %inner, label %store
store:
  store double %b, ptr %p
  %inext = add i64 %i, 1
  br label %check
done:
  ret void
}"""


def heavy_plan():
    return plan_of(HEAVY, {"x": Array(F64), "rounds": I32})


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 1_000_003])
def test_every_index_runs_once(threads, n):
    native.set_num_threads(threads)
    assert native.get_num_threads() == threads
    plan = count_plan()
    x = np.zeros(n + 1, np.int64)
    for _ in range(5):
        plan.launch(n, [x])
    assert (x[:n] == 5).all()
    assert x[n] == 0


def test_chunks_begin_at_multiples_of_64():
    """Each thread index stores the begin of its chunk, so that the chunks can be looked at afterwards."""
    text = loop("  %p = getelementptr i64, ptr %x, i64 %i\n  store i64 %begin, ptr %p", "  %x = load ptr, ptr %args")
    native.set_num_threads(4)
    plan = plan_of(text, {"x": Array(I64)})
    x = np.zeros(1_000_003, np.int64)
    for _ in range(3):
        plan.launch(x.size, [x])
        assert (np.unique(x) % 64 == 0).all()


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_concurrent_launches_from_many_threads(threads):
    native.set_num_threads(threads)
    plan, errors = count_plan(), []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(40):
            x = np.zeros(int(rng.integers(1, 300_000)), np.int64)
            plan.launch(x.size, [x])
            if not (x == 1).all():
                errors.append(x.size)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert errors == []


def test_the_number_of_threads_may_change_while_launches_run():
    plan, stop, errors = count_plan(), threading.Event(), []

    def resize() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            native.set_num_threads(count % 7 + 1)

    resizer = threading.Thread(target=resize)
    resizer.start()
    for _ in range(100):
        x = np.zeros(200_000, np.int64)
        plan.launch(x.size, [x])
        if not (x == 1).all():
            errors.append(x)
    stop.set()
    resizer.join()
    assert errors == []


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_odd_thread_counts_are_refused(count):
    with pytest.raises(ValueError, match="between 1 and 1024"):
        native.set_num_threads(count)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_launches_too():
    native.set_num_threads(4)
    plan = count_plan()
    x = np.zeros(1_000_000, np.int64)
    plan.launch(x.size, [x])
    child = os.fork()
    if child == 0:
        plan.launch(x.size, [x])
        os._exit(0 if (x == 2).all() and native.get_num_threads() == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    plan.launch(x.size, [x])
    assert (x == 2).all()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_during_launches_of_other_threads():
    native.set_num_threads(4)
    plan, stop = count_plan(), threading.Event()

    def work() -> None:
        x = np.zeros(500_000, np.int64)
        while not stop.is_set():
            plan.launch(x.size, [x])

    worker = threading.Thread(target=work)
    worker.start()
    codes = []
    for _ in range(20):
        child = os.fork()
        if child == 0:
            y = np.zeros(300_000, np.int64)
            plan.launch(y.size, [y])
            os._exit(0 if (y == 1).all() else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    worker.join()
    assert codes == [0] * 20


def test_the_gil_is_released_during_long_launches():
    plan = heavy_plan()
    x = np.ones(100_000)
    plan.launch(1000, [x, 1000])
    ticks, running = 0, threading.Event()

    def launch() -> None:
        running.set()
        plan.launch(x.size, [x, 20_000])
        running.clear()

    worker = threading.Thread(target=launch)
    worker.start()
    running.wait()
    while running.is_set() and ticks < 1000:
        ticks += 1
    worker.join()
    assert ticks == 1000


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_launch(threads):
    native.set_num_threads(threads)
    plan = heavy_plan()
    x = np.ones(4_000_000)
    plan.launch(1000, [x, 1000])
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        plan.launch(x.size, [x, 100_000])  # minutes, if it ran to its end
    timer.join()
    assert (x == 1).any()
    y = np.ones(1000)
    plan.launch(1000, [y, 10])
    assert (y < 1).all()
