"""Kernels that race, in the dialect of warp-lang: their threads run one after the other. NumPy and loops judge."""

import warnings

import numpy as np
import pytest

import omni.warp_core as wp

N = 20_000
Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)
X = np.random.default_rng(1).random(N).astype(np.float32)


@pytest.fixture(autouse=True)
def dialect(monkeypatch):
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")


@wp.kernel
def chain(a: Floats):
    i = wp.tid()
    if i > 0:
        a[i] = a[i - 1] + 1.0


@wp.kernel
def histogram(keys: Ints, counts: Ints):
    k = keys[wp.tid()]
    counts[k] = counts[k] + 1


@wp.kernel
def matches(x: Ints, count: Ints):
    if x[wp.tid()] == 3:
        count[0] = count[0] + 1


@wp.kernel
def largest(x: Floats, most: Floats):
    most[0] = wp.max(most[0], x[wp.tid()])


@wp.kernel
def row_sums(x: wp.array2d(dtype=float), sums: Floats):
    i, j = wp.tid()
    sums[i] = sums[i] + x[i, j]


@wp.kernel
def squares(x: Floats, loss: Floats, count: Ints):
    i = wp.tid()
    loss[0] = loss[0] - 2.0 * x[i] + x[i] * x[i] + 2.0 * x[i]
    count[0] = count[0] - 1


@wp.kernel
def add_forces(
    rows: Ints,
    columns: Ints,
    forces: wp.array2d(dtype=wp.vec3),
    total: wp.array2d(dtype=wp.vec3),
    counts: Ints,
    add: bool,
):
    i, j = wp.tid()
    row, column = rows[i], columns[j]
    if add:
        if total:
            total[row, column] = total[row, column] + wp.cross(wp.vec3(0.0, 0.0, 2.0), forces[i, j])
        counts[0] = counts[0] + row


@wp.kernel
def tickets(total: Ints, seen: Ints):
    i = wp.tid()
    total[0] = total[0] + 1
    seen[i] = total[0]


@wp.kernel
def twice(total: Ints, seen: Ints):
    i = wp.tid()
    was = total[0]
    total[0] = was + 1
    seen[i] = was * 2


@wp.kernel
def running(x: Floats, y: Floats):
    i = wp.tid()
    if i > 0:
        y[i] = y[i - 1] + x[i]


@wp.kernel
def newton_step(x: Floats):
    x[0] = x[0] - (x[0] * x[0] - 2.0) / (2.0 * x[0])


