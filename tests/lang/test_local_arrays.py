"""Local arrays: memory of the thread's own, in release, debug and interpret mode and at every width."""

import typing

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.codegen.vector_width import local_bytes
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import F32, I32, FixedArray, parse_type
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.codegen.machine import Machine, targets
from tests.errors.report import kernel_of

MODES = ("release", "debug", "interpret")
COUNT = wp.constant(5)
SHAPE = (2, 3)


@pytest.fixture(params=MODES)
def mode(request):
    before = wp.config.mode
    wp.config.mode = request.param
    yield request.param
    wp.config.mode = before


def launched(kernel, threads, columns, *inputs):
    """The table that a kernel fills, one row a thread."""
    out = wp.zeros((threads, columns), dtype=float)
    wp.launch(kernel, dim=threads, inputs=[out, *inputs])
    return out.numpy()


@wp.struct
class Item:
    weight: float
    place: wp.vec3


@wp.func
def total(x: wp.array(dtype=float)):
    s = 0.0
    for v in x:
        s += v
    return s


@wp.func
def put(x: wp.array(dtype=float), i: int, value: float):
    x[i] = value


@wp.func
def powers(x: float):
    a = wp.zeros(shape=4, dtype=float)
    a[0] = 1.0
    for i in range(1, 4):
        a[i] = a[i - 1] * x
    return a


def test_every_execution_gives_zeros(mode):
    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        i = wp.tid()
        s = 0.0
        for j in range(i + 1):
            a = wp.zeros(shape=(2,), dtype=float)
            a[j % 2] += 1.0
            s += a[0] + 10.0 * a[1]
        out[i, 0] = s

    got = launched(k, 21, 1)[:, 0]
    assert got.tolist() == [sum(10 if j % 2 else 1 for j in range(i + 1)) for i in range(21)]


def test_extents(mode):
    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        n = 3
        a = wp.zeros(COUNT, float)
        b = wp.zeros(shape=SHAPE, dtype=int)
        c = wp.zeros(shape=wp.static(2 * 3), dtype=wp.vec3)
        d = wp.zeros(shape=(n, n + 1, COUNT), dtype=bool)
        e = wp.zeros(n=2, dtype=wp.float64)
        out[0, 0] = float(len(a) + 10 * a.ndim + 100 * a.size)
        out[0, 1] = float(b.shape[1] + 10 * b.ndim + 100 * b.size)
        out[0, 2] = float(len(c))
        out[0, 3] = float(d.shape[0] + 10 * d.shape[1] + 100 * d.shape[2] + 1000 * d.size)
        out[0, 4] = float(e[1]) + float(e.size)

    assert launched(k, 1, 5).tolist() == [[515.0, 623.0, 6.0, 60543.0, 2.0]]


def test_assigning_copies_and_views_share(mode):
    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        i = wp.tid()
        a = wp.zeros(shape=4, dtype=float)
        a[1] = 2.0
        b = a
        b[1] = 3.0
        part = a[1:3]
        part[0] += 10.0
        put(a, 2, 7.0)
        out[i, 0] = a[1]
        out[i, 1] = b[1]
        out[i, 2] = part[1]
        a, b = b, a
        out[i, 3] = a[1] * 100.0 + b[1]
        c = d = wp.zeros(shape=4, dtype=float)
        c[0] = 1.0
        out[i, 4] = d[0]
        a = a
        out[i, 5] = total(a)

    row = [12.0, 3.0, 7.0, 312.0, 0.0, 3.0]
    assert launched(k, 19, 6).tolist() == [row] * 19


def test_assigning_on_some_paths(mode):
    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        i = wp.tid()
        if i % 3 == 0:
            a = powers(2.0)
        elif i % 3 == 1:
            a = powers(float(i))
        else:
            a = wp.zeros(shape=4, dtype=float)
            a[3] = -1.0
        b = wp.zeros(shape=4, dtype=float)
        for j in range(i):
            if j > 2:
                break
            b[j] = a[3]
            a = b
        c = a if i > 4 else b
        c[0] += 0.5
        out[i, 0] = a[3]
        out[i, 1] = total(b)
        out[i, 2] = c[0]
        out[i, 3] = a[0]

    expected = []
    for i in range(23):
        last = 8.0 if i % 3 == 0 else float(i) ** 3 if i % 3 == 1 else -1.0
        first = 1.0 if i % 3 < 2 else 0.0
        b = [0.0] * 4
        for j in range(min(i, 3)):
            b[j] = last
            last, first = b[3], b[0]
        expected.append([last, sum(b), (first if i > 4 else b[0]) + 0.5, first])
    assert launched(k, 23, 4).tolist() == np.array(expected, np.float32).tolist()


