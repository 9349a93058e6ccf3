"""Indexed arrays: NumPy's `a[np.ix_(...)]` says what they hold, at Python scope and in kernels of every mode."""

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp


@wp.struct
class Spring:
    rest: float
    ends: wp.vec2i
    forces: wp.array(dtype=float)


@wp.func
def row_sum(row: wp.indexedarray(dtype=float)):
    total = 0.0
    for x in row:
        total += x
    return total


@wp.func
def anything(a: Any):
    return a[0] + a[len(a) - 1]


@pytest.fixture(params=["release", "debug", "interpret"])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)


def ints(*values):
    return wp.array(list(values), dtype=int)


def grid(*shape, dtype=float):
    return wp.array(np.arange(np.prod(shape)).reshape(shape), dtype=dtype)


DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS, COLUMNS = [2, 0], [3, 1, 1]
INDICES = [(ROWS, COLUMNS), (ROWS, None), (None, COLUMNS), (None, None), ([], COLUMNS), ([1], [])]


def picked(data, indices):
    return data[np.ix_(*(range(n) if i is None else i for n, i in zip(data.shape, indices)))]


def made(data, indices):
    return wp.indexedarray(data, [None if i is None else wp.array(i, dtype=int) for i in indices])


@pytest.mark.parametrize("indices", INDICES)
def test_elements_from_python(indices):
    a = grid(3, 4)
    x, judge = made(a, indices), picked(DATA, indices)
    assert (x.shape, x.size, x.ndim, len(x), x.dtype) == (judge.shape, judge.size, 2, len(judge), wp.float32)
    for found in (x.numpy(), x.contiguous().numpy(), wp.clone(x).numpy(), np.asarray(x)):
        assert np.array_equal(found, judge)
    assert x.list() == judge.ravel().tolist()
    assert str(x) == str(judge)
    assert [row.list() for row in x] == judge.tolist()
    other = wp.zeros(judge.shape, dtype=float)
    wp.copy(other, x)
    assert np.array_equal(other.numpy(), judge)


@pytest.mark.parametrize("indices", INDICES)
def test_writing_from_python(indices):
    judge = DATA.copy()
    places = np.ix_(*(range(n) if i is None else i for n, i in zip(judge.shape, indices)))
    a = grid(3, 4)
    x = made(a, indices)
    for write, value in (
        (lambda: x.fill_(7.0), 7.0),
        (x.zero_, 0.0),
        (lambda: x.assign(np.full(x.shape, 2.0)), 2.0),
        (lambda: wp.copy(x, wp.full(x.shape, 3.0)), 3.0),
        (lambda: wp.copy(x, made(wp.full((3, 4), 4.0), indices)), 4.0),
        (lambda: x.__setitem__(..., 5.0), 5.0),
    ):
        write()
        judge[places] = value
        assert np.array_equal(a.numpy(), judge)


def test_arrays_are_indexed_by_arrays():
    a, rows, columns = grid(3, 4), ints(*ROWS), ints(*COLUMNS)
    for key, judge in (
        (rows, DATA[ROWS]),
        ((rows, columns), DATA[np.ix_(ROWS, COLUMNS)]),
        ((slice(None), columns), DATA[:, COLUMNS]),
        ((slice(1, None), columns), DATA[1:, COLUMNS]),
        ((rows, 1), DATA[ROWS, 1]),
        ((-1, columns), DATA[-1, COLUMNS]),
        ((..., columns), DATA[..., COLUMNS]),
        ((rows, slice(3, None, -2)), DATA[ROWS, 3::-2]),
    ):
        assert isinstance(a[key], wp.indexedarray)
        assert np.array_equal(a[key].numpy(), judge)
    a[rows] = 5.0
    a[:, columns] = np.ones((3, 3))
    judge = DATA.copy()
    judge[ROWS] = 5.0
    judge[:, COLUMNS] = 1.0
    assert np.array_equal(a.numpy(), judge)
    x = a[rows, columns]
    assert (x[0, 1], x[-1, 0]) == (1.0, 1.0)
    assert np.array_equal(x[1:].numpy(), judge[np.ix_([0], COLUMNS)])
    assert np.array_equal(x[0].numpy(), judge[2, COLUMNS])
    assert np.array_equal(x[::-1, 1].numpy(), judge[[0, 2], 1])
    x[1, 0] = 8.0
    x[0] = [1.0, 2.0, 2.0]
    assert a[0, 3] == 8.0 and a[2].list() == [5.0, 2.0, 5.0, 1.0]