def _launched(kernel, dim, args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        wp.launch(kernel, dim=dim, inputs=args, device="cpu", **options)


def test_threads_see_what_earlier_ones_wrote():
    a = wp.zeros(N, dtype=float, device="cpu")
    _launched(chain, N, [a])
    assert np.array_equal(a.numpy(), np.arange(N))
    keys = np.random.default_rng(2).integers(0, 7, N).astype(np.int32)
    counts, count = wp.zeros(7, dtype=int, device="cpu"), wp.zeros(1, dtype=int, device="cpu")
    _launched(histogram, N, [keys, counts])
    _launched(matches, N, [keys, count])
    assert counts.list() == np.bincount(keys).tolist() and count.list() == [(keys == 3).sum()]
    most, sums = wp.zeros(1, dtype=float, device="cpu"), wp.zeros(100, dtype=float, device="cpu")
    _launched(largest, N, [X, most])
    _launched(row_sums, (100, 200), [X.reshape(100, 200), sums])
    assert most.list() == [X.max()]
    assert np.allclose(sums.numpy(), X.reshape(100, 200).sum(axis=1, dtype=np.float64), rtol=1e-5)


def test_sums_at_indices_from_arrays_keep_all_terms():
    """They may be permutations, of which no term is lost, so that nothing is told."""
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, 3, 100).astype(np.int32), rng.integers(0, 5, 90).astype(np.int32)
    forces = rng.random((100, 90, 3)).astype(np.float32)
    total = wp.zeros((3, 5), dtype=wp.vec3, device="cpu", requires_grad=True)
    given = wp.array(forces, dtype=wp.vec3, device="cpu", requires_grad=True)
    counts = wp.zeros(1, dtype=int, device="cpu")
    with wp.Tape() as tape, warnings.catch_warnings():
        warnings.simplefilter("error", wp.KernelWarning)
        wp.launch(add_forces, dim=(100, 90), inputs=[rows, columns, given, total, counts, True], device="cpu")
    wanted, axis = np.zeros((3, 5, 3)), [0.0, 0.0, 2.0]
    np.add.at(wanted, (rows[:, None], columns[None, :]), np.cross(axis, forces.astype(np.float64)))
    np.testing.assert_allclose(total.numpy(), wanted, rtol=1e-5)
    assert counts.list() == [90 * int(rows.sum())]
    weights = rng.random((3, 5, 3)).astype(np.float32)
    tape.backward(grads={total: wp.array(weights, dtype=wp.vec3, device="cpu")})
    np.testing.assert_array_equal(given.grad.numpy(), np.cross(weights[rows[:, None], columns[None, :]], axis))


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint8, wp.int16, wp.int64, wp.float16, wp.float64, wp.mat22, wp.quat])
def test_sums_of_all_types(dtype):
    def scatter(keys: Ints, x: wp.array(dtype=dtype), sums: wp.array(dtype=dtype)):
        i = wp.tid()
        sums[keys[i]] = x[i] + sums[keys[i]]

    x = wp.full(60, dtype(*[1] * 4) if dtype in (wp.mat22, wp.quat) else 1, dtype=dtype, device="cpu")
    sums = wp.zeros(3, dtype=dtype, device="cpu")
    _launched(wp.Kernel(scatter, key=f"scatter_{dtype.__name__}"), 60, [np.arange(60, dtype=np.int32) % 3, x, sums])
    assert (np.asarray(sums.numpy(), dtype=np.float64) == 20.0).all()


def test_the_warning_says_so_at_the_line():
    kernel = wp.Kernel(chain.func, key="another_chain")
    with pytest.warns(wp.KernelWarning, match=r"one after the other as in warp-lang[\s\S]*serial=False") as told:
        wp.launch(kernel, dim=2, inputs=[wp.zeros(2, dtype=float, device="cpu")], device="cpu")
    assert told[0].filename == __file__ and told[0].lineno == chain.func.__code__.co_firstlineno + 4


def test_programs_may_ask_for_threads_in_any_order():
    a, b = wp.zeros(N, dtype=float, device="cpu"), wp.zeros(N, dtype=float, device="cpu")
    _launched(chain, N, [a], serial=False)
    _launched(wp.Kernel(chain.func, key="parallel_chain", options={"serial": False}), N, [b])
    wanted = np.arange(N)
    assert not np.array_equal(a.numpy(), wanted) and not np.array_equal(b.numpy(), wanted)


def test_lost_sums_are_atomic_additions_with_gradients():
    """The gradient of a sum of squares is twice the numbers, beside a counter of whole numbers."""
    x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu", requires_grad=True)
    loss, count = wp.zeros(1, dtype=float, device="cpu", requires_grad=True), wp.zeros(1, dtype=int, device="cpu")
    with wp.Tape() as tape, warnings.catch_warnings():
        warnings.simplefilter("error", wp.KernelWarning)  # they run side by side
        wp.launch(squares, dim=3, inputs=[x, loss, count], device="cpu")
    tape.backward(loss)
    assert loss.list() == [14.0] and count.list() == [-3] and x.grad.list() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("kernel", [tickets, twice], ids=["tickets", "twice"])
def test_sums_that_a_kernel_reads_besides_keep_their_order(kernel):
    total, seen = wp.zeros(1, dtype=int, device="cpu"), wp.zeros(N, dtype=int, device="cpu")
    _launched(kernel, N, [total, seen])
    values = [0]

    def run(i):
        was = values[0]
        values[0] = was + 1
        return values[0] if kernel is tickets else was * 2

    assert seen.list() == [run(i) for i in range(N)] and total.list() == [N]


