"""After a run backwards that has failed in the middle, gradients are right or refused.

Gradients that are right are those that NumPy computes in float64 by hand; partial sums are NaN.
"""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.arrays import transfer
from omni.warp_core.dispatch import observers

F = wp.array(dtype=float)
X, W = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25, 2.0])
PACKAGE = Path(wp.__file__).parent


@wp.kernel
def weigh(x: F, w: F, y: F):
    i = wp.tid()
    y[i] = x[i] * w[i] + x[i] * x[i]


@wp.kernel
def decay(x: F):
    i = wp.tid()
    x[i] = x[i] * 0.5


@wp.kernel
def add_up(x: F, loss: F):
    wp.atomic_add(loss, 0, x[wp.tid()])


def active(values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


class Chain:
    """`loss` is the sum of z = y w + y y, with y = x w + x x; z is `extra` steps away from both."""

    def __init__(self, *extra):
        self.x, self.w = active(X), active(W)
        self.y, self.z, self.loss = active(np.zeros(3)), active(np.zeros(3)), active([0.0])
        self.tape = wp.Tape()
        with self.tape:
            wp.launch(weigh, 3, inputs=[self.x, self.w, self.y])
            for step in extra:
                step(self)
            wp.launch(weigh, 3, inputs=[self.y, self.w, self.z])
            wp.launch(add_up, 3, inputs=[self.z, self.loss])

    def backward(self):
        self.tape.backward(self.loss)


def right(factor=1.0):
    """The gradients of `x` and `w`, where the steps between multiply y by a factor."""
    y = (X * W + X * X) * factor
    slope = (W + 2.0 * y) * factor
    return slope * (W + 2.0 * X), slope * X + y


class Failing:
    """A step that fails so many times when it goes backwards."""

    def __init__(self, times, error):
        self.times, self.error = times, error

    def __call__(self, chain):
        chain.tape.record_func(self.backward, [chain.y], [chain.y])

    def backward(self):
        self.times -= 1
        if self.times >= 0:
            raise self.error


def steps(chain):
    wp.checkpointed(lambda i: wp.launch(decay, 3, inputs=[chain.y]), 3, state=[chain.y])


def lost(chain):
    """A gradient that would end here if the loss depended on it."""
    between = wp.zeros(3, dtype=float)
    unused = active(np.zeros(3))
    wp.launch(weigh, 3, inputs=[chain.x, chain.w, between])
    wp.launch(weigh, 3, inputs=[between, chain.w, unused])


def check(chain, factor=1.0, before=0.0):
    for a, expected in zip((chain.x, chain.w), right(factor)):
        np.testing.assert_allclose(a.grad.numpy(), expected + before, rtol=1e-5)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_it_is_refused_until_gradients_are_cleared(error):
    chain = Chain(Failing(2, error("no")))  # made here: the error keeps frames of this test, and so its tape, alive
    chain.x.grad.fill_(1.0)
    with pytest.raises(error):
        chain.backward()
    assert np.isnan(chain.w.grad.numpy()).all()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"a partial sum: `backward` at .*\.py:\d+ raised {error.__name__}"):
            chain.backward()
    chain.tape.zero()
    with pytest.raises(error):
        chain.backward()
    chain.tape.zero()
    chain.backward()
    check(chain)
    chain.backward()
    np.testing.assert_allclose(chain.x.grad.numpy(), 2.0 * right()[0], rtol=1e-5)


def test_gradients_that_got_nothing_keep_what_they_had():
    chain = Chain(Failing(1, ValueError()))
    for a in (chain.x, chain.w, chain.y, chain.z):
        a.grad.fill_(5.0)
    with pytest.raises(ValueError):
        chain.backward()
    assert chain.x.grad.list() == [5.0] * 3
    for a in (chain.w, chain.y, chain.z):
        assert np.isnan(a.grad.numpy()).all()


