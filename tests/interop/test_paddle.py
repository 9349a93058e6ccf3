"""Tensors of Paddle as arrays and arguments, arrays as tensors; gradients, judged by Paddle's own and by formulas."""

import gc
import re
from pathlib import Path

import numpy as np
import paddle
import pytest

import omni.warp_core as wp
from tests.kernels import double

DTYPES = {
    paddle.bool: wp.bool, paddle.uint8: wp.uint8, paddle.int8: wp.int8, paddle.int16: wp.int16, paddle.int32: wp.int32,
    paddle.int64: wp.int64, paddle.float16: wp.float16, paddle.bfloat16: wp.bfloat16, paddle.float32: wp.float32,
    paddle.float64: wp.float64, paddle.uint16: wp.uint16, paddle.uint32: wp.uint32, paddle.uint64: wp.uint64,
}  # fmt: skip


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def loss_of(xs: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, xs[i, 0] ** 2.0 + xs[i, 1] ** 2.0)


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def leaf(numbers):
    """A tensor with a gradient."""
    t = paddle.to_tensor(np.asarray(numbers, np.float32))
    t.stop_gradient = False
    return t


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theirs", DTYPES, ids=lambda d: d.name)
def test_tensors_and_arrays_share_memory(theirs):
    t = paddle.to_tensor(np.array([[0, 1, 1], [1, 0, 1]], np.int32)).astype(theirs)
    a = wp.from_paddle(t)
    assert (a.dtype, a.shape, a.ptr) == (DTYPES[theirs], (2, 3), t.data_ptr())
    assert a.list() == [0, 1, 1, 1, 0, 1]
    back = wp.to_paddle(a)
    assert (back.dtype, back.data_ptr(), back.shape) == (theirs, t.data_ptr(), t.shape)
    a.fill_(1)
    assert np.asarray(t.numpy() if theirs != paddle.bfloat16 else t.astype("int32").numpy()).astype(int).sum() == 6
    assert wp.dtype_from_paddle(theirs) is DTYPES[theirs]
    assert wp.dtype_to_paddle(DTYPES[theirs]) == theirs


def test_dtypes():
    assert [wp.dtype_to_paddle(t) for t in (int, float, bool)] == [paddle.int32, paddle.float32, paddle.bool]
    for wrong in (wp.vec3, "x"):
        with pytest.raises(TypeError):
            wp.dtype_to_paddle(wrong)
    for wrong in (paddle.complex64, paddle.float8_e5m2, float):
        with pytest.raises(TypeError, match="no scalar type for"):
            wp.dtype_from_paddle(wrong)


def test_strides_and_components_are_kept():
    t = paddle.arange(36, dtype="float32").reshape([2, 6, 3])
    part = t.transpose([1, 0, 2])
    assert np.array_equal(wp.from_paddle(part).numpy(), part.numpy())
    a = wp.from_paddle(t, dtype=wp.vec3)
    assert (a.shape, a[1, 1]) == ((2, 6), wp.vec3(21.0, 22.0, 23.0))
    every_other = wp.to_paddle(a[:, ::2])
    assert every_other.data_ptr() == t.data_ptr()
    assert np.array_equal(every_other.numpy(), t.numpy()[:, ::2])


def test_memory_outlives_either_side():
    t = wp.to_paddle(wp.full(3, 5.0, dtype=float))
    a = wp.from_paddle(paddle.full([3], 6.0))
    gc.collect()
    assert (t.tolist(), a.list()) == ([5.0] * 3, [6.0] * 3)


