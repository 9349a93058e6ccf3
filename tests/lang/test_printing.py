"""`print` in kernels shows numbers as CPython writes them, or NumPy for float32, and values as `str` does."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

RNG = np.random.default_rng(3)


def numbers(dtype: type) -> np.ndarray:
    size = 10.0 ** RNG.uniform(-44 if dtype is np.float32 else -320, 38 if dtype is np.float32 else 308, 200)
    rounded = np.round(RNG.uniform(-300, 300, 60), 2)
    odd = [0.0, -0.0, 1e16, 123456789012345.0, 9999999.0, 1e-4, 1e-5, 0.1, 100.0, np.inf, -np.inf, np.nan]
    return np.concatenate([size, -size, rounded, odd]).astype(dtype)


@wp.kernel
def show(x: wp.array[float | wp.float64]):
    print(x[wp.tid()])


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_in_the_fewest_digits(dtype: type, interpret: bool, capfd: pytest.CaptureFixture) -> None:
    x = numbers(dtype)
    wp.launch(show, dim=len(x), inputs=[x], serial=True, interpret=interpret)
    shown = capfd.readouterr().out.split()
    judge = (lambda v: repr(float(str(np.float32(v))))) if dtype is np.float32 else (lambda v: repr(float(v)))
    with np.errstate(all="ignore"):
        expected = [judge(v) for v in x]
    assert [(a, b) for a, b in zip(shown, expected) if a != b] == []


@wp.struct
class Ball:
    radius: float
    center: wp.vec3


@wp.kernel
def show_values(v: wp.vec3, m: wp.mat22, q: wp.quat, ball: Ball, h: wp.float16, flag: bool, k: wp.uint64):
    print(v)
    print(m)
    print(q, flag, k, None)
    print(ball)
    print((h, 1, flag, "it"), [1, 2.0], (v,))
    print("a", 100.0, 2, sep="|", end="!\n")
    print(f"{v[0]} {v} {flag}")


@pytest.mark.parametrize("interpret", [False, True])
def test_values(interpret: bool, capfd: pytest.CaptureFixture) -> None:
    v, m, q = wp.vec3(1.0, 2.5, -0.0), wp.mat22(1.0, 2.0, 3.0, 4096.0), wp.quat(0.0, 0.0, 0.0, 1.0)
    ball = Ball(radius=2.0, center=v)
    wp.launch(show_values, dim=1, inputs=[v, m, q, ball, 0.5, True, 2**63], interpret=interpret)
    judge = (v, m, f"{q} True {2**63} None", ball, f"{(0.5, 1, True, 'it')} {[1, 2.0]} ({v},)", "a|100.0|2!")
    *shown, last = capfd.readouterr().out.splitlines()
    assert shown == "\n".join(map(str, judge)).splitlines() and last == f"1.0 {v} True"