def test_a_gradient_through_what_threads_read_of_others_is_refused():
    a = wp.zeros(3, dtype=float, device="cpu", requires_grad=True)
    with wp.Tape(), pytest.raises(wp.CompileError, match="may read what an earlier thread wrote: no gradient yet"):
        _launched(chain, 3, [a])


def test_threads_without_an_index_go_on_from_what_earlier_ones_left():
    x = wp.array([3.0], dtype=float, device="cpu")
    wp.launch(newton_step, dim=4, inputs=[x], device="cpu")
    wanted = np.float32(3.0)
    for _ in range(4):
        wanted -= (wanted * wanted - 2) / (2 * wanted)
    assert x.numpy()[0] == pytest.approx(wanted, abs=2e-7)
    y = wp.array([3.0], dtype=float, device="cpu")
    wp.launch(newton_step, dim=4, inputs=[y], device="cpu", serial=False)
    assert y.numpy()[0] == pytest.approx(3 - 7 / 6, abs=1e-6), "threads side by side make the same step"


def test_one_thread_without_an_index_has_a_gradient_and_more_are_refused():
    x = wp.array([3.0], dtype=float, device="cpu", requires_grad=True)
    with wp.Tape() as tape:
        for _ in range(3):  # later launches are recorded like the first one
            wp.launch(newton_step, dim=1, inputs=[x], device="cpu")
        with pytest.raises(wp.CompileError, match="may read what an earlier thread wrote: no gradient yet"):
            wp.launch(newton_step, dim=(2, 2), inputs=[x], device="cpu")
    x.grad.fill_(1.0)
    tape.backward()
    steps, slope = [3.0], 1.0
    for _ in range(3):
        slope *= 0.5 - 1 / steps[-1] ** 2  # of x / 2 + 1 / x
        steps.append(steps[-1] / 2 + 1 / steps[-1])
    assert x.grad.numpy()[0] == pytest.approx(slope, rel=1e-5)


def test_the_order_of_threads_may_be_set_between_two_gradients(monkeypatch):
    x = wp.array([3.0], dtype=float, device="cpu", requires_grad=True)
    monkeypatch.setattr(wp.config, "dialect", "python")
    kernel = wp.Kernel(newton_step.func, key="a_step")
    with wp.Tape():
        wp.launch(kernel, dim=2, inputs=[x], device="cpu")
    monkeypatch.setattr(wp.config, "serial", True)
    with wp.Tape(), pytest.raises(wp.CompileError, match="may read what an earlier thread wrote: no gradient yet"):
        wp.launch(kernel, dim=2, inputs=[x], device="cpu")


def test_tangents_run_in_the_same_order():
    x, y = wp.array(X, dtype=float, device="cpu"), wp.zeros(N, dtype=float, device="cpu")
    (tangents,) = wp.jvp(running, dim=N, inputs=[x], outputs=[y], tangents=[wp.array(X[::-1].copy(), dtype=float)])
    assert np.array_equal(tangents.numpy()[1:], np.cumsum(X[::-1][1:], dtype=np.float32))


def test_an_index_that_is_computed_in_many_steps():
    """Comparing two such indices must not follow each use of each step: there are 2 ** 60 ways through them."""
    steps = "".join("    {0} = {0} + {0} * m\n" for _ in range(60))
    text = (
        "import omni.warp_core as wp\n@wp.kernel\n"
        "def k(a: wp.array(dtype=float), keys: wp.array(dtype=int), m: int):\n"
        f"    p = keys[wp.tid()]\n{steps.format('p')}    q = keys[wp.tid()]\n{steps.format('q')}"
        "    a[p] = a[q] + 1.0\n"
    )
    a = wp.zeros(3, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wp.launch(wp.kernel_from_source(text), 5, inputs=[a, wp.array([2, 0, 2, 2, 0], dtype=int), 0])
    assert a.list() == [2.0, 0.0, 3.0]