def test_elements_of_every_kind(mode):
    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        i = wp.tid()
        v = wp.zeros(shape=(2, 2), dtype=wp.vec3)
        v[1, i % 2] = wp.vec3(1.0, 2.0, 3.0)
        v[1][i % 2][i % 3] += 10.0
        m = wp.zeros(shape=3, dtype=wp.mat22)
        m[2][0, 1] = 4.0
        m[i % 3] = m[i % 3] * 2.0
        s = wp.zeros(shape=2, dtype=Item)
        s[1].place[2] = 5.0
        s[1].weight = 6.0
        copy = s[1]
        copy.weight = 9.0
        s[i % 2] = copy
        h = wp.zeros(shape=3, dtype=wp.float16)
        h[i % 3] = wp.float16(0.5)
        flags = wp.zeros(shape=4, dtype=bool)
        flags[i % 4] = True
        out[i, 0] = wp.dot(v[1, 0] + v[1, 1], wp.vec3(1.0, 100.0, 10000.0))
        out[i, 1] = m[2][0, 1]
        out[i, 2] = s[1].weight + 10.0 * s[0].place[2] + 100.0 * s[1].place[2]
        out[i, 3] = float(h[0]) + 10.0 * float(h[1]) + 100.0 * float(h[2])
        if flags[2]:
            out[i, 4] = 1.0

    expected = []
    for i in range(21):
        v = [1.0, 2.0, 3.0]
        v[i % 3] += 10
        weights, places = [0.0, 6.0], [0.0, 5.0]
        weights[i % 2], places[i % 2] = 9.0, 5.0
        row = [v[0] + 100 * v[1] + 10000 * v[2], 8.0 if i % 3 == 2 else 4.0]
        row += [weights[1] + 10 * places[0] + 100 * places[1], 0.5 * 10 ** (i % 3), float(i % 4 == 2)]
        expected.append(row)
    assert launched(k, 21, 5).tolist() == expected


def test_atomics_are_plain(mode):
    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        i = wp.tid()
        a = wp.zeros(shape=3, dtype=int)
        for j in range(i):
            a[(j * j) % 3] += 2
            a[j % 3] -= 1
        old = wp.atomic_add(a, 0, 5)
        wp.atomic_max(a, 1, 3)
        was = wp.atomic_exch(a, 2, 40)
        wp.atomic_cas(a, 2, 40, 41)
        wp.atomic_cas(a, 2, 40, 42)
        out[i, 0] = float(old)
        out[i, 1] = float(a[0] - old)
        out[i, 2] = float(a[1])
        out[i, 3] = float(was)
        out[i, 4] = float(a[2])

    expected = []
    for i in range(17):
        a = [0, 0, 0]
        for j in range(i):
            a[j * j % 3] += 2
            a[j % 3] -= 1
        expected.append([a[0], 5, max(a[1], 3), a[2], 41])
    assert launched(k, 17, 5).tolist() == expected
    assert not any(op.code == "atomic" for op in run(lower_kernel(k)).body.walk())


def test_functions(mode):
    @wp.func
    def scaled(x: wp.fixedarray(dtype=float, shape=4), by: float) -> wp.fixedarray(dtype=float, shape=4):
        y = x
        for i in range(4):
            y[i] *= by
        x[0] = -1.0
        return y

    @wp.func
    def pair(x: float):
        return powers(x), powers(2.0 * x), x

    @wp.func
    def last(x: typing.Any):
        return x[len(x) - 1]

    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        i = wp.tid()
        x = float(i)
        a = powers(x)
        a = scaled(a, 2.0)
        b = powers(3.0)
        out[i, 0] = a[3]
        out[i, 1] = total(scaled(b, 10.0)) + b[0]
        p, q, r = pair(x)
        out[i, 2] = p[1] + q[1] + r
        out[i, 3] = last(p) + float(last(wp.zeros(shape=2, dtype=int)))
        out[i, 4] = total(powers(1.0)[1:])

    x = np.arange(15.0)
    expected = np.stack([2 * x**3, 0 * x + 399, 4 * x, x**3, 0 * x + 3], axis=1)
    assert launched(k, 15, 5).tolist() == expected.tolist()


