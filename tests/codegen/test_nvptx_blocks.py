"""Kernels that work in blocks of threads, as GPUs get them. They run on the processor with the threads of a block in
step, against the interpreter, and are assembled where there is a ptxas.
"""

import re

import pytest

import omni.warp_core as wp
from omni.warp_core.algo.gpu import reduce, run_length, scan, sort, temporaries
from omni.warp_core.codegen.target import GpuOptions, cuda
from omni.warp_core.compiler import CompileRequest, compile
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.lang.types import F32, F64, I32, I64, U32, U64
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.codegen.gpu import Gpu
from tests.codegen.ptx_batch import EVERYTHING, assemble, in_child
from tests.ir.generate import copy_inputs, same


@wp.struct
class Pair:
    near: wp.float64
    far: wp.vec3i
    yes: bool


@wp.kernel
def reverse(x: wp.array(dtype=wp.vec3), n: wp.array(dtype=int)):
    i, t = wp.tid(), wp.thread_index()
    s = wp.shared_array(shape=(2, wp.block_dim()), dtype=wp.vec3)
    for r in range(n.shape[0]):
        s[r % 2, t] = x[i] + wp.vec3(float(wp.block_index()), 0.0, float(r))
        wp.syncthreads()
        x[i] = s[r % 2, wp.block_dim() - 1 - t]


