"""C++ text of `wp.func_native` that computes with numbers. The judge is the C++ compiler that builds the package."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import omni.warp_core as wp

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
C = {wp.float32: "float", wp.float64: "double", wp.int32: "int32_t", wp.uint32: "uint32_t"}
C |= {wp.int64: "int64_t", wp.uint64: "uint64_t", wp.bool: "bool"}
BRANCH = "#if defined(__CUDA_ARCH__)\n  return __frsqrt_rn(x);\n#else\n  return {};\n#endif"

# name -> result, types of the parameters a, b, ..., text
TEXTS = {
    "root": (wp.float32, "f", BRANCH.format("1.0f / sqrtf(a)")),
    "in double": (wp.float32, "f", "return 1.0 / sqrt((double)a) + 1e-3;"),
    "up": (wp.float32, "f", "return __builtin_nextafterf(a, INFINITY);"),
    "down": (wp.float32, "ff", "return __builtin_nextafterf(a, b);"),
    "flip": (
        wp.uint32,
        "f",
        "uint32_t i = reinterpret_cast<uint32_t&>(a);\n"
        "uint32_t mask = (uint32_t)(-(int)(i >> 31)) | 0x80000000; // all bits\nreturn i ^ mask;",
    ),
    "low": (wp.int32, "U", "return static_cast<int32_t>(a & 0xFFFFFull);"),
    "lowest bit": (
        wp.int32,
        "I",
        "if (a == 0) return -1;\nint place = 0;\nwhile ((a & 1LL) == 0LL) { a >>= 1; place++; }\nreturn place;",
    ),
    "mixed signs": (wp.bool, "iu", "return a < b || -a > b;"),
    "unsigned": (wp.uint32, "u", "return -a / 3u + (a << 3) % 7;"),
    "wide": (wp.int64, "iu", "return (long long)a * b + a / 7 - (a % 5);"),
    "to float": (wp.float32, "iI", "return a / 2 + 0.5f * b;"),
    "to int": (wp.int32, "f", "int whole = a; const auto rest = a - whole; return rest > 0.5f ? whole + 1 : whole;"),
    "bits": (wp.int32, "U", "return __builtin_popcountll(a) + __builtin_popcount((unsigned int)a) * 100;"),
    "loop": (
        wp.int32,
        "i",
        "int s = 0;\n#pragma unroll\nfor (int i = 0, j = 9; i < 10; ++i, j -= 2) {\n"
        "  if (i == (a & 15)) break;\n  for (int k = i; k; k >>= 1) s += k ^ j;\n}\nreturn s;",
    ),
    "logic": (wp.int32, "iu", "bool p = a, q = !b; return (p && q) + 2 * (p || q) + 4 * ~a;"),
    "blocks": (
        wp.int32,
        "i",
        "{ int t = a; a = t + 1; }\n{ int t = 2 * a; if (t > 3) { a -= t; } else a += t; }\nreturn a;",
    ),
    "rest": (wp.float32, "ff", "return fmodf(a, b + 200.0f);"),
    "nearest": (wp.float32, "f", "return roundf(a) + 2.0f * rintf(a);"),
    "is a number": (wp.bool, "f", "return !std::isnan(sqrtf(a)) && std::isfinite(1.0f / a) || std::isinf(a);"),
    "least": (wp.float32, "ff", "return fminf(a, b) + fmaxf(fabsf(a), 1.f) * .5e1f;"),
}
FUSED = ("in double", "to float", "least")
LETTERS = {"f": wp.float32, "i": wp.int32, "u": wp.uint32, "I": wp.int64, "U": wp.uint64}


def inputs(letter: str, number: int) -> np.ndarray:
    rng = np.random.default_rng(number)
    if letter == "f":
        special = [0.0, -0.0, 1.0, -1.0, 1e9, 1e-45, -1e-45, 0.5, 1.5]
        return np.array([*special, *rng.normal(scale=100, size=55)], np.float32)
    low, high = {"i": (-40, 40), "u": (0, 80), "I": (-900, 900), "U": (0, 900)}[letter]
    dtype = {"i": np.int32, "u": np.uint32, "I": np.int64, "U": np.uint64}[letter]
    top = 0 if letter in "iI" else np.iinfo(dtype).max
    return np.array([0, 1, 2, top, *map(int, rng.integers(low, high, 60))], dtype)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The functions as the C++ compiler makes them: they work on arrays."""
    if COMPILER is None:
        pytest.skip("no C++ compiler is there")
    lines = ["#include <cstdint>", "#include <cmath>", 'extern "C" {']
    for number, (result, letters, text) in enumerate(TEXTS.values()):
        names = "abc"[: len(letters)]
        params = ", ".join(f"{C[LETTERS[k]]} {n}" for k, n in zip(letters, names))
        arrays = "".join(f"const {C[LETTERS[k]]}* {n}, " for k, n in zip(letters, names))
        lines.append(f"static {C[result]} f{number}({params}) {{\n{text}\n}}")
        call = ", ".join(f"{n}[i]" for n in names)
        loop = f"for (int i = 0; i < n; ++i) out[i] = f{number}({call});"
        lines.append(f"void g{number}({arrays}{C[result]}* out, int n) {{ {loop} }}")
    folder = tmp_path_factory.mktemp("native")
    (folder / "texts.cpp").write_text("\n".join([*lines, "}"]))
    command = [COMPILER, "-O0", "-ffp-contract=off", "-fwrapv", "-w", "-shared", "-fPIC", "texts.cpp", "-o", "texts.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "texts.so"))


@pytest.mark.parametrize("name", TEXTS)
def test_text_computes_what_the_compiler_makes_of_it(name, compiled):
    result, letters, text = TEXTS[name]
    names = "abc"[: len(letters)]
    native = eval(f"lambda {', '.join(names)}: None")
    native.__name__ = "native"
    native.__annotations__ = {**{n: LETTERS[k] for n, k in zip(names, letters)}, "return": result}
    function = wp.func_native(text)(native)
    given = [inputs(k, 7 * i) for i, k in enumerate(letters)]

    if len(letters) == 1:

        @wp.kernel
        def run(a: wp.array[LETTERS[letters[0]]], out: wp.array[result]):
            out[wp.tid()] = function(a[wp.tid()])

    else:

        @wp.kernel
        def run(a: wp.array[LETTERS[letters[0]]], b: wp.array[LETTERS[letters[1]]], out: wp.array[result]):
            out[wp.tid()] = function(a[wp.tid()], b[wp.tid()])

    out = wp.zeros(len(given[0]), dtype=result)
    wp.launch(run, len(given[0]), [*(wp.array(x, dtype=LETTERS[k]) for x, k in zip(given, letters)), out])
    expected = np.zeros(len(given[0]), out.numpy().dtype)
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*given, expected)]
    getattr(compiled, f"g{list(TEXTS).index(name)}")(*pointers, len(expected))
    if name in FUSED:  # the kernel may fuse a product with a sum, whose terms cancel here
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(out.numpy(), expected)


