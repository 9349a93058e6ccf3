"""Forward mode, Hessians, Jacobians, checks and checkpoints on GPUs; and random programs on tapes."""

import os

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tape.random_tapes import SIZE, Program
from tests.tape.test_random_steps import N, gradients, program

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_TAPES", "0:30").split(":"))
D = wp.array(dtype=wp.float64)


@pytest.fixture
def first():
    """The first GPU, for what takes long."""
    with wp.ScopedDevice("cuda:0") as device:
        yield device


@wp.kernel
def mixed(x: D, a: wp.float64, y: D):
    i = wp.tid()
    y[i] = wp.sin(a * x[i]) * x[(i + 1) % x.shape[0]]


@wp.kernel
def energy(x: D, e: D):
    i = wp.tid()
    wp.atomic_add(e, 0, x[i] * x[i] * x[(i + 1) % x.shape[0]])


@wp.kernel
def swing(x: D, v: D, stiffness: D):
    i = wp.tid()
    v[i] = v[i] - stiffness[i] * wp.sin(x[i]) * wp.float64(0.1)
    x[i] = x[i] + v[i] * wp.float64(0.1)


@wp.func
def bent(a: wp.float64, b: wp.float64):
    return wp.sin(a) * b


def doubles(numbers, **options):
    return wp.array(numbers, dtype=wp.float64, **options)


def by_differences(x, a):
    """The Jacobian of `mixed` for x, by the complex step."""
    columns = []
    for k in range(len(x)):
        moved = x.astype(complex)
        moved[k] += 1e-30j
        columns.append((np.sin(a * moved) * np.roll(moved, -1)).imag * 1e30)
    return np.array(columns).T


# -- forward mode -----------------------------------------------------------------------------------------------------


def test_the_tangent_of_a_kernel(gpu):
    x, dx = np.array([0.3, 0.7, -0.4]), np.array([1.0, -2.0, 0.5])
    y = wp.zeros(3, dtype=wp.float64)
    (dy,) = wp.jvp(mixed, dim=3, inputs=[doubles(x), 2.0], outputs=[y], tangents=[doubles(dx)])
    assert dy.device is gpu
    np.testing.assert_allclose(dy.numpy(), by_differences(x, 2.0) @ dx, rtol=1e-12)
    with wp.ScopedDevice("cpu"):
        args = [doubles(x, device=gpu), 2.0]
        (again,) = wp.jvp(mixed, dim=3, inputs=args, outputs=[y], tangents=[dx], device=gpu)
    assert again.list() == dy.list()
    with pytest.raises(ValueError, match=r"tangent of `x`: expected device cuda:\d, got cpu"):
        wp.jvp(mixed, dim=3, inputs=args, outputs=[y], tangents=[doubles(dx, device="cpu")])


def test_the_tangent_of_a_program_on_both_devices(gpu):
    def run(x):
        there = x.to(gpu)
        y, z = wp.zeros_like(there), wp.zeros(3, dtype=wp.float64, device="cpu")
        wp.launch(mixed, dim=3, inputs=[there, 2.0, y], device=gpu)
        y *= 3.0
        z[1:] = y[:2]
        return z

    x, dx = np.array([0.3, 0.7, -0.4]), np.array([1.0, -2.0, 0.5])
    _, dz = wp.jvp(run, (doubles(x, device="cpu"),), (doubles(dx, device="cpu"),))
    assert dz.device.is_cpu
    np.testing.assert_allclose(dz.numpy(), [0.0, *(3.0 * by_differences(x, 2.0) @ dx)[:2]], rtol=1e-12)


def test_hessians(gpu):
    def f(x):
        e = wp.zeros(1, dtype=wp.float64)
        wp.launch(energy, dim=x.size, inputs=[x, e])
        return e

    x, v = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 2.0])
    found = wp.autograd.hvp(f, doubles(x), doubles(v))
    hessian = np.diag(2 * np.roll(x, -1)) + sum(
        2 * x[i] * (np.outer(a, b) + np.outer(b, a))
        for i in range(3)
        for a, b in [(np.eye(3)[i], np.eye(3)[(i + 1) % 3])]
    )
    assert found.device is gpu
    np.testing.assert_allclose(found.numpy(), hessian @ v, rtol=1e-12)


