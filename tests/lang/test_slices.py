"""Slices of arrays inside kernels, against NumPy's: as compiled at every width, in debug mode and interpreted."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.verifier import verify
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.codegen.machine import Machine, targets
from tests.errors.report import kernel_of

MODES = ("release", "debug", "interpret")
BOUNDS = (-9, -7, -3, -1, 0, 1, 3, 6, 7, 9)


@pytest.fixture(params=MODES)
def mode(request):
    before = wp.config.mode
    wp.config.mode = request.param
    yield request.param
    wp.config.mode = before


@wp.func
def weighted(x: wp.array(dtype=float)):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * float(i + 1)
    return s


def test_run_time_bounds(mode):
    @wp.kernel
    def cut(
        a: wp.array(dtype=float), b: wp.array2d(dtype=int), out: wp.array2d(dtype=float), sums: wp.array(dtype=float)
    ):
        i = wp.tid()
        v = a[b[i, 0] : b[i, 1] : b[i, 2]]
        sums[i] = weighted(v)
        for j in range(v.shape[0]):
            out[i, j] = v[j]

    a = np.arange(1, 8, dtype=np.float32)
    rows = np.array([(x, y, s) for x in BOUNDS for y in BOUNDS for s in (-3, -1, 1, 2, -8, 8)], dtype=np.int32)
    expected, total = np.zeros((len(rows), 7)), np.zeros(len(rows))
    for row, (x, y, s) in zip(range(len(rows)), rows):
        v = a[x:y:s]
        expected[row, : len(v)] = v
        total[row] = v @ np.arange(1, len(v) + 1)
    out, sums = wp.zeros((len(rows), 7), dtype=float), wp.zeros(len(rows), dtype=float)
    wp.launch(cut, dim=len(rows), inputs=[wp.array(a, dtype=float), wp.array(rows, dtype=int), out, sums])
    assert (out.numpy() == expected).all()
    assert (sums.numpy() == total).all()


def test_bounds_of_every_integer_type(mode):
    @wp.kernel
    def cut(a: wp.array(dtype=int), n: wp.int64, k: wp.uint8, u: wp.uint64, out: wp.array(dtype=int)):
        out[0] = a[n:].shape[0]
        out[1] = a[k:].shape[0]
        out[2] = a[:u].shape[0]
        out[3] = a[-n : wp.int64(0)].shape[0]
        out[4] = a[::-n].shape[0]

    out = wp.zeros(5, dtype=int)
    wp.launch(cut, dim=1, inputs=[wp.zeros(10, dtype=int), 2**40, 3, 2**64 - 1, out])
    assert out.list() == [0, 7, 10, 0, 1]


FORMS = [
    *(
        "[1:3]",
        "[:]",
        "[::-1]",
        "[-2:]",
        "[1:-1]",
        "[i % 3:]",
        "[:, 1]",
        "[:, -1]",
        "[1, :]",
        "[i % 4, 1:]",
        "[:, i % 3]",
    ),
    *(
        "[1:3, 1:]",
        "[::2, ::-2]",
        "[::-1, ::-1]",
        "[1:][1:]",
        "[:, 1:][2]",
        "[1:, :2][:, 1]",
        "[-1]",
        "[9:]",
        "[:, 5:2]",
    ),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float", "wp.vec3"])
def test_forms(form, dtype):
    """Reads `m[form]` element by element in every thread, into a row of its own, at every width."""
    shape = (4, 3)
    view = eval(f"np.zeros({shape}){form}", {"np": np, "i": 0})
    index = ", ".join("jk"[: view.ndim])
    loops = "".join(f"{'    ' * (n + 1)}for {x} in range(v.shape[{n}]):\n" for n, x in enumerate("jk"[: view.ndim]))
    kernel = kernel_of(
        f"@wp.kernel\ndef k(m: wp.array2d(dtype={dtype}), out: wp.array2d(dtype={dtype})):\n"
        f"    i = wp.tid()\n    v = m{form}\n    n = 0\n{loops}"
        f"{'    ' * (view.ndim + 1)}out[i, n] = v[{index}]\n{'    ' * (view.ndim + 1)}n += 1\n"
    )
    fn = lower_kernel(kernel)
    verify(fn)
    scalar = dtype == "float"
    numbers = [float(n) for n in range(12)]
    t = fn.params[0].type.dtype
    given = interp.MemArray(t, shape, numbers if scalar else [(n, n + 100.0, n - 7.0) for n in numbers])
    threads, width = 21, 12
    blank = 0.0 if scalar else (0.0, 0.0, 0.0)
    expected = []
    for i in range(threads):
        flat = eval(f"np.arange(12.0).reshape({shape}){form}", {"np": np, "i": i}).ravel().tolist()
        row = flat if scalar else [(n, n + 100.0, n - 7.0) for n in flat]
        expected += row + [blank] * (width - len(row))
    runs = [lambda args: interp.run_kernel(fn, args, threads)]
    for options in (PassOptions(), PassOptions(debug=True), PassOptions(inline_limit=0)):
        done = run(fn, options)
        for lanes in (1, 4, 8, 16):
            runs.append(lambda args, done=done, lanes=lanes: Machine(done, targets()[-1], lanes).run(args, threads))
    for attempt in runs:
        out = interp.MemArray(t, (threads, width))
        attempt([given, out])
        assert out.values() == expected


def test_views_are_the_arrays_own_memory(mode):
    @wp.struct
    class Part:
        values: wp.array(dtype=float)

    @wp.func
    def fill(x: wp.array2d(dtype=float), value: float):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = value

    @wp.kernel
    def write(m: wp.array2d(dtype=float), a: wp.array(dtype=float), out: wp.array(dtype=float)):
        fill(m[1:3, ::2], 5.0)
        m[:, 1][2] = 6.0
        p = Part()
        p.values = a[2:5]
        p.values[1] = 7.0
        out[0] = float(len(p.values))
        wp.atomic_add(a[::-1], 0, 2.0)
        a[1:][0] += 3.0
        s = 0.0
        for x in a[-2:]:
            s += x
        out[1] = s
        out[2] = float(m[1:, 1:].size)

    m, a = np.arange(20.0).reshape(4, 5), np.arange(6.0)
    given = wp.array(m, dtype=float), wp.array(a, dtype=float)
    m[1:3, ::2] = 5
    m[2, 1] = 6
    a[3] = 7
    a[-1] += 2
    a[1] += 3
    out = wp.zeros(3, dtype=float)
    wp.launch(write, dim=1, inputs=[*given, out])
    assert (given[0].numpy() == m).all() and (given[1].numpy() == a).all()
    assert out.list() == [3, a[-2:].sum(), m[1:, 1:].size]


def test_a_local_may_become_another_view(mode):
    @wp.kernel
    def choose(a: wp.array(dtype=float), out: wp.array2d(dtype=float)):
        i = wp.tid()
        b = a[0:3]
        if i % 2 == 1:
            b = a[3:8]
        out[i, 0] = float(len(b))
        out[i, 1] = b[0]
        for j in range(i):
            b = a[j:]
        out[i, 2] = b[0]
        c = a[:i] if i > 3 else a[i:]
        out[i, 3] = float(len(c))

    a = np.arange(10.0)
    expected = []
    for i in range(9):
        b = a[3:8] if i % 2 else a[0:3]
        last = a[i - 1 :] if i else b
        expected.append([len(b), b[0], last[0], i if i > 3 else 10 - i])
    out = wp.zeros((9, 4), dtype=float)
    wp.launch(choose, dim=9, inputs=[wp.array(a, dtype=float), out])
    assert out.numpy().tolist() == expected


def test_three_and_four_dimensions(mode):
    @wp.kernel
    def pick(x: wp.array4d(dtype=int), out: wp.array(dtype=int)):
        v = x[1, ::2, :, -2:]
        w = v[:, 1]
        n = 0
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                out[n] = w[i, j]
                n += 1

    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    expected = x[1, ::2, :, -2:][:, 1].ravel()
    out = wp.zeros(len(expected), dtype=int)
    wp.launch(pick, dim=1, inputs=[wp.array(x, dtype=int), out])
    assert out.numpy().tolist() == expected.tolist()


def test_empty_arrays(mode):
    @wp.kernel
    def cut(a: wp.array(dtype=float), m: wp.array2d(dtype=float), out: wp.array(dtype=int)):
        out[0] = len(a[1:]) + len(a[::-1]) + len(a[:-1])
        out[1] = m[:, 1:].shape[1]

    out = wp.zeros(2, dtype=int)
    wp.launch(cut, dim=1, inputs=[wp.zeros(0, dtype=float), wp.zeros((0, 3), dtype=float), out])
    assert out.list() == [0, 2]


def test_debug_mode_names_what_is_out_of_range():
    @wp.kernel
    def beyond(a: wp.array(dtype=float), k: int):
        a[2:5][k] = 1.0

    @wp.kernel
    def standing(a: wp.array(dtype=float), k: int):
        a[0] = float(len(a[::k]))

    wp.config.mode = "debug"
    try:
        with pytest.raises(wp.KernelError, match="length 3") as caught:
            wp.launch(beyond, dim=1, inputs=[wp.zeros(9, dtype=float), 3])
        assert caught.value.kind == "bounds"
        with pytest.raises(wp.KernelError) as caught:
            wp.launch(standing, dim=1, inputs=[wp.zeros(9, dtype=float), 0])
        assert caught.value.kind == "division"
    finally:
        wp.config.mode = "release"
    a = wp.zeros(9, dtype=float)
    wp.launch(standing, dim=1, inputs=[a, 0])
    assert a.list()[0] == 0.0
