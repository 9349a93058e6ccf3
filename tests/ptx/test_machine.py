"""The machine for PTX on texts written by hand: what is computed, against exact arithmetic, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.ptx import parse
from tests.ptx.machine import Program
from tests.ptx.memory import Global

N = 64
TEXT = """
.version 7.1
.target sm_75
.address_size 64
{data}
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)
.maxntid 1024
{{
  .reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .b16 %rs<8>; .reg .pred %p<8>;
  .shared .align 16 .b8 box[256];
  .local .align 8 .b8 own[32];
  ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2]; ld.param.u64 %rd3, [p3];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
  mad.lo.s32 %r3, %r1, %r2, %r0;
  mul.wide.u32 %rd4, %r3, 8;
  add.s64 %rd10, %rd0, %rd4; add.s64 %rd11, %rd1, %rd4; add.s64 %rd12, %rd2, %rd4; add.s64 %rd13, %rd3, %rd4;
  {body}
}}
"""


def run(body: str, *arrays: np.ndarray, grid: int = 2, block: int = 32, data: str = "") -> np.ndarray:
    """The first array, 8 bytes for each thread, after `body` has run; %rd10 … %rd13 point to the thread's elements."""
    given = [np.zeros(grid * block, np.uint64), *arrays]
    given += [given[0]] * (4 - len(given))
    memory = [(a.ctypes.data, a.view(np.uint8)) for a in given]
    spans = {a.ctypes.data: a.nbytes for a in given}
    program = Program(parse.module(TEXT.format(body=body, data=data)), {})
    params = [int(a.ctypes.data).to_bytes(8, "little") for a in given]
    program.launch("k", grid, block, params, Global(memory, spans.items()))
    return given[0]


