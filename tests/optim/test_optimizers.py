"""Optimisers against NumPy in float64, on arrays of all kinds."""

import numpy as np
import pytest

import omni.warp_core as wp

KINDS = {
    "float32": (wp.float32, (5,), 1e-6),
    "float64": (wp.float64, (5,), 1e-13),
    "float16": (wp.float16, (5,), 2e-3),
    "vec3": (wp.vec3, (4, 3), 1e-6),
    "mat22d": (wp.mat22d, (2, 3, 2, 2), 1e-13),
}


def adam(x, grads, lr, beta1, beta2, eps):
    m = v = np.zeros_like(x)
    for t, g in enumerate(grads, 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        x = x - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return x


def sgd(x, grads, lr, momentum, dampening, decay, nesterov):
    speed = None
    for g in grads:
        g = g + decay * x
        speed = g if speed is None else momentum * speed + (1 - dampening) * g
        x = x - lr * (g + momentum * speed if nesterov else speed)
    return x


def problem(shape):
    rng = np.random.default_rng(len(shape))
    return rng.normal(size=shape), [rng.normal(size=shape) for _ in range(6)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lr, betas, eps", [(0.1, (0.9, 0.999), 1e-8), (0.02, (0.5, 0.8), 1e-3)])
def test_adam(kind, lr, betas, eps, device):
    dtype, shape, error = KINDS[kind]
    start, grads = problem(shape)
    x = wp.array(start, dtype=dtype)
    optimizer = wp.optim.Adam([x], lr=lr, betas=betas, eps=eps)
    for g in grads:
        optimizer.step([wp.array(g, dtype=dtype)])
    right = adam(start, grads, lr, *betas, eps)
    assert np.abs(x.numpy() - right).max() <= error * (1 + np.abs(right).max()) and optimizer.t == 6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [(0.0, 0.0, 0.0, False), (0.9, 0.2, 0.01, False), (0.8, 0.0, 0.1, True)])
def test_sgd(kind, options, device):
    dtype, shape, error = KINDS[kind]
    start, grads = problem(shape)
    x = wp.array(start, dtype=dtype)
    optimizer = wp.optim.SGD([x], 0.1, *options)
    for g in grads:
        optimizer.step([wp.array(g, dtype=dtype)])
    right = sgd(start, grads, 0.1, *options)
    assert np.abs(x.numpy() - right).max() <= 4 * error * (1 + np.abs(right).max())


@wp.kernel
def banana(x: wp.array[float], y: wp.array[float], loss: wp.array[float]):
    i = wp.tid()
    a = 1.0 - x[i]
    b = y[i] - x[i] * x[i]
    wp.atomic_add(loss, 0, a * a + 10.0 * b * b)


def test_gradients_of_a_tape_lead_to_the_minimum():
    x = wp.array([-1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.array([2.0, 0.0], dtype=float, requires_grad=True)
    optimizer = wp.optim.Adam([x, y], lr=0.05)
    for _ in range(800):
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(banana, dim=2, inputs=[x, y, loss])
        tape.backward(loss)
        optimizer.step([x.grad, y.grad])
        tape.zero()
    assert np.abs(x.numpy() - 1).max() < 1e-2 and np.abs(y.numpy() - 1).max() < 2e-2  # the one minimum is at (1, 1)


def test_a_step_is_no_part_of_a_tape_around_it():
    x = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.optim.SGD([x], lr=0.5).step([wp.ones(2, dtype=float)])
    assert x.list() == [-0.5, -0.5] and not tape.launches


def test_arrays_are_given_later_and_steps_forgotten():
    optimizer = wp.optim.SGD(lr=1.0, momentum=0.5)
    with pytest.raises(RuntimeError, match="no arrays to change; call set_params"):
        optimizer.step([])
    x, g = wp.zeros(1, dtype=float), wp.ones(1, dtype=float)
    optimizer.set_params([x])
    optimizer.step([g])
    optimizer.step([g])
    assert x.list() == [-2.5] and optimizer.t == 2
    optimizer.reset_internal_state()
    optimizer.step([g])
    assert x.list() == [-3.5] and optimizer.t == 1


def test_gradients_that_do_not_fit_are_refused():
    x = wp.zeros(2, dtype=float)
    optimizer = wp.optim.Adam([x])
    with pytest.raises(ValueError, match=r"grad\[0\] has shape \(3,\), params\[0\] \(2,\)"):
        optimizer.step([wp.ones(3, dtype=float)])
    with pytest.raises(TypeError, match=r"grad\[0\] has elements of type float64, params\[0\] of float32"):
        optimizer.step([wp.ones(2, dtype=wp.float64)])
    with pytest.raises(TypeError, match=r"grad\[0\] has elements of type NoneType"):
        optimizer.step([None])
    with pytest.raises(ValueError, match="changes 1 arrays and got one array, not a list"):
        optimizer.step(wp.ones(2, dtype=float))
    with pytest.raises(ValueError, match="changes 1 arrays and got 2 gradients"):
        optimizer.step([x, x])
    assert optimizer.t == 0 and x.list() == [0.0, 0.0]
    with pytest.raises(TypeError, match=r"params\[0\] has elements of type int32"):
        wp.optim.Adam([wp.zeros(2, dtype=int)])
    with pytest.raises(ValueError, match=r"params\[0\] is not contiguous"):
        wp.optim.Adam([wp.zeros((4, 4), dtype=float)[:, 1]])
