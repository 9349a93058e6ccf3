"""Graphs: what is captured runs when the graph is launched, and not before. NumPy is the judge of the results."""

import gc
import threading
import weakref

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.dispatch import capture


@wp.kernel
def add(x: wp.array(dtype=float), by: float):
    i = wp.tid()
    x[i] += by


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), by: float):
    i = wp.tid()
    y[i] = x[i] * by


@wp.kernel
def count_down(left: wp.array(dtype=int), rounds: wp.array(dtype=int)):
    left[0] -= 1
    rounds[0] += 1


@wp.kernel
def check(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 2.5, "too large"
    x[i] += 1.0


@wp.kernel
def power(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    p = float(x[i]) / x[i]
    for _ in range(n):
        p = p * x[i]
    y[i] = p


@pytest.fixture(autouse=True)
def no_capture_is_left(device):
    """Whatever happened in a test, the device works as before."""
    yield
    assert not device.is_capturing
    assert wp.ones(2, dtype=float).list() == [1.0, 1.0]


def test_a_simulation_is_the_same_with_and_without_a_graph(device):
    start = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    plain, captured = (wp.array(start, dtype=float) for _ in range(2))

    def step(x, y):
        for i in range(5):
            wp.launch(scale, dim=x.size, inputs=[x, y, 0.5 + i])
            wp.launch(add, dim=x.size, inputs=[y, 0.25])
            wp.copy(x, y)
            x[10:20] = y[30:40]
            wp.copy(x[::2], y[::2])
        y.zero_()

    for _ in range(3):
        step(plain, wp.zeros(1000, dtype=float))
    with wp.ScopedCapture() as capture:
        assert device.is_capturing == device.is_cuda
        step(captured, wp.zeros(1000, dtype=float))
    np.testing.assert_array_equal(captured.numpy(), start)
    for _ in range(3):
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(captured.numpy(), plain.numpy())


def test_memory_of_a_graph_lives_as_long_as_graph_and_array(device):
    with wp.ScopedCapture() as capture:
        inner = wp.full(100, 2.0, dtype=float)
        out = wp.empty(100, dtype=float)
        wp.launch(scale, dim=100, inputs=[inner, out, 3.0])
    alive = weakref.ref(inner)
    del inner
    gc.collect()
    wp.zeros(100, dtype=float)  # would take the memory, were it free
    wp.capture_launch(capture.graph)
    del capture
    gc.collect()
    assert alive() is None
    assert out.list() == [6.0] * 100


@wp.struct
class Source:
    values: wp.array(dtype=float)
    by: float


@wp.kernel
def gather(source: Source, where: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = source.by * source.values[i] + where[i]


@pytest.mark.parametrize("interpret", [False, pytest.param(True, marks=pytest.mark.cpu)])
def test_structs_are_those_of_the_moment_of_the_capture(interpret):
    """What is put into a struct later takes no memory away that the graph reads; nor that a recorded launch reads."""
    n = 20 if interpret else 200_000  # so large that what is freed is unmapped
    source = Source(values=wp.full(n, 3.0, dtype=float), by=2.0)
    where = wp.indexedarray(wp.full(n, 1.0, dtype=float), [wp.array(np.arange(n), dtype=int)])
    out = wp.zeros(n, dtype=float)
    command = wp.launch(gather, dim=n, inputs=[source, where, out], record_cmd=True, interpret=interpret)
    with wp.ScopedCapture() as capture:
        wp.launch(gather, dim=n, inputs=[source, where, out], interpret=interpret)
    source.values, source.by = None, 100.0
    gc.collect()
    for run in (command.launch, lambda: wp.capture_launch(capture.graph)):
        out.zero_()
        run()
        assert set(out.list()) == {7.0}


@wp.kernel
def gather_from(sources: wp.array(dtype=Source), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = sources[0].by * sources[0].values[i]


WRITES = {
    "fill": lambda sources, s: sources.fill_(s),
    "element": lambda sources, s: sources.__setitem__(0, s),
    "slice": lambda sources, s: sources.__setitem__(slice(1), [s]),
    "assign": lambda sources, s: sources.assign([s]),
}


@pytest.mark.cpu
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_captured_structs_point_to_lives_as_long_as_the_graph(write):
    n = 200_000  # so large that what is freed is unmapped
    source, other = (Source(values=wp.full(n, v, dtype=float), by=2.0) for v in (3.0, 4.0))
    sources, out = wp.zeros(1, dtype=Source), wp.zeros(n, dtype=float)
    with wp.ScopedCapture() as capture:
        write(sources, source)
        wp.launch(gather_from, dim=n, inputs=[sources, out])
    source.values = None
    sources.assign([other])
    gc.collect()
    wp.capture_launch(capture.graph)
    assert set(out.list()) == {6.0}


def test_data_is_that_of_the_moment_of_the_capture(device):
    values = np.array([1.0, 2.0], np.float32)
    x = wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        x[:] = values
        x[1] = 7.0
        made = wp.array(values, dtype=float)
        wp.launch(add, dim=2, inputs=[made, 1.0])
    values[:] = 100.0
    for _ in range(2):
        wp.capture_launch(capture.graph)
        assert x.list() == [1.0, 7.0]
        assert made.list() == [2.0, 3.0]


def test_recorded_launches_take_new_arguments_between_launches_of_the_graph(device):
    x, y = wp.zeros(4, dtype=float), wp.zeros(4, dtype=float)
    command = wp.launch(add, dim=2, inputs=[x, 1.0], record_cmd=True)
    with wp.ScopedCapture() as capture:
        command.launch()
        command.launch()
        wp.launch(scale, dim=4, inputs=[x, y, 2.0])
    wp.capture_launch(capture.graph)
    command.set_param_by_name("by", 5.0)
    wp.capture_launch(capture.graph)
    command.set_dim(3)
    wp.capture_launch(capture.graph)
    assert x.list() == [22.0, 22.0, 10.0, 0.0]
    assert y.list() == [44.0, 44.0, 20.0, 0.0]
    command.set_param_at_index(0, y)
    wp.capture_launch(capture.graph)
    assert x.list() == [22.0, 22.0, 10.0, 0.0]


@pytest.mark.parametrize("as_graph", [False, True])
def test_conditions_are_read_when_the_graph_runs(device, as_graph):
    x, choice = wp.zeros(1, dtype=float), wp.zeros(1, dtype=int)

    def part(value):
        def launches():
            x.fill_(value)

        if not as_graph:
            return launches
        with wp.ScopedCapture() as inner:
            launches()
        return inner.graph

    yes, no = part(1.0), part(2.0)
    with wp.ScopedCapture() as capture:
        wp.capture_if(choice, yes, no)
    with wp.ScopedCapture() as only:
        wp.capture_if(choice, on_true=yes)
    with wp.ScopedCapture() as both:
        wp.capture_if(choice, yes, no)
        wp.capture_if(choice, on_true=no)
    for number, expected in ((0, 2.0), (1, 1.0), (-5, 1.0)):
        choice.fill_(number)
        wp.capture_launch(capture.graph)
        assert x.list() == [expected]
        wp.capture_launch(both.graph)
        assert x.list() == [2.0]
    choice.zero_()
    x.fill_(9.0)
    wp.capture_launch(only.graph)
    assert x.list() == [9.0]


def test_a_condition_that_its_part_changes(device):
    choice, x = wp.ones(1, dtype=int), wp.zeros(1, dtype=float)

    def yes():
        choice.zero_()
        wp.launch(add, dim=1, inputs=[x, 1.0])

    with wp.ScopedCapture() as capture:
        wp.capture_if(choice, yes, lambda: wp.launch(add, dim=1, inputs=[x, 10.0]))
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0]
    wp.capture_launch(capture.graph)
    assert x.list() == [11.0]


def test_loops_in_graphs_and_outside(device):
    left, rounds = wp.full(1, 5, dtype=int), wp.zeros(1, dtype=int)

    def body(a, b):
        wp.launch(count_down, dim=1, inputs=[a, b])

    wp.capture_while(left, body, a=left, b=rounds)
    assert (left.list(), rounds.list()) == ([0], [5])
    with wp.ScopedCapture() as capture:
        left.fill_(3)
        wp.capture_while(left, body, a=left, b=rounds)
        wp.capture_while(left, body, a=left, b=rounds)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert (left.list(), rounds.list()) == ([0], [11])


def test_nested_conditions(device):
    outer, inner, total = wp.full(1, 3, dtype=int), wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)

    def round_():
        inner.fill_(4)
        temporary = wp.ones(1, dtype=int)
        wp.copy(temporary, inner)
        wp.capture_while(inner, lambda: wp.launch(count_down, dim=1, inputs=[inner, total]))
        wp.launch(count_down, dim=1, inputs=[outer, total])

    with wp.ScopedCapture() as capture:
        wp.capture_while(outer, round_)
    wp.capture_launch(capture.graph)
    assert total.list() == [15]


def test_a_graph_is_part_of_another(device):
    x = wp.zeros(3, dtype=float)
    command = wp.launch(add, dim=3, inputs=[x, 1.0], record_cmd=True)
    with wp.ScopedCapture() as inner:
        command.launch()
    with wp.ScopedCapture() as outer:
        for _ in range(3):
            wp.capture_launch(inner.graph)
    assert x.list() == [0.0] * 3
    wp.capture_launch(outer.graph)
    assert x.list() == [3.0] * 3
    command.set_param_by_name("by", 2.0)
    wp.capture_launch(inner.graph)
    assert x.list() == [5.0] * 3


def test_kernels_that_were_never_launched_are_captured(device):
    @wp.kernel
    def fresh(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = 7.0

    @wp.kernel
    def total(sum: wp.array(dtype=int)):
        wp.atomic_add(sum, 0, wp.tid())  # its grid is chosen when it is loaded

    x, sum = wp.zeros(3, dtype=float), wp.zeros(1, dtype=int)
    with wp.ScopedCapture(force_module_load=True) as capture:
        wp.launch(fresh, dim=3, inputs=[x])
        wp.launch(total, dim=100, inputs=[sum])
    wp.capture_launch(capture.graph)
    assert x.list() == [7.0] * 3
    assert sum.list() == [4950]


def test_arrays_that_are_dropped_during_a_capture_are_freed_after_it(device):
    """Memory goes back on the null stream, which the driver refuses while a stream in order with it captures."""
    x = wp.zeros(2, dtype=float)
    old = wp.zeros(1000, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=2, inputs=[x, 1.0])
        del old
        gc.collect()
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0, 1.0]


def test_graphs_that_are_dropped_during_a_capture(device):
    """The driver takes that for unsafe."""
    x = wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as old:
        wp.launch(add, dim=2, inputs=[x, 1.0])
    with wp.ScopedCapture() as capture:
        del old
        gc.collect()
        wp.launch(add, dim=2, inputs=[x, 2.0])
    wp.capture_launch(capture.graph)
    assert x.list() == [2.0, 2.0]


def test_adjoint_launches_are_captured(device):
    x = wp.array([2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.ScopedCapture() as capture:
        x.grad.zero_()
        y.grad.fill_(1.0)
        wp.launch(power, dim=2, inputs=[x, y, 3], adjoint=True)
    for values in ([2.0, 3.0], [1.0, -2.0]):
        x.assign(values)
        wp.capture_launch(capture.graph)
        assert x.grad.list() == [3.0 * v**2 for v in values]


@pytest.mark.cpu
def test_other_threads_are_not_captured():
    x, done = wp.zeros(1, dtype=float), []

    def work():
        wp.launch(add, dim=1, inputs=[x, 1.0])
        done.append(x.list())

    wp.capture_begin()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(wp.capture_end()) == 0
    assert done == [[1.0]]


def test_a_failing_kernel_is_told_and_the_graph_lives_on(device):
    x = wp.zeros(2, dtype=float)
    wp.config.mode = "debug"
    try:
        with wp.ScopedCapture() as capture:
            wp.launch(check, dim=2, inputs=[x])
            wp.launch(add, dim=2, inputs=[x, 1.0])
    finally:
        wp.config.mode = "release"
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    with pytest.raises(wp.KernelError, match="too large"):
        wp.capture_launch(capture.graph)
    if device.is_cpu:  # a GPU goes on to the end of the graph
        assert x.list() == [4.0, 4.0]
    x.zero_()
    wp.capture_launch(capture.graph)
    assert x.list() == [2.0, 2.0]


def test_an_exception_in_the_block_ends_the_capture(device):
    x = wp.zeros(2, dtype=float)
    with pytest.raises(KeyError), wp.ScopedCapture() as capture:
        wp.capture_if(wp.ones(1, dtype=int), lambda: {}["missing"])
    assert capture.graph is None
    x.fill_(1.0)
    assert x.list() == [1.0, 1.0]


@pytest.mark.cpu
def test_interpreted_launches_are_captured():
    x = wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=2, inputs=[x, 1.0], interpret=True)
    assert x.list() == [0.0, 0.0]
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0, 1.0]


@pytest.mark.cpu
def test_drawing(tmp_path):
    x, more = wp.zeros(2, dtype=float), wp.zeros(1, dtype=int)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=2, inputs=[x, 1.0])
        wp.capture_while(more, lambda: x.fill_(1.0))
    wp.capture_debug_dot_print(capture.graph, str(tmp_path / "graph.dot"))
    text = (tmp_path / "graph.dot").read_text()
    assert 'n0 [label="add 2"]' in text
    assert "n0 -> n1" in text
    assert "cluster_n1_0" in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: wp.capture_end(), RuntimeError, "wp.capture_begin"),
        (lambda: wp.capture_launch(None), TypeError, "expected a graph, got NoneType"),
        (lambda: wp.capture_launch(wp.ScopedCapture()), TypeError, ".graph"),
        (lambda: wp.capture_if(wp.zeros(1, dtype=float)), TypeError, "array of int32"),
        (lambda: wp.capture_if(3), TypeError, "got int"),
        (lambda: wp.capture_while(wp.zeros(0, dtype=int), print), ValueError, "no elements"),
        (lambda: wp.capture_while(wp.zeros(1, dtype=int), None), TypeError, "while_body"),
        (lambda: wp.capture_debug_dot_print(1, "x"), TypeError, "expected a graph"),
        (lambda: wp.capture_begin(stream=5), TypeError, "stream: expected a wp.Stream, got int"),
        (lambda: wp.ScopedCapture(stream="x"), TypeError, "stream: expected a wp.Stream, got str"),
        (lambda: wp.capture_launch(wp.Graph(), stream=5), TypeError, "stream: expected a wp.Stream, got int"),
        (lambda: wp.ScopedStream(5), TypeError, "stream: expected a wp.Stream, got int"),
        pytest.param(
            lambda: wp.capture_begin(device="cuda"), (RuntimeError, ValueError), "cuda", marks=pytest.mark.cpu
        ),
    ],
)
def test_mistakes(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_a_capture_does_not_end_within_a_condition():
    x, yes = wp.zeros(1, dtype=float), wp.ones(1, dtype=int)
    with pytest.raises(RuntimeError, match="the branch of a condition is being captured here"), wp.ScopedCapture():
        wp.capture_if(yes, wp.capture_end)
    x.fill_(3.0)
    assert x.list() == [3.0]


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.numpy(),
        lambda x: x.list(),
        lambda x: x[0],
        lambda x: float(x[1]),
        lambda x: wp.synchronize(),
        lambda x: wp.utils.array_sum(x),
    ],
)
def test_results_cannot_be_read_before_there_are_any(read):
    x = wp.zeros(2, dtype=float)
    with pytest.raises(RuntimeError, match="while a graph is captured"), wp.ScopedCapture():
        read(x)


