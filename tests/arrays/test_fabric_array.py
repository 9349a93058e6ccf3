"""Arrays of Omniverse Fabric: NumPy arrays stand for its memory, and say what must be in them."""

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp

FLOAT = (True, "f4", 1, 0, "")


@pytest.fixture(params=["release", "debug", "interpret"])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)


class Selection:
    """Some prims with attributes in buckets, as a selection of Fabric is."""

    def __init__(self, **attributes):
        self.buckets = {name: buckets for name, (_, buckets) in attributes.items()}
        attribs = {}
        for name, (described, buckets) in attributes.items():
            pointers = [b.ctypes.data if b.size else 0 for b in buckets]
            attribs[name] = {"type": described, "access": 3, "pointers": pointers, "counts": [len(b) for b in buckets]}
        self.__fabric_arrays_interface__ = {"version": 1, "device": "cpu", "attribs": attribs}

    def all(self, name):
        return np.concatenate(self.buckets[name])


def floats():
    return Selection(size=(FLOAT, [np.float32([1, 2, 3]), np.float32([]), np.float32([10, 20]), np.float32([])]))


def rows():
    """Four arrays of three lengths, in two buckets and an empty one."""
    data = [np.arange(n, dtype=np.float32) + 10 * n for n in (3, 1, 0, 2)]
    pointers = [np.uint64([r.ctypes.data for r in part]) for part in (data[:2], [], data[2:])]
    lengths = [np.uint64([len(r) for r in part]) for part in (data[:2], [], data[2:])]
    selection = Selection(rows=((True, "f4", 1, 1, ""), pointers))
    selection.__fabric_arrays_interface__["attribs"]["rows"]["array_lengths"] = [x.ctypes.data for x in lengths]
    selection.kept = lengths
    return selection, data


