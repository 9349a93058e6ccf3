"""wp.expect_eq, wp.expect_neq, wp.expect_near: silent where they hold, else a line with the values.

In debug mode, a failure.
"""

from __future__ import annotations

import pytest

import omni.warp_core as wp

ROWS = "[[1.0, 2.0],\n [3.0, "
NEAR = [
    (wp.float16, 1.0, 1.5, "1.0 and 1.5 differ by more than 0.25"),
    (wp.float64, 1.0, 1.5, "1.0 and 1.5 differ by more than 0.25"),
    (wp.vec3, (1.0, 2.0, 3.0), (1.0, 2.0, 3.5), "[1.0, 2.0, 3.0] and [1.0, 2.0, 3.5] differ by more than 0.25"),
    (wp.mat22d, (1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 9.0), f"{ROWS}4.0]] and {ROWS}9.0]] differ by more than 0.25"),
    (
        wp.quat,
        (0.0, 0.0, 0.0, 1.0),
        (0.0, 0.0, 1.0, 1.0),
        "[0.0, 0.0, 0.0, 1.0] and [0.0, 0.0, 1.0, 1.0] differ by more than 0.25",
    ),
]


def near_kernel(t):
    @wp.kernel
    def near(a: t, b: t, tolerance: float):
        wp.expect_near(a, b, tolerance)

    return near


def equal_kernel(t):
    @wp.kernel
    def equal(a: t, b: t):
        wp.expect_eq(a, b)

    return equal


@pytest.mark.parametrize("mode", ["release", "interpret"])
@pytest.mark.parametrize(("t", "a", "b", "text"), NEAR, ids=lambda x: getattr(x, "__name__", ""))
def test_near(t, a, b, text, mode, capfd, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    kernel = near_kernel(t)
    wp.launch(kernel, dim=1, inputs=[t(a), t(a), 0.0])
    wp.launch(kernel, dim=1, inputs=[t(a), t(b), 10.0])
    wp.synchronize()
    assert capfd.readouterr().out == ""
    wp.launch(kernel, dim=2, inputs=[t(a), t(b), 0.25])
    wp.synchronize()
    assert capfd.readouterr().out == f"expect_near failed: {text}\n" * 2


@pytest.mark.parametrize("t", [wp.bool, wp.uint8, wp.int64, wp.float32, wp.vec2i, wp.mat33h, wp.transform])
def test_equal(t, capfd):
    kernel = equal_kernel(t)
    wp.launch(kernel, dim=1, inputs=[t(), t()])
    wp.synchronize()
    assert capfd.readouterr().out == ""
    wp.launch(kernel, dim=1, inputs=[t(), t(*[1] * (7 if t is wp.transform else 1))])
    wp.synchronize()
    assert capfd.readouterr().out.startswith("expect_eq failed: ")


@pytest.mark.parametrize("t", [wp.bool, wp.uint8, wp.float32, wp.vec2i, wp.transform])
def test_different(t, capfd):
    @wp.kernel
    def different(a: t, b: t):
        wp.expect_neq(a, b)

    wp.launch(different, dim=1, inputs=[t(), t(*[1] * (7 if t is wp.transform else 1))])
    wp.synchronize()
    assert capfd.readouterr().out == ""
    wp.launch(different, dim=1, inputs=[t(), t()])
    wp.synchronize()
    assert capfd.readouterr().out == f"expect_neq failed: {t()} is {t()}\n"


def test_nothing_is_near_nan(capfd):
    wp.launch(near_kernel(float), dim=1, inputs=[wp.NAN, wp.NAN, 1.0])
    wp.synchronize()
    assert capfd.readouterr().out == "expect_near failed: nan and nan differ by more than 1.0\n"


def test_debug_mode_fails(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")
    for kernel, values in ((near_kernel(float), [1.0, 2.0, 0.5]), (equal_kernel(int), [1, 2])):
        with pytest.raises(wp.KernelError, match="expect_"):
            wp.launch(kernel, dim=1, inputs=values)


def test_threads_are_told_apart(capfd):
    @wp.kernel
    def check():
        i = wp.tid()
        wp.expect_near(float(i), 0.0, tolerance=1.5)
        wp.expect_eq(i % 2, 0)

    wp.launch(check, dim=4)
    wp.synchronize()
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == [
        "expect_eq failed: 1 is not 0",
        "expect_eq failed: 1 is not 0",
        "expect_near failed: 2.0 and 0.0 differ by more than 1.5",
        "expect_near failed: 3.0 and 0.0 differ by more than 1.5",
    ]


def test_python_scope(capsys):
    wp.expect_near(1.0, 1.0 + 1e-7)
    wp.expect_near(wp.vec2(1.0, 2.0), wp.vec2(1.0, 2.5), 0.25)
    wp.expect_eq(1, 2)
    assert capsys.readouterr().out == (
        "expect_near failed: [1.0, 2.0] and [1.0, 2.5] differ by more than 0.25\nexpect_eq failed: 1 is not 2\n"
    )
    with pytest.raises(TypeError, match="works on floats, not on int32"):
        wp.expect_near(1, 2)
