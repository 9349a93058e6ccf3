"""Code for GPUs computes the results of the interpreter. It runs on the processor: see `gpu.py`.

OMNI_WARP_RANDOM_PROGRAMS sets how many random programs there are.
"""

from __future__ import annotations

import math
import os
import random
import struct

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.codegen.target import GpuOptions
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.lang.types import F32
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.codegen.gpu import Gpu
from tests.ir.generate import Options, copy_inputs, generate, make_inputs, same

_COUNT = int(os.environ.get("OMNI_WARP_RANDOM_PROGRAMS", "30"))
_THREADS = 23


@pytest.mark.parametrize("seed", range(_COUNT // 2))
def test_random_program(seed):
    fn = generate(seed + 20_000, Options(functions=seed % 3))
    inputs = make_inputs(fn, seed, _THREADS)
    expected = copy_inputs(inputs)
    interp.run_kernel(fn, expected, _THREADS)
    for passes in (None, PassOptions(contract=False, inline_limit=0), PassOptions(contract=False)):
        got = copy_inputs(inputs)
        Gpu(run(fn, passes) if passes else fn).run(got, _THREADS)
        for p, a, b in zip(fn.params, expected, got):
            assert same(a, b), p.name


def _lowered(kernel, debug=False):
    return run(lower_kernel(kernel), PassOptions(debug=debug))


def _array(dtype, values):
    exact = [struct.unpack("f", struct.pack("f", v))[0] if dtype is F32 else v for v in values]
    return MemArray(dtype, (len(values),), exact)


def _floats(values):
    return _array(F32, values)


# -- the launch -----------------------------------------------------------------------------------------------------


@wp.kernel
def _where(out: wp.array(dtype=wp.vec4i), wide: wp.array(dtype=int)):
    i, j, k, l = wp.tid()
    at = ((i * 3 + j) * 5 + k) * 2 + l
    out[at] = wp.vec4i(i, j, k, l)
    wide[at] = wp.tid()


@pytest.mark.parametrize("block", [32, 64, 7])
def test_indices(block):
    """Every thread runs once, under its own indices, however the grid is cut into blocks."""
    fn = _lowered(_where)
    vector = fn.params[0].type.dtype
    out = _array(vector, [(-1,) * 4] * 120)
    flat = _array(fn.params[1].type.dtype, [-1] * 120)
    Gpu(fn, block=block).run([out, flat], (4, 3, 5, 2))
    assert out.data == [(i, j, k, l) for i in range(4) for j in range(3) for k in range(5) for l in range(2)]
    assert flat.data == [row[0] for row in out.data] or flat.data == list(range(120))


@wp.kernel
def _corner(out: wp.array(dtype=wp.vec3i), only: wp.int64):
    i, j, k = wp.tid()
    if wp.int64(i) * wp.int64(70000) * wp.int64(70000) + wp.int64(j) * wp.int64(70000) + wp.int64(k) == only:
        out[0] = wp.vec3i(i, j, k)


@pytest.mark.parametrize("thread", [0, 69_999, (1 << 32) - 1, 1 << 32, 3 * 70_000**2 - 1, 5_123_456_789])
def test_indices_of_launches_that_are_huge(thread):
    """The launch has 14.7e9 threads, of which one is run."""
    fn = _lowered(_corner)
    out = _array(fn.params[0].type.dtype, [(-1, -1, -1)])
    gpu = Gpu(fn, block=256)
    gpu.only = thread
    gpu.run([out, thread], (3, 70_000, 70_000))
    rest, k = divmod(thread, 70_000)
    assert out.data == [(*divmod(rest, 70_000), k)]


# -- atomics --------------------------------------------------------------------------------------------------------


@wp.kernel
def _sums(x: wp.array(dtype=float), n: wp.array(dtype=int), f: wp.array(dtype=float), i: wp.array(dtype=int),
          d: wp.array(dtype=wp.float64), v: wp.array(dtype=wp.vec3), bits: wp.array(dtype=wp.uint32)):  # fmt: skip
    t = wp.tid()
    wp.atomic_add(f, 0, x[t])
    wp.atomic_sub(i, 0, n[t])
    if x[t] > 0.0:
        wp.atomic_max(d, 2, wp.float64(x[t]))
        wp.atomic_add(v, 1, wp.vec3(x[t], 1.0, 0.0))
    wp.atomic_xor(bits, 0, wp.uint32(n[t]))


@pytest.mark.parametrize("capability", [75, 90])
@pytest.mark.parametrize(("threads", "blocks"), [(64, 0), (50, 0), (200, 1), (5, 0)])
def test_totals(capability, threads, blocks):
    """One element for all threads: whole warps, half empty ones, threads that run several times."""
    rng = random.Random(threads)
    x = [float(rng.randrange(-50, 50)) for _ in range(threads)]
    n = [rng.randrange(1 << 30) for _ in range(threads)]
    fn = _lowered(_sums)
    types = [p.type.dtype for p in fn.params]
    data = [x, n, [1.0], [5], [0.0, 0.0, 3.0], [(0.0,) * 3] * 2, [1]]
    arrays = [_array(t, list(values)) for t, values in zip(types, data)]
    Gpu(fn, capability, block=64, blocks=blocks, in_step=True).run(arrays, threads)
    positive = [a for a in x if a > 0]
    assert arrays[2].data == [1.0 + sum(x)]
    assert arrays[3].data == [(5 - sum(n) + (1 << 31)) % (1 << 32) - (1 << 31)]
    assert arrays[4].data == [0.0, 0.0, max([3.0, *positive])]
    assert arrays[5].data == [(0.0,) * 3, (sum(positive), float(len(positive)), 0.0)]
    assert arrays[6].data == [int(np.bitwise_xor.reduce(np.array([1, *n], dtype=np.uint32)))]


@wp.kernel
def _mixed(x: wp.array(dtype=float), lowest: wp.array(dtype=float), n: wp.array(dtype=int)):
    t = wp.tid()
    wp.atomic_min(lowest, 1, x[t])
    wp.atomic_max(lowest, 0, x[t])
    wp.atomic_max(n, 0, int(x[t]))
    wp.atomic_and(n, 1, int(x[t]))


@pytest.mark.parametrize("capability", [75, 90])
def test_one_element_among_others(capability):
    """The array has other uses, so that nothing is gathered over the launch; warps still meet."""
    x = [float((37 * t) % 101 - 50) for t in range(96)]
    fn = _lowered(_mixed)
    arrays = [_floats(x), _floats([-1e9, 1e9]), _array(fn.params[2].type.dtype, [-1000, -1])]
    Gpu(fn, capability, block=32, in_step=True).run(arrays, 96)
    assert arrays[1].data == [max(x), min(x)]
    every = -1
    for v in x:
        every &= int(v)
    assert arrays[2].data == [int(max(x)), every]


@wp.kernel
def _compact(x: wp.array(dtype=float), n: wp.array(dtype=int), out: wp.array(dtype=int)):
    t = wp.tid()
    if x[t] > 0.0:
        out[wp.atomic_add(n, 1, 3) // 3] = t


@pytest.mark.parametrize("keep", [1, 2, 3, 40])
def test_a_counter_gives_every_thread_its_own_place(keep):
    threads = 70
    x = [float(t % keep == 0) for t in range(threads)]
    fn = _lowered(_compact)
    n, out = (_array(fn.params[1].type.dtype, [0] * count) for count in (2, threads))
    Gpu(fn, block=32).run([_floats(x), n, out], threads)
    chosen = [t for t in range(threads) if t % keep == 0]
    assert n.data == [0, 3 * len(chosen)]
    assert sorted(out.data[: len(chosen)]) == chosen


@wp.kernel
def _counter(n: wp.array(dtype=wp.int64), out: wp.array(dtype=wp.int64)):
    out[wp.tid()] = wp.atomic_sub(n, 0, wp.int64(2))


def test_a_warp_takes_from_a_counter_at_once():
    fn = _lowered(_counter)
    n, out = (_array(fn.params[1].type.dtype, [5_000_000_000] * count) for count in (1, 64))
    Gpu(fn, block=64, in_step=True).run([n, out], 64)
    assert n.data == [5_000_000_000 - 128]
    assert sorted(out.data, reverse=True) == [5_000_000_000 - 2 * k for k in range(64)]


@wp.func
def _change(a: wp.array(dtype=float), i: int, x: float):
    b = wp.atomic_add(a, i, x)
    b += wp.atomic_max(a, i, b * 2.0) - wp.atomic_sub(a, i + 1, b)
    return b + wp.atomic_cas(a, i, a[i], 4.0) + wp.atomic_cas(a, i, 5.0, 6.0) + wp.atomic_exch(a, i + 1, b)


@wp.kernel
def _own(x: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=4, dtype=float)
    for j in range(3):
        x[i] += _change(a, j, x[i]) + a[j]


@pytest.mark.parametrize("own", [False, True])
def test_atomics_on_arrays_of_the_thread(own):
    """In a function that stays a call, which does not see where the array is."""
    fn = run(lower_kernel(_own), PassOptions(contract=False, inline_limit=0))
    x = _floats([0.5, -2.0, 3.0])
    expected = copy_inputs([x])
    interp.run_kernel(fn, expected, 3)
    gpu = Gpu(fn)
    assert "isspacep" in gpu.unit.text
    gpu.own = own
    gpu.run([x], 3)
    assert x.data == expected[0].data


_ODD = [0.0, -0.0, 1.5, -1.5, 1e-45, -1e-45, math.inf, -math.inf, 3e38, -3e38, math.nan, -math.nan]


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("name", ["min", "max"])
def test_extrema_of_floats(dtype, name):
    """In every order of two numbers; NaN as an operand changes nothing, in memory it gives way to a number."""
    atomic = getattr(wp, f"atomic_{name}")

    @wp.kernel
    def k(x: wp.array(dtype=dtype), at: wp.array(dtype=int), out: wp.array(dtype=dtype), old: wp.array(dtype=dtype)):
        t = wp.tid()
        old[t] = atomic(out, at[t], x[t])

    pairs = [(a, b) for a in _ODD for b in _ODD]
    fn = _lowered(k)
    t = fn.params[0].type.dtype
    x, out = _array(t, [b for _, b in pairs]), _array(t, [a for a, _ in pairs])
    old = _array(t, [0.0] * len(pairs))
    Gpu(fn).run([x, _array(fn.params[1].type.dtype, list(range(len(pairs)))), out, old], len(pairs))
    choose = {"min": min, "max": max}[name]
    pairs = [tuple(_array(t, pair).data) for pair in pairs]
    expected = [a if math.isnan(b) else b if math.isnan(a) else choose(a, b) for a, b in pairs]
    for got, want in ((out.data, expected), (old.data, [a for a, _ in pairs])):
        assert all(same(g, e) or g == e for g, e in zip(got, want))


@wp.kernel
def _narrow(h: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.bfloat16), s: wp.array(dtype=wp.int16)):
    t = wp.tid()
    wp.atomic_add(h, t % 3, wp.float16(0.5))
    wp.atomic_sub(h, t % 3, wp.float16(float(t)))
    wp.atomic_add(b, t % 2, wp.bfloat16(2.0))
    wp.atomic_max(s, t % 2, wp.int16(t))


def test_atomics_of_16_bits():
    fn = _lowered(_narrow)
    arrays = [_array(p.type.dtype, [0] * 4 if i == 2 else [0.0] * 4) for i, p in enumerate(fn.params)]
    expected = copy_inputs(arrays)
    interp.run_kernel(fn, expected, 40)
    Gpu(fn).run(arrays, 40)
    assert [a.data for a in arrays] == [a.data for a in expected]


# -- reports --------------------------------------------------------------------------------------------------------


@wp.kernel
def _reach(x: wp.array(dtype=float), at: wp.array(dtype=int), n: int):
    i = wp.tid()
    assert n < 5, "too many"
    x[at[i]] = 1.0


def test_failures():
    """The first thread that fails is told with the values; the others go on."""
    fn = _lowered(_reach, debug=True)
    x, at = _floats([0.0] * 4), _array(fn.params[1].type.dtype, [3, 9, 1, -7])
    gpu = Gpu(fn)
    gpu.run([x, at, 2], 4)
    [(thread, site, values)] = gpu.failures
    assert (thread, gpu.unit.sites[site]["kind"]) == (1, "bounds")
    assert values[0] == 9
    assert x.data == [0.0, 1.0, 0.0, 1.0]
    gpu = Gpu(fn)
    gpu.run([x, at, 7], 4)
    [(thread, site, values)] = gpu.failures
    assert (thread, gpu.unit.sites[site]["message"]) == (0, "too many")


@wp.kernel
def _shown(x: float, n: int, m: wp.mat44, u: wp.uint64, yes: bool):
    print(f"{x} {n} {yes} 100%")
    wp.printf("%c %5.2f %u %x %s\n", n, x, u, n, not yes)
    print(m, m, m)


def test_output():
    numbers = [float(k) for k in range(16)]
    gpu = Gpu(_lowered(_shown))
    gpu.run([1.5, 65, tuple(numbers), (1 << 64) - 1, True], 1)
    rows = [", ".join(f"{v:g}" for v in numbers[i : i + 4]) for i in range(0, 16, 4)]
    rows = "[" + ",\n ".join(f"[{row}]" for row in rows) + "]"
    text = f"1.5 65 True 100%\nA  1.50 18446744073709551615 41 False\n{rows} {rows} {rows}\n"
    assert "".join(gpu.printed) == text
    assert len(gpu.printed) == 4  # 48 numbers take two calls


# -- arithmetic -----------------------------------------------------------------------------------------------------


def _some_floats(rng, bits, count):
    form, whole = {32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]
    return [struct.unpack(form, struct.pack(whole, rng.getrandbits(bits)))[0] for _ in range(count)]


@pytest.mark.filterwarnings("ignore:`%` takes the sign")
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_remainders_are_exact(dtype):
    @wp.kernel
    def k(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype), out: wp.array(dtype=dtype)):
        i = wp.tid()
        out[i] = x[i] % y[i]

    bits, rng = (32, random.Random(1)) if dtype is wp.float32 else (64, random.Random(2))
    tiny, one = (1e-45, 1.0) if bits == 32 else (5e-324, 1.0)
    x, y = ([v * rng.choice([1.0, 1.0, 0.0]) for v in _some_floats(rng, bits, 3000)] for _ in range(2))
    x += [5.5, -5.5, 7.0, one, 1e30, math.inf, 3.0, tiny * 7, -tiny * 8, 1e38, 0.0, -0.0, 2.0, math.nan]
    y += [2.0, 2.0, 7.0, tiny, 3.0, 2.0, math.inf, tiny * 3, tiny * 3, tiny * 3, 1.0, 1.0, 0.0, 1.0]
    x += [rng.uniform(-100, 100) for _ in range(500)]
    y += [rng.uniform(-10, 10) for _ in range(500)]
    cut = [float(v) for v in np.array([x, y], np.float32).ravel()] if bits == 32 else x + y
    x, y = cut[: len(x)], cut[len(x) :]
    fn = _lowered(k)
    t = fn.params[0].type.dtype
    out = _array(t, [0.0] * len(x))
    Gpu(fn).run([_array(t, x), _array(t, y), out], len(x))
    with np.errstate(invalid="ignore"):
        expected = [float(v) for v in np.fmod(np.array(x, dtype=f"f{bits // 8}"), np.array(y, dtype=f"f{bits // 8}"))]
    wrong = [(a, b, e, o) for a, b, e, o in zip(x, y, expected, out.data) if not same(e, o)]
    assert not wrong, wrong[:5]


@wp.kernel
def _converted(x: wp.array(dtype=float), a: wp.array(dtype=int), b: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    a[i] = int(x[i])
    b[i] = wp.uint32(x[i])


def test_conversions():
    x = [1.9, -1.9, 3e9, -3e9, math.nan, math.inf, -math.inf, 5e9, 2147483520.0]
    fn = _lowered(_converted)
    arrays = [_array(p.type.dtype, x if i == 0 else [0] * len(x)) for i, p in enumerate(fn.params)]
    expected = copy_inputs(arrays)
    interp.run_kernel(fn, expected, len(x))
    Gpu(fn).run(arrays, len(x))
    assert [a.data for a in arrays[1:]] == [a.data for a in expected[1:]]


# -- adjoints -------------------------------------------------------------------------------------------------------


@wp.kernel
def _iterated(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = x[i]
    for _ in range(n + i % 3):
        v = wp.sin(v) * v + 1.0
    y[i] = v


@pytest.mark.parametrize("blocks", [0, 1])
def test_adjoints_keep_what_loops_need(blocks):
    fn = run(adjoint_kernel(lower_kernel(_iterated), library_gradient, False).function, PassOptions(contract=False))
    inputs = [_floats([0.1 * k for k in range(70)]), _floats([0.0] * 70), 5]
    expected = copy_inputs(inputs)
    for arrays in (inputs, expected):
        for weight, array in enumerate(arrays[:2]):
            array.grad = _floats([float(weight)] * 70)
    interp.run_kernel(fn, expected, 70)
    gpu = Gpu(fn, gpu=GpuOptions(), blocks=blocks)
    assert gpu.unit.strided and gpu.unit.stashes
    gpu.run(inputs, 70)
    assert not gpu.failures
    assert inputs[0].grad.data == expected[0].grad.data


def test_a_stash_that_is_too_small_is_told():
    fn = run(adjoint_kernel(lower_kernel(_iterated), library_gradient, False).function)
    inputs = [_floats([0.5] * 3), _floats([0.0] * 3), 5]
    for array in inputs[:2]:
        array.grad = _floats([1.0] * 3)
    gpu = Gpu(fn, cells=3)
    gpu.run(inputs, 3)
    [(thread, site, values)] = gpu.failures
    assert (thread, gpu.unit.sites[site]["kind"]) == (0, "gradient-memory")
    assert values[0] > 3