@wp.kernel
def double(x: wp.fabricarray(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]
    x[i] += 0.5


@wp.kernel
def measure(x: wp.fabricarray(dtype=Any), out: wp.array(dtype=float)):
    i = wp.tid()
    total = x[-1]
    for v in x:
        total += v
    if i == 0:
        out[0] = total
        out[1] = float(x.size) + 10.0 * float(x.shape[0]) + 100.0 * float(len(x)) + 1000.0 * float(x.ndim)


@wp.kernel
def sums(x: wp.fabricarrayarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = x[i]
    for j in range(row.shape[0]):
        out[i] += row[j] + x[i, j] + x[i][j]
        x[i, j] = -1.0


@wp.kernel
def histogram(bins: wp.array(dtype=int), x: wp.fabricarray(dtype=float)):
    wp.atomic_add(x, bins[wp.tid()], 1.0)


def test_python_sees_all_buckets():
    s = floats()
    x = wp.fabricarray(s, "size")
    assert (x.shape, x.size, len(x), x.ndim, x.dtype, x.access) == ((5,), 5, 5, 1, wp.float32, 3)
    assert not x.is_contiguous and x.device == "cpu" and x.to("cpu") is x
    for found in (x.numpy(), np.asarray(x), x.contiguous().numpy(), wp.clone(x).numpy(), list(x), x.list()):
        np.testing.assert_array_equal(found, s.all("size"))
    assert repr(x).startswith("fabricarray([ 1.,  2.,  3., 10., 20.]") and str(x) == "[ 1.  2.  3. 10. 20.]"


def test_python_writes_into_fabric():
    s = floats()
    x = wp.fabricarray(s, "size")
    x.assign(np.arange(5))
    np.testing.assert_array_equal(s.all("size"), np.arange(5))
    wp.copy(x, wp.array([5.0, 4.0, 3.0, 2.0, 1.0], dtype=float))
    np.testing.assert_array_equal(s.all("size"), [5, 4, 3, 2, 1])
    x.fill_(7.0)
    assert (s.all("size") == 7).all()
    x.zero_()
    assert (s.all("size") == 0).all()


def test_kernels_write_into_fabric(mode):
    s = floats()
    before = s.all("size")
    x = wp.fabricarray(s, "size")
    wp.launch(double, dim=x.size, inputs=[x])
    np.testing.assert_array_equal(s.all("size"), 2 * before + np.float32(0.5))


def test_extents_and_loops(mode):
    out = wp.zeros(2)
    x = wp.fabricarray(floats(), "size")
    wp.launch(measure, dim=3, inputs=[x, out])
    assert out.list() == [36 + 20, 5 + 50 + 500 + 1000]


@pytest.mark.parametrize("buckets", (1, 2, 7, 300))
def test_every_element_is_found(buckets, mode):
    rng = np.random.default_rng(buckets)
    counts = rng.integers(0, 5, buckets)
    counts[-1] += 3
    s = Selection(size=(FLOAT, [rng.random(n, dtype=np.float32) for n in counts]))
    before = s.all("size")
    x = wp.fabricarray(s, "size")
    wp.launch(double, dim=x.size, inputs=[x])
    np.testing.assert_array_equal(s.all("size"), 2 * before + np.float32(0.5))


def test_atomics(mode):
    s = floats()
    before = s.all("size")
    bins = np.array([4, 0, 4, 4, 1, 3] * 5)
    wp.launch(histogram, dim=len(bins), inputs=[wp.array(bins, dtype=int), wp.fabricarray(s, "size")])
    np.testing.assert_array_equal(s.all("size"), before + np.bincount(bins, minlength=5))


def test_indices(mode):
    s = floats()
    x = wp.fabricarray(s, "size")
    y = x[wp.array([4, 0, 3], dtype=int)]
    assert y.shape == (3,) and y.list() == [20, 1, 10] and y.numpy().tolist() == [20, 1, 10]

    @wp.kernel
    def negate(y: wp.indexedfabricarray(dtype=float)):
        i = wp.tid()
        if i < y.size:
            y[i] = -y[i]

    wp.launch(negate, dim=5, inputs=[y])
    np.testing.assert_array_equal(s.all("size"), [-1, 2, 3, -10, -20])
    y.assign([7.0, 8.0, 9.0])
    np.testing.assert_array_equal(s.all("size"), [8, 2, 3, 9, 7])


def test_arrays_of_arrays(mode):
    s, data = rows()
    expected = [3 * r.sum() for r in data]
    x = wp.fabricarrayarray(s, "rows")
    assert (x.ndim, x.shape, repr(x)) == (2, (4,), "fabricarrayarray(shape=(4,), dtype=float32)")
    out = wp.zeros(4)
    wp.launch(sums, dim=4, inputs=[x, out])
    assert out.list() == expected
    assert all((r == -1).all() for r in data)


def test_indexed_arrays_of_arrays(mode):
    s, _ = rows()
    x = wp.fabricarrayarray(s, "rows")

    @wp.kernel
    def lengths(x: wp.indexedfabricarrayarray(dtype=float), out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = x[i].shape[0] + 10 * x.size

    out = wp.zeros(3, dtype=int)
    wp.launch(lengths, dim=3, inputs=[wp.indexedfabricarrayarray(x, wp.array([3, 0, 1], dtype=int)), out])
    assert out.list() == [32, 33, 31]


TYPES = [
    ((True, "f4", 3, 0, "color"), np.float32, 3, wp.vec3),
    ((True, "f8", 4, 0, "quat"), np.float64, 4, wp.quatd),
    ((True, "f4", 4, 0, "vector"), np.float32, 4, wp.vec4),
    ((True, "f4", 9, 0, "matrix"), np.float32, 9, wp.mat33),
    ((True, "f8", 16, 0, "frame"), np.float64, 16, wp.mat44d),
    ((True, "f8", 16, 0, "transform"), np.float64, 16, wp.mat44d),
    ((True, "i4", 2, 0, ""), np.int32, 2, wp.vec2i),
    ((True, "u1", 1, 0, ""), np.uint8, 1, wp.uint8),
    ((True, "b", 1, 0, ""), np.bool_, 1, wp.bool),
    ((True, "i8", 1, 0, ""), np.int64, 1, wp.int64),
    ((True, "f2", 1, 0, ""), np.float16, 1, wp.float16),
]


@pytest.mark.parametrize(("described", "scalar", "count", "dtype"), TYPES)
def test_types(described, scalar, count, dtype):
    buckets = [np.arange(n * count).reshape(n, count).astype(scalar) for n in (2, 3)]
    x = wp.fabricarray(Selection(x=(described, buckets)), "x")
    assert x.dtype is dtype
    np.testing.assert_array_equal(x.numpy().reshape(5, count), np.concatenate(buckets))


def test_vectors_in_kernels(mode):
    buckets = [np.arange(3 * n, dtype=np.float32).reshape(n, 3) for n in (2, 5)]
    s = Selection(points=((True, "f4", 3, 0, "point"), buckets))
    before = s.all("points")

    @wp.kernel
    def lift(x: wp.fabricarray(dtype=wp.vec3)):
        i = wp.tid()
        x[i][1] = x[i].z + 100.0

    wp.launch(lift, dim=7, inputs=[wp.fabricarray(s, "points")])
    before[:, 1] = before[:, 2] + 100
    np.testing.assert_array_equal(s.all("points"), before)


def test_structs_and_captures():
    @wp.struct
    class Crowd:
        size: wp.fabricarray(dtype=float)
        scale: float

    @wp.kernel
    def grow(crowd: Crowd):
        i = wp.tid()
        crowd.size[i] = crowd.size[i] * crowd.scale

    s = floats()
    crowd = Crowd(scale=3.0)
    crowd.size = wp.fabricarray(s, "size")
    with wp.ScopedCapture() as capture:
        wp.launch(grow, dim=5, inputs=[crowd])
    before = s.all("size")
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(s.all("size"), 3 * before)


def test_gradients_are_refused_or_end_at_a_copy():
    @wp.kernel
    def scaled(x: wp.fabricarray(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
        i = wp.tid()
        z[i] = x[i] * y[i]

    @wp.kernel
    def scaled_copy(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
        i = wp.tid()
        z[i] = x[i] * y[i]

    x = wp.fabricarray(floats(), "size")
    y, z = wp.ones(5, requires_grad=True), wp.zeros(5, requires_grad=True)
    with wp.Tape(), pytest.raises(wp.CompileError, match=r"x\.contiguous\(\)"):
        wp.launch(scaled, dim=5, inputs=[x, y, z])
    with wp.Tape() as tape:
        wp.launch(scaled_copy, dim=5, inputs=[x.contiguous(), y, z])
    tape.backward(grads={z: wp.ones(5)})
    np.testing.assert_array_equal(y.grad.numpy(), x.numpy())


def test_annotations():
    assert wp.fabricarray[float] == wp.fabricarray[wp.float32] != wp.indexedfabricarray[float]
    assert repr(wp.fabricarray[float, 2]) == "wp.fabricarrayarray[wp.float32]"
    assert hash(wp.fabricarray[float]) == hash(wp.fabricarray[wp.float32])

    @wp.func
    def first(x: wp.fabricarray[Any]):
        return x[0]

    @wp.kernel
    def take(x: wp.fabricarray[float], out: wp.array(dtype=float)):
        out[0] = first(x)

    out = wp.zeros(1)
    wp.launch(take, dim=1, inputs=[wp.fabricarray(floats(), "size"), out])
    assert out.list() == [1.0]


def changed(**changes):
    s = floats()
    s.__fabric_arrays_interface__["attribs"]["size"].update(changes)
    return s


@pytest.mark.parametrize(
    ("data", "attrib", "error", "message"),
    [
        (5, "size", TypeError, "__fabric_arrays_interface__, got int"),
        ({"version": 2}, "size", ValueError, "version 1 of the interface of Fabric, got 2"),
        (floats(), "sise", ValueError, "no attribute 'sise'; those of the selection are: 'size'"),
        (changed(type=(False, "f4", 1, 0, "")), "size", TypeError, "a type that kernels do not know"),
        (changed(type=(True, "f4", 1, 2, "")), "size", TypeError, "a type that kernels do not know"),
        (changed(counts=[3, 0]), "size", ValueError, "4 pointers, but 2 counts"),
        (changed(counts=[3, 0, 2, 1]), "size", ValueError, "has elements, but no memory"),
        (changed(counts=[3, 0, -2, 0]), "size", ValueError, "counts are from 0"),
    ],
)
def test_wrong_interfaces(data, attrib, error, message):
    with pytest.raises(error, match=message):
        wp.fabricarray(data, attrib)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: wp.fabricarray(floats(), "size", dtype=int), TypeError, "float32, which cannot be read as int32"),
        (lambda x: wp.fabricarray(floats(), "size", ndim=2), ValueError, "expected 2, but attribute 'size' has 1"),
        (lambda x: wp.fabricarray[float, 3], ValueError, "an array of arrays 2, got ndim=3"),
        (lambda x: x[0], TypeError, "take an int32 array as index, not int"),
        (lambda x: x.assign(np.zeros(4)), ValueError, r"shapes \(5,\) and \(4,\) differ"),
        (lambda x: wp.indexedfabricarray(x, [1]), TypeError, "indices: expected an int32 array"),
        (
            lambda x: wp.launch(double, dim=1, inputs=[wp.zeros(1)]),
            TypeError,
            "expected fabricarray of float32, got 1-d array",
        ),
        (lambda x: wp.launch(double, dim=1, inputs=[wp.fabricarray(dtype=float)]), TypeError, "as an annotation"),
        (lambda x: wp.fabricarrayarray(rows()[0], "rows").numpy(), TypeError, "no shape of their own"),
    ],
)
def test_wrong_uses(call, error, message):
    with pytest.raises(error, match=message):
        call(wp.fabricarray(floats(), "size"))


def test_kernels_that_do_not_compile():
    @wp.kernel
    def sliced(x: wp.fabricarray(dtype=float)):
        x[0:2]

    @wp.kernel
    def lengths(x: wp.fabricarrayarray(dtype=float)):
        x[0, -1] = 1.0

    with pytest.raises(wp.CompileError, match="an array of Fabric cannot be sliced"):
        wp.launch(sliced, dim=1, inputs=[wp.fabricarray(floats(), "size")])
    with pytest.raises(wp.CompileError, match=r"a length of its own"):
        wp.launch(lengths, dim=1, inputs=[wp.fabricarrayarray(rows()[0], "rows")])


def test_indices_are_checked_in_debug_mode(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")
    with pytest.raises(IndexError, match="out of range"):
        wp.launch(double, dim=6, inputs=[wp.fabricarray(floats(), "size")])