def test_what_was_to_be_added_comes_back():
    """Where an earlier step writes what later ones do not use, its gradient is set aside and is not touched."""
    chain = Chain(lost, Failing(1, ValueError()))
    unused = chain.tape.launches[2].written[0]
    unused.grad.fill_(5.0)
    wp.config.cut_gradients = "ignore"
    try:
        with pytest.raises(ValueError):
            chain.backward()
    finally:
        wp.config.cut_gradients = "error"
    assert unused.grad.list() == [5.0] * 3
    assert np.isnan(chain.w.grad.numpy()).all()


@pytest.mark.parametrize("clear", [lambda g: g.zero_(), lambda g: g.fill_(2.0), lambda g: g.assign([2.0] * 3)])
def test_gradients_may_be_cleared_by_hand(clear):
    chain = Chain(Failing(1, ValueError()))
    with pytest.raises(ValueError):
        chain.backward()
    for a in (chain.w, chain.y, chain.z, chain.loss):
        with pytest.raises(RuntimeError, match="a partial sum"):
            chain.backward()
        a.grad.zero_() if a is chain.loss else clear(a.grad)
    before = chain.w.grad.numpy().copy()
    chain.backward()
    np.testing.assert_allclose(chain.w.grad.numpy(), right()[1] + before, rtol=1e-5)
    np.testing.assert_allclose(chain.x.grad.numpy(), right()[0], rtol=1e-5)


def test_gradients_may_be_replaced():
    chain = Chain(Failing(1, ValueError()))
    with pytest.raises(ValueError):
        chain.backward()
    for a in (chain.w, chain.y, chain.z, chain.loss):
        a.grad = wp.zeros_like(a, requires_grad=False)
    chain.backward()
    check(chain)


def test_other_tapes_of_the_same_arrays_are_refused():
    chain = Chain(Failing(1, ValueError()))
    other = active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(add_up, 2, inputs=[chain.w[1:], other])
    apart = Chain()
    with pytest.raises(ValueError):
        chain.backward()
    with pytest.raises(RuntimeError, match="a partial sum"):
        tape.backward(other)
    apart.backward()
    check(apart)
    tape.zero()
    tape.backward(other)
    assert np.isnan(chain.w.grad.numpy()[0])
    assert chain.w.grad.list()[1:] == [1.0, 1.0]


def test_columns_beside_a_spoiled_one_are_not_refused():
    m, failing, tapes = active(np.ones((3, 2))), Failing(1, ValueError()), []
    out = [active([0.0]) for _ in range(2)]
    for column in range(2):
        with wp.Tape() as tape:
            if column == 0:
                tape.record_func(failing.backward, [])
            wp.launch(add_up, 3, inputs=[m[:, column], out[column]])
        tapes.append(tape)
    with pytest.raises(ValueError):
        tapes[0].backward(out[0])
    tapes[1].backward(out[1])
    assert np.isnan(m.grad.numpy()[:, 0]).all()
    assert (m.grad.numpy()[:, 1] == 1.0).all()


def test_what_uses_partial_sums_is_not_a_number():
    """A step of gradient descent after a failure that went unnoticed."""
    chain = Chain(Failing(1, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        chain.backward()
    moved = chain.w - 0.1 * chain.w.grad
    assert np.isnan(moved.numpy()).all()


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float64, wp.vec3, wp.mat22])
def test_elements_of_other_types(dtype):
    x = wp.zeros(4, dtype=dtype, requires_grad=True)
    y = wp.zeros_like(x)
    failing = Failing(1, ValueError())
    tape = wp.Tape()
    with tape:
        tape.record_func(failing.backward, [x])
        wp.copy(y[::2], x[::2])
    seed = wp.ones(4, dtype=dtype)
    with pytest.raises(ValueError):
        tape.backward(grads={y: seed})
    with pytest.raises(RuntimeError, match="a partial sum"):
        tape.backward(grads={y: seed})
    tape.zero()
    tape.backward(grads={y: seed})
    found = np.array(x.grad.numpy(), copy=True).reshape(4, -1)
    assert (found[0] == np.array(seed.numpy()).reshape(4, -1)[0]).all()
    assert not found[1].any()


