"""Views by address, `wp.array(ptr=a.ptr + bytes, ...)`, of the arrays that a launch gets. The judge is NumPy."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.errors.report import kernel_of

MODES = ("release", "debug", "interpret")
SIDES = np.array([2, 3, 1, 5], np.int32)
FIRST = np.array([0, 4, 13, 14], np.int32)  # where the matrix of each thread begins
COUNT = 39


@pytest.fixture(params=MODES)
def mode(request):
    before = wp.config.mode
    wp.config.mode = request.param
    yield request.param
    wp.config.mode = before


@wp.func_native("return (uint64_t)values.data;")
def address(values: wp.array[float]) -> wp.uint64: ...


@wp.func
def behind(values: wp.array[float], elements: int) -> wp.uint64:
    return values.ptr + wp.uint64(4) * wp.uint64(elements)


@wp.kernel
def transpose(side: wp.array[int], first: wp.array[int], x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    n = side[i]
    at = address(x) + wp.uint64(first[i] * 4)
    a = wp.array(ptr=at, shape=(n, n), dtype=wp.float32)
    b = wp.array(ptr=behind(out, first[i]), shape=(n, n), dtype=float)
    for j in range(a.shape[0]):
        for k in range(b.shape[1]):
            b[k, j] = a[j, k]


@wp.kernel
def sums(side: wp.array[int], first: wp.array[int], x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    at = x.ptr
    for _ in range(first[i]):
        at = at + 4
    if side[i] > 2:
        at = at + 8 - 4
    row = wp.array(ptr=at, shape=side[i], dtype=float)
    total = 0.0
    for j in range(len(row)):
        total += row[j]
    out[i] = total


@wp.kernel
def shift(x: wp.array[float], n: int):
    i = wp.tid()
    moved = wp.array(ptr=behind(x, n - i), shape=(n,), dtype=float)
    moved[i] = moved[i] + 1.0  # element n of x, for each thread


def given():
    return [wp.array(a, dtype=int) for a in (SIDES, FIRST)]


def test_each_thread_has_a_matrix_of_its_own(mode):
    x = np.random.default_rng(1).normal(size=COUNT).astype(np.float32)
    wp.launch(transpose, dim=4, inputs=[*given(), wp.array(x), out := wp.zeros(COUNT, dtype=float)])
    parts = [x[at : at + n * n].reshape(n, n).T.ravel() for n, at in zip(SIDES, FIRST)]
    np.testing.assert_array_equal(out.numpy(), np.concatenate(parts))


def test_addresses_go_through_loops_and_branches(mode):
    x = np.arange(COUNT, dtype=np.float32)
    wp.launch(sums, dim=4, inputs=[*given(), wp.array(x), out := wp.zeros(4, dtype=float)])
    assert out.list() == [float(x[at + (n > 2) : at + (n > 2) + n].sum()) for n, at in zip(SIDES, FIRST)]


def test_indices_of_a_view_say_nothing_of_the_array():
    """Each thread writes at its own index of a view, and all of them write to one element."""
    x = wp.zeros(40, dtype=float)
    wp.launch(shift, dim=16, inputs=[x, 16], serial=True)
    assert x.list() == [16.0 * (i == 16) for i in range(40)]


@wp.kernel
def histogram(bins: wp.array[int], out: wp.array[float]):
    place = wp.array(ptr=behind(out, bins[wp.tid()]), shape=1, dtype=float)
    wp.atomic_add(place, 0, 1.0)


def test_atomics_add_to_elements_of_views():
    bins = np.random.default_rng(3).integers(0, 7, 10_000).astype(np.int32)
    wp.launch(histogram, dim=len(bins), inputs=[wp.array(bins), out := wp.zeros(7, dtype=float)])
    np.testing.assert_array_equal(out.numpy(), np.bincount(bins, minlength=7))


@wp.kernel
def doubled(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    a = wp.array(ptr=x.ptr + 4 * i, shape=1, dtype=float)
    y[i] = 2.0 * a[0]


@wp.kernel
def copied(x: wp.array[int], y: wp.array[float]):
    i = wp.tid()
    a = wp.array(ptr=x.ptr + 4 * i, shape=1, dtype=int)
    y[i] = y[i] * float(a[0])


def test_a_gradient_through_a_view_is_refused():
    x, y = (wp.ones(3, dtype=float, requires_grad=True) for _ in range(2))
    with pytest.raises(wp.CompileError, match=r"a view by address.* has no gradient"), wp.Tape():
        wp.launch(doubled, dim=3, inputs=[x, y])
    with pytest.raises(wp.CompileError, match=r"a view by address.* has no gradient"):
        wp.jvp(lambda x: wp.launch(doubled, dim=3, inputs=[x, y]), [x], [wp.ones(3, dtype=float)])


def test_views_of_integers_leave_gradients_alone():
    x = wp.array([2, 3, 4], dtype=int)
    y = wp.ones(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(copied, dim=3, inputs=[x, y])
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert y.list() == [2.0, 3.0, 4.0] and y.grad.list() == [2.0, 3.0, 4.0]


@wp.kernel
def squares(side: wp.array[int], first: wp.array[int], x: wp.array[float], out: wp.array[float]):
    i, _ = wp.tid()
    n = side[i]
    a = wp.array(ptr=behind(x, first[i]), shape=(n, n), dtype=float)
    tile = wp.tile_load(a, shape=(5, 5))
    wp.tile_store(wp.array(ptr=behind(out, first[i]), shape=(n, n), dtype=float), wp.tile_map(wp.mul, tile, tile))


def test_tiles_are_loaded_from_views_and_stored_to_them():
    x = np.random.default_rng(2).normal(size=COUNT).astype(np.float32)
    inputs = [*given(), wp.array(x), out := wp.zeros(COUNT, dtype=float)]
    wp.launch_tiled(squares, dim=[4], inputs=inputs, block_dim=8)
    np.testing.assert_array_equal(out.numpy(), x * x)


REFUSED = {
    "int(x.ptr)": "the address of an array cannot be converted to int",
    "x.ptr * 2": "takes `\\+` or `-` and a number of bytes",
    "8 - x.ptr": "an address cannot be taken from a number",
    "x.ptr - x.ptr": "takes `\\+` or `-` and a number of bytes",
    "x.ptr + 1.5": "the distance from an address must be an integer",
    "wp.array(ptr=x.ptr, shape=2, dtype=wp.vec2)": "a view of .* has its dtype, not vec2",
    "wp.array(ptr=x.ptr, shape=(1, 1, 1, 1, 1), dtype=float)": "one to 4 integers",
    "wp.array(ptr=x.ptr, shape=2.0, dtype=float)": "an extent must be an integer",
    "wp.array(ptr=wp.uint64(n), shape=1, dtype=float)": "outside of kernels only",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_no_view_is_refused(expression):
    k = kernel_of(f"""
        @wp.kernel
        def k(n: int, x: wp.array(dtype=float)):
            b = {expression}
    """)
    with pytest.raises(wp.CompileError, match=REFUSED[expression]):
        wp.launch(k, dim=1, inputs=[1, wp.zeros(3, dtype=float)])


def test_functions_do_not_return_addresses_of_their_own_memory():
    k = kernel_of("""
        @wp.func
        def at(x: wp.array(dtype=float)):
            return x.ptr

        @wp.func
        def own():
            a = wp.zeros(shape=3, dtype=float)
            return at(a)

        @wp.kernel
        def k(out: wp.array(dtype=float)):
            out[0] = wp.array(ptr=own(), shape=3, dtype=float)[0]
    """)
    with pytest.raises(wp.CompileError, match="a local array, whose memory ends with the function"):
        wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float)])
