"""Gradients of solves: with the inverses of NumPy in float64 as judge, and finite differences of programs."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import sparse
from omni.warp_core.optim import linear

N = 6
RNG = np.random.default_rng(5)
SQUARE = RNG.random((N, N))
SYMMETRIC = SQUARE @ SQUARE.T + N * np.eye(N)
GENERAL = SQUARE + N * np.eye(N)
B, GIVEN = RNG.random(N), RNG.random(N)
SOLVERS = {"cg": SYMMETRIC, "cr": SYMMETRIC, "bicgstab": GENERAL, "gmres": GENERAL}


def vector(numbers=None, gradient=True):
    if numbers is None:
        return wp.zeros(N, dtype=wp.float64, requires_grad=gradient)
    return wp.array(numbers, dtype=wp.float64, requires_grad=gradient)


def gradients(matrix, b=B, given=GIVEN):
    """Those of b and of all numbers of the matrix, by NumPy."""
    found = np.linalg.solve(matrix.T, given)
    return found, -np.outer(found, np.linalg.solve(matrix, b))


def sparse_of(matrix):
    """Values with a gradient, and a function that makes a sparse matrix of them."""
    places = np.nonzero(matrix)
    rows, columns = (wp.array(p.astype(np.int32)) for p in places)
    return vector(matrix[places]), lambda v: sparse.bsr_from_triplets(N, N, rows, columns, v), lambda g: g[places]


def blocks_of(matrix):
    rows, columns = (np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3))

    def cut(g):
        return np.array([g[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] for i, j in zip(rows, columns)])

    values = wp.array(cut(matrix), dtype=wp.mat22d, requires_grad=True)
    places = [wp.array(p.astype(np.int32)) for p in (rows, columns)]
    return values, lambda v: sparse.bsr_from_triplets(3, 3, *places, v), cut


def dense_of(matrix):
    return vector(matrix), lambda v: v, lambda g: g


def diagonal_of(matrix):
    return vector(np.diag(matrix).copy()), lambda v: v, np.diag


def diagonal_blocks_of(matrix):
    def cut(g):
        return np.array([g[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] for i in range(3)])

    return wp.array(cut(matrix), dtype=wp.mat22d, requires_grad=True), lambda v: v, cut


KINDS = {"sparse": sparse_of, "blocks": blocks_of, "dense": dense_of, "diagonal": diagonal_of}
KINDS["diagonal blocks"] = diagonal_blocks_of


def as_solved(kind, matrix):
    """The part of a matrix that a kind of operand holds."""
    if kind == "diagonal":
        return np.diag(np.diag(matrix))
    return matrix * np.kron(np.eye(3), np.ones((2, 2))) if kind == "diagonal blocks" else matrix


@pytest.mark.parametrize("preconditioner", [None, "diag"])
@pytest.mark.parametrize("check_every", [10, 0])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_right_hand_sides_and_matrices_have_gradients(solver, kind, check_every, preconditioner):
    matrix = as_solved(kind, SOLVERS[solver])
    values, make, cut = KINDS[kind](matrix)
    b, x = vector(B), vector()
    with wp.Tape() as tape:
        A = make(values)
        M = (preconditioner and not kind.startswith("diagonal") and linear.preconditioner(A, preconditioner)) or None
        getattr(linear, solver)(A, b, x, tol=1e-13, maxiter=50, M=M, check_every=check_every)
    tape.backward(grads={x: vector(GIVEN, False)})
    of_b, of_matrix = gradients(matrix)
    assert np.allclose(x.numpy(), np.linalg.solve(matrix, B), atol=1e-11)
    assert np.allclose(b.grad.numpy(), of_b, atol=1e-11)
    assert np.allclose(values.grad.numpy(), cut(of_matrix), atol=1e-11)
    assert not x.grad.numpy().any()  # what was there before the solve has no influence


def test_what_is_overwritten_afterwards_changes_nothing():
    values, make, _ = sparse_of(SYMMETRIC)
    b, x = vector(B), vector()
    with wp.Tape() as tape:
        A = sparse.bsr_copy(make(values))
        linear.cg(A, b, x, tol=1e-13)
    for a in (A.values, b, x):
        a.fill_(7.0)
    tape.backward(grads={x: vector(GIVEN, False)})
    assert np.allclose(b.grad.numpy(), gradients(SYMMETRIC)[0], atol=1e-11)


def test_a_solver_is_used_twice_and_writes_over_its_right_hand_side():
    values, make, cut = sparse_of(SYMMETRIC)
    b, x = vector(B), vector()
    with wp.Tape() as tape:
        state = linear.cg(make(values), b, x, tol=1e-13, run=False)
        state()
        state(b=x, x=x)
    tape.backward(grads={x: vector(GIVEN, False)})
    first = np.linalg.solve(SYMMETRIC, B)
    middle, second = gradients(SYMMETRIC, first)
    of_b, of_first = gradients(SYMMETRIC, B, middle)
    assert np.allclose(b.grad.numpy(), of_b, atol=1e-11)
    assert np.allclose(values.grad.numpy(), cut(of_first + second), atol=1e-11)


def test_vectors_of_float32():
    blocks = np.array([4 * np.eye(3), 5 * np.eye(3), np.eye(3), np.eye(3)])
    places = wp.array([0, 1, 0, 1], dtype=int), wp.array([0, 1, 1, 0], dtype=int)
    values = wp.array(blocks, dtype=wp.mat33, requires_grad=True)
    b, x = (wp.array(RNG.random((2, 3)), dtype=wp.vec3, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        A = sparse.bsr_from_triplets(2, 2, *places, values)
        linear.cg(A, b, x, M=linear.preconditioner(A, "block_jacobi_direct"))
    tape.backward(grads={x: wp.ones(2, dtype=wp.vec3)})
    wide = np.kron(np.array([[4.0, 1.0], [1.0, 5.0]]), np.eye(3))
    assert np.allclose(b.grad.numpy().ravel(), np.linalg.solve(wide, np.ones(6)), atol=1e-5)


def test_systems_of_a_batch():
    matrix = np.zeros((N, N))
    matrix[:2, :2], matrix[2:, 2:] = GENERAL[:2, :2], GENERAL[2:, 2:]
    values, b, x = vector(matrix), vector(B), vector()
    with wp.Tape() as tape:
        A = linear.aslinearoperator(values, wp.array([0, 2, N], dtype=int))
        linear.gmres(A, b, x, tol=1e-13, maxiter=50)
    tape.backward(grads={x: vector(GIVEN, False)})
    of_b, of_matrix = gradients(matrix)
    assert np.allclose(b.grad.numpy(), of_b, atol=1e-11)
    assert np.allclose(values.grad.numpy(), of_matrix, atol=1e-11)
    partial = linear.aslinearoperator(values, wp.array([0, 2, 4], dtype=int))
    with wp.Tape(), pytest.raises(RuntimeError, match="0 to 4 of 6 numbers belong to systems"):
        linear.gmres(partial, b, x)


def product_with(factors):
    def multiply(x, y, z, alpha, beta):
        wp.copy(z, alpha * (factors @ x.reshape((N, 1))).flatten() + beta * y)

    return linear.LinearOperator((N, N), wp.float64, "cpu", multiply)


def test_operators_of_the_program():
    factors, b, x = vector(SYMMETRIC), vector(B), vector()
    with wp.Tape() as tape:
        linear.cg(product_with(factors), b, x, tol=1e-13)
    tape.backward(grads={x: vector(GIVEN, False)})
    of_b, of_matrix = gradients(SYMMETRIC)
    assert np.allclose(b.grad.numpy(), of_b, atol=1e-11)
    assert np.allclose(factors.grad.numpy(), of_matrix, atol=1e-11)
    tape.zero()
    factors.assign(2.0 * SYMMETRIC)
    with pytest.raises(RuntimeError, match="needs the operator `A` as it was then"):
        tape.backward(grads={x: vector(GIVEN, False)})
    with wp.Tape(), pytest.raises(RuntimeError, match="needs the transposed operator"):
        linear.gmres(product_with(factors), b, x)


@pytest.mark.parametrize("check_every", [10, 0])
def test_without_a_solution_there_is_no_gradient(check_every):
    b, x = vector(B), vector()
    with wp.Tape() as tape:
        linear.cg(vector(SYMMETRIC), b, x, tol=1e-13, maxiter=2, check_every=check_every)
    with pytest.raises(RuntimeError, match=r"ended after 2 iterations .* Raise maxiter or tol"):
        tape.backward(grads={x: vector(GIVEN, False)})


def test_gradients_that_would_end_are_told():
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    x = wp.zeros(N, dtype=wp.float64)
    with wp.Tape() as tape:
        linear.cg(vector(SYMMETRIC), vector(B), x, tol=1e-13)
        wp.utils.array_inner(x, x, out=loss)
    with pytest.raises(RuntimeError, match="reads an array without a gradient, which cg"):
        tape.backward(loss)


@pytest.mark.parametrize("gradient", [True, False])
def test_gradients_that_would_end_at_the_matrix_are_told(gradient):
    """The matrix has none, but is made of numbers that have one."""
    numbers, made = vector(SYMMETRIC), vector(np.zeros((N, N)), False)
    b, x, loss = vector(B, gradient), vector(), wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(made, numbers)
        linear.cg(made, b, x, tol=1e-13)
        wp.utils.array_inner(x, x, out=loss)
    with pytest.raises(RuntimeError, match="reads an array without a gradient, which copy"):
        tape.backward(loss)


def test_a_function_of_the_program_takes_the_place_of_the_gradient():
    """As in programs for warp-lang, where solves have none."""
    A, b, x = vector(SYMMETRIC, False), vector(B), vector()
    with wp.Tape() as tape:
        linear.cg(A, b, x, tol=1e-13)
        tape.record_func(lambda: b.grad.fill_(3.0), arrays=[x, b])
    tape.backward(grads={x: vector(GIVEN, False)})
    assert b.grad.list() == [3.0] * N
    with wp.Tape() as tape:
        linear.cg(A, b, x, tol=1e-13)
        with pytest.raises(RuntimeError, match="name its right-hand side among `arrays`, too"):
            tape.record_func(lambda: None, arrays=[x])


def solved(values, b):
    rows, columns = (wp.array(p.astype(np.int32)) for p in np.nonzero(SYMMETRIC))
    x = wp.zeros(N, dtype=wp.float64)
    linear.cg(sparse.bsr_from_triplets(N, N, rows, columns, values), b, x, tol=1e-13)
    return x


def test_forward_mode():
    values, _, _ = sparse_of(SYMMETRIC)
    change = RNG.random((N, N))
    change, db = change + change.T, RNG.random(N)
    places = np.nonzero(SYMMETRIC)
    _, dx = wp.jvp(solved, (values, vector(B)), (vector(change[places], False), vector(db, False)))
    x = np.linalg.solve(SYMMETRIC, B)
    assert np.allclose(dx.numpy(), np.linalg.solve(SYMMETRIC, db - change @ x), atol=1e-11)


def square_of_solution(values, b):
    loss = wp.zeros(1, dtype=wp.float64)
    x = solved(values, b)
    wp.utils.array_inner(x, x, out=loss)
    return loss


def test_second_derivatives():
    values, b = vector(SYMMETRIC[np.nonzero(SYMMETRIC)]), vector(B)
    change = RNG.random((N, N))
    change = (change + change.T)[np.nonzero(SYMMETRIC)]
    found = wp.autograd.hvp(lambda v: square_of_solution(v, b), values, vector(change, False))

    def gradient(numbers):
        matrix = numbers.reshape(N, N)
        return gradients(matrix, B, 2.0 * np.linalg.solve(matrix, B))[1].ravel()

    step = 1e-5
    start = SYMMETRIC.ravel()
    expected = (gradient(start + step * change) - gradient(start - step * change)) / (2.0 * step)
    assert np.allclose(found.numpy(), expected, atol=1e-8)
    inverse = np.linalg.inv(SYMMETRIC)
    found = wp.autograd.hvp(lambda b: square_of_solution(values, b), b, vector(GIVEN, False))
    assert np.allclose(found.numpy(), 2.0 * inverse.T @ inverse @ GIVEN, atol=1e-11)


@wp.kernel
def relax(x: wp.array[wp.float64], out: wp.array[wp.float64]):
    i = wp.tid()
    out[i] = wp.sin(x[i]) + x[i] * x[i]


def test_implicit_steps_of_a_simulation():
    """Steps whose matrix depends on the state: every solve has other values at the places of one matrix."""
    rows, columns = (wp.array(p.astype(np.int32)) for p in np.nonzero(SYMMETRIC))

    def energy(stiffness, start):
        A = sparse.bsr_zeros(N, N, wp.float64)
        loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        state = start
        for _ in range(3):
            b, x = vector(), vector()
            wp.launch(relax, dim=N, inputs=[state, b])
            sparse.bsr_set_from_triplets(A, rows, columns, stiffness * (1.0 + loss[0]))
            linear.cg(A, b, x, tol=1e-14, maxiter=100)
            state = x
            stiffness = 1.5 * stiffness
        wp.utils.array_inner(state, state, out=loss)
        return loss

    def value(numbers):
        return energy(vector(numbers, False), vector(B, False)).numpy()[0]

    numbers = SYMMETRIC[np.nonzero(SYMMETRIC)]
    stiffness, start = vector(numbers), vector(B)
    with wp.Tape() as tape:
        loss = energy(stiffness, start)
    tape.backward(loss)
    along = RNG.random((N, N))
    along = (along + along.T)[np.nonzero(SYMMETRIC)]
    step = 1e-5
    expected = (value(numbers + step * along) - value(numbers - step * along)) / (2.0 * step)
    assert np.isclose(along @ stiffness.grad.numpy(), expected, rtol=1e-6)


def test_steps_that_run_again():
    """A solve in a checkpointed step, and `backward` twice: it adds to gradients."""
    factors, given = vector(SYMMETRIC / 8.0), vector(GIVEN, False)
    state = vector(B)

    def step(_):
        x = vector()
        linear.cg(factors, state, x, tol=1e-14, maxiter=100)
        wp.copy(state, x)

    with wp.Tape() as tape:
        wp.checkpointed(step, 7, state=[state], memory_budget=2 * 8 * N)
    tape.backward(grads={state: given})
    found, first = np.zeros((N, N)), B
    inverse = np.linalg.inv(SYMMETRIC / 8.0)
    for i in range(7):
        first = inverse @ first
        found -= np.outer(np.linalg.matrix_power(inverse, 7 - i) @ GIVEN, first)
    assert np.allclose(factors.grad.numpy(), found, atol=1e-9)
    b, x = vector(B), vector()
    with wp.Tape() as tape:
        linear.cg(factors, b, x, tol=1e-14, maxiter=100)
    for _ in range(2):
        tape.backward(grads={x: given})
    assert np.allclose(b.grad.numpy(), 2.0 * inverse @ GIVEN, atol=1e-10)