def test_vectors_and_structs():
    points = wp.array(np.arange(9).reshape(3, 3), dtype=wp.vec3)
    x = points[ints(2, 0)]
    assert x.list() == [wp.vec3(6.0, 7.0, 8.0), wp.vec3(0.0, 1.0, 2.0)]
    x.fill_(wp.vec3(1.0, 2.0, 3.0))
    assert points.numpy().tolist() == [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [1.0, 2.0, 3.0]]
    springs = wp.zeros(3, dtype=Spring)
    forces = wp.ones(2, dtype=float)
    chosen = springs[ints(1)]
    chosen.assign([Spring(rest=2.0, ends=wp.vec2i(3, 4), forces=forces)])
    copied = wp.zeros(1, dtype=Spring)
    wp.copy(copied, chosen)
    for found in (springs.list()[1], chosen.list()[0], chosen[0], copied.list()[0]):
        assert (found.rest, list(found.ends), found.forces.list()) == (2.0, [3, 4], [1.0, 1.0])


@pytest.mark.parametrize("indices", INDICES)
def test_kernels_read_and_write(mode, indices):
    @wp.kernel
    def k(x: wp.indexedarray2d(dtype=float), total: wp.array(dtype=float), seen: wp.array(dtype=int)):
        i, j = wp.tid()
        seen[0] = x.shape[0]
        seen[1] = x.shape[1]
        seen[2] = x.size
        seen[3] = len(x)
        wp.atomic_add(x, i, j, 10.0)
        x[i, j] += 100.0
        wp.atomic_add(total, 0, x[i][j])

    a = grid(3, 4)
    x = made(a, indices)
    judge, total = DATA.copy(), 0.0
    for place in np.ndindex(x.shape):
        at = tuple(p if i is None else i[p] for i, p in zip(indices, place))
        judge[at] += 110.0
    found, seen = wp.zeros(1, dtype=float), wp.zeros(4, dtype=int)
    if (indices[1] or []).count(1) < 2:  # else two threads sum what the other changes
        total = picked(judge, indices).sum()
        wp.launch(k, dim=x.shape, inputs=[x, found, seen])
        assert found.list() == [total]
    else:
        wp.launch(k, dim=x.shape, inputs=[x, found, seen])
    assert np.array_equal(a.numpy(), judge)
    assert not x.size or seen.list() == [*x.shape, x.size, len(x)]


def test_kernels_take_rows_and_pass_them_on(mode):
    @wp.kernel
    def k(x: wp.indexedarray3d(dtype=float), sums: wp.array(dtype=float), ends: wp.array2d(dtype=float)):
        i = wp.tid()
        page = x[i]
        for j in range(page.shape[0]):
            sums[i] += row_sum(page[j])
            row = x[i, j]
            ends[i, j] = anything(row)
        page[0][-1] = -1.0
        last = x[-1]
        sums[i] = sums[i] + last[0, 0] - last[0, 0]

    data = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    a, index = wp.array(data), ([2, 0], None, [4, 0, 1])
    x = made(a, index)
    sums, ends = wp.zeros(2, dtype=float), wp.zeros((2, 4), dtype=float)
    wp.launch(k, dim=2, inputs=[x, sums, ends])
    judge = picked(data, index)
    assert sums.numpy().tolist() == judge.sum(axis=(1, 2)).tolist()
    assert np.array_equal(ends.numpy(), judge[..., 0] + judge[..., -1])
    data[[2, 0], 0, 1] = -1.0
    assert np.array_equal(a.numpy(), data)


