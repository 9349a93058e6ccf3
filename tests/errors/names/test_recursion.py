"""recursion: Functions cannot call themselves, directly or through others."""

import pytest

import omni.warp_core as wp
from tests.errors.report import accepted, kernel_of, refused

CASES = {
    "ever_new_types": (
        """\
import typing


@wp.func
def f(a: typing.Any):
    return f(wp.vector(a[0], length=len(a) + 1))


@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    x[0] = f(wp.vec2(1.0, 2.0))
""",
        "f(wp.vector(a[0], length=len(a) + 1))",
        ["nested more than 64 deep"],
    ),
    "direct": (
        """\
@wp.func
def f(a: int):
    return f(a - 1)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "f(a - 1)",
        ["f -> f", "use a loop"],
    ),
    "mutual": (
        """\
@wp.func
def f(a: int):
    return g(a)


@wp.func
def g(a: int):
    return f(a)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "f(a)",
        ["f -> g -> f"],
    ),
}

CHAIN = """\
@wp.func
def f0(a: float):
    return a + 1.0

{functions}
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f{last}(x[i])
"""


def chain(length):
    functions = (f"@wp.func\ndef f{i}(a: float):\n    return f{i - 1}(a) + 1.0\n\n" for i in range(1, length))
    return CHAIN.format(functions="".join(functions), last=length - 1)


REPAIRED = """\
@wp.func
def f(a: int):
    return float(a)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "recursion", under, *fragments)


def test_repaired():
    accepted(REPAIRED)


@pytest.mark.parametrize("length", [100, 400])
def test_a_long_chain(length):
    kernel = kernel_of(chain(length))
    with pytest.raises(wp.CompileError) as found:
        wp.launch(kernel, 1, [wp.zeros(1, dtype=float), 1])
    (told,) = found.value.diagnostics
    assert told.code == "recursion" and "nested more than 64 deep" in told.message and told.help


def test_a_chain_that_is_short_enough():
    x = wp.zeros(1, dtype=float)
    wp.launch(kernel_of(chain(60)), 1, [x, 1])
    assert x.list() == [60.0]
