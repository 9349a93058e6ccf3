"""Interpreted launches do what compiled ones do: the same arguments, recorded launches, streams, printed lines."""

import math

import numpy as np
import pytest

import omni.warp_core as wp


@pytest.fixture(params=["release", "interpret"])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)
    return request.param


@wp.kernel
def fill(x: wp.array2d(dtype=float), value: float, v: wp.vec3):
    i, j = wp.tid()
    x[i, j] = value + v[0]


@wp.kernel
def draw(seed: int, a: wp.array(dtype=float), b: wp.array(dtype=int), c: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    a[i] = wp.randf(state)
    for _ in range(i):
        b[i] += wp.randi(state, 0, 100)
    c[i] = wp.randf(state, -1.0, 1.0) + wp.randf(state=state)


INTEGERS = "[%d|%5d|%-5i|%05d|%+d|%u|%x|%X|%ld|%c|%-3c]"
FLOATS = "[%f|%.2f|%10.3e|%G|%-8gx|100%%|%s]\n"


@wp.kernel
def show(x: float, n: int, u: wp.uint8, truth: bool, big: wp.int64, letter: wp.uint8):
    wp.printf(INTEGERS, n, n, n, n, n, n, n, u, big, 65, letter)
    wp.printf(FLOATS, x, x, x, x, x, truth)


def test_random_streams_advance(mode):
    out = [np.zeros(4, np.float32), np.zeros(4, np.int32), np.zeros(4, np.float32)]
    wp.launch(draw, 4, [42, *out])
    assert out[0][:2].tolist() == pytest.approx([0.86597514, 0.01386219], rel=1e-6)  # observed in warp-lang
    assert out[1].tolist()[:2] == [0, 58]
    assert len({*out[0].tolist(), *out[2].tolist()}) == 8


@pytest.mark.cpu
@pytest.mark.parametrize("x, n, u, truth, big", [(1.25, -3, 200, True, -(2**40)), (math.inf, 3, 1, False, 2**40)])
def test_printf_formats_as_c_does(mode, capsys, x, n, u, truth, big):
    wp.launch(show, 1, [x, n, u, truth, big, 122])
    unsigned = n % 2**32
    integers = INTEGERS % (n, n, n, n, n, unsigned, unsigned, u, big, "A", "z")
    assert capsys.readouterr().out == integers + FLOATS % (x, x, x, x, x, truth)


@pytest.mark.cpu
def test_recorded_launches(mode):
    x, y = wp.zeros((2, 3)), np.zeros((2, 3), np.float32)
    command = wp.launch(fill, (2, 3), [x, 1.0, (1, 0, 0)], record_cmd=True)
    assert not x.numpy().any() and command.kernel is fill and command.dim == (2, 3)
    command.launch()
    assert (x.numpy() == 2).all()
    command.set_param_by_name("value", 4.0)
    command.set_param_at_index(0, y)
    command.set_dim((1, 3))
    command.launch()
    assert y.tolist() == [[5] * 3, [0] * 3]
    command.set_params([x, 0.0, wp.vec3()])
    command.launch()
    assert x.numpy()[:, 0].tolist() == [0, 2]
    with pytest.raises(IndexError, match="kernel `fill` has 3 parameters, there is no index -1"):
        command.set_param_at_index(-1, 0)
    with pytest.raises(ValueError, match="kernel `fill` has no parameter `w`"):
        command.set_param_by_name("w", 0)
    with pytest.raises(TypeError, match=r"kernel `fill` takes 3 arguments \(x, value, v\)"):
        command.set_params([x])


READ_ONLY = np.zeros((1, 1), np.float32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "args, error, name",
    [
        ([wp.zeros((1, 1)), "a", (0, 0, 0)], TypeError, "value"),
        ([wp.zeros((1, 1)), 1.0, (0, 0)], ValueError, "v"),
        ([wp.zeros((1, 1)), 1.0, wp.vec3i()], TypeError, "v"),
        ([wp.zeros((1, 1), dtype=int), 1.0, (0, 0, 0)], TypeError, "x"),
        ([wp.zeros(1), 1.0, (0, 0, 0)], TypeError, "x"),
        ([np.zeros(1, np.float32), 1.0, (0, 0, 0)], TypeError, "x"),
        ([[[0.0]], 1.0, (0, 0, 0)], TypeError, "x"),
    ],
)
def test_arguments_that_do_not_fit_are_named(mode, args, error, name):
    with pytest.raises(error, match=f"kernel `fill`: argument `{name}`"):
        wp.launch(fill, (1, 1), args)


@pytest.mark.cpu
def test_read_only_memory_is_not_written(mode):
    with pytest.raises(ValueError, match="read-only"):
        wp.launch(fill, (1, 1), [READ_ONLY, 1.0, (0, 0, 0)])
    assert READ_ONLY[0, 0] == 0


def test_the_failing_thread_is_noted():
    with pytest.raises(IndexError) as caught:
        wp.launch(fill, (2, 3), [wp.zeros((1, 3)), 1.0, (0, 0, 0)], interpret=True)
    if hasattr(caught.value, "add_note"):  # from Python 3.11 on
        assert caught.value.__notes__ == ["in kernel `fill`, thread (1, 0)"]


def test_constants(mode):
    @wp.kernel
    def constants(a: wp.array(dtype=wp.float64), b: wp.array(dtype=float)):
        a[0], a[1], a[2] = a[0] + wp.PI, a[1] + wp.tau, a[2] * wp.INF
        b[0], b[1] = wp.HALF_PI, wp.LN2

    a, b = np.ones(3), np.zeros(2, np.float32)
    wp.launch(constants, 1, [a, b])
    assert a.tolist() == [1 + math.pi, 1 + math.tau, math.inf]
    assert b.tolist() == [np.float32(math.pi / 2), np.float32(math.log(2))]
    assert (wp.E, wp.ln10, wp.log2e, wp.LOG10E) == (math.e, math.log(10), math.log2(math.e), math.log10(math.e))
    assert wp.phi**2 == pytest.approx(wp.phi + 1) and math.isnan(wp.nan)