def test_code_that_cannot_be_made_changes_nothing():
    """Compiling comes before the launch: gradients keep what they had, and nothing is refused afterwards."""
    factor = 2.0

    @wp.kernel
    def kernel(x: F, y: F):
        i = wp.tid()
        y[i] = factor * x[i]

    x, y = active([1.0, 2.0]), active([0.0, 0.0])
    wp.launch(kernel, 2, inputs=[x, y])
    x.grad.fill_(5.0)
    y.grad.fill_(7.0)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, 2, inputs=[x, y])
    factor = 3.0
    with pytest.raises(RuntimeError, match="`factor` has changed"):
        tape.backward(grads={y: wp.ones(2, dtype=float)})
    factor = 2.0
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.list() == [7.0, 7.0]


@wp.kernel
def factors(m: wp.array(dtype=wp.mat33), u: wp.array(dtype=wp.mat33), stretch: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    u[i], stretch[i], _ = wp.svd3(m[i])


def test_an_adjoint_launch_that_raises():
    """The gradient of singular vectors is refused for one of the threads, where singular values are equal."""
    m = active(np.array([np.diag([3.0, 2.0, 1.0]), np.eye(3)]), wp.mat33)
    u, stretch = wp.zeros_like(m), active(np.zeros((2, 3)), wp.vec3)
    tape = wp.Tape()
    with tape:
        wp.launch(factors, 2, inputs=[m, u, stretch])
    seed = wp.ones_like(u, requires_grad=False)
    with pytest.raises(wp.KernelError):
        tape.backward(grads={u: seed})
    with pytest.raises(RuntimeError, match=r"a partial sum: `backward` at .* raised KernelError"):
        tape.backward(grads={u: seed})
    tape.zero()
    u.grad.assign(seed)

    def adjoint():
        wp.launch(factors, 2, inputs=[m, u, stretch], adjoint=True, adj_inputs=[None] * 3)

    with pytest.raises(wp.KernelError):
        adjoint()
    assert np.isnan(m.grad.numpy()).all()
    with pytest.raises(RuntimeError, match=r"a partial sum: `launch` at .* raised KernelError"):
        adjoint()


def test_a_failure_while_a_graph_is_captured():
    """What was captured stays in the graph: its gradients are NaN, unless it clears them and goes backwards again."""
    for again in (False, True):
        chain = Chain()
        x, y, loss = active(X), active(np.zeros(3)), active([0.0])
        failing = Failing(1, ValueError())
        with wp.ScopedCapture() as captured:
            tape = wp.Tape()
            with tape:
                tape.record_func(failing.backward, [x])
                wp.launch(weigh, 3, inputs=[x, chain.w, y])
                wp.launch(add_up, 3, inputs=[y, loss])
            with pytest.raises(ValueError):
                tape.backward(loss)
            if again:
                tape.zero()
                tape.backward(loss)
        wp.capture_launch(captured.graph)
        if again:
            np.testing.assert_allclose(x.grad.numpy(), W + 2.0 * X, rtol=1e-5)
        else:
            assert np.isnan(x.grad.numpy()).all()


def test_steps_that_run_a_tape_of_their_own():
    inner = Chain()
    x, y = active(X), active(np.zeros(3))
    failing = Failing(1, ValueError())
    tape = wp.Tape()

    def backward():
        inner.tape.zero()
        inner.backward()
        failing.backward()

    with tape:
        tape.record_func(backward, [x])
        wp.launch(weigh, 3, inputs=[x, x, y])
    seed = wp.ones(3, dtype=float)
    with pytest.raises(ValueError):
        tape.backward(grads={y: seed})
    check(inner)
    with pytest.raises(RuntimeError, match="a partial sum"):
        tape.backward(grads={y: seed})
    tape.zero()
    tape.backward(grads={y: seed})
    np.testing.assert_allclose(x.grad.numpy(), 4.0 * X, rtol=1e-5)


def test_jacobians_leave_gradients_as_they_were():
    weights, failing = wp.array(W, dtype=float), Failing(1, ValueError())
    x, between = active(X), active(np.zeros(3))
    x.grad.fill_(5.0)
    between.grad.fill_(6.0)

    def program(x):
        loss = active([0.0])
        wp.launch(weigh, 3, inputs=[x, weights, between])
        observers.tape().record_func(failing.backward, [between], [between])
        wp.launch(add_up, 3, inputs=[between, loss])
        return loss

    for _ in range(2):
        assert (x.grad.list(), between.grad.list()) == ([5.0] * 3, [6.0] * 3)
        if failing.times:
            with pytest.raises(ValueError):
                wp.autograd.jacobian(program, inputs=[x])
    found = wp.autograd.jacobian(program, inputs=[x])
    np.testing.assert_allclose(found[0, 0].numpy(), [W + 2.0 * X], rtol=1e-5)


def test_a_failed_hessian_leaves_gradients_as_they_were():
    chain, v = Chain(), wp.ones(3, dtype=float)

    def of_three(x):
        y = wp.zeros(3, dtype=float)
        wp.launch(weigh, 3, inputs=[x, wp.array(W, dtype=float), y])
        return y

    with pytest.raises(ValueError, match="must return an array with one element") as caught:
        wp.autograd.hvp(of_three, chain.x, v)
    chain.backward()
    check(chain)
    assert caught.traceback


# -- interrupts -------------------------------------------------------------------------------------------------------


class Interrupted:
    """A `with` block with an interrupt before the n-th line of this package that runs in it.

    It comes later where that line is part of a finalizer, which Python lets no exception out of.
    """

    def __init__(self, n):
        self.left = n

    def __enter__(self):
        sys.settrace(self._called)
        return self

    def __exit__(self, kind, *rest):
        sys.settrace(None)
        return kind is KeyboardInterrupt

    def _called(self, frame, *_):
        return self._line if PACKAGE in Path(frame.f_code.co_filename).parents else None

    def _line(self, frame, event, _):
        if event == "line":
            self.left -= 1
            if self.left <= 0 and not is_final(frame):
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


def is_final(frame):
    """True if a frame runs for a finalizer."""
    while frame is not None and frame.f_code.co_name != "__del__" and frame.f_code.co_filename != weakref.__file__:
        frame = frame.f_back
    return frame is not None


@pytest.mark.parametrize("extra, factor, stride", [((), 1.0, 1), ((lost,), 1.0, 7), ((steps,), 0.125, 13)])
def test_an_interrupt_at_any_line(extra, factor, stride):
    """Gradients are untouched, right or NaN then, and `backward` again is right or refused, and right after `zero`."""
    refused, n = 0, 0
    while True:
        n += stride
        chain = Chain(*extra)
        chain.x.grad.fill_(1.0)
        done = False
        with Interrupted(n):
            chain.backward()
            done = True
        if done:
            break
        found, expected = chain.x.grad.numpy().copy(), right(factor)[0]
        assert np.isnan(found).any() or (found == 1.0).all() or np.allclose(found, expected + 1.0), (n, found)
        try:
            chain.backward()
        except RuntimeError as why:
            assert "a partial sum" in str(why)
            refused += 1
        else:
            np.testing.assert_allclose(chain.x.grad.numpy(), expected + 1.0, rtol=1e-5, err_msg=str(n))
        chain.tape.zero()
        chain.backward()
        check(chain, factor)
    assert (refused > 0) == (lost not in extra)


def test_a_second_interrupt_while_sums_become_nan(monkeypatch):
    chain, fill, calls = Chain(Failing(1, KeyboardInterrupt())), transfer.fill, []

    def interrupted(target, pattern):
        calls.append(pattern.startswith(b"\xff"))
        if sum(calls) == 2:
            raise KeyboardInterrupt
        fill(target, pattern)

    monkeypatch.setattr(transfer, "fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        chain.backward()
    with pytest.raises(RuntimeError, match="a partial sum"):
        chain.backward()
    chain.tape.zero()
    chain.backward()
    check(chain)