def test_large_ones(mode):
    """Filled and copied in loops; the lanes of a group share the stack."""

    @wp.kernel
    def k(out: wp.array2d(dtype=float), n: int):
        i = wp.tid()
        a = wp.zeros(shape=(40, 5), dtype=float)
        for j in range(n):
            a[(i * j) % 40, j % 5] += float(j)
        b = a
        a[0, 0] = 1000.0
        s = 0.0
        for r in range(40):
            for c in range(5):
                s += b[r, c] * float(r + 1)
        out[i, 0] = s

    expected = []
    for i in range(19):
        a = np.zeros((40, 5))
        for j in range(60):
            a[i * j % 40, j % 5] += j
        expected.append((a.sum(1) * np.arange(1, 41)).sum())
    assert launched(k, 19, 1, 60)[:, 0].tolist() == expected


@wp.kernel
def sorted_rows(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    """Insertion sort of a row in a local array; every lane goes its own way."""
    i = wp.tid()
    a = wp.zeros(shape=8, dtype=float)
    for j in range(8):
        v = x[i, j]
        k = j
        while k > 0 and a[k - 1] > v:
            a[k] = a[k - 1]
            k -= 1
        a[k] = v
    turned = a[::-1]
    for j in range(8):
        out[i, j] = turned[j]


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("options", [PassOptions(), PassOptions(debug=True), PassOptions(inline_limit=0)], ids=str)
def test_sorting_at_every_width(lanes, options):
    rng = np.random.default_rng(lanes)
    rows = rng.standard_normal((37, 8)).astype(np.float32)
    fn = lower_kernel(sorted_rows)
    verify(fn)
    for target in targets():
        given = interp.MemArray(F32, rows.shape, rows.ravel().tolist())
        out = interp.MemArray(F32, rows.shape)
        Machine(run(fn, options), target, lanes).run([given, out], 37)
        assert out.values() == np.sort(rows, axis=1)[:, ::-1].ravel().tolist()


def test_a_read_only_array_may_be_passed_beside_them():
    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=int)):
        i = wp.tid()
        a = wp.zeros(shape=2, dtype=float)
        a[0] = x[i]
        out[i] = int(a[0] + a[1])

    x = np.arange(4, dtype=np.float32)
    x.flags.writeable = False
    out = wp.zeros(4, dtype=int)
    wp.launch(k, dim=4, inputs=[x, out])
    assert out.list() == [0, 1, 2, 3]


def test_debug_mode_reports_indices():
    @wp.kernel
    def k(out: wp.array(dtype=float), n: int):
        counts = wp.zeros(shape=3, dtype=float)
        counts[n] = 1.0
        out[0] = counts[0]

    wp.config.mode = "debug"
    try:
        with pytest.raises(wp.KernelError, match="dimension 0 of array 'counts' of length 3") as caught:
            wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float), 3])
        assert caught.value.kind == "bounds"
    finally:
        wp.config.mode = "release"


def test_arrays_nothing_reads_cost_nothing():
    kernel = kernel_of(
        """\
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            a = wp.zeros(shape=100, dtype=float)
            a[i % 100] = x[i]
            x[i] = 1.0
        """
    )
    fn = run(lower_kernel(kernel))
    assert sum(op.code == "store" for op in fn.body.walk()) == 1


def test_memory_of_inlined_functions_is_shared_between_calls():
    kernel = kernel_of(
        """\
        @wp.func
        def f(x: float):
            a = wp.zeros(shape=4, dtype=float)
            a[1] = x
            return a[1] + a[2]

        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = f(x[i]) + f(2.0) + f(3.0)
        """
    )
    assert local_bytes(run(lower_kernel(kernel))) == 16


def test_the_type_is_written_and_read():
    t = FixedArray(I32, (2, 3))
    assert parse_type(t.key) is t
    assert t.bytes == 24
    assert wp.fixedarray(dtype=int, shape=(2, 3)).__wc_type__ is t
    assert repr(wp.fixedarray(dtype=int, shape=2)) == "wp.fixedarray(dtype=int, shape=(2,))"
    for shape in (0, (), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match="shape"):
            wp.fixedarray(dtype=int, shape=shape)
    with pytest.raises(TypeError, match="shape"):
        wp.fixedarray(dtype=int, shape=2.0)
    with pytest.raises(TypeError, match="local arrays live in kernels only"):
        wp.struct(type("S", (), {"__annotations__": {"v": wp.fixedarray(dtype=float, shape=2)}}))