@pytest.mark.parametrize(
    ("convert", "error", "text"),
    [
        (lambda: wp.from_paddle(np.zeros(3)), TypeError, "t: expected a paddle.Tensor, got ndarray"),
        (lambda: wp.from_paddle(paddle.zeros([3]), dtype=int), TypeError, "expected elements of int32, got float32"),
        (lambda: wp.from_paddle(paddle.zeros([3], "complex64")), TypeError, "complex64"),
        (lambda: wp.from_paddle(paddle.zeros([1, 1, 1, 1, 1])), ValueError, "up to 4 dimensions"),
        (lambda: wp.from_paddle(paddle.zeros([3]), retain_grad=True), ValueError, "the array has no gradient"),
        (lambda: wp.from_paddle(paddle.zeros([3]), grad=paddle.zeros([4])), ValueError, "grad: expected shape"),
        (lambda: wp.to_paddle(paddle.zeros([3])), TypeError, "a: expected a wp.array, got Tensor"),
        (lambda: wp.to_paddle(wp.zeros(3, requires_grad=True)[::2]), ValueError, "strided and has a gradient"),
        (lambda: wp.to_paddle(wp.zeros(3)[::-1]), BufferError, "negative strides"),
        (lambda: wp.device_from_paddle("xpu:0"), RuntimeError, "not on xpu:0"),
        (lambda: wp.device_from_paddle("nowhere"), ValueError, "expected a place of Paddle"),
        (lambda: wp.device_from_paddle("gpu:x"), ValueError, "expected a place of Paddle"),
        (lambda: wp.stream_from_paddle("cpu"), RuntimeError, "the CPU has no streams"),
        (lambda: wp.stream_from_paddle(), RuntimeError, "the CPU has no streams"),
    ],
)
def test_what_cannot_be_converted(convert, error, text):
    with pytest.raises(error, match=text):
        convert()


def test_devices():
    for place in ("cpu", paddle.CPUPlace(), paddle.zeros([1]).place):
        assert wp.device_from_paddle(place) is wp.get_device("cpu")
    assert wp.device_to_paddle("cpu") == wp.device_to_paddle(wp.get_device("cpu")) == "cpu"


# -- launches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made", [lambda t: t, wp.from_paddle, lambda t: wp.from_paddle(t, return_ctype=True)], ids=["tensor", "array", "c"]
)
def test_launches_take_tensors_and_descriptors(made):
    x, y = paddle.arange(5, dtype="float32"), paddle.ones([5])
    wp.launch(saxpy, dim=5, inputs=[made(x), made(y), 2.0], device="cpu")
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]


def test_launches_refuse_tensors_with_a_gradient():
    x = leaf([1.0, 1.0, 1.0])
    with pytest.raises(
        TypeError, match=r"argument `x` cannot be used: it requires a gradient.*wp.from_paddle\(x\) with a wp.Tape"
    ):
        wp.launch(double, dim=3, inputs=[x])
    with paddle.no_grad():
        wp.launch(double, dim=3, inputs=[x])
    wp.launch(double, dim=3, inputs=[x.detach()])
    assert x.tolist() == [4.0] * 3


def test_launches_say_which_tensor_does_not_fit():
    with pytest.raises(TypeError, match=r"kernel `double`: argument `x` .*convert it"):
        wp.launch(double, dim=3, inputs=[paddle.zeros([3], "float64")])


# -- gradients --------------------------------------------------------------------------------------------------------


def test_leaves_share_their_gradient():
    t = leaf([1.0, 2.0])
    a = wp.from_paddle(t)
    assert a.grad.ptr == t.grad.data_ptr()
    assert wp.from_paddle(t, requires_grad=False).grad is None
    assert wp.from_paddle(paddle.zeros([2])).grad is None  # its stop_gradient is True
    own = paddle.full([2], 3.0)
    assert wp.from_paddle(paddle.zeros([2]), grad=own).grad.ptr == own.data_ptr()
    asked = paddle.zeros([2])
    assert wp.from_paddle(asked, requires_grad=True).grad.ptr == asked.grad.data_ptr()
    assert not asked.stop_gradient
    with paddle.no_grad():
        assert wp.from_paddle(t).grad.ptr != t.grad.data_ptr()  # Paddle adds to t.grad by itself there
    assert wp.from_paddle(2.0 * t).grad.list() == [0.0, 0.0]  # no leaf