ALGORITHMS = {
    "sum": (lambda x, y: wp.utils.array_sum(x, out=y[:1]), lambda x: [x.sum()]),
    "sum along an axis": (
        lambda x, y: wp.copy(y, wp.utils.array_sum(x.reshape((2, 2)), axis=1).flatten()),
        lambda x: x.reshape(2, 2).sum(axis=1),
    ),
    "inner product": (lambda x, y: wp.utils.array_inner(x, x, out=y[:1]), lambda x: [(x * x).sum()]),
    "scan": (lambda x, y: wp.utils.array_scan(x, y), np.cumsum),
    "scan with gaps": (lambda x, y: wp.utils.array_scan(x[::2], y[::2]), lambda x: [x[0], 0.0, x[0] + x[2]]),
    "cast": (lambda x, y: wp.utils.array_cast(x, y), lambda x: x),
    "product": (
        lambda x, y: wp.matmul(*(a.reshape((2, 2)) for a in (x, x, y, y))),
        lambda x: (x.reshape(2, 2) @ x.reshape(2, 2)).ravel(),
    ),
    "operator": (lambda x, y: wp.copy(y, (x.reshape((2, 2)) @ x[:2])), lambda x: x.reshape(2, 2) @ x[:2]),
    "arithmetic": (lambda x, y: wp.copy(y, 2.0 * x - x), lambda x: x),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_are_captured(name):
    work, judge = ALGORITHMS[name]
    x, y = wp.array([3.0, 1.0, 2.0, 4.0], dtype=float), wp.zeros(4, dtype=float)
    with wp.ScopedCapture() as capture:
        work(x, y)
    assert y.list() == [0.0] * 4
    for values in ([3.0, 1.0, 2.0, 4.0], [-1.0, 0.5, 8.0, 2.0]):
        x.assign(values)
        wp.capture_launch(capture.graph)
        expected = np.asarray(judge(np.array(values)))
        np.testing.assert_allclose(y.numpy()[: expected.size], expected)


def test_sorts_are_captured():
    keys, values = wp.zeros(8, dtype=int), wp.zeros(8, dtype=int)
    starts = wp.array([0, 2, 4], dtype=int)
    with wp.ScopedCapture() as capture:
        wp.utils.radix_sort_pairs(keys, values, 4)
    with wp.ScopedCapture() as segmented:
        wp.utils.segmented_sort_pairs(keys, values, 4, starts)
    for given in ([3, 1, 2, 0], [5, 9, 7, 8]):
        keys[:4] = given
        values[:4] = [0, 1, 2, 3]
        wp.capture_launch(capture.graph)
        assert keys.list()[:4] == sorted(given)
        assert values.list()[:4] == np.argsort(given).tolist()
    keys[:4] = [4, 3, 2, 1]
    wp.capture_launch(segmented.graph)
    assert keys.list()[:4] == [3, 4, 1, 2]
    starts.assign([1, 4, 4])
    keys[:4] = [4, 3, 2, 1]
    wp.capture_launch(segmented.graph)
    assert keys.list()[:4] == [4, 1, 2, 3]


def test_run_lengths_are_captured():
    x, values, lengths, count = (wp.zeros(n, dtype=int) for n in (5, 5, 5, 1))
    with wp.ScopedCapture() as capture:
        wp.utils.runlength_encode(x, values, lengths, count)
    for given in ([1, 1, 2, 2, 2], [7, 7, 7, 7, 7]):
        x.assign(given)
        wp.capture_launch(capture.graph)
        runs, counts = np.unique(given, return_counts=True)
        n = count.list()[0]
        assert (values.list()[:n], lengths.list()[:n]) == (runs.tolist(), counts.tolist())


def test_arrays_made_of_data_are_filled_again():
    out = wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        x = wp.array([1.0, 2.0], dtype=float)
        wp.launch(add, dim=2, inputs=[x, 1.0])
        wp.copy(out, x)
    for _ in range(2):
        wp.capture_launch(capture.graph)
        assert out.list() == [2.0, 3.0]


@pytest.mark.parametrize(
    "work",
    [
        lambda x: wp.utils.array_sum(x),
        lambda x: wp.utils.runlength_encode(*(wp.zeros(4, dtype=int) for _ in range(3))),
        lambda x: x[wp.array([1, 0], dtype=int)].fill_(1.0),
        lambda x: x[wp.array([1, 0], dtype=int)].numpy(),
    ],
)
def test_what_needs_results_at_once_is_refused(work):
    x = wp.zeros(4, dtype=float)
    with pytest.raises(RuntimeError, match="while a graph is captured"), wp.ScopedCapture():
        work(x)
    assert x.list() == [0.0] * 4


@pytest.mark.cpu
def test_a_thread_that_ends_captures_no_longer():
    worker = threading.Thread(target=wp.capture_begin)
    worker.start()
    worker.join()
    del worker
    gc.collect()
    assert not capture.active()


@pytest.mark.cpu
def test_graphs_lie_in_each_other_to_a_depth():
    x = wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=1, inputs=[x, 1.0])
    with pytest.raises(ValueError, match="to a depth of 1000"):
        for _ in range(1001):
            graph = capture.graph
            with wp.ScopedCapture() as capture:
                wp.capture_launch(graph)
    wp.capture_launch(graph)
    assert x.list() == [1.0]


def test_two_captures_of_one_thread():
    wp.capture_begin()
    try:
        with pytest.raises(RuntimeError, match="is capturing a graph already"):
            wp.capture_begin()
    finally:
        wp.capture_end()


def test_a_tape_does_not_see_graphs():
    with wp.ScopedCapture() as capture:
        wp.zeros(1, dtype=float)
    with wp.Tape(), pytest.raises(RuntimeError, match="a tape cannot record"):
        wp.capture_launch(capture.graph)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("given", [lambda x, n: x.assign(n), lambda x, n: x.__setitem__(..., n)], ids=["assign", "set"])
def test_numbers_are_those_of_the_capture(given, dtype):
    x, numbers = wp.zeros(4, dtype=float), np.ones(4, dtype)
    with wp.ScopedCapture() as captured:
        given(x, numbers)
    numbers[:] = 5.0
    wp.capture_launch(captured.graph)
    assert x.list() == [1.0] * 4