@wp.func
def at(a: wp.array(dtype=typing.Any), i: int):
    return a[i]


@wp.func
def at(a: wp.array2d(dtype=typing.Any), i: int, j: int):  # noqa: F811
    return a[i, j]


@wp.kernel
def overloaded(out: wp.array2d(dtype=float)):
    i = wp.tid()
    grid = wp.zeros(shape=(2, 3), dtype=float)
    grid[1, 2] = float(i) + 1.0
    out[i, 0] = at(grid, 1, 2)
    out[i, 1] = at(grid[1], -1) + at(out, 0, 2) + at(out[i], 2)


def test_overloads_take_them(mode):
    assert launched(overloaded, 2, 3).tolist() == [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]


@wp.kernel(lanes=32)
def large(out: wp.array2d(dtype=float), n: int):
    i = wp.tid()
    heap = wp.zeros(shape=130000, dtype=float)
    for j in range(n):
        heap[7 * j + i] += float(j)
    out[i, 0] = heap[-1 - i] + heap[7 + i]


@pytest.mark.cpu
def test_lanes_that_were_asked_for_yield_to_the_stack():
    wp.launch(large, dim=40, inputs=[out := wp.zeros((40, 1), dtype=float), 18000])
    touched = np.zeros((40, 130000), dtype=np.float32)
    for i in range(40):
        touched[i, 7 * np.arange(18000) + i] += np.arange(18000)
    assert out.numpy()[:, 0].tolist() == [row[-1 - i] + row[7 + i] for i, row in enumerate(touched)]


def test_addresses_of_local_arrays_make_views(mode):
    @wp.kernel
    def k(out: wp.array2d(dtype=float)):
        i = wp.tid()
        whole = wp.zeros(shape=(6,), dtype=wp.vec2)
        behind = wp.array(ptr=whole.ptr + wp.uint64(4 * 8), shape=(2,), dtype=wp.vec2)
        one = wp.array(dtype=wp.vec2, shape=1, ptr=8 + whole.ptr + 8)
        chosen = behind
        if i % 2 == 0:
            chosen = wp.array(ptr=whole.ptr, shape=(2,), dtype=wp.vec2)
        chosen[1] = wp.vec2(float(i), 2.0)
        behind[0] = wp.vec2(5.0, 6.0)
        one[0] = wp.vec2(7.0, 8.0)
        out[i, 0] = whole[1][0] + 10.0 * whole[5][0]
        out[i, 1] = whole[4][1] + 10.0 * whole[2][1]
        out[i, 2] = float(behind.shape[0] + one.size)

    expected = [[i if i % 2 == 0 else 10.0 * i, 86.0, 3.0] for i in range(21)]
    assert launched(k, 21, 3).tolist() == expected


WRONG_ADDRESSES = {
    "wp.array(ptr=a.ptr + 12, shape=1, dtype=wp.vec2)": "at byte 12 does not share elements",
    "wp.array(ptr=a.ptr, shape=2, dtype=float)": "the dtype of the local array",
    "wp.array(ptr=a.ptr + 8, shape=3, dtype=wp.vec2)": "3 elements from element 1 on end behind",
    "wp.array(ptr=a.ptr - 8, shape=3, dtype=wp.vec2)": "at byte -8 does not share elements",
    "wp.array(ptr=a.ptr + n * 8, shape=1, dtype=wp.vec2)": "the bytes behind a local array",
    "wp.array(ptr=wp.uint64(n), shape=1, dtype=wp.vec2)": "outside of kernels only",
    "wp.array([1.0, 2.0])": "wp.zeros",
    "int(a.ptr)": "the address of an array cannot be converted to int",
}


@pytest.mark.parametrize("expression", WRONG_ADDRESSES)
def test_other_uses_of_addresses_are_refused(expression):
    k = kernel_of(f"""
        @wp.kernel
        def k(n: int):
            a = wp.zeros(shape=3, dtype=wp.vec2)
            b = {expression}
    """)
    with pytest.raises(wp.CompileError, match=WRONG_ADDRESSES[expression]):
        wp.launch(k, dim=1, inputs=[1])
