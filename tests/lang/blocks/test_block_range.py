"""Iterations that the threads of a block share, `wp.block_range`: what they compute is judged by NumPy, and by the
interpreter of the IR.
"""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import F32
from omni.warp_core.passes import pipeline
from omni.warp_core.passes.barrier_fission import split

BLOCK_DIMS = (1, 3, 16, 33, 64)


@wp.kernel
def softmax(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    """No operation of a thread: all is done once for the block."""
    row, n = wp.block_index(), x.shape[1]
    most = wp.shared_array(shape=1, dtype=float)
    parts = wp.shared_array(shape=16, dtype=float)
    most[0] = x[row, 0]
    for i in wp.block_range(n):
        wp.atomic_max(most, 0, x[row, i])
    for q in wp.block_range(16):
        total = 0.0
        for i in range(q, n, 16):
            total += wp.exp(x[row, i] - most[0])
        parts[q] = total
    total = 0.0
    for q in range(16):
        total += parts[q]
    for i in wp.block_range(n):
        y[row, i] = wp.exp(x[row, i] - most[0]) / total


@pytest.mark.parametrize("n", [1, 5, 16, 33, 100])
@pytest.mark.parametrize("interpret", [False, True])
def test_rows_against_numpy(n, interpret):
    x = np.random.default_rng(n).normal(size=(7, n)).astype(np.float32)
    judge = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    judge /= judge.sum(1, keepdims=True)
    found = []
    for block_dim in BLOCK_DIMS[: 2 if interpret else None]:
        y = wp.zeros((7, n), dtype=float)
        wp.launch(softmax, 7 * block_dim, [x, y], block_dim=block_dim, interpret=interpret)
        np.testing.assert_allclose(y.numpy(), judge, rtol=2e-6)
        found.append(y.numpy())
    assert all((f == found[0]).all() for f in found), "the size of blocks changes the result"


@wp.kernel
def ranges(out: wp.array2d(dtype=int), start: int, stop: int, step: int):
    for i in wp.block_range(stop):
        out[0, i] = 1
    for i in wp.block_range(start, stop):
        out[1, i] = 1
    for i in wp.block_range(start, stop, step):
        out[2, i] = 1
    for i in wp.block_range(stop - 1, start - 1, -3):
        out[3, i] = 1
    for i in wp.block_range(20, 3, -7):
        out[4, i] = 1
    for i in wp.block_range(stop, start):
        out[5, i] = 1


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize(("start", "stop", "step"), [(0, 40, 1), (3, 37, 2), (5, 6, 9), (7, 7, 3), (2, 39, -1)])
def test_ranges_as_in_python(start, stop, step, interpret):
    expected = np.zeros((6, 40), dtype=int)
    spans = range(stop), range(start, stop), range(start, stop, step), range(stop - 1, start - 1, -3), range(20, 3, -7)
    for row, span in enumerate((*spans, range(stop, start))):
        expected[row, list(span)] = 1
    for block_dim in (1, 4):
        out = wp.zeros((6, 40), dtype=int)
        wp.launch(ranges, block_dim, [out, start, stop, step], block_dim=block_dim, interpret=interpret)
        np.testing.assert_array_equal(out.numpy(), expected)


@wp.kernel
def grids(out: wp.array(dtype=int, ndim=4), n: int, m: int):
    for i, j in wp.block_range(n, m):
        out[0, 0, i, j] += 1
    for i, j, k in wp.block_range(2, n, m):
        out[1, i, j, k] += 10 * i + j
    for h, i, j, k in wp.block_range(2, 3, n, m):
        if j == 1:
            continue
        out[h + 2, i, j, k] += 100 * h + 10 * i + k
    for i, j in wp.block_range(5, 3):
        out[4, 0, i, j] += 1
    for i, j in wp.block_range(n - 9, m):
        out[4, 1, i, j] += 1


@pytest.mark.parametrize("interpret", [False, True])
def test_grids(interpret):
    h, i, j, k = np.indices((5, 3, 8, 18))
    n, m = 8, 18
    expected = np.where((h == 0) & (i == 0), 1, 0) + np.where((h == 1) & (i < 2), 10 * i + j, 0)
    expected += np.where(((h == 2) | (h == 3)) & (j != 1), 100 * (h - 2) + 10 * i + k, 0)
    expected += np.where((h == 4) & (i == 0) & (j < 5) & (k < 3), 1, 0)
    for block_dim in (1, 7):
        out = wp.zeros((5, 3, n, m), dtype=int)
        wp.launch(grids, block_dim, [out, n, m], block_dim=block_dim, interpret=interpret)
        np.testing.assert_array_equal(out.numpy(), expected)


# -- beside the code of threads ---------------------------------------------------------------------------------------


@wp.kernel
def between(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i, t = wp.tid(), wp.thread_index()
    n = wp.block_dim()
    s = wp.shared_array(shape=n, dtype=float)
    sums = wp.shared_array(shape=n, dtype=float)
    s[t] = x[i]
    scale = x[0] + float(n)
    for _ in range(3):
        for k in wp.block_range(n):
            sums[k] = s[k] * scale + s[n - 1 - k]
        s[t] = sums[t] + float(t)
        if sums[0] > 100.0:
            s[t] -= sums[0]
    y[i] = s[t]


@wp.kernel
def uniform_from_a_segment(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """A value of the block that threads compute beside effects of their own."""
    i, t = wp.tid(), wp.thread_index()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    count = 0
    if wp.block_index() >= 0:
        wp.atomic_add(y, i, x[i])
        count = 2 + wp.block_index()
    else:
        count = 3
        y[i] = 4.0
    for k in wp.block_range(wp.block_dim() - 1):
        s[k] = float(k * count)
    more = count + 1
    for _ in range(more):
        wp.syncthreads()
        y[i] += 1.0
    if t < wp.block_dim() - 1:
        y[i] += s[t]


@wp.kernel
def in_order(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """What is done once keeps its place among what the only thread of a block does."""
    s = wp.shared_array(shape=2, dtype=float)
    i = wp.tid()
    s[0] = x[i]
    first = s[0]
    s[0] = 5.0
    s[1] = s[0] + first
    if s[1] > 7.0:
        s[0] = 6.0
    y[i] = s[0] + 10.0 * s[1] + 100.0 * first
    for k in wp.block_range(2):
        s[k] += 1.0
    y[i] += s[0] + s[1]


@wp.kernel
def own_locals(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    n, first = wp.block_dim(), wp.block_index() * wp.block_dim()
    for k in wp.block_range(n):
        seen = wp.zeros(shape=4, dtype=float)
        v = wp.vec3(x[first + k], 1.0, 2.0)
        for j in range(9):
            seen[(k + j) % 4] += v[j % 3]
            if seen[j % 4] > 40.0:
                break
        v[k % 3] = seen[1]
        y[first + k] = seen[0] - seen[2] + v[0] * v[1]


CASES = [(k, n) for k in (between, uniform_from_a_segment, own_locals) for n in (1, 5, 32, 40)]
CASES.append((in_order, 1))  # more threads would race


def interpreted(kernel, x, block_dim):
    """What a kernel leaves in its second array, by the interpreter, before and after the passes."""
    fn = lower_kernel(kernel, block_dim)
    forms = [fn, pipeline.run(fn, pipeline.PassOptions(contract=False))]
    forms.append(split(forms[1]))
    results = []
    for form in forms:
        verify(form)
        given, out = interp.MemArray(F32, (len(x),), list(x)), interp.MemArray(F32, (len(x),))
        interp.run_kernel(form, [given, out], len(x))
        results.append(out.values())
    assert all(r == results[0] for r in results)
    return results[0]


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")
@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize(("kernel", "block_dim"), CASES, ids=lambda x: getattr(x, "name", x))
def test_compiled_like_interpreted(kernel, block_dim, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    x = [float(i * 37 % 17 + 1) for i in range(3 * block_dim)]
    y = wp.zeros(len(x), dtype=float)
    wp.launch(kernel, len(x), [wp.array(x, dtype=float), y], block_dim=block_dim)
    assert y.list() == interpreted(kernel, x, block_dim)
    plain = wp.zeros(len(x), dtype=float)
    if block_dim < 32:
        wp.launch(kernel, len(x), [wp.array(x, dtype=float), plain], block_dim=block_dim, interpret=True)
        assert plain.list() == y.list()


def test_blocks_that_are_not_whole():
    @wp.kernel
    def counted(out: wp.array2d(dtype=int)):
        for i in wp.block_range(out.shape[1]):
            wp.atomic_add(out, wp.block_index(), i, 1)

    for interpret in (False, True):
        out = wp.zeros((3, 20), dtype=int)
        wp.launch(counted, 17, [out], block_dim=8, interpret=interpret)
        assert (out.numpy() == 1).all()


def test_a_failure_in_an_iteration_names_the_line(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")

    @wp.kernel
    def beyond(out: wp.array(dtype=int), n: int):
        for i in wp.block_range(n):
            out[i] = 1

    out = wp.zeros(20, dtype=int)
    with pytest.raises(wp.KernelError, match="index 20 is out of range") as caught:
        wp.launch(beyond, 8, [out, 21], block_dim=8)
    assert "out[i] = 1" in str(caught.value)


# -- races ------------------------------------------------------------------------------------------------------------


@wp.kernel
def meets_its_neighbour(x: wp.array(dtype=float)):
    s = wp.shared_array(shape=9, dtype=float)
    for i in wp.block_range(9):
        s[i] = 0.0
    for i in wp.block_range(8):
        s[i] = s[i + 1] + 1.0
    x[0] = s[0]


@wp.kernel
def meets_a_sum(x: wp.array(dtype=float)):
    s = wp.shared_array(shape=1, dtype=float)
    s[0] = 0.0
    for i in wp.block_range(9):
        s[0] = s[0] * 0.5 + float(i)
    x[0] = s[0]


@pytest.mark.parametrize("kernel", [meets_its_neighbour, meets_a_sum], ids=lambda k: k.name)
def test_races_between_iterations_are_told(kernel):
    for block_dim in (1, 4):
        with pytest.raises(RuntimeError, match=r"iterations \d and \d of a block meet at s\[\d\] without a barrier"):
            wp.launch(kernel, block_dim, [wp.zeros(1, dtype=float)], block_dim=block_dim, interpret=True)
        with pytest.raises(interp.Race, match=r"iterations \d and \d of a block meet at element \d of a shared array"):
            interp.run_kernel(lower_kernel(kernel, block_dim), [interp.MemArray(F32, (1,))], block_dim)


# -- tiled launches ---------------------------------------------------------------------------------------------------


@wp.kernel
def of_block(out: wp.array2d(dtype=int)):
    i = wp.tid()
    for j in wp.block_range(5):
        out[i, j] += 10 * i + j


@wp.kernel
def of_block_2d(out: wp.array3d(dtype=int)):
    i, j = wp.tid()
    for k in wp.block_range(5):
        out[i, j, k] += 100 * i + 10 * j + k


@wp.kernel
def of_block_and_thread(out: wp.array2d(dtype=int)):
    i, t = wp.tid()
    s = wp.shared_array(shape=5, dtype=int)
    for k in wp.block_range(5):
        s[k] = 10 * i + k
    out[i, t] = s[t % 5] + 1000 * t


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")
@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("block_dim", [1, 4, 40])
def test_indices_of_tiled_launches(block_dim, interpret):
    how = {"block_dim": block_dim, "interpret": interpret}
    i, j, k = np.indices((2, 3, 5))
    for launch, tail in ((wp.launch_tiled, []), (wp.launch, [block_dim])):
        out = wp.zeros((3, 5), dtype=int)
        launch(of_block, dim=[3, *tail], inputs=[out], **how)
        np.testing.assert_array_equal(out.numpy(), 10 * j[0] + k[0])
        out = wp.zeros((2, 3, 5), dtype=int)
        launch(of_block_2d, dim=[2, 3, *tail], inputs=[out], **how)
        np.testing.assert_array_equal(out.numpy(), 100 * i + 10 * j + k)
        out = wp.zeros((3, block_dim), dtype=int)
        launch(of_block_and_thread, dim=[3, *tail], inputs=[out], **how)
        t = np.arange(block_dim)
        np.testing.assert_array_equal(out.numpy(), 10 * np.arange(3)[:, None] + t % 5 + 1000 * t)


def test_a_recorded_tiled_launch_keeps_its_blocks():
    out = wp.zeros((6, 5), dtype=int)
    command = wp.launch_tiled(of_block, dim=3, inputs=[out], block_dim=4, record_cmd=True)
    command.set_dim((6, 4))
    command.launch()
    i, j = np.indices((6, 5))
    np.testing.assert_array_equal(out.numpy(), 10 * i + j)
    for dim in ((6, 2), (2, 3, 6), (6, 8)):
        with pytest.raises(ValueError, match=rf"its launches is block_dim, 4 threads, not {dim[-1]}"):
            command.set_dim(dim)
            command.launch()


def test_tiled_launches_of_kernels_without_blocks():
    """Names are the first dimensions: each of the threads of a block has the index of the block."""

    @wp.kernel
    def counted(out: wp.array(dtype=int)):
        wp.atomic_add(out, wp.tid(), 1)

    for interpret in (False, True):
        out = wp.zeros(3, dtype=int)
        wp.launch_tiled(counted, dim=3, inputs=[out], block_dim=8, interpret=interpret)
        assert out.list() == [8, 8, 8]
        wp.launch(counted, dim=3, inputs=[out], interpret=interpret)
        assert out.list() == [9, 9, 9]


# -- memory -----------------------------------------------------------------------------------------------------------


def test_a_block_on_a_cpu_has_256_kib():
    @wp.kernel
    def reverse(x: wp.array(dtype=float)):
        s = wp.shared_array(shape=65536, dtype=float)
        for i in wp.block_range(65536):
            s[i] = x[i]
        for i in wp.block_range(65536):
            x[i] = s[65535 - i]

    x = np.arange(65536, dtype=np.float32)
    wp.launch(reverse, 4, [x], block_dim=4)
    np.testing.assert_array_equal(x, np.arange(65536)[::-1])
