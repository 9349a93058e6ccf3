"""Kernels that work in blocks of threads: what they compute is judged by NumPy, and by the interpreter of the IR."""

import threading

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.parser import parse
from omni.warp_core.ir.printer import print_function
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import F32, I32
from omni.warp_core.passes import pipeline
from omni.warp_core.passes.barrier_fission import split


@wp.func
def warp_sum(value: float):
    for k in range(5):
        value += wp.shuffle_down(value, 16 >> k)
    return value


@wp.func
def block_sum(value: float):
    warps = wp.shared_array(shape=wp.block_dim() // 32, dtype=float)
    of_warp = warp_sum(value)
    if wp.lane() == 0:
        warps[wp.thread_index() // 32] = of_warp
    wp.syncthreads()
    total = 0.0
    for k in range(wp.block_dim() // 32):
        total += warps[k]
    return total


@wp.kernel
def sums(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    total = block_sum(x[wp.tid()])
    share = block_sum(x[wp.tid()] / total)
    if wp.thread_index() == 0:
        y[wp.block_index()] = total + share


@wp.kernel
def scan(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i, t = wp.tid(), wp.thread_index()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    value = x[i]
    s[t] = value
    wp.syncthreads()
    reach = 1
    while reach < wp.block_dim():
        other = 0.0
        if t >= reach:
            other = s[t - reach]
        wp.syncthreads()
        value += other
        s[t] = value
        wp.syncthreads()
        reach *= 2
    y[i] = value - x[i]


@wp.kernel
def tree(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    t = wp.thread_index()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    s[t] = x[wp.tid()]
    wp.syncthreads()
    count = wp.block_dim()
    while count > 1:
        half = (count + 1) // 2
        if t + half < count:
            s[t] += s[t + half]
        wp.syncthreads()
        count = half
    if t > 0:
        return
    y[wp.block_index()] = s[0]


@wp.kernel
def own_memory(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    t = wp.thread_index()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    seen = wp.zeros(shape=3, dtype=float)
    for k in range(3):
        s[t] = x[wp.tid()] + float(k)
        wp.syncthreads()
        seen[k] = s[(t + k) % wp.block_dim()]
        wp.syncthreads()
    if wp.block_index() == 1:
        if t == 5:
            return
        y[wp.tid()] = 7.0
    y[wp.tid()] += seen[0] + 2.0 * seen[1] + 3.0 * seen[2]


@wp.kernel
def exchange(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    a, b = x[wp.tid()], float(wp.thread_index())
    rounds = int(x[3])
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    for k in range(rounds):
        if k == 2:
            continue
        a, b = b, a + 1.0
        s[wp.thread_index()] = a
        wp.syncthreads()
        b += s[0]
        wp.syncthreads()
        if k > 5:
            break
    y[wp.tid()] = a + b


@wp.func
def first_above(x: float):
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    s[wp.thread_index()] = x
    wp.syncthreads()
    for k in range(wp.block_dim()):
        if s[k] > x:
            return float(k)
        if s[k] == 3.0:
            for j in range(3):
                if float(j) == x:
                    return -2.0
    return -1.0


@wp.kernel
def search(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    for r in range(3):
        if wp.block_index() > r:
            y[wp.tid()] += first_above(x[wp.tid()]) + 0.5


KERNELS = [sums, scan, tree, own_memory, exchange, search]


def interpreted(kernel, x, block_dim):
    """What a kernel leaves in its second array, by the interpreter, before and after the passes."""
    fn = lower_kernel(kernel, block_dim)
    verify(fn)
    assert print_function(parse(print_function(fn))[-1]) == print_function(fn)
    forms = [fn, pipeline.run(fn, pipeline.PassOptions(contract=False))]
    forms += [] if kernel is sums else [split(forms[1])]  # there shuffles have no partner
    results = []
    for form in forms:
        verify(form)
        given, out = interp.MemArray(F32, (len(x),), list(x)), interp.MemArray(F32, (len(x),))
        interp.run_kernel(form, [given, out], len(x))
        results.append(out.values())
    assert all(r == results[0] for r in results)
    return results[0]


CASES = [(k, n) for k in KERNELS for n in (1, 13, 32, 48, 64, 96) if k is not sums or n % 32 == 0]


@pytest.mark.parametrize(("kernel", "block_dim"), CASES, ids=lambda x: getattr(x, "name", x))
@pytest.mark.parametrize("mode", ["release", "debug"])
def test_compiled_like_interpreted(kernel, block_dim, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    x = [float(i * 37 % 17 + 1) for i in range(5 * block_dim)]
    y = wp.zeros(len(x), dtype=float)
    wp.launch(kernel, len(x), [wp.array(x, dtype=float), y], block_dim=block_dim)
    assert y.list() == interpreted(kernel, x, block_dim)


@pytest.mark.parametrize("block_dim", [32, 256, 1024])
def test_reductions_and_scans_against_numpy(block_dim):
    x = np.random.default_rng(1).integers(0, 9, (40, block_dim)).astype(np.float32)
    out = wp.zeros(x.size, dtype=float)
    for kernel, judge in ((tree, x.sum(1)), (sums, x.sum(1) + 1.0)):
        wp.launch(kernel, x.size, [x.ravel(), out], block_dim=block_dim)
        np.testing.assert_allclose(out.numpy()[:40], judge, rtol=1e-6)
    wp.launch(scan, x.size, [x.ravel(), out], block_dim=block_dim)
    np.testing.assert_array_equal(out.numpy().reshape(x.shape), np.cumsum(x, 1) - x)


# -- warps ------------------------------------------------------------------------------------------------------------


def test_shuffles_and_ballots():
    @wp.kernel
    def shuffles(by: wp.array(dtype=int), n: int, out: wp.array2d(dtype=int)):
        i = wp.tid()
        out[0, i] = wp.shuffle(i, by[i])
        out[1, i] = wp.shuffle_up(i, n)
        out[2, i] = wp.shuffle_down(i, n)
        out[3, i] = wp.shuffle_xor(i, n)
        out[4, i] = wp.shuffle(i, n)
        out[5, i] = wp.shuffle_up(i, 3)
        out[6, i] = wp.shuffle_xor(i, 21)
        out[7, i] = int(wp.ballot(by[i] > 7))
        out[8, i] = wp.shuffle_down(i, by[i])

    by = np.random.default_rng(2).integers(-40, 40, 128).astype(np.int32)
    warp = np.arange(128) // 32 * 32
    lane = np.arange(128) % 32
    for n in (0, 1, 5, 31, 33, -1):
        out = wp.zeros((9, 128), dtype=int)
        wp.launch(shuffles, 128, [by, n, out], block_dim=64)
        m = n % 32
        own = np.arange(128)
        said = [sum(1 << k for k in range(32) if by[w + k] > 7) for w in range(0, 128, 32)]
        down = lane + by % 32
        judges = [
            warp + by % 32,
            np.where(lane - m >= 0, own - m, own),
            np.where(lane + m < 32, own + m, own),
            warp + (lane ^ m),
            warp + m,
            np.where(lane >= 3, own - 3, own),
            warp + (lane ^ 21),
            np.repeat(np.array(said, dtype=np.uint32).view(np.int32), 32),
            np.where(down < 32, warp + down, own),
        ]
        np.testing.assert_array_equal(out.numpy(), judges)


def test_warps_and_lanes_of_threads():
    @wp.kernel
    def places(out: wp.array2d(dtype=int)):
        i, t = wp.tid(), wp.thread_index()
        out[0, i] = t // 32
        out[1, i] = t >> 5
        out[2, i] = t % 64
        out[3, i] = t & 15
        out[4, i] = t // 7
        out[5, i] = wp.shuffle(t // 64, 3) + t // 64
        if t // 64 == 1:
            out[6, i] = wp.lane()

    for block_dim in (32, 192):
        out = wp.full((7, 384), -1, dtype=int)
        wp.launch(places, 384, [out], block_dim=block_dim)
        t = np.arange(384) % block_dim
        rows = [t // 32, t // 32, t % 64, t % 16, t // 7, 2 * (t // 64), np.where(t // 64 == 1, t % 32, -1)]
        np.testing.assert_array_equal(out.numpy(), rows)


def test_shuffles_of_structs_and_booleans():
    @wp.struct
    class Pair:
        at: wp.vec3d
        on: bool
        small: wp.int8

    @wp.kernel
    def reverse(out: wp.array(dtype=Pair)):
        i = wp.tid()
        p = Pair()
        p.at = wp.vec3d(wp.float64(i), 0.0, 1.0)
        p.on = i % 3 == 0
        p.small = wp.int8(i)
        out[i] = wp.shuffle(p, 31 - wp.lane())

    out = wp.zeros(32, dtype=Pair)
    wp.launch(reverse, 32, [out], block_dim=32)
    rows = out.numpy()
    np.testing.assert_array_equal(rows["at"][:, 0], np.arange(31, -1, -1))
    np.testing.assert_array_equal(rows["on"], np.arange(31, -1, -1) % 3 == 0)
    np.testing.assert_array_equal(rows["small"], np.arange(31, -1, -1))


# -- launches ---------------------------------------------------------------------------------------------------------


def test_indices_of_blocks_in_launches_of_several_dimensions():
    @wp.kernel
    def where(out: wp.array3d(dtype=wp.vec4i)):
        i, j, t = wp.tid()
        out[i, j, t] = wp.vec4i(wp.block_index(), wp.thread_index(), wp.lane(), wp.block_dim())

    out = wp.zeros((3, 4, 40), dtype=wp.vec4i)
    wp.launch_tiled(where, dim=[3, 4], inputs=[out], block_dim=40)
    found = out.numpy()
    block, thread = np.mgrid[0:12, 0:40]
    np.testing.assert_array_equal(found[..., 0].reshape(12, 40), block)
    np.testing.assert_array_equal(found[..., 1].reshape(12, 40), thread)
    np.testing.assert_array_equal(found[..., 2], found[..., 1] % 32)
    assert (found[..., 3] == 40).all()


@pytest.mark.parametrize("dims", [(3, 4, 32), (3, 2, 64), (2, 6, 16), (1, 8, 12), (96,)])
def test_barriers_in_launches_of_several_dimensions(dims):
    if len(dims) == 1:

        @wp.kernel
        def turn(x: wp.array(dtype=int), out: wp.array(dtype=int)):
            i, t = wp.tid(), wp.thread_index()
            s = wp.shared_array(shape=wp.block_dim(), dtype=int)
            s[t] = x[i]
            wp.syncthreads()
            out[i] = s[wp.block_dim() - 1 - t]
    else:

        @wp.kernel
        def turn(x: wp.array3d(dtype=int), out: wp.array3d(dtype=int)):
            i, j, k = wp.tid()
            s = wp.shared_array(shape=wp.block_dim(), dtype=int)
            s[wp.thread_index()] = x[i, j, k]
            wp.syncthreads()
            out[i, j, k] = s[wp.block_dim() - 1 - wp.thread_index()]

    x = np.arange(np.prod(dims), dtype=np.int32).reshape(dims)
    out = wp.zeros(dims, dtype=int)
    wp.launch(turn, dims, [x, out], block_dim=32)
    np.testing.assert_array_equal(out.numpy().ravel(), x.reshape(-1, 32)[:, ::-1].ravel())


@pytest.mark.parametrize("interpret", [False, True])
def test_what_no_thread_waits_for_needs_no_whole_blocks(interpret):
    @wp.kernel
    def where(out: wp.array(dtype=int)):
        i = wp.tid()
        for _ in range(wp.lane() % 3):
            out[i] += 1000
        out[i] += 100 * wp.block_index() + wp.thread_index()

    for n in (0, 1, 49, 100, 150):
        out = wp.zeros(n, dtype=int)
        wp.launch(where, n, [out], block_dim=50, interpret=interpret)
        t = np.arange(n) % 50
        np.testing.assert_array_equal(out.numpy(), np.arange(n) // 50 * 100 + t + t % 32 % 3 * 1000)
    fn = lower_kernel(where, 50)
    for form in (fn, pipeline.run(fn), split(pipeline.run(fn))):
        mem = interp.MemArray(I32, (n,))
        interp.run_kernel(form, [mem], n)
        assert mem.values() == out.list()


def test_one_kernel_in_blocks_of_several_sizes():
    x = np.arange(96, dtype=np.float32)
    y = wp.zeros(96, dtype=float)
    for block_dim in (32, 96, 32, 48, 96):
        wp.launch(tree, 96, [x, y], block_dim=block_dim)
        sums_of_blocks = x.reshape(-1, block_dim).sum(1)
        np.testing.assert_array_equal(y.numpy()[: len(sums_of_blocks)], sums_of_blocks)
    command = wp.launch(tree, 96, [x, y], block_dim=48, record_cmd=True)
    wp.launch(tree, 96, [x, y], block_dim=96)
    command.launch()
    np.testing.assert_array_equal(y.numpy()[:2], x.reshape(-1, 48).sum(1))


def test_many_blocks_on_several_threads():
    x = np.ones(1 << 18, dtype=np.float32)
    y = wp.zeros(1 << 18, dtype=float)
    for _ in range(3):
        wp.launch(tree, x.size, [x, y], block_dim=128)
    np.testing.assert_array_equal(y.numpy()[: x.size // 128], 128.0)


def test_atomics_on_shared_memory_and_on_arrays():
    @wp.kernel
    def histogram(x: wp.array(dtype=int), out: wp.array(dtype=int), blocks: wp.array(dtype=int)):
        counts = wp.shared_array(shape=8, dtype=int)
        t = wp.thread_index()
        if t < 8:
            counts[t] = 0
        wp.syncthreads()
        wp.atomic_add(counts, x[wp.tid()], 1)
        wp.syncthreads()
        if t < 8:
            wp.atomic_add(out, t, counts[t])
        wp.atomic_max(blocks, 0, wp.block_index())

    x = np.random.default_rng(3).integers(0, 8, 64 * 50).astype(np.int32)
    out, blocks = wp.zeros(8, dtype=int), wp.zeros(1, dtype=int)
    wp.launch(histogram, x.size, [x, out, blocks], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), np.bincount(x, minlength=8))
    assert blocks.list() == [49]


def test_loops_whose_count_is_read_from_an_array():
    @wp.kernel
    def segments(x: wp.array(dtype=float), ends: wp.array(dtype=int), out: wp.array(dtype=float)):
        b, t = wp.block_index(), wp.thread_index()
        s = wp.shared_array(shape=wp.block_dim(), dtype=float)
        total = 0.0
        first = 0
        if b > 0:
            first = ends[b - 1]
        for start in range(first, ends[b], wp.block_dim()):
            s[t] = 0.0
            if start + t < ends[b]:
                s[t] = x[start + t]
            wp.syncthreads()
            total += s[wp.block_dim() - 1 - t]
            wp.syncthreads()
        wp.atomic_add(out, b, total)

    x = np.random.default_rng(4).integers(0, 9, 500).astype(np.float32)
    ends = np.array([0, 7, 100, 333, 500], dtype=np.int32)
    out = wp.zeros(5, dtype=float)
    wp.launch(segments, 5 * 48, [x, ends, out], block_dim=48)
    np.testing.assert_array_equal(out.numpy(), [a.sum() for a in np.split(x, ends[:-1])[0:]][:5])


def test_failures_in_debug_mode_name_the_thread(monkeypatch):
    @wp.kernel
    def beyond(x: wp.array(dtype=float), n: int):
        s = wp.shared_array(shape=wp.block_dim(), dtype=float)
        t = wp.thread_index()
        s[t] = 1.0
        wp.syncthreads()
        x[wp.tid()] = s[t + n]
        wp.syncthreads()
        x[wp.tid()] += s[0]

    monkeypatch.setattr(wp.config, "mode", "debug")
    x = wp.zeros(64, dtype=float)
    wp.launch(beyond, 64, [x, 0], block_dim=32)
    assert x.list() == [2.0] * 64
    with pytest.raises(wp.KernelError, match="index 32 is out of range for dimension 0"):
        wp.launch(beyond, 64, [x, 1], block_dim=32)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_launches_take_whole_blocks():
    y = wp.zeros(100, dtype=float)
    told = r"works in blocks of 32 threads, but a launch of 100 is not a multiple.*that fits, block_dim=25"
    with pytest.raises(ValueError, match=told):
        wp.launch(tree, 100, [y, y], block_dim=32)
    with pytest.raises(ValueError, match="is not a multiple of that"):
        wp.launch(tree, 100, [y, y], block_dim=32, interpret=True)
    with pytest.raises(ValueError, match="block_dim"):
        wp.launch(tree, 4096, [y, y], block_dim=2048)


def test_races_are_found_by_the_interpreter():
    @wp.kernel
    def race(x: wp.array(dtype=float)):
        s = wp.shared_array(shape=wp.block_dim(), dtype=float)
        t = wp.thread_index()
        s[t] = 0.0
        wp.syncthreads()
        s[t] = x[wp.tid()]
        x[wp.tid()] = s[wp.block_dim() - 1 - t]

    with pytest.raises(interp.Race, match="meet at element"):
        interp.run_kernel(lower_kernel(race, 4), [interp.MemArray(F32, (4,))], 4)


@pytest.mark.cpu
def test_arrays_that_threads_choose_end_at_barriers():
    @wp.kernel
    def chosen(x: wp.array(dtype=float), z: wp.array(dtype=float), n: int):
        rows = x
        for _ in range(n):
            if wp.thread_index() > 3:
                rows = z
            wp.syncthreads()
            rows[wp.tid()] += 1.0

    y = wp.zeros(32, dtype=float)
    with pytest.raises(wp.CompileError, match="an array that threads of a block choose"):
        wp.launch(chosen, 32, [y, y, 3], block_dim=32)

    @wp.func
    def total(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        found = 0.0
        for k in range(len(a)):
            found += wp.sin(a[k]) * b[k] + wp.cos(a[k] + b[k])
        return found

    @wp.kernel
    def views(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
        row = x[wp.thread_index()]
        mine = wp.zeros(shape=4, dtype=float)
        mine[1] = row[1]
        wp.syncthreads()
        out[wp.tid()] = row[0] + 10.0 * mine[1]

    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    out = wp.zeros(16, dtype=float)
    wp.launch(views, 16, [x, out], block_dim=8)
    np.testing.assert_array_equal(out.numpy(), np.tile(x[:, 0] + 10.0 * x[:, 1], 2))


@pytest.mark.cpu
def test_values_kept_behind_barriers_fit_the_stack():
    @wp.kernel
    def hoard(x: wp.array2d(dtype=wp.mat44d), out: wp.array(dtype=wp.mat44d)):
        t = wp.thread_index()
        kept = wp.zeros(shape=24, dtype=wp.mat44d)
        for k in range(24):
            kept[k] = x[k, t]
        wp.syncthreads()
        for k in range(24):
            out[wp.tid()] += kept[k]

    x = np.random.default_rng(5).integers(0, 9, (24, 1024, 4, 4)).astype(float)
    given, out = wp.array(x, dtype=wp.mat44d), wp.zeros(1024, dtype=wp.mat44d)
    wp.launch(hoard, 256, [given, out], block_dim=256)
    np.testing.assert_array_equal(out.numpy()[:256], x[:, :256].sum(0))
    with pytest.raises(wp.CompileError, match="2097152 is the most on a CPU"):
        wp.launch(hoard, 1024, [given, out], block_dim=1024)


def test_gradients_are_refused():
    x = wp.zeros(32, dtype=float, requires_grad=True)
    with pytest.raises(wp.CompileError, match=r"blocks of threads(?s:.*)record_tape=False;.*record_func"), wp.Tape():
        wp.launch(tree, 32, [x, x], block_dim=32)


def test_gradients_of_their_own():
    """What the message says works: sums of blocks, whose gradients go back to all threads."""
    x, y = (wp.array(np.arange(n), dtype=float, requires_grad=True) for n in (64, 2))

    def backward():
        x.grad.assign(x.grad.numpy() + np.repeat(y.grad.numpy(), 32))

    @wp.kernel
    def totals(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        total = block_sum(x[wp.tid()])
        if wp.thread_index() == 0:
            y[wp.block_index()] = total

    with wp.Tape() as tape:
        wp.launch(totals, 64, [x, y], block_dim=32, record_tape=False)
        tape.record_func(backward, [x, y])
    tape.backward(grads={y: wp.array([2.0, 3.0], dtype=float)})
    assert x.grad.list() == [2.0] * 32 + [3.0] * 32


# -- interpreted launches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "block_dim"), [(k, n) for k, n in CASES if n in (13, 32, 48)], ids=str)
def test_interpreted_launches(kernel, block_dim):
    x = [float(i * 37 % 17 + 1) for i in range(2 * block_dim)]
    compiled, plain = wp.zeros(len(x), dtype=float), wp.zeros(len(x), dtype=float)
    wp.launch(kernel, len(x), [wp.array(x, dtype=float), compiled], block_dim=block_dim)
    wp.launch(kernel, len(x), [wp.array(x, dtype=float), plain], block_dim=block_dim, interpret=True)
    np.testing.assert_allclose(plain.numpy(), compiled.numpy(), rtol=1e-6)


@wp.struct
class Pair:
    first: float
    second: wp.vec2


@wp.kernel
def reads_what_others_write(x: wp.array(dtype=float)):
    seen = wp.shared_array(shape=wp.block_dim(), dtype=float)
    t = wp.thread_index()
    seen[t] = x[wp.tid()]
    x[wp.tid()] = seen[3 - t]


@wp.kernel
def writes_after_reading(x: wp.array(dtype=float)):
    rows = wp.shared_array(shape=(2, 2), dtype=float)
    t = wp.thread_index()
    rows[t // 2, t % 2] = 1.0
    wp.syncthreads()
    x[wp.tid()] = rows[1][t % 2]
    rows[1][1] *= 2.0


@wp.kernel
def mixes_atomics_with_stores(x: wp.array(dtype=float)):
    sums = wp.shared_array(shape=2, dtype=float)
    sums[1] += x[wp.tid()]
    if wp.thread_index() == 2:
        sums[1] = 0.0


@wp.kernel
def shares_a_member(x: wp.array(dtype=float)):
    pairs = wp.shared_array(shape=1, dtype=Pair)
    pairs[0].second[wp.thread_index() % 3 // 2] = x[wp.tid()]


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (reads_what_others_write, r"threads 1 and 2 of a block meet at seen\[2\] .*: read, then write"),
        (writes_after_reading, r"meet at rows\[1, 1\] without a barrier in between: "),
        (mixes_atomics_with_stores, r"meet at sums\[1\] .*: atomic, then write"),
        (shares_a_member, r"threads 0 and 1 of a block meet at pairs\[0\] .*: write, then write"),
    ],
    ids=str,
)
def test_races_are_told_by_interpreted_launches(kernel, why):
    with pytest.raises(RuntimeError, match=why) as caught:
        wp.launch(kernel, 8, [wp.zeros(8, dtype=float)], block_dim=4, interpret=True)
    if hasattr(caught.value, "add_note"):  # from Python 3.11 on
        assert f"kernel `{kernel.name}`" in caught.value.__notes__[0]


def test_what_is_no_race():
    @wp.kernel
    def apart(x: wp.array(dtype=float)):
        count = wp.shared_array(shape=2, dtype=int)
        pairs = wp.shared_array(shape=1, dtype=Pair)
        marks = wp.shared_array(shape=4, dtype=float)
        t = wp.thread_index()
        if t == 0:
            count[0] = 0
            count[1] = 0
        nothing = wp.isnan(marks[t])
        wp.syncthreads()
        count[0] += 1
        wp.atomic_max(count, 1, t)
        if t < 2:
            pairs[0].second[t] = float(t)  # parts of an element
        if t == 2:
            pairs[0].first = 5.0
        marks[t] = 1.0
        marks[t] *= 2.0
        wp.syncthreads()
        total = float(count[0] + count[1]) + pairs[0].first + pairs[0].second[1] + marks[3 - t]
        if nothing:
            x[wp.tid()] = total

    x = wp.zeros(8, dtype=float)
    wp.launch(apart, 8, [x], block_dim=4, interpret=True)
    assert x.list() == [15.0] * 8


def test_failures_of_interpreted_launches_name_the_thread():
    @wp.kernel
    def beyond(x: wp.array(dtype=float)):
        s = wp.shared_array(shape=4, dtype=float)
        wp.syncthreads()
        x[wp.tid()] = s[wp.thread_index()]

    before = threading.enumerate()  # other tests may have left some
    with pytest.raises(IndexError) as caught:
        wp.launch(beyond, 16, [wp.zeros(16, dtype=float)], block_dim=8, interpret=True)
    if hasattr(caught.value, "add_note"):  # from Python 3.11 on
        assert "thread 4" in caught.value.__notes__[0]
    assert not [t for t in threading.enumerate() if t not in before]
