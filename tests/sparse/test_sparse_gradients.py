"""Gradients of values through `wp.sparse`, against central differences in float64."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import sparse as ws

N, M, NUMBER = 5, 4, 14


def places(seed, nrow, ncol):
    rng = np.random.default_rng(seed)
    return [wp.array(rng.integers(0, n, NUMBER).astype(np.int32), dtype=int) for n in (nrow, ncol)]


def matrix(values, seed=0, nrow=N, ncol=M):
    return ws.bsr_from_triplets(nrow, ncol, *places(seed, nrow, ncol), values, prune_numerical_zeros=False)


def padded_copy(A):
    B = ws.bsr_zeros(A.nrow, A.ncol, A.dtype, row_capacity=A.ncol)
    ws.bsr_assign(B, A, topology="padded")
    return B


def masked_sum(A, B):
    C = ws.bsr_copy(A)
    ws.bsr_axpy(B, C, 2.0, 0.5, topology="masked")
    return C


def masked_product(A, B):
    C = ws.bsr_copy(A)
    ws.bsr_mm(A, ws.bsr_transposed(B) @ B, C, 2.0, 0.5, topology="masked")
    return C


def mapped(values, seed, nrow=N, ncol=M):
    A = ws.bsr_zeros(nrow, ncol, values.dtype)
    mapping = ws.bsr_set_from_triplets(
        A, *places(seed, nrow, ncol), values, build_mapping=True, prune_numerical_zeros=False
    )
    ws.bsr_set_from_mapped_values(A, mapping, values)
    return A


PROGRAMS = {
    "mv": lambda u, v, x: matrix(u) @ x[:M],
    "transposed mv": lambda u, v, x: x[:N] @ matrix(u),
    "mv added": lambda u, v, x: ws.bsr_mv(matrix(u), x[:M], wp.clone(x[1 : N + 1]), 2.0, -0.5),
    "transposed mv added": lambda u, v, x: ws.bsr_mv(matrix(u), x[:N], wp.clone(x[1 : M + 1]), 2.0, -0.5, True),
    "mv in place": lambda u, v, x: (lambda y: ws.bsr_mv(matrix(u, 0, N, N), y, y, 2.0, 0.5))(wp.clone(x[:N])),
    "sum": lambda u, v, x: (2.0 * matrix(u) - matrix(v, 1)) @ x[:M],
    "sum in place": lambda u, v, x: ws.bsr_axpy(matrix(u), matrix(v, 1), 2.0, 0.5) @ x[:M],
    "masked sum": lambda u, v, x: masked_sum(matrix(u), matrix(v, 1)) @ x[:M],
    "product": lambda u, v, x: (matrix(u) @ matrix(v, 1, M, N)) @ x[:N],
    "product added": lambda u, v, x: ws.bsr_mm(
        matrix(u), matrix(v, 1, M, N), matrix(v, 2, N, N), 2.0, 0.5
    ) @ x[:N],
    "product in place": lambda u, v, x: (lambda A: ws.bsr_mm(A, A, A, 1.0, 0.5))(matrix(u, 0, N, N)) @ x[:N],
    "masked product": lambda u, v, x: masked_product(matrix(u), matrix(v, 1)) @ x[:M],
    "transposed": lambda u, v, x: matrix(u).transpose() @ x[:N],
    "padded": lambda u, v, x: padded_copy(matrix(u)) @ x[:M],
    "compressed": lambda u, v, x: ws.bsr_compress(matrix(u)) @ x[:M],
    "scaled": lambda u, v, x: ws.bsr_scale(matrix(u), 3.0) @ x[:M],
    "diagonal": lambda u, v, x: ws.bsr_get_diag(2.0 * matrix(u)),
    "of a diagonal": lambda u, v, x: (matrix(u) + ws.bsr_diag(v[:M], N, M)) @ x[:M],
    "mapped": lambda u, v, x: mapped(u, 0) @ x[:M],
}  # fmt: skip


@wp.kernel
def weigh(y: wp.array[wp.float64], loss: wp.array[wp.float64]):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i] * y[i] * (wp.float64(i) + wp.float64(1.0)))


def loss_of(program, arrays):
    y = program(*arrays)
    y = y if y.dtype is wp.float64 else y.view(wp.float64).flatten()
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    wp.launch(weigh, y.size, [y, loss])
    return loss


def check(program, inputs, dtypes):
    def arrays(numbers, gradient=False):
        return [wp.array(n, dtype=d, requires_grad=gradient) for n, d in zip(numbers, dtypes)]

    given = arrays(inputs, True)
    with wp.Tape() as tape:
        loss = loss_of(program, given)
    tape.backward(loss)
    step, used = 1e-6, 0
    for which, a in enumerate(given):
        right = np.zeros_like(inputs[which])
        for at in np.ndindex(right.shape):
            change = []
            for sign in (1.0, -1.0):
                moved = [n.copy() for n in inputs]
                moved[which][at] += sign * step
                change.append(loss_of(program, arrays(moved)).numpy()[0])
            right[at] = (change[0] - change[1]) / (2.0 * step)
        assert np.abs(a.grad.numpy() - right).max() <= 1e-6 * (1.0 + np.abs(right).max())
        used += np.count_nonzero(right) > 0
    assert used


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_values(name, device):
    rng = np.random.default_rng(5)
    inputs = [rng.normal(size=n) for n in (NUMBER, NUMBER, N + 2)]
    check(PROGRAMS[name], inputs, [wp.float64] * 3)


BLOCK_PROGRAMS = {
    "mv": lambda u, x: matrix(u, 0, 3, 3) @ x,
    "transposed mv": lambda u, x: x @ matrix(u, 0, 3, 3),
    "product": lambda u, x: (matrix(u, 0, 3, 3) @ matrix(u, 1, 3, 3)) @ x,
    "split": lambda u, x: ws.bsr_copy(matrix(u, 0, 3, 3), block_shape=(1, 1)) @ x,
    "joined": lambda u, x: ws.bsr_copy(matrix(u, 0, 3, 3), block_shape=(6, 6)) @ x,
    "sum": lambda u, x: (matrix(u, 0, 3, 3) + matrix(u, 1, 3, 3).transpose()) @ x,
}


@pytest.mark.parametrize("name", BLOCK_PROGRAMS)
def test_gradients_of_blocks(name, device):
    rng = np.random.default_rng(6)
    inputs = [rng.normal(size=(NUMBER, 2, 2)), rng.normal(size=(3, 2))]
    check(BLOCK_PROGRAMS[name], inputs, [wp.mat22d, wp.vec2d])


def test_a_matrix_that_is_rebuilt_keeps_the_gradients_of_before(device):
    """The tape differentiates the product of the first rows although the matrix has others by then."""
    values = wp.array([2.0, 3.0], dtype=wp.float64, requires_grad=True)
    x = wp.array([5.0, 7.0], dtype=wp.float64, requires_grad=True)
    rows = wp.array([0, 1], dtype=int)
    A = ws.bsr_zeros(2, 2, wp.float64)
    with wp.Tape() as tape:
        ws.bsr_set_from_triplets(A, rows, wp.array([0, 1], dtype=int), values)
        y = A @ x
        ws.bsr_set_from_triplets(A, rows, wp.array([1, 0], dtype=int), 10.0 * values)
        loss = loss_of(lambda: y + A @ x, ())
    tape.backward(loss)
    # y = (2 * 5 + 20 * 7, 3 * 7 + 30 * 5) = (150, 171); loss = y0^2 + 2 y1^2
    g = np.array([2.0 * 150.0, 4.0 * 171.0])
    assert np.allclose(values.grad.numpy(), [g[0] * (5 + 70), g[1] * (7 + 50)])
    assert np.allclose(x.grad.numpy(), [g[0] * 2 + g[1] * 30, g[1] * 3 + g[0] * 20])


def test_a_matrix_that_becomes_the_identity_keeps_the_gradients_of_before(device):
    values = wp.array([2.0, 3.0], dtype=wp.float64, requires_grad=True)
    x = wp.array([5.0, 7.0], dtype=wp.float64, requires_grad=True)
    places = wp.array([0, 1], dtype=int), wp.array([1, 0], dtype=int)
    with wp.Tape() as tape:
        A = ws.bsr_from_triplets(2, 2, *places, values)
        y = A @ x
        ws.bsr_set_identity(A)
        z = A @ y
    tape.backward(grads={z: wp.array([1.0, 10.0], dtype=wp.float64)})
    assert values.grad.list() == [7.0, 50.0] and x.grad.list() == [30.0, 2.0]