@wp.kernel
def shuffled(x: wp.array(dtype=float), d: wp.array(dtype=wp.float64), k: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = wp.shuffle(x[i], k[i]) + 100.0 * wp.shuffle_xor(x[i], 5)
    d[i] = wp.shuffle_up(d[i], 3) - 7.0 * wp.shuffle_down(d[i], 35)
    p = Pair(d[i], wp.vec3i(i, k[i], wp.lane()), i % 3 == 1)
    q = wp.shuffle(p, i + 9)
    d[i] += q.near + wp.float64(q.far[0] + 10 * q.far[1] + 100 * q.far[2])
    if q.yes:
        x[i] += 0.5
    h, u, w = wp.float16(x[i] / 1000.0), wp.uint8(i), wp.int64(i) * wp.int64(5000000000)
    d[i] += wp.float64(wp.shuffle_down(h, 1)) + wp.float64(wp.shuffle_up(u, 1)) + wp.float64(wp.shuffle_xor(w, 31))


@wp.kernel
def voted(n: wp.array(dtype=wp.uint32), at: int):
    i = wp.tid()
    if at < n.shape[0]:
        n[i] = wp.ballot(n[i] % wp.uint32(3) == wp.uint32(0)) + wp.ballot(wp.lane() > at)


@wp.func
def scanned(x: int):
    """Sum of the values of the threads before in the block."""
    sums = wp.shared_array(shape=32, dtype=int)
    mine = x
    for k in range(5):
        below = wp.shuffle_up(mine, 1 << k)
        if wp.lane() >= 1 << k:
            mine += below
    if wp.lane() == 31:
        sums[wp.thread_index() // 32] = mine
    wp.syncthreads()
    before = 0
    for w in range(wp.thread_index() // 32):
        before += sums[w]
    wp.syncthreads()
    return before + mine - x


@wp.kernel
def compacted(x: wp.array(dtype=int), out: wp.array(dtype=int), n: wp.array(dtype=int)):
    i = wp.tid()
    count = wp.shared_array(shape=1, dtype=int)
    if wp.thread_index() == 0:
        count[0] = 0
    wp.syncthreads()
    keep = 0
    if x[i] & 3 == 0:
        keep = 1
        wp.atomic_add(count, 0, 1)
    at = scanned(keep)
    if keep == 1:
        out[wp.block_index() * wp.block_dim() + at] = x[i]
    wp.atomic_add(n, wp.thread_index(), scanned(at))
    wp.syncthreads()
    n[i] += 1000 * count[0]


@wp.kernel
def shared_iterations(x: wp.array(dtype=float), n: wp.array(dtype=int)):
    i, t = wp.tid(), wp.thread_index()
    s = wp.shared_array(shape=(3, wp.block_dim()), dtype=float)
    s[0, t] = x[i]
    for k, j in wp.block_range(2, wp.block_dim()):
        s[k + 1, j] = s[0, wp.block_dim() - 1 - j] * float(k + 1)
    for j in wp.block_range(wp.block_dim() - 1, n.shape[0] - n.shape[0], -3):
        if j & 1 == 0:
            continue
        s[2, j] += s[1, j]
    x[i] = s[2, t] + s[1, 0]


@wp.kernel
def rows(x: wp.array(dtype=float), n: int):
    """Nothing but shared iterations: blocks need not be whole."""
    first = wp.block_index() * n
    for j in wp.block_range(n):
        x[first + j] += float(j)
    for j in wp.block_range(n - 1):
        wp.atomic_add(x, first, x[first + 1 + j])


PAIR = wp.types.vector(2, wp.uint32).__wc_type__
_CASES = (
    (reverse, 32),
    (reverse, 7),
    (shuffled, 64),
    (voted, 96),
    (compacted, 64),
    (shared_iterations, 7),
    (shared_iterations, 40),
)
_PASSES = (PassOptions(), PassOptions(contract=False, inline_limit=0), PassOptions(debug=True))


def _given(kernel, threads):
    out = []
    for p in kernel.params:
        t = p.type
        if not hasattr(t, "dtype"):
            out.append(7)
        elif t.dtype.size == 12:
            out.append(MemArray(t.dtype, (threads,), [(float(k), -float(k), 0.5) for k in range(threads)]))
        elif t.dtype.is_float:
            out.append(MemArray(t.dtype, (threads,), [float(3 * k % 50) for k in range(threads)]))
        else:
            out.append(MemArray(t.dtype, (threads,), [k * 7919 % 1000 for k in range(threads)]))
    return out


@pytest.mark.parametrize("passes", _PASSES, ids=("fast", "calls", "debug"))
@pytest.mark.parametrize(("kernel", "block"), _CASES)
def test_results(kernel, block, passes):
    fn = lower_kernel(kernel, block)
    expected = _given(fn, 3 * block)
    if kernel is reverse:
        expected[1] = MemArray(expected[1].dtype, (3,), [0] * 3)
    got = copy_inputs(expected)
    interp.run_kernel(fn, expected, 3 * block)
    gpu = Gpu(run(fn, passes))
    gpu.run(got, 3 * block)
    assert not gpu.failures
    for p, a, b in zip(fn.params, expected, got):
        assert same(a, b), p.name


@wp.kernel
def reaching(x: wp.array(dtype=int), at: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(shape=32, dtype=int)
    s[wp.thread_index()] = x[at[i]]
    wp.syncthreads()
    x[i] = s[31 - wp.thread_index()]


def test_a_thread_that_fails_leaves_and_the_others_go_on():
    fn = run(lower_kernel(reaching, 32), PassOptions(debug=True))
    x, at = (MemArray(fn.params[0].type.dtype, (32,), list(range(32))) for _ in range(2))
    at.data[5] = 99
    gpu = Gpu(fn)
    gpu.run([x, at], 32)
    [(thread, site, values)] = gpu.failures
    assert (thread, gpu.unit.sites[site]["kind"], values[0]) == (5, "bounds", 99)
    assert [v for i, v in enumerate(x.data) if i not in (5, 26)] == [31 - i for i in range(32) if i not in (5, 26)]


@wp.kernel
def placed(x: wp.array(dtype=wp.vec3i), n: wp.array(dtype=int)):
    x[wp.tid()] = wp.vec3i(wp.block_index(), wp.thread_index(), wp.lane())
    wp.atomic_add(n, wp.block_index(), 1)
    wp.atomic_add(n, 2, 1)


def test_places_in_blocks_that_are_not_whole():
    """Nothing beyond the launch runs; what goes to one element is not brought together over blocks."""
    fn = lower_kernel(placed, 64)
    expected = [MemArray(fn.params[0].type.dtype, (100,), [(0, 0, 0)] * 100), MemArray(I32, (3,), [0, 0, 0])]
    got = copy_inputs(expected)
    interp.run_kernel(fn, expected, 100)
    Gpu(run(fn)).run(got, 100)
    assert got[0].data == expected[0].data
    assert got[1].data == expected[1].data == [64, 36, 100]


def test_shared_iterations_in_blocks_that_are_not_whole():
    fn = lower_kernel(rows, 8)
    expected = [MemArray(F32, (100,), [float(k * k % 17) for k in range(100)]), 30]
    got = copy_inputs(expected)
    interp.run_kernel(fn, expected, 19)
    Gpu(run(fn)).run(got, 19)
    assert same(expected[0], got[0])
    assert expected[0].data[60] == sum(float(k * k % 17) + k - 60.0 for k in range(60, 90))


_KERNELS = (placed, reverse, shuffled, voted, compacted, reaching, shared_iterations, rows)


@pytest.mark.parametrize("capability", [75, 90, 100, 120])
def test_assembled(capability):
    def made():
        for kernel in _KERNELS:
            for block, debug in ((32, False), (256, True), (1024, False)):
                types = tuple(t for _, t in kernel.params)
                gpu = GpuOptions(block_dim=block, aligned=True, disjoint=True)
                request = CompileRequest(kernel, types, cuda(capability), gpu=gpu, block_dim=block, debug=debug)
                yield f"{kernel.name} {block} {debug}", compile(request).code.decode()

    found = in_child(made)
    assemble(found.values(), capability)
    text = found["compacted 1024 False"]
    for word in ("bar.sync", "shfl.sync.up.b32", "ld.shared", "st.shared", "atom.shared", ".maxntid 1024", ".shared"):
        assert word in text, word
    assert "generic" not in text
    assert "vote.sync.ballot.b32" in found["voted 32 False"]


def _algorithms(capability):
    """Every kernel of the algorithms on arrays, for some types of each."""
    sets = [
        *(scan._kernels(t) for t in (I32, U64, F32, F64)),
        *(reduce._kernels(*row) for row in ((F32, F64, False), (F64, F32, False), (F32, F32, True), (U64, U64, True))),
        *(sort._kernels(*row) for row in ((U32, U32, I32, "signed"), (U64, U64, I64, "float"), (U32, PAIR, I32, ""))),
        *(sort._segment_kernels(*row) for row in ((U32, U64, I32), (U64, PAIR, I64))),
        *(run_length._kernels(t) for t in (I32, U64)),
    ]
    for number, kernels in enumerate(sets):
        for name, kernel in kernels.items():
            types = tuple(t for _, t in kernel.params)
            block = scan._CHUNKS if name == "chain" else temporaries.BLOCK
            gpu = GpuOptions(block_dim=block)
            made = compile(CompileRequest(kernel, types, cuda(capability), gpu=gpu, block_dim=block))
            yield f"{number} {kernel.name}", made.code.decode()


@pytest.mark.parametrize("capability", [75, 90, 100, 120] if EVERYTHING else [75, 100])
def test_algorithms_assembled(capability):
    found = in_child(lambda: _algorithms(capability))
    facts = assemble(found.values(), capability)
    assert not [line for line in facts.splitlines() if "spill" in line and "0 bytes spill stores" not in line]
    for name, text in found.items():
        assert not re.search(r"^\t(?:ld|st|atom)\.(?!global|shared|param|relaxed|local)", text, re.MULTILINE), name
        assert ".local" not in text, name
        if "radix_sort_move" in name:
            assert text.count("shfl.sync.idx") == len(re.findall(r"atom\.\S*shared\S*\.add", text)) == 1
            assert text.count("vote.sync.ballot") == sort._BITS + 1