@pytest.mark.parametrize("part", [slice(None), slice(2, 5)])
def test_arrays_give_their_gradient(part):
    a = wp.ones(6, dtype=float, requires_grad=True)[part]
    t = wp.to_paddle(a)
    assert not t.stop_gradient
    a.grad.assign(np.arange(len(a)))
    assert t.grad.data_ptr() == a.grad.ptr
    assert t.grad.tolist() == list(range(len(a)))
    assert wp.to_paddle(a, requires_grad=False).stop_gradient
    assert wp.to_paddle(wp.ones(3, dtype=int), requires_grad=True).stop_gradient


@pytest.mark.parametrize("declared", ["paddle", "ours"])
def test_adam_minimises_by_gradients_of_a_tape(declared):
    numbers = np.random.default_rng(3).normal(size=(100, 2)).astype(np.float32)
    if declared == "paddle":
        t = leaf(numbers)
        xs, loss = wp.from_paddle(t), wp.from_paddle(leaf([0.0]))
    else:
        xs = wp.array(numbers, dtype=float, requires_grad=True)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        t = wp.to_paddle(xs)
    judge = leaf(numbers)
    optimizers = [paddle.optimizer.Adam(learning_rate=0.1, parameters=[p]) for p in (t, judge)]
    with wp.Tape() as tape:
        wp.launch(loss_of, dim=100, inputs=[xs], outputs=[loss])
    for _ in range(20):
        tape.zero()
        tape.backward(loss=loss)
        judge.clear_grad()
        (judge**2).sum().backward()
        np.testing.assert_allclose(t.grad.numpy(), judge.grad.numpy(), rtol=1e-5)
        for o in optimizers:
            o.step()
    np.testing.assert_allclose(t.numpy(), judge.numpy(), rtol=1e-5)
    assert np.array_equal(t.numpy(), xs.numpy())


class Squares(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.x = wp.from_paddle(x, requires_grad=True)
        ctx.y = wp.zeros(x.shape[0], requires_grad=True)
        wp.launch(squares, dim=x.shape[0], inputs=[ctx.x], outputs=[ctx.y])
        return wp.to_paddle(ctx.y, requires_grad=False)

    @staticmethod
    def backward(ctx, given):
        ctx.y.grad = wp.from_paddle(given.clone())
        wp.launch(
            squares, dim=len(ctx.x), inputs=[ctx.x], outputs=[ctx.y],
            adj_inputs=[ctx.x.grad], adj_outputs=[ctx.y.grad], adjoint=True,
        )  # fmt: skip
        return wp.to_paddle(ctx.x.grad)


@pytest.mark.parametrize("is_leaf", [True, False])
def test_a_layer_of_launches_has_the_right_gradient(is_leaf):
    x, weights = leaf([1.0, 2.0, 3.0]), paddle.to_tensor([1.0, 10.0, 100.0])
    judge = leaf([1.0, 2.0, 3.0])
    for turn in (1, 2):  # Paddle adds the second to the first
        Squares.apply(x if is_leaf else 1.5 * x).backward(weights)
        ((judge if is_leaf else 1.5 * judge) ** 2).backward(weights)
        np.testing.assert_allclose(x.grad.numpy(), judge.grad.numpy(), rtol=1e-6, err_msg=str(turn))


def test_conversions_leak_nothing():
    t, a = paddle.zeros([1000]), wp.zeros(1000)
    before = len(gc.get_objects())
    for _ in range(2000):
        wp.from_paddle(t)
        wp.to_paddle(a)
    gc.collect()
    assert len(gc.get_objects()) - before < 200


def test_dlpack_of_paddle_shares_both_ways():
    a = wp.array([0.0, 1.0, 2.0, 3.0], dtype=float)
    t = paddle.utils.dlpack.from_dlpack(a)
    assert t.data_ptr() == a.ptr
    assert wp.from_dlpack(t).ptr == wp.from_dlpack(paddle.utils.dlpack.to_dlpack(t)).ptr == a.ptr


def test_the_page_runs(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "interop.md").read_text()
    blocks = re.findall(r"```python(?: paddle)?\n(.*?)```", page, re.DOTALL)
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    exec(compile(program.read_text(), str(program), "exec"), {"__name__": "page"})
