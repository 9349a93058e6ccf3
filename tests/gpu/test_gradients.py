"""Gradients on GPUs: tapes, what they keep, and in which order work on streams and devices goes backwards.

Gradients by hand and NumPy in float64 are the judges, and for random programs central differences, as on the CPU.
"""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.launches import plan_cuda
from tests.kernels import square, square_in_place, total

RNG = np.random.default_rng(5)


@wp.kernel
def powers(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    p = x[i]
    for k in range(n):
        if k % 7 == 3:
            continue
        x[i] = x[i] * wp.sin(p)
        p = p + 0.01 * x[i]


@wp.kernel
def least(x: wp.array(dtype=float), low: wp.array(dtype=float)):
    wp.atomic_min(low, 0, x[wp.tid()])


@wp.kernel
def compact(x: wp.array(dtype=float), count: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        y[wp.atomic_add(count, 0, 1)] = x[i] * x[i]


@wp.kernel
def differences(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i + 1] - x[i]


@wp.struct
class Part:
    x: wp.vec3
    mass: wp.float16
    id: int


@wp.kernel
def weigh(parts: wp.array(dtype=Part), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = parts[i].x * float(parts[i].mass)


def leaf(numbers, dtype=float, **options):
    return wp.array(numbers, dtype=dtype, requires_grad=True, **options)


# -- tapes ------------------------------------------------------------------------------------------------------------


def test_structs(gpu):
    made = []
    for i in range(3):
        p = Part()
        p.x, p.mass, p.id = wp.vec3(1.0, 2.0, 3.0), wp.float16(2 + i), i
        made.append(p)
    parts, out = leaf(made, Part), wp.zeros(3, dtype=wp.vec3, requires_grad=True)
    with wp.Tape() as tape:
        moved = wp.clone(parts)
        wp.launch(weigh, dim=3, inputs=[moved, out])
    tape.backward(grads={out: wp.ones(3, dtype=wp.vec3)})
    assert parts.grad.numpy()["x"].tolist() == [[2.0] * 3, [3.0] * 3, [4.0] * 3]
    assert parts.grad.numpy()["mass"].tolist() == [6.0] * 3
    assert parts.grad.numpy()["id"].tolist() == [0] * 3


def test_atomics(gpu):
    x, low = leaf([3.0, 1.0, 2.0]), leaf([9.0])
    with wp.Tape() as tape:
        wp.launch(least, dim=3, inputs=[x, low])
    tape.backward(low)
    assert x.grad.list() == [0.0, 1.0, 0.0]

    x, count, y = leaf([3.0, -1.0, 2.0]), wp.zeros(1, dtype=int), leaf([0.0] * 3)
    with wp.Tape() as tape:
        wp.launch(compact, dim=3, inputs=[x, count, y])
    count.zero_()
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert x.grad.list() == [6.0, 0.0, 4.0]


def test_a_stash_that_grows_leaves_what_the_adjoint_stores_again(gpu):
    """The adjoint repeats the stores of the launch on a copy, which a second try must find as the first one did."""
    numbers, n = RNG.uniform(1.0, 2.0, 3), 300
    x = leaf(numbers)
    with wp.Tape() as tape:
        wp.launch(powers, dim=3, inputs=[x, n])
    tape.backward(grads={x: wp.ones(3, dtype=float)})

    def judge(v):
        p = v
        for k in range(n):
            if k % 7 != 3:
                v = v * np.sin(p)
                p = p + 0.01 * v
        return v

    exact = judge(np.asarray(numbers, np.float32).astype(complex) + 1e-30j).imag * 1e30  # the complex step
    np.testing.assert_allclose(x.grad.numpy(), exact, rtol=2e-3)


def test_a_second_try_begins_where_the_first_did(gpu, simulated, monkeypatch):
    """Stashes of simulated GPUs are large enough, so that a first try is made to fail here."""
    launch, tries = plan_cuda.GpuCode._launch, []

    def failing(self, *how):
        found = launch(self, *how)
        tries.append(found)
        site = next((i for i, s in enumerate(self.artifact.sites) if s.kind == "gradient-memory"), -1)
        return plan_cuda.Failure(0, site, [1000]) if len(tries) == 1 else found

    monkeypatch.setattr(plan_cuda.GpuCode, "_launch", failing)
    x = leaf([1.5])
    with wp.Tape() as tape:
        wp.launch(powers, dim=1, inputs=[x, 2])
    tape.backward(grads={x: wp.ones(1, dtype=float)})
    v, p, dv, dp = 1.5, 1.5, 1.0, 1.0
    for _ in range(2):
        v, dv = v * np.sin(p), dv * np.sin(p) + v * np.cos(p) * dp
        p, dp = p + 0.01 * v, dp + 0.01 * dv
    assert tries == [None, None]
    np.testing.assert_allclose(x.grad.list(), [dv], rtol=1e-5)


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_memory_that_others_see_is_copied_when_it_is_recorded(gpu):
    x, y = leaf([3.0, 4.0]), leaf([0.0, 0.0])

    class Theirs:
        __cuda_array_interface__ = x.__cuda_array_interface__

    unseen = wp.array(ptr=x.ptr, shape=2, dtype=float, device=gpu)
    tape = wp.Tape()
    with tape:
        wp.launch(square, dim=2, inputs=[x, y])
        wp.launch(square, dim=2, inputs=[x, y])  # nothing has changed: the same copy
        assert tape.memory_used == 8
        wp.launch(square_in_place, dim=2, inputs=[unseen])
        wp.launch(square, dim=2, inputs=[Theirs(), y])
    assert y.list() == [81.0, 256.0]
    unseen.fill_(0.0)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.list() == [2 * 9.0 * 6.0, 2 * 16.0 * 8.0]


def test_copies_end_with_the_tape(gpu, simulated):
    def run():
        x, y = leaf([3.0, 4.0]), leaf([0.0, 0.0])
        with wp.Tape() as tape:
            wp.launch(square, dim=2, inputs=[x, y])
        x.fill_(7.0)
        assert tape.memory_used == 8
        wp.synchronize()

    run()
    before = simulated.simulator_allocations(gpu.ordinal)
    run()
    assert simulated.simulator_allocations(gpu.ordinal) == before


# -- the order of sums ------------------------------------------------------------------------------------------------


@pytest.fixture
def deterministic():
    wp.config.deterministic = True
    yield
    wp.config.deterministic = False


def test_what_depends_on_the_order_of_threads_is_refused_where_that_is_asked_for(gpu, deterministic):
    x, y = leaf([3.0, 1.0]), leaf([0.0, 0.0])
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x, y])
        z = wp.clone(y)
        y[1:] = z[:1]
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.list() == [12.0, 0.0]
    why = r"^kernel `total` adds floating point numbers atomically.*GPUs do not fix the order"
    with pytest.raises(RuntimeError, match=why):
        wp.launch(total, dim=2, inputs=[x, y])
    before, loss = x.grad.list(), leaf([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(differences, dim=1, inputs=[x, loss])
    with pytest.raises(RuntimeError, match=r"^the gradient of kernel `differences` adds"):
        tape.backward(loss)
    assert x.grad.list() == before
    wp.config.deterministic = False
    wp.launch(total, dim=2, inputs=[x, loss])


# -- streams and devices ----------------------------------------------------------------------------------------------


def test_streams(gpu):
    x, y, z = leaf([1.0, 2.0]), leaf([0.0, 0.0]), leaf([0.0, 0.0])
    first, second, third = (wp.Stream(gpu) for _ in range(3))
    tape = wp.Tape()
    with tape:
        with wp.ScopedStream(first):
            wp.launch(square, dim=2, inputs=[x, y])
        with wp.ScopedStream(second):
            wp.wait_stream(first)
            wp.launch(square, dim=2, inputs=[y, z])
            y.fill_(0.0)  # what it was is kept on this stream
    with wp.ScopedStream(third):
        tape.backward(grads={z: wp.ones(2, dtype=float)})
        assert x.grad.list() == [4.0, 32.0]


def test_across_the_cpu_and_a_gpu(gpu):
    x = leaf([1.0, 2.0, 3.0], device="cpu")
    with wp.Tape() as tape:
        there = x.to(gpu)
        y = wp.zeros(3, dtype=float, requires_grad=True)
        wp.launch(square, dim=3, inputs=[there, y])
        back = wp.array(y, device="cpu", requires_grad=True)
        loss = wp.zeros(3, dtype=float, device="cpu", requires_grad=True)
        wp.launch(square, dim=3, inputs=[back, loss], device="cpu")
        y[1:] = loss[:2]
    x.fill_(0.0)
    assert y.device is gpu
    tape.backward(grads={loss: wp.ones(3, dtype=float)})
    assert x.grad.list() == [4.0, 32.0, 108.0]


def test_across_gpus():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    x = leaf([1.0, 2.0, 3.0], device="cuda:0")
    with wp.Tape() as tape:
        y = wp.zeros(3, dtype=float, device="cuda:0", requires_grad=True)
        wp.launch(square, dim=3, inputs=[x, y], device="cuda:0")
        there = wp.clone(y, device="cuda:1")
        wp.launch(square_in_place, dim=3, inputs=[there], device="cuda:1")
        x[:2] = there[1:]
    tape.backward(grads={x: wp.ones(3, dtype=float, device="cuda:1")})
    assert x.grad.list() == [0.0, 32.0, 108.0 + 1.0]


def test_gradients_are_where_their_arrays_are(gpu):
    x = wp.zeros(3, dtype=float)
    with pytest.raises(ValueError, match=r"grad: expected device cuda:\d, got cpu"):
        x.grad = wp.zeros(3, dtype=float, device="cpu")


# -- products of matrices ---------------------------------------------------------------------------------------------


def test_products_of_matrices(gpu):
    a, b = wp.ones((2, 2), dtype=float), wp.ones(2, dtype=float)
    assert (a @ b).device is gpu
    with pytest.raises(ValueError, match=r"c: is on cpu, and the product is computed on cuda"):
        wp.matmul(a, a, wp.zeros((2, 2), device="cpu"), wp.zeros((2, 2)))