# -- Jacobians and checks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reverse", "forward", "auto"])
def test_jacobians(gpu, mode):
    numbers = np.array([0.3, 0.7, -0.4])
    x, y = doubles(numbers, requires_grad=True), wp.zeros(3, dtype=wp.float64, requires_grad=True)
    found = wp.autograd.jacobian(mixed, dim=3, inputs=[x, 2.0], outputs=[y], mode=mode)[0, 0]
    assert found.device is gpu
    np.testing.assert_allclose(found.numpy(), by_differences(numbers, 2.0), rtol=1e-12)
    slopes = wp.autograd.jacobian_fd(mixed, dim=3, inputs=[x, 2.0], outputs=[y])[0, 0]
    np.testing.assert_allclose(slopes.numpy(), found.numpy(), atol=1e-8)
    assert x.list() == numbers.tolist()
    assert x.grad.list() == [0.0] * 3


def test_checks(gpu):
    x, y = doubles([0.3, 0.7, -0.4], requires_grad=True), wp.zeros(3, dtype=wp.float64, requires_grad=True)
    assert wp.autograd.gradcheck(mixed, dim=3, inputs=[x, 2.0], outputs=[y], show_summary=False)
    assert wp.autograd.gradcheck(bent, inputs=[x, 0.5], show_summary=False)
    tape = wp.Tape()
    with tape:
        wp.launch(mixed, dim=3, inputs=[x, 2.0, y])
        wp.launch(mixed, dim=3, inputs=[y, 0.5, x])
    with wp.ScopedDevice("cpu"):
        assert wp.autograd.gradcheck_tape(tape, show_summary=False)


# -- checkpoints ------------------------------------------------------------------------------------------------------


def simulated_gradients(state, budget=None):
    x, v = (wp.full(4, start, dtype=wp.float64, requires_grad=True) for start in (1.0, 0.0))
    stiffness = doubles([1.0, 2.0, 3.0, 4.0], requires_grad=True)

    def step(i):
        wp.launch(swing, dim=4, inputs=[x, v, stiffness])

    tape = wp.Tape()
    with tape:
        if budget is None:
            for i in range(40):
                step(i)
        else:
            wp.checkpointed(step, 40, state=[x, v][:state], memory_budget=budget)
    x.zero_()
    for _ in range(2):
        tape.backward(grads={x: wp.ones(4, dtype=wp.float64)})
    return stiffness.grad.list(), x.grad.list()


def test_checkpoints(gpu):
    expected = simulated_gradients(2)
    for slots in (1, 3, 100):
        assert simulated_gradients(2, slots * 64) == expected
    with pytest.raises(RuntimeError, match="is not in `state`"):
        simulated_gradients(1, 4096)


@pytest.mark.parametrize("seed", range(12))
def test_checkpoints_of_random_steps(first, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    actions, values = program(rng, count), rng.uniform(0.1, 0.9, (count, N))
    whole = gradients(actions, values, None, 0)
    parts = gradients(actions, values, range(count), 3 * 4 * N * count)
    for one, other in zip(whole, parts):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)  # atomics add in any order


# -- random programs --------------------------------------------------------------------------------------------------


def gradient_or_refusal(seed, device):
    start = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, SIZE))
    with wp.ScopedDevice(device):
        try:
            return Program(seed).gradient(start)
        except (RuntimeError, ValueError, wp.CompileError) as why:
            return type(why)


@pytest.mark.parametrize("seed", range(LOW, HIGH))
def test_random_tapes(first, seed):
    """Gradients are those of the CPU, or refused as there. The CPU's own tests compare them with differences."""
    found, expected = (gradient_or_refusal(seed, device) for device in (first, "cpu"))
    assert isinstance(found, np.ndarray) == isinstance(expected, np.ndarray), (found, expected)
    if isinstance(found, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    else:
        assert found is expected


@pytest.mark.parametrize("seed", range(LOW, HIGH, 3))
def test_twice_forward_and_within_a_budget(first, seed):
    made, r = Program(seed), np.random.default_rng(seed)
    start, direction = r.uniform(-1.0, 1.0, (3, SIZE)), r.uniform(-1.0, 1.0, (3, SIZE))
    once = made.gradient(start)
    assert made.slope(start, direction) == pytest.approx((once * direction).sum(), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(made.gradient(start, times=2), 2 * once, rtol=1e-12, atol=1e-12)
    for budget in (0, 1000):
        try:
            found = made.gradient(start, budget)
        except RuntimeError as why:
            assert "as it was then" in str(why)
            continue
        np.testing.assert_allclose(found, once, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_what_all_threads_store_has_one_gradient(first, dtype):
    @wp.kernel
    def told(p: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i % 2] = p[i % 2] * p[i % 2]

    p = wp.array([1.0, 3.0], dtype=dtype, requires_grad=True)
    y = wp.zeros(2, dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(told, 200, inputs=[p, y])
    tape.backward(grads={y: wp.ones(2, dtype=dtype)})
    assert p.grad.numpy().tolist() == [2.0, 6.0]