def gradients(kernel, n, inputs, out, given):
    with wp.Tape() as tape:
        wp.launch(kernel, n, inputs=[*inputs, out])
    tape.backward(grads={out: wp.array(given, dtype=float)})
    return [a.grad.numpy() for a in inputs if a.requires_grad]


@wp.func_native(
    "out[i] = a * x[i] + y[i];",
    "adj_a += x[i] * adj_out[i];  adj_x[i] += a * adj_out[i];\nfloat given = adj_out[i]; adj_y[i] += given;",
)
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.func_native("return x * x;", adj_snippet="if (x > 1.0f) adj_x += 10 * x * adj_ret;")
def clipped(x: float) -> float: ...


def test_gradients_in_text():
    """The first is that of the function, by hand; the second is not, and shows that it is taken."""

    @wp.kernel
    def k(a: wp.array[float], x: wp.array[float], y: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        saxpy(a[0], x, y, out, i)

    @wp.kernel
    def squares(x: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        out[i] = 2.0 * clipped(x[i])

    given = np.array([1.0, 10.0, 100.0], np.float32)
    a, x, y = (wp.array(v, dtype=float, requires_grad=True) for v in ([2.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    out = wp.zeros(3, dtype=float, requires_grad=True)
    of_a, of_x, of_y = gradients(k, 3, [a, x, y], out, given)
    assert of_a.tolist() == [321.0] and of_x.tolist() == (2.0 * given).tolist() and of_y.tolist() == given.tolist()
    assert out.list() == [6.0, 9.0, 12.0]
    x.grad.zero_()
    (of_x,) = gradients(squares, 3, [x], wp.zeros(3, dtype=float, requires_grad=True), given)
    assert of_x.tolist() == [0.0, 2 * 20.0 * 10.0, 2 * 30.0 * 100.0]


@pytest.mark.parametrize(
    "count", ["atomicAdd(counter, 1)", "atomicAdd(&counter[0], 1)", "wp::atomic_add(counter, 0, 1)"]
)
def test_replays_in_text(count):
    @wp.func_native(f"int next = {count}; slots[i] = next;", replay_snippet="")
    def note(counter: wp.array(dtype=int), slots: wp.array(dtype=int), i: int): ...

    @wp.kernel
    def k(x: wp.array[float], counter: wp.array[int], slots: wp.array[int], out: wp.array[float]):
        i = wp.tid()
        note(counter, slots, i)
        out[slots[i]] = x[i] * x[i]

    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    slots, given = wp.zeros(3, dtype=int), np.array([1.0, 10.0, 100.0], np.float32)
    inputs = [x, wp.zeros(1, dtype=int), slots]
    (found,) = gradients(k, 3, inputs, wp.zeros(3, dtype=float, requires_grad=True), given)
    np.testing.assert_array_equal(found, 2.0 * x.numpy() * given[slots.numpy()])