def computed(instruction: str, result: str, operands: str, *values: np.ndarray) -> np.ndarray:
    """An instruction on elements, whose registers are %a %b %c and %d; the types have 16, 32 or 64 bits."""
    bits = {t: parse.WIDTHS[t] for t in (result, *operands.split())}
    body = [f".reg .b{bits[result]} d;"]
    for k, (name, t) in enumerate(zip("abc", operands.split())):
        body += [f".reg .b{bits[t]} {name};", f"ld.global.b{bits[t]} {name}, [%rd1{k + 1}];"]
    body += [f"{instruction};", f"st.global.b{bits[result]} [%rd10], d;", "ret;"]
    given = []
    for v in values:
        cell = np.zeros(N, np.uint64)
        cell.view(v.dtype)[:: 8 // v.dtype.itemsize] = np.resize(v, N)
        given.append(cell)
    return run("\n".join(body), *given)


def floats(dtype, seed: int) -> np.ndarray:
    """Numbers of all sizes, and special ones."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 8 * np.dtype(dtype).itemsize, N, dtype=f"u{np.dtype(dtype).itemsize}").view(dtype)
    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny / 4, np.finfo(dtype).max], dtype)
    near = rng.normal(size=N).astype(dtype)
    near[:16] = bits[:16]
    near[20 : 20 + len(special)] = rng.permutation(special)
    return near


def rounded(x: Fraction, dtype) -> float:
    """To nearest, ties to even, from first principles."""
    digits, least = {np.float32: (24, -149), np.float64: (53, -1074)}[dtype]
    if x == 0:
        return 0.0
    exponent = max(len(bin(int(abs(x)))) - 2 if abs(x) >= 1 else -(len(bin(int(1 / abs(x)))) - 2), 0 - 2000)
    unit = Fraction(2) ** max(exponent - digits - 1, least)
    while abs(x) / unit >= 2**digits:
        unit *= 2
    n = round(x / unit)  # ties to even
    found = n * unit
    most = Fraction(float(np.finfo(dtype).max))
    return float(found) if abs(found) <= most else float("inf" if x > 0 else "-inf")


EXACT = {
    "add.rn": lambda a, b: a + b,
    "sub.rn": lambda a, b: a - b,
    "mul.rn": lambda a, b: a * b,
    "div.rn": lambda a, b: a / b if b else None,
}


@pytest.mark.parametrize("name", [*EXACT, "fma.rn"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_round_once(name, dtype):
    t = f"f{8 * np.dtype(dtype).itemsize}"
    values = [floats(dtype, seed) for seed in (1, 2, 3)][: 3 if name == "fma.rn" else 2]
    if name == "fma.rn":  # products and sums that cancel
        values[2][32:] = -(values[0][32:] * values[1][32:])
    places = ", ".join("abc"[: len(values)])
    got = computed(f"{name}.{t} d, {places}", t, f"{t} " * len(values), *values).view(dtype)[
        :: 8 // np.dtype(dtype).itemsize
    ]
    tested = 0
    for row, result in zip(zip(*values), got):
        if not all(map(np.isfinite, row)):
            continue
        exact = [Fraction(float(x)) for x in row]
        wanted = exact[0] * exact[1] + exact[2] if name == "fma.rn" else EXACT[name](*exact)
        if wanted is not None:
            tested += 1
            assert float(result) == rounded(wanted, dtype), (row, result)
    assert tested > 30


INTEGERS = {
    "mul.hi": lambda a, b, bits: a * b >> bits,
    "mul.lo": lambda a, b, bits: a * b,
    "min": lambda a, b, bits: min(a, b),
    "max": lambda a, b, bits: max(a, b),
    "div": lambda a, b, bits: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1),
    "rem": lambda a, b, bits: (abs(a) % abs(b)) * (1 if a >= 0 else -1),
    "sub": lambda a, b, bits: a - b,
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("t", ["s32", "u32", "s64", "u64"])
def test_integers(name, t):
    dtype = np.dtype(f"{'i' if t[0] == 's' else 'u'}{int(t[1:]) // 8}")
    rng = np.random.default_rng(4)
    bounds = np.iinfo(dtype)
    a, b = (rng.integers(bounds.min, bounds.max, N, dtype=dtype, endpoint=True) for _ in range(2))
    b[::2] = b[::2] // dtype.type(1 << int(t[1:]) // 2) + dtype.type(1)
    got = computed(f"{name}.{t} d, a, b", t, f"{t} {t}", a, b).view(dtype)[:: 8 // dtype.itemsize]
    mask = (1 << int(t[1:])) - 1
    for x, y, r in zip(a.tolist(), b.tolist(), got.tolist()):
        if y != 0:
            assert r & mask == INTEGERS[name](x, y, int(t[1:])) & mask


def test_shifts_clamp():
    a, n = np.array([-5, 7], np.int32), np.array([40, 31, 1, 0], np.uint32)
    left = computed("shl.b32 d, a, b", "u32", "s32 u32", a, n).view(np.int32)[::2]
    right = computed("shr.s32 d, a, b", "u32", "s32 u32", a, n).view(np.int32)[::2]
    assert left[:4].tolist() == [0, -(1 << 31), -10, 7]
    assert right[:4].tolist() == [-1, 0, -3, 7]


@pytest.mark.parametrize(
    ("instruction", "result", "operand", "values", "wanted"),
    [
        ("cvt.rzi.s32.f32 d, a", "s32", "f32", [1.9, -1.9, 3e9, -np.inf, np.nan], [1, -1, 2**31 - 1, -(2**31), 0]),
        ("cvt.rzi.u32.f32 d, a", "u32", "f32", [1.9, -1.9, 5e9, np.nan], [1, 0, 2**32 - 1, 0]),
        ("cvt.rzi.s64.f64 d, a", "s64", "f64", [-7.5, 1e300, np.nan], [-7, 2**63 - 1, -(2**63)]),
        ("cvt.rni.s32.f64 d, a", "s32", "f64", [0.5, 1.5, 2.5, np.nan], [0, 2, 2, -(2**31)]),
        ("cvt.rn.f32.f64 d, a", "f32", "f64", [1 + 2.0**-24, 1 + 2.0**-23.5], [1, np.float32(1 + 2.0**-23)]),
        ("cvt.rn.f32.s64 d, a", "f32", "s64", [2**24 + 1, 2**60 + 1], [2**24, 2**60]),
        ("cvt.rmi.f32.f32 d, a", "f32", "f32", [-1.5, 1.5], [-2, 1]),
        ("cvt.rn.f16.f32 d, a", "f16", "f32", [65520, 1e-8, 1 / 3], [np.inf, 0, np.float16(1 / 3)]),
        ("clz.b64 d, a", "u32", "u64", [0, 1, 2**63], [64, 63, 0]),
        ("bfe.u32 d, a, 4, 8", "u32", "u32", [0xABCDE, 0xFFF], [0xCD, 0xFF]),
        ("bfe.s32 d, a, 4, 4", "s32", "u32", [0x80, 0x70], [-8, 7]),
        ("prmt.b32 d, a, 0, 30576", "u32", "u32", [0x123456FE], [0xFE]),
        ("min.f32 d, a, 0f80000000", "f32", "f32", [np.nan, 1, -1], [0, 0, -1]),
    ],
)
def test_single_results(instruction, result, operand, values, wanted):
    dtypes = {t: np.dtype({"s": "i", "u": "u", "f": "f"}[t[0]] + str(int(t[1:]) // 8)) for t in (result, operand)}
    got = computed(instruction, result, operand, np.array(values, dtypes[operand])).view(dtypes[result])
    assert got[:: 8 // dtypes[result].itemsize][: len(wanted)].tolist() == wanted


def test_threads_that_part_meet_again():
    got = run(
        """and.b32 %r4, %r0, 7; mov.u32 %r5, 0;
        more: setp.eq.u32 %p0, %r4, 0; @%p0 bra done;
        add.u32 %r5, %r5, %r4; sub.u32 %r4, %r4, 1; bra.uni more;
        done: cvt.u64.u32 %rd5, %r5; st.global.b64 [%rd10], %rd5; ret;"""
    )
    assert got.tolist() == [n * (n + 1) // 2 for n in range(8)] * 8


def test_threads_branch_by_a_table():
    got = run(
        """and.b32 %r4, %r0, 3; bra.uni choose;
        table: .branchtargets
            one, two, one, three;
        choose: brx.idx %r4, table;
        one: mov.u32 %r5, 1; bra.uni done;
        two: mov.u32 %r5, 2; bra.uni done;
        three: mov.u32 %r5, 3; bra.uni done;
        done: cvt.u64.u32 %rd5, %r5; st.global.b64 [%rd10], %rd5; ret;"""
    )
    assert got.tolist() == [1, 2, 1, 3] * 16


def test_blocks_exchange_by_shared_memory():
    got = run(
        """shl.b32 %r4, %r0, 2; cvt.u64.u32 %rd5, %r4; mov.b64 %rd6, box; add.s64 %rd6, %rd6, %rd5;
        st.shared.b32 [%rd6], %r3; bar.sync 0;
        xor.b32 %r4, %r4, 124; cvt.u64.u32 %rd5, %r4; mov.b64 %rd6, box; add.s64 %rd6, %rd6, %rd5;
        ld.shared.b32 %r5, [%rd6]; shfl.sync.down.b32 %r6|%p0, %r5, 1, 31, -1; selp.b32 %r6, %r6, 99, %p0;
        vote.sync.ballot.b32 %r7, %p0, -1; mov.b64 %rd5, {%r6, %r7}; st.global.b64 [%rd10], %rd5; ret;"""
    )
    halves = got.view(np.uint32).reshape(2, 32, 2)
    assert halves[0, :, 0].tolist() == [*range(30, -1, -1), 99]
    assert (halves[:, :, 1] == 0x7FFFFFFF).all()


def test_atomics_and_calls():
    got = run(
        """{ .param .b64 x; .param .b64 y; st.param.b64 [x], %rd4; call.uni (y), twice, (x); ld.param.b64 %rd5, [y]; }
        atom.global.add.u64 %rd6, [%rd1], 1; add.s64 %rd5, %rd5, %rd6; st.global.b64 [%rd10], %rd5; ret;""",
        np.zeros(1, np.uint64),
        data=".func (.param .b64 out) twice(.param .b64 in) { .reg .b64 v; ld.param.b64 v, [in]; add.s64 v, v, v; "
        "st.param.b64 [out], v; ret; }",
    )
    assert got.tolist() == [17 * t for t in range(N)]


WRONG = {
    "unknown instruction": "frob.b32 %r4, %r0; ret;",
    "a rounding is wrong": "add.f32 %r4, %r0, %r0; ret;",
    "64 bits": "add.s32 %r4, %rd0, %r0; ret;",
    "before it is written": "add.s32 %r4, %r5, %r0; ret;",
    "nobody's": "ld.global.b64 %rd5, [%rd10+8]; ret;",
    "an access of 8 bytes": "ld.global.b64 %rd5, [%rd10+4]; ret;",
    "memory is read before": "ld.local.b32 %r4, [own]; ret;",
    "constant is written": "ld.global.nc.b64 %rd5, [%rd10]; st.global.b64 [%rd10], %rd5; ret;",
    "others that never come": "setp.lt.u32 %p0, %r0, 3; @%p0 bra here; bar.sync 0; ret; here: bar.sync 0; ret;",
    "takes no part": "setp.lt.u32 %p0, %r0, 3; @%p0 ret; shfl.sync.idx.b32 %r4, %r0, 0, 31, -8; ret;",
    "mask that it names": "shfl.sync.idx.b32 %r4, %r0, 0, 31, 1; ret;",
    "race": "st.shared.b32 [box], %r0; ret;",
    "does not end": "mov.u32 %r4, 0;",
    "trap": "trap;",
}


@pytest.mark.parametrize("why", WRONG)
def test_refused(why):
    with pytest.raises(parse.PtxError, match=why):
        run(WRONG[why])
