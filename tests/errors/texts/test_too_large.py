"""too-large: What happens at compile time has limits, so that a slip does not compile for minutes."""

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.lang.deep_recursion import with_large_stack
from tests.errors.report import accepted, kernel_of, refused

CASES = {
    "integer": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = float(9 ** 9 ** 9)
""",
        "9 ** 9 ** 9",
        ["more than 4096 bits"],
    ),
    "local_arrays": (
        """\
@wp.func
def f(n: int):
    a = wp.zeros(shape=70000, dtype=float)
    a[n] = 1.0
    return a[0]

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    b = wp.zeros(shape=(1000, 70), dtype=float)
    x[0] = b[n, n] + f(n)
""",
        "wp.zeros(shape=70000, dtype=float)",
        ["the local arrays of a thread take 560000 bytes with this one; the limit is 524288", "a row for each thread"],
    ),
    "shared_arrays": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.shared_array(shape=(100, 100), dtype=float)
    b = wp.shared_array(shape=60000, dtype=float)
    x[0] = a[n, n] + b[n]
""",
        "wp.shared_array(shape=60000, dtype=float)",
        ["the shared arrays of a block take 280000 bytes; 262144 is the most"],
    ),
    "shift": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    x[0] = float(1 << 10 ** 10)
""",
        "1 << 10 ** 10",
        ["more than 4096 bits"],
    ),
    "repetition": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    t = (1, 2) * 10 ** 10
""",
        "(1, 2) * 10 ** 10",
        ["more than 4096 compile-time items"],
    ),
    "tuple_of_tuples": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    t = (1, 2) * 1024
    u = (t, t, t)
""",
        "(t, t, t)",
        ["more than 4096 compile-time items"],
    ),
    "comprehension": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    t = [a * b for a in range(4000) for b in range(4000)]
""",
        "[a * b for a in range(4000) for b in range(4000)]",
        ["more than 4096 compile-time items"],
    ),
    "captured_range": (
        """\
R = range(10**12)


@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for j in R:
        x[0] += 1.0
""",
        "R",
        ["more than 4096 compile-time items"],
    ),
    "vector": (
        """\
V = wp.types.vector(5000, float)


@wp.kernel
def k(x: wp.array(dtype=V), n: int):
    x[0][n] = 1.0
    v = x[0]
""",
        "x[0]",
        ["vector(5000, float32) has 5000 components", "at most 1024"],
    ),
    "matrix": (
        """\
M = wp.types.matrix((64, 64), float)


@wp.kernel
def k(x: wp.array(dtype=M), n: int):
    m = x[1]
""",
        "x[1]",
        ["has 4096 components", "at most 256"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = 9.0 ** 9.0
"""


@pytest.mark.parametrize("text, under, fragments", CASES.values(), ids=CASES)
def test_refused(text, under, fragments):
    refused(text, "too-large", under, *fragments)


def test_lambdas_that_double_stop_at_once():
    lines = [f"    f{d} = lambda x: f{d - 1}(x) + f{d - 1}(x * 2.0)" for d in range(1, 24)]
    text = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    f0 = lambda x: x + 1.0\n"
    kernel = kernel_of(text + "\n".join(lines) + "\n    x[0] = f23(x[0])\n")
    with pytest.raises(wp.CompileError, match="the kernel grows beyond 400000 expressions"):
        lower_kernel(kernel)


def test_deep_nesting_compiles_or_is_refused():
    chain = "".join(f"    elif n == {j}:\n        m = {j + 1}\n" for j in range(1, 200))
    text = f"@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    m = 0\n    if n == 0:\n        m = 1\n{chain}"
    text += "    x[0] = float(m)" + " + 1.0" * 900 + "\n"
    assert with_large_stack(lambda: lower_kernel(kernel_of(text)), "k").name == "k"

    def endless():
        return endless()

    with pytest.raises(wp.CompileError, match="nested too deeply"):
        with_large_stack(endless, "k")


def test_repaired():
    accepted(REPAIRED)


def test_huge_identity():
    refused("@wp.kernel\ndef k(n: int):\n    m = wp.identity(n=10**30, dtype=float)\n", "too-large", "10**30")
