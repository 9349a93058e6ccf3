"""Iterative solvers against NumPy's direct one in float64, with sparse, dense, diagonal and own operators."""

import math

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import sparse as ws
from omni.warp_core.optim import linear

SOLVERS = {"cg": linear.cg, "cr": linear.cr, "bicgstab": linear.bicgstab, "gmres": linear.gmres}
GENERAL = ("bicgstab", "gmres")
TYPES = {"half": (wp.float16, 2e-2), "float": (wp.float32, 1e-5), "double": (wp.float64, 1e-11)}


def system(name, n=40, seed=0):
    """A matrix that the solver can solve, and a right-hand side."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.1)
    a = a if name in GENERAL else a + a.T
    return a + (1.0 + np.abs(a).sum(axis=1).max()) * np.eye(n), rng.normal(size=n)


def sparse(a, dtype=wp.float64):
    rows, columns = np.nonzero(a)
    places = (wp.array(i.astype(np.int32), dtype=int) for i in (rows, columns))
    return ws.bsr_from_triplets(*a.shape, *places, wp.array(a[rows, columns], dtype=dtype))


def solved(a, b, x, error):
    right = np.linalg.solve(a, b)
    return np.abs(x.numpy().astype(np.float64).ravel() - right).max() <= error * np.abs(right).max()


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("form", ["sparse", "blocks", "dense", "operator"])
def test_solutions(name, kind, form, device):
    dtype, error = TYPES[kind]
    a, b = system(name)
    A = sparse(a, dtype)
    given = {
        "sparse": lambda: A,
        "blocks": lambda: ws.bsr_copy(A, block_shape=(2, 2)),
        "dense": lambda: wp.array(a, dtype=dtype),
        "operator": lambda: linear.LinearOperator(A.shape, dtype, device, linear.aslinearoperator(A).matvec),
    }[form]()
    x = wp.zeros(40, dtype=dtype)
    iterations, residual, bound = SOLVERS[name](given, wp.array(b, dtype=dtype), x, check_every=5)
    assert residual <= bound and 0 < iterations <= 62 and solved(a, b, x, error)
    right = np.linalg.norm(b - a @ x.numpy().astype(np.float64))
    assert kind == "half" or right <= 1.5 * bound + 20 * np.finfo(x.numpy().dtype).eps * np.linalg.norm(b)


@pytest.mark.parametrize("name", SOLVERS)
def test_vectors_of_vectors(name, device):
    a, b = system(name, 30)
    A = ws.bsr_copy(sparse(a), block_shape=(3, 3))
    x = wp.zeros(10, dtype=wp.vec3d)
    residual, bound = SOLVERS[name](A, wp.array(b.reshape(10, 3), dtype=wp.vec3d), x, M=linear.preconditioner(A))[1:]
    assert residual <= bound and solved(a, b, x, 1e-10)


@pytest.mark.parametrize("name", SOLVERS)
def test_tolerances_iterations_and_callbacks(name, device):
    a, b = system(name)
    A, right = sparse(a), wp.array(b, dtype=wp.float64)
    solve, norm, seen = SOLVERS[name], np.linalg.norm(b), []
    for options, bound in (
        ({"tol": 1e-3}, max(1e-3 * norm, 1e-3)),
        ({"tol": 1e-3, "atol": 50.0}, 50.0),
        ({"atol": 1.0}, norm),
    ):
        assert np.isclose(solve(A, right, wp.zeros(40, dtype=wp.float64), **options)[2], bound)
    x = wp.zeros(40, dtype=wp.float64)
    options = {"restart": 3} if name == "gmres" else {}
    result = solve(A, right, x, maxiter=6, tol=1e-30, check_every=3, callback=lambda *a: seen.append(a), **options)
    assert result[0] == 6 and [i for i, _, _ in seen] == [0, 3, 6] and seen[-1] == result
    assert np.isclose(seen[0][1], norm) and result[1] < 0.1 * norm
    assert np.isclose(result[1], np.linalg.norm(b - a @ x.numpy()), rtol=1e-6)
    zero = wp.full(40, 1.0, dtype=wp.float64)
    assert solve(A, wp.zeros(40, dtype=wp.float64), zero)[1] <= 1e-12 and np.abs(zero.numpy()).max() < 1e-12
    exact = wp.array(np.linalg.solve(a, b), dtype=wp.float64)
    assert solve(A, right, exact, tol=1e-9)[0] == 0


@pytest.mark.parametrize("name", SOLVERS)
def test_checks_on_the_device_and_captured_solves(name, device):
    a, b = system(name)
    A, right, x = sparse(a), wp.array(b, dtype=wp.float64), wp.zeros(40, dtype=wp.float64)
    state = SOLVERS[name](A, right, x, check_every=0, tol=1e-10, run=False)
    iterations, squared, bound = state()
    assert 0 < iterations.list()[0] <= 41 and squared.numpy()[0] <= bound.numpy()[0] and solved(a, b, x, 1e-8)
    with wp.ScopedCapture() as capture:
        state()
    for _ in range(2):
        b = np.random.default_rng(_).normal(size=40)
        right.assign(b)
        x.zero_()
        wp.capture_launch(capture.graph)
        assert solved(a, b, x, 1e-8) and squared.numpy()[0] <= bound.numpy()[0]
    with wp.ScopedCapture(), pytest.raises(RuntimeError, match="check_every=0"):
        SOLVERS[name](A, right, x)


@wp.kernel
def count_calls(iteration: wp.array[int], squared: wp.array[wp.float64], bound: wp.array[wp.float64]):
    if squared[0] >= wp.float64(0.0) and bound[0] >= wp.float64(0.0):
        iteration[0] = iteration[0] + 100


def test_a_kernel_is_the_callback_of_checks_on_the_device(device):
    a, b = system("cg")
    x = wp.zeros(40, dtype=wp.float64)
    result = linear.cg(sparse(a), wp.array(b, dtype=wp.float64), x, check_every=0, callback=count_calls, maxiter=1000)
    assert result[0].list()[0] > 1000


@pytest.mark.parametrize("name", SOLVERS)
def test_systems_of_a_batch(name, device):
    sizes, tail = (7, 20, 1, 11), 4
    parts = [system(name, n, seed=n) for n in sizes]
    n = sum(sizes) + tail
    a, b, at = np.zeros((n, n)), np.full(n, 3.0), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    for (part, right), start in zip(parts, at):
        a[start : start + len(right), start : start + len(right)] = part
        b[start : start + len(right)] = right
    a[-tail:, -tail:] = np.eye(tail)
    operator = linear.aslinearoperator(sparse(a), batch_offsets=wp.array(at, dtype=int))
    assert operator.batch_count == 4
    x = wp.full(n, 5.0, dtype=wp.float64)
    iterations, residual, bound = SOLVERS[name](operator, wp.array(b, dtype=wp.float64), x, maxiter=60)
    assert residual <= bound and iterations <= 62 and (x.numpy()[-tail:] == 5.0).all()
    for (part, right), start in zip(parts, at):
        assert np.allclose(x.numpy()[start : start + len(right)], np.linalg.solve(part, right), rtol=1e-9)
    squared, bounds = SOLVERS[name](
        operator, wp.array(b, dtype=wp.float64), wp.zeros(n, dtype=wp.float64), check_every=0, maxiter=60
    )[1:]
    assert squared.shape == (4,) and (squared.numpy() <= bounds.numpy()).all()


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    "ptype", ["diag", "diag_abs", "block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile"]
)
def test_preconditioners_save_iterations(name, ptype, device):
    a, b = system(name, 60)
    scale = np.diag(10.0 ** np.random.default_rng(1).uniform(-2, 2, 60))
    a = scale @ a @ scale
    A = ws.bsr_copy(sparse(a), block_shape=(2, 2))
    counts = []
    for M in (None, linear.preconditioner(A, ptype)):
        x = wp.zeros(30, dtype=wp.vec2d)
        options = {"restart": 10} if name == "gmres" else {}
        result = SOLVERS[name](
            A, wp.array(b.reshape(30, 2), dtype=wp.vec2d), x, tol=1e-8, maxiter=60, M=M, check_every=1, **options
        )
        counts.append(result[0])
    is_definite = ptype in ("block_jacobi_sequential", "block_jacobi_tile")
    if not (is_definite and name in GENERAL):  # the blocks of those are not symmetric
        assert counts[1] < counts[0] and result[1] <= result[2] and solved(a, b, x, 1e-4)


def test_inverses_of_diagonals_and_blocks(device):
    blocks = np.array([[[2, 1], [1, 3]], [[1, 2], [2, 1]], [[0, 0], [0, 0]], [[1, 2], [3, 4]], [[0, 1], [1, 0]]], float)
    A, ones = ws.bsr_diag(wp.array(blocks, dtype=wp.mat22d)), wp.array(np.ones((5, 2)), dtype=wp.vec2d)

    def applied(ptype):
        M, z = linear.preconditioner(A, ptype), wp.full(5, wp.vec2d(1.0, 1.0), dtype=wp.vec2d)
        M.matvec(ones, z, z, 2.0, 1.0)
        return (z.numpy() - 1.0) / 2.0

    diagonal = blocks.diagonal(axis1=1, axis2=2)
    assert np.allclose(applied("diag"), 1.0 / np.where(diagonal == 0.0, 1.0, diagonal))
    inverses = [np.linalg.inv(b) if np.linalg.det(b) else np.eye(2) for b in blocks]
    assert np.allclose(applied("block_jacobi_direct"), np.sum(inverses, axis=2))
    inverses = [np.linalg.inv(blocks[0]), *[np.eye(2)] * 4]
    for ptype in ("block_jacobi_sequential", "block_jacobi_tile"):
        assert np.allclose(applied(ptype), np.sum(inverses, axis=2))
    negative = ws.bsr_diag(wp.array([-2.0, 0.0, 4.0], dtype=float))
    for ptype, right in (("diag", [-0.5, 1.0, 0.25]), ("diag_abs", [0.5, 1.0, 0.25])):
        z = wp.zeros(3, dtype=float)
        linear.preconditioner(negative, ptype).matvec(wp.ones(3, dtype=float), z, z, 1.0, 0.0)
        assert z.list() == right
    assert linear.preconditioner(A, "id") is None
    for wrong, text in (
        (("diag", ones), "Unsupported source"),
        (("best", A), "Unsupported preconditioner"),
    ):
        with pytest.raises(ValueError, match=text):
            linear.preconditioner(wrong[1], wrong[0])
    with pytest.raises(ValueError, match="BsrMatrix"):
        linear.preconditioner(wp.zeros((2, 2)), "block_jacobi_direct")


def test_solvers_that_are_called_again(device):
    a, b = system("cg")
    A, right, x = sparse(a), wp.array(b, dtype=wp.float64), wp.zeros(40, dtype=wp.float64)
    state = linear.cg(A, right, x, run=False)
    assert isinstance(state, linear.CG) and isinstance(state, linear.LinearSolverState)
    state()
    other = wp.zeros(40, dtype=wp.float64)
    state(A=ws.bsr_copy(2.0 * A), b=3.0 * right, x=other, M=linear.preconditioner(A))
    assert solved(a, b, x, 1e-10) and solved(a, 1.5 * b, other, 1e-10)
    for options, text in (
        ({"b": wp.ones(41, dtype=wp.float64)}, "Incompatible b.shape"),
        ({"b": wp.ones(40, dtype=wp.float32)}, "Incompatible b.dtype"),
        ({"x": wp.ones(41, dtype=wp.float64)}, "Incompatible x.shape"),
        ({"A": sparse(np.eye(30))}, "Incompatible A.shape"),
    ):
        with pytest.raises(ValueError, match=text):
            state(**options)
    stabilized = linear.bicgstab(A, right, x, run=False)
    with pytest.raises(ValueError, match="consistently provided"):
        stabilized(M=linear.preconditioner(A))
    with pytest.raises(TypeError, match="is the base"):
        linear.LinearSolverState(A, right, x)


@pytest.mark.parametrize("name", SOLVERS)
def test_systems_without_a_solution_end_with_finite_numbers(name, device):
    for a in (np.zeros((3, 3)), np.diag([1.0, -1.0, 0.0])):
        x = wp.zeros(3, dtype=float)
        A = ws.bsr_zeros(3, 3, float) if not a.any() else wp.array(a, dtype=float)
        residual = SOLVERS[name](A, wp.ones(3, dtype=float), x, maxiter=10)[1]
        assert np.isfinite(residual) and np.isfinite(x.numpy()).all()


def test_restarts_of_cg_and_cr(device):
    a, b = system("cg")
    for solve in (linear.cg, linear.cr):
        x, seen = wp.zeros(40, dtype=wp.float64), []
        result = solve(sparse(a), wp.array(b, dtype=wp.float64), x, restart=7, callback=lambda *c: seen.append(c[0]))
        assert result[1] <= result[2] and solved(a, b, x, 1e-10)
        assert seen[:2] == [0, 14] and result[0] % 7 == 0
        for wrong, error in ((True, TypeError), (2.0, TypeError), (0, ValueError)):
            with pytest.raises(error, match="restart must be"):
                solve(sparse(a), wp.array(b, dtype=wp.float64), x, restart=wrong)


def test_operands_that_do_not_fit(device):
    A, b = ws.bsr_identity(3, float), wp.ones(3, dtype=float)
    for args, text in (
        ((A, wp.ones(2, dtype=float), b), "Incompatible shapes"),
        ((A, b, wp.ones(2, dtype=float)), "Incompatible shapes"),
        ((A, b, wp.ones(3, dtype=wp.float64)), "same scalar type"),
        ((ws.bsr_zeros(3, 4, float), b, b), "square matrix"),
        (([1.0], b, b), "Unable to create LinearOperator"),
        ((ws.bsr_zeros(3, 3, int), wp.ones(3, dtype=int), wp.ones(3, dtype=int)), "float16, float32 or float64"),
    ):
        with pytest.raises(ValueError, match=text):
            linear.cg(*args)
    with pytest.raises(ValueError, match="batch_offsets"):
        linear.LinearOperator((3, 3), float, device, print, max_batch_length=2)
    with pytest.raises(TypeError, match="b: expected an array, got ndarray"):
        linear.cg(A, b.numpy(), b)
    for size in (2, 100000):
        diagonal = wp.ones(size, dtype=float)
        with pytest.raises(ValueError, match=f"A has shape .{size},., b 3 numbers"):
            linear.cg(diagonal, b, wp.zeros(3, dtype=float))
        with pytest.raises(ValueError, match=f"M: expected an operator of 3 rows, .* got {size}"):
            linear.cg(A, b, wp.zeros(3, dtype=float), M=diagonal)
        state = linear.cg(A, b, wp.zeros(3, dtype=float), run=False)
        with pytest.raises(ValueError, match="M: expected an operator of 3 rows"):
            state(M=diagonal)


def test_options_that_mean_nothing(device):
    A, b, x = ws.bsr_identity(3, float), wp.ones(3, dtype=float), wp.zeros(3, dtype=float)
    for options, text in (
        ({"check_every": -1}, "check_every: must not be negative, got -1"),
        ({"maxiter": -3}, "maxiter: must not be negative, got -3"),
        ({"tol": float("nan")}, "tol: expected a number, got nan"),
        ({"tol": 0.1, "atol": float("nan")}, "atol: expected a number, got nan"),
    ):
        with pytest.raises(ValueError, match=text):
            linear.cg(A, b, x, **options)
    for begins in ([0, 2, 100000], [-100000, 3], [0, 3, 2]) if wp.get_device(device).is_cpu else ():
        operator = linear.aslinearoperator(A, batch_offsets=wp.array(begins, dtype=int))
        with pytest.raises(ValueError, match="batch_offsets: expected ascending numbers from 0 to 3"):
            linear.cg(operator, b, x)


def test_options_at_their_limits(device):
    a, b = system("cg")
    b64 = wp.array(b, dtype=wp.float64)
    for maxiter in (math.inf, 10**12):
        x = wp.zeros(40, dtype=wp.float64)
        assert linear.cg(sparse(a), b64, x, maxiter=maxiter)[1:] and solved(a, b, x, 1e-10)
    assert linear.cg(sparse(a), b64, wp.zeros(40, dtype=wp.float64), maxiter=0.5)[0] == 1
    for tol in (0.0, -1.0):
        x = wp.zeros(40, dtype=wp.float64)
        assert linear.cg(sparse(a), b64, x, tol=tol)[::2] == (40, 0.0) and solved(a, b, x, 1e-10)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("check_every", [0, 4])
def test_the_solution_replaces_the_right_hand_side(name, check_every, device):
    a, b = system(name)
    options = {} if name == "bicgstab" else {"restart": 4}
    x = wp.array(b, dtype=wp.float64)
    SOLVERS[name](sparse(a), x, x, maxiter=400, check_every=check_every, **options)
    assert solved(a, b, x, 1e-9)


def test_vectors_with_gaps(device):
    a, b = system("cg")
    x = wp.zeros((40, 2), dtype=wp.float64)
    linear.cg(sparse(a), wp.array(np.stack([b, b], 1), dtype=wp.float64)[:, 1], x[:, 0])
    assert solved(a, b, x[:, 0].contiguous(), 1e-10) and not x.numpy()[:, 1].any()


def test_a_solve_on_a_tape_has_a_gradient(device):
    """tests/optim/test_solve_gradients.py has all of them."""
    a, b = system("cg")
    right, x = (wp.array(n, dtype=wp.float64, requires_grad=True) for n in (b, np.zeros(40)))
    with wp.Tape() as tape:
        linear.cg(sparse(a), right, x, tol=1e-12, maxiter=200)
    assert solved(a, b, x, 1e-10)
    tape.backward(grads={x: wp.ones(40, dtype=wp.float64)})
    assert np.allclose(a.T @ right.grad.numpy(), 1.0, atol=1e-9)
    plain = wp.zeros(40, dtype=wp.float64)
    with wp.Tape():
        linear.cg(sparse(a), wp.array(b, dtype=wp.float64), plain)
    assert solved(a, b, plain, 1e-10)