def test_kernels_reach_into_elements(mode):
    @wp.kernel
    def k(x: wp.indexedarray(dtype=Spring), v: wp.indexedarray[wp.vec3], n: wp.int64):
        i = wp.tid()
        x[i].rest = 2.0 * x[i].rest
        x[i].ends[1] = i
        v[n][i] = x[i].rest

    springs = wp.array([Spring(rest=float(i)) for i in range(4)], dtype=Spring)
    points = wp.zeros(3, dtype=wp.vec3)
    wp.launch(k, dim=3, inputs=[springs[ints(3, 1, 2)], points[ints(0, 2)], 1])
    assert springs.numpy()["rest"].tolist() == [0.0, 2.0, 4.0, 6.0]
    assert springs.numpy()["ends"].tolist() == [[0, 0], [0, 1], [0, 2], [0, 0]]
    assert points.numpy().tolist() == [[0.0] * 3, [0.0] * 3, [6.0, 2.0, 4.0]]


def test_generic_parameters(mode):
    @wp.kernel
    def k(x: Any, y: wp.indexedarray(dtype=Any), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = x[i] + float(y[i])

    out = wp.zeros(2, dtype=float)
    wp.launch(k, dim=2, inputs=[grid(4)[ints(3, 1)], grid(4, dtype=int)[ints(2, 0)], out])
    assert out.list() == [5.0, 1.0]
    wp.launch(k, dim=2, inputs=[grid(4), grid(4, dtype=int)[ints(2, 2)], out])
    assert out.list() == [2.0, 3.0]


def test_plain_arrays_serve_as_indexed_ones(mode):
    @wp.kernel
    def k(x: wp.indexedarray2d(dtype=float)):
        i, j = wp.tid()
        x[i, j] += 1.0

    a, b = wp.zeros((2, 3), dtype=float), np.zeros((2, 3), dtype=np.float32)
    wp.launch(k, dim=(2, 3), inputs=[a])
    wp.launch(k, dim=(2, 3), inputs=[b])
    assert a.numpy().min() == b.min() == 1.0


def test_strided_data_and_indices(mode):
    @wp.kernel
    def k(x: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
        i, j = wp.tid()
        out[i, j] = x[i, j]

    a, index = grid(3, 4).transpose(), ints(3, 9, 0, 9, 2)[::2]
    x = wp.indexedarray(a[:, ::-1], [index])
    out = wp.zeros((3, 3), dtype=float)
    wp.launch(k, dim=(3, 3), inputs=[x, out])
    assert np.array_equal(out.numpy(), DATA.T[[3, 0, 2], ::-1])


def test_many_threads_agree():
    @wp.kernel
    def k(x: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = x[i]

    rng = np.random.default_rng(5)
    data, index = rng.random(5000, dtype=np.float32), rng.integers(0, 5000, 20001)
    out = wp.zeros(20001, dtype=float)
    wp.launch(k, dim=20001, inputs=[wp.array(data)[wp.array(index, dtype=int)], out])
    assert np.array_equal(out.numpy(), data[index])


def test_debug_mode_checks_indices(monkeypatch):
    @wp.kernel
    def k(x: wp.indexedarray(dtype=float)):
        i = wp.tid()
        x[i] = 1.0

    monkeypatch.setattr(wp.config, "mode", "debug")
    with pytest.raises(wp.KernelError) as caught:
        wp.launch(k, dim=3, inputs=[grid(4)[ints(3, 1)]])
    assert (caught.value.kind, caught.value.thread) == ("bounds", (2,))
    with pytest.raises(wp.KernelError) as caught:
        wp.launch(k, dim=2, inputs=[grid(4)[ints(3, 4)]])
    assert caught.value.thread == (1,)


def test_wrong_arguments():
    a = grid(3, 4)
    with pytest.raises(ValueError, match="3 index arrays for an array of 2 dimensions"):
        wp.indexedarray(a, [None, None, None])
    with pytest.raises(TypeError, match=r"for dimension 1 expected a one-dimensional int32 wp.array or None, got list"):
        wp.indexedarray(a, [None, [1, 2]])
    with pytest.raises(TypeError, match="got 1-d array of int64"):
        a[wp.array([1], dtype=wp.int64)]
    with pytest.raises(TypeError, match="got 2-d array of int32"):
        a[wp.zeros((1, 1), dtype=int)]
    with pytest.raises(TypeError, match=r"data: expected a wp.array, got ndarray"):
        wp.indexedarray(DATA, [None])
    with pytest.raises(ValueError, match="ndim: expected 1, but data has 2"):
        wp.indexedarray1d(a, [None])
    with pytest.raises(TypeError, match="dtype: expected int32, but data has float32"):
        wp.indexedarray(a, dtype=int)
    with pytest.raises(IndexError, match="dimension 0 has 3 elements"):
        a[ints(3)].numpy()
    with pytest.raises(ValueError, match="does not match"):
        wp.copy(a[ints(0)], wp.zeros((2, 4)))
    with pytest.raises(ValueError, match="have no meaning for indexed arrays"):
        wp.copy(a[ints(0)], wp.zeros((1, 4)), count=2)
    with pytest.raises(TypeError, match="was created as an annotation"):
        wp.indexedarray(dtype=float).numpy()

    @wp.kernel
    def k(x: wp.indexedarray(dtype=float)):
        x[0] = 1.0

    for wrong, shown in ((None, "NoneType"), (a[ints(0)], "2-d indexed array of float32"), (a, "2-d array of float32")):
        with pytest.raises(TypeError, match=f"expected 1-d indexed array of float32, got {shown}"):
            wp.launch(k, dim=1, inputs=[wrong])


def test_annotations_and_names():
    assert repr(wp.indexedarray2d(dtype=float)) == "indexedarray2d(shape=(0, 0), dtype=float)"
    assert repr(wp.indexedarray[wp.vec3]) == "wp.indexedarray[wp.vec3f]"
    numbers = "[[0., 1., 2., 3.]]"
    assert repr(grid(3, 4)[ints(0)]) == f"indexedarray2d({numbers}, dtype=float32, device={wp.get_device()})"
    assert repr(wp.indexedarray3d) == "wp.indexedarray3d"


def test_no_slices_in_kernels():
    @wp.kernel
    def k(x: wp.indexedarray(dtype=float)):
        y = x[1:]

    with pytest.raises(wp.CompileError, match="an indexed array cannot be sliced in a kernel"):
        wp.launch(k, dim=1, inputs=[grid(4)[ints(0)]])


@wp.struct
class Seen:
    """An indexed array as a field of a struct."""

    values: wp.indexedarray(dtype=float)
    scale: float


@wp.kernel
def take(s: Seen, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = s.values[i] * s.scale
    s.values[i] = 0.0


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_structs_refer_to_indexed_arrays(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    a = wp.array([1.0, 2.0, 3.0], dtype=float)
    odd = wp.indexedarray(a, [wp.array([2, 0], dtype=int)])
    s = Seen()
    assert s.values is None
    empty = s.numpy_value()
    s.values, s.scale = odd, 10.0
    other = Seen()
    other.assign(s)
    assert s.values is odd and other.values is odd and other == s and s.to(a.device).values is odd
    assert s.numpy_value()[0][0][0] == a.ptr and empty[0][0][0] == 0
    out = wp.zeros(2, dtype=float)
    wp.launch(take, dim=2, inputs=[s], outputs=[out])
    assert out.list() == [30.0, 10.0] and a.list() == [0.0, 2.0, 0.0]
    s.values = None
    assert s.values is None and other.values is odd


def test_fields_of_structs_refuse_other_arrays():
    s = Seen()
    with pytest.raises(TypeError, match="expected 1-d indexed array of float32 or None, got 1-d array of float32"):
        s.values = wp.zeros(2, dtype=float)
    with pytest.raises(TypeError, match="no data"):
        s.values = wp.indexedarray(dtype=float)
