"""Warnings of likely races between threads, and kernels that must not get one."""

import warnings

import pytest

import omni.warp_core as wp

Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)


def chain(a: Floats):
    i = wp.tid()
    if i > 0:
        a[i] = a[i - 1] + 1.0


def smooth(a: wp.array2d(dtype=float)):
    i, j = wp.tid()
    a[i, j] = 0.5 * (a[i, j] + a[i + 1, j])


def histogram(counts: Ints, keys: Ints):
    i = wp.tid()
    counts[keys[i]] = counts[keys[i]] + 1


def last_one(x: Floats, out: Floats):
    i = wp.tid()
    out[0] = x[i]


def total(x: Floats, out: Floats):
    i = wp.tid()
    out[0] = out[0] + x[i]


def several_terms(x: Floats, out: Floats):
    i = wp.tid()
    out[0] = out[0] + x[i] * x[i] - 2.0 * x[i]


def row_sums(x: wp.array2d(dtype=float), out: Floats):
    i, j = wp.tid()
    out[i] = out[i] + x[i, j]


def binned(x: Floats, counts: Ints):
    k = int(x[wp.tid()])
    counts[k] = counts[k] + 1


def matches(x: Ints, count: Ints):
    if x[wp.tid()] == 3:
        count[0] = count[0] + 1


def largest(x: Floats, most: Floats):
    most[0] = wp.max(most[0], x[wp.tid()])


def counter(x: Floats, count: Ints):
    i = wp.tid()
    x[i] = 1.0
    count[0] = count[0] + 1  # of launches with one thread


def of_two_indices(x: wp.array2d(dtype=float), counts: Ints, columns: int):
    i, j = wp.tid()
    counts[i * columns + j] = counts[i * columns + j] + 1


def of_one_thread(x: Floats, count: Ints):
    i = wp.tid()
    if i == 2:
        count[0] = count[0] + int(x[i])


def every_other(x: Floats):
    i = wp.tid()
    x[2 * i] = x[2 * i] + 1.0


def by_color(x: Floats, colors: Ints, color: int):
    i = wp.tid()
    if colors[i] == color and i > 0:
        x[i] = 0.5 * x[i - 1]


def first_thread(x: Floats, out: Floats):
    i = wp.tid()
    if i == 0:
        out[0] = x[i]


def permuted(x: Floats, order: Ints):
    i = order[wp.tid()]
    x[i] = 2.0 * x[i]


def moved(x: Floats, v: Floats, order: Ints, dt: float):
    i = order[wp.tid()]
    x[i] = x[i] + dt * v[i]


def flag(x: Floats, found: Ints):
    i = wp.tid()
    if x[i] > 3.0:
        found[0] = 1


def red_black(x: Floats, color: int):
    i = wp.tid()
    if i % 2 == color and i > 0 and i < x.shape[0] - 1:
        x[i] = 0.5 * (x[i - 1] + x[i + 1])


def own_row(seen: wp.array2d(dtype=int), keys: Ints):
    i = wp.tid()
    seen[i, keys[i]] = seen[i, keys[i]] + 1


def pairs(x: Floats):
    i = wp.tid()
    x[2 * i] = x[2 * i + 1]


def atomics(x: Floats, counts: Ints, keys: Ints):
    i = wp.tid()
    counts[keys[i]] += 1
    x[i] += 1.0


def other_array(x: Floats, y: Floats):
    i = wp.tid()
    y[i] = x[i - 1] + x[i + 1]


def one_thread(x: Floats):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    x[0] = s


def warned(kernel):
    types = [t for _, t in kernel.params]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        args = [wp.zeros((4,) * t.ndim, dtype=t.dtype, device="cpu") if hasattr(t, "ndim") else 1 for t in types]
        wp.launch(kernel, dim=(2,) * max(a.ndim for a in args if hasattr(a, "ndim")), inputs=args, device="cpu")
    return [w for w in found if issubclass(w.category, wp.KernelWarning) and "serial=True" in str(w.message)]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", None)


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (chain, 3, "other threads read this element"),
        (smooth, 2, "other threads read this element"),
        (histogram, 2, "overwrite each other's sums"),
        (total, 2, "overwrite each other's sums"),
        (several_terms, 2, "overwrite each other's sums"),
        (row_sums, 2, "overwrite each other's sums"),
        (binned, 2, "overwrite each other's sums"),
        (matches, 2, "overwrite each other's sums"),
        (largest, 1, "overwrite what others made"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_likely_race_is_told_at_its_line(function, line, message):
    kernel = wp.Kernel(function)
    (warning,) = warned(kernel)
    assert message in str(warning.message)
    assert warning.filename == __file__ and warning.lineno == function.__code__.co_firstlineno + line
    assert not warned(kernel)  # code in memory, told already


@pytest.mark.parametrize(
    "function",
    [
        *(last_one, first_thread, permuted, moved, flag, red_black, own_row, pairs, atomics, other_array, one_thread),
        *(counter, of_two_indices, of_one_thread, every_other, by_color),
    ],
    ids=lambda function: function.__name__,
)
def test_what_may_be_meant_is_not_told(function):
    assert not warned(wp.Kernel(function))


def test_a_serial_kernel_has_no_races():
    assert not warned(wp.Kernel(chain, options={"serial": True}))


def test_elements_of_slices_may_be_those_of_a_thread():
    @wp.kernel
    def scale(a: wp.array(dtype=float), m: wp.array2d(dtype=float), s: float):
        i = wp.tid()
        part = a[2 * i : 2 * i + 2]
        row = m[i]
        for j in range(2):
            part[j] = part[j] * s
            row[j] = row[j] + s

    a, m = wp.ones(6, dtype=float), wp.ones((3, 2), dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wp.launch(scale, 3, inputs=[a, m, 3.0])
    assert (a.list(), m.list()) == ([3.0] * 6, [4.0] * 6)
