"""Adjoints compute the values of a launch again: to the last bit, or they would take other branches than it did.

Programs compare at ties: what is rounded to zero in one way of adding a product is not in another. What they write is
linear in `w`, with a factor that says which branch was taken; so the launch itself tells what the gradient must be.
`OMNI_WARP_ROUNDING=low:high` runs other programs than those of the suite.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import omni.warp_core as wp
from tests.autodiff.reference_gradients import kernel_of

N = 200
LOW, HIGH = map(int, os.environ.get("OMNI_WARP_ROUNDING", "0:60").split(":"))
_HEAD = """
@wp.func
def less(x: float, y: float, c: float):
    p = x * y
    return {inner}

@wp.kernel
def program(
    a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), w: wp.array(dtype=float),
    n: int, y: wp.array(dtype=float), z: wp.array(dtype=float),
):
    i = wp.tid()
    s = 1.0
    p = a[i] * b[i]
"""
_USES = [
    "y[i] = p",
    "y[i] = p + w[i]",
    "y[i] = wp.exp(p)",
    "y[i] += p * w[i]",
    "y[i] = wp.sin(p) * p",
    "y[i] = wp.asin(p - wp.floor(p))",
    "wp.atomic_add(y, 0, p)",
    "if w[i] > 2.0:\n        y[i] = p",
    "q = a[i] * b[i]\n    y[i] = q / b[i]",
]
_SUMS = [
    "p - c[i]",
    "c[i] - p",
    "-c[i] + p",
    "a[i] * b[i] - c[i]",
    "less(a[i], b[i], c[i])",
    "w[i] * p - c[i]",
    "p - s * c[i]",
]
_TESTS = [
    "s *= 3.0 if d > 0.0 else 7.0",
    "if d > 0.0:\n        s *= 3.0\n    elif d < 0.0:\n        s *= 5.0",
    "for k in range(n):\n        if d - float(k) * 1000.0 > 0.0:\n            s *= 3.0",
    "for k in range(n):\n        e = a[i] * b[i]\n        s *= 2.0 if e - c[i] > 0.0 else 1.0\n        y[i] += e",
    "while d > 0.0 and s < 20.0:\n        s *= 3.0",
    "s += wp.floor(1000.0 * d) + wp.sign(d)",
]


def _program(seed: int) -> str:
    rng = random.Random(seed)
    lines = rng.sample(_USES, rng.randint(0, 2))
    lines.insert(rng.randint(0, len(lines)), f"d = {rng.choice(_SUMS)}")
    at = lines.index(next(line for line in lines if line.startswith("d = ")))
    lines.insert(rng.randint(at + 1, len(lines)), rng.choice(_TESTS))
    inner = rng.choice(["p - c", "c - p", "x * y - c"])
    return _HEAD.format(inner=inner) + "".join(f"    {line}\n" for line in [*lines, "z[i] = s * w[i]"])


def _wrong(text: str, seed: int) -> bool:
    """Whether the adjoint takes other branches than the launch."""
    r = np.random.default_rng(seed)
    kernel = kernel_of(text, f"<rounding {text.count('large')}{seed}>")
    x, y = (r.random(N, dtype=np.float32) + 0.5 for _ in range(2))
    a, b, c = (wp.array(v, dtype=float, requires_grad=True) for v in (x, y, x * y))
    w, written, z = (wp.full(N, v, dtype=float, requires_grad=True) for v in (1.0, 0.0, 0.0))
    with wp.Tape() as tape:
        wp.launch(kernel, N, [a, b, c, w, 2, written, z])
    tape.backward(grads={z: wp.ones(N, dtype=float)})
    return not np.array_equal(w.grad.numpy(), z.numpy())


@pytest.mark.parametrize("first", range(LOW, HIGH, 10))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_branches_are_those_of_the_launch(first: int) -> None:
    programs = {seed: _program(seed) for seed in range(first, first + 10)}
    assert not {seed: text for seed, text in programs.items() if _wrong(text, seed)}


_LARGE = """
@wp.func
def large(x: float, y: float, c: float):
    p = x * y
    d = p - c
    t = 0.0
    {terms}
    return d + t, p

@wp.kernel
def program(
    a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), w: wp.array(dtype=float),
    n: int, y: wp.array(dtype=float), z: wp.array(dtype=float),
):
    i = wp.tid()
    d, p = large(a[i], b[i], c[i])
    y[i] = p
    s = 7.0
    if d > 0.0:
        s = 3.0
    z[i] = s * w[i]
""".format(terms="\n    ".join(f"t += wp.sin(x + {k}.0) * 0.0" for k in range(20)))


def test_functions_that_stay_calls() -> None:
    assert _wrong(_LARGE, 0) is False


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_all_variants_give_the_same_bits(seed: int) -> None:
    text = _program(seed).replace("atomic_add(y, 0,", "atomic_add(y, i,")  # a sum beside `y[i] +=` has a race
    kernel = kernel_of(text, f"<variants {seed}>")
    r = np.random.default_rng(seed)
    x, y = (r.random(N, dtype=np.float32) + 0.5 for _ in range(2))
    found = []
    for strided in (False, True):
        shape = (N, 2) if strided else (N, 1)
        given = [wp.zeros(shape, dtype=float)[:, 0] for _ in range(6)]
        for a, values in zip(given, (x, y, x * y, np.ones(N, np.float32))):
            a.assign(values)
        wp.launch(kernel, N, [*given[:4], 2, *given[4:]])
        found.append([a.numpy().tobytes() for a in given[4:]])
    assert found[0] == found[1]
