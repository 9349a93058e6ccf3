"""Factorized sparse approximate inverses: NumPy chooses and solves each row again, in float64."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.optim.linear import FSAI, cg, cr, preconditioner


def definite(n: int, seed: int, density: float = 0.2) -> np.ndarray:
    """A sparse symmetric positive definite matrix whose rows differ in size."""
    rng = np.random.default_rng(seed)
    half = np.tril(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), -1)
    full = half + half.T
    full += np.diag(np.abs(full).sum(axis=1) + 0.1 + rng.random(n))
    scales = 10.0 ** rng.uniform(-1, 1, n)
    return scales[:, None] * full * scales


def sparse(full: np.ndarray, dtype=wp.float64, block: int = 1):
    n = len(full) // block
    blocks = full.reshape(n, block, n, block).transpose(0, 2, 1, 3)
    rows, columns = np.nonzero(np.abs(blocks).sum(axis=(2, 3)))
    values = blocks[rows, columns] if block > 1 else blocks[rows, columns].ravel()
    element = wp.types.matrix((block, block), dtype) if block > 1 else dtype
    places = [wp.array(a.astype(np.int32), dtype=int) for a in (rows, columns)]
    return wp.sparse.bsr_from_triplets(n, n, *places, wp.array(values, dtype=element))


def dense(matrix) -> np.ndarray:
    found = np.zeros(matrix.shape)
    offsets = matrix.offsets.numpy()
    for i in range(matrix.nrow):
        for at in range(offsets[i], offsets[i + 1]):
            found[i, matrix.columns.numpy()[at]] += matrix.values.numpy()[at]
    return found


def row_for(a: np.ndarray, i: int, support: list[int]) -> tuple[np.ndarray, float]:
    """The row of the factor for a support, and its energy."""
    y = -np.linalg.solve(a[np.ix_(support, support)], a[support, i]) if support else np.zeros(0)
    energy = a[i, i] + y @ a[support, i]
    row = np.zeros(len(a))
    row[support], row[i] = y / np.sqrt(energy), 1.0 / np.sqrt(energy)
    return row, energy


def chosen_factor(full: np.ndarray, most: int, tolerance: float, step: int) -> np.ndarray:
    """The factor, with the columns of the largest residuals of the scaled matrix."""
    scale = 1.0 / np.sqrt(np.diag(full))
    a = scale[:, None] * full * scale
    factor = np.zeros_like(a)
    for i in range(len(a)):
        support: list[int] = []
        row, energy = row_for(a, i, support)
        while len(support) < most - 1:
            residual = np.abs(a[:i] @ row)
            residual[support] = 0.0
            reached = np.abs(a[:i][:, [*support, i]]).sum(axis=1) > 0
            order = [k for k in np.argsort(-residual, kind="stable") if reached[k] and residual[k] > 1e-13]
            picked = order[: min(step, most - 1 - len(support))]
            if not picked:
                break
            support += picked
            before = energy
            row, energy = row_for(a, i, support)
            if before - energy < tolerance * before:
                break
        factor[i] = row
    return factor * scale


@pytest.mark.parametrize(
    ("most", "tolerance", "step"), [(1, 0.0, 1), (4, 0.0, 1), (8, 1e-3, 1), (8, 0.05, 1), (9, 0.0, 3)]
)
@pytest.mark.parametrize("seed", range(3))
def test_columns_and_numbers(most, tolerance, step, seed):
    full = definite(60, seed)
    made = FSAI(sparse(full), most, tolerance, max_step_size=step)
    np.testing.assert_allclose(dense(made.G), chosen_factor(full, most, tolerance, step), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(dense(made.GT), dense(made.G).T)
    assert made.truncated_rows == 0 and made.shape == (60, 60) and made.update_status is None


def test_a_full_support_inverts_the_matrix():
    full = definite(20, 5, density=1.0)
    made = FSAI(sparse(full), 20, 0.0)
    np.testing.assert_allclose(dense(made.G).T @ dense(made.G), np.linalg.inv(full), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(wp.float16, 2e-2), (wp.float32, 1e-5), (wp.float64, 1e-13)])
@pytest.mark.parametrize("block", [1, 3])
def test_products(dtype, tolerance, block):
    full = definite(30, 7)
    full /= np.sqrt(np.outer(np.diag(full), np.diag(full)))
    made = FSAI(sparse(full, dtype, block))
    element = wp.types.vector(block, dtype) if block > 1 else dtype
    rng = np.random.default_rng(8)
    x, y = (wp.array(rng.normal(size=(30 // block, block) if block > 1 else 30), dtype=element) for _ in range(2))
    z = wp.zeros_like(x)
    g = dense(made.G)
    expected = 0.5 * g.T @ (g @ x.numpy().ravel().astype(float)) + 2.0 * y.numpy().ravel()
    made.matvec(x, y, z, 0.5, 2.0)
    np.testing.assert_allclose(z.numpy().ravel(), expected, atol=tolerance * np.abs(expected).max())
    made.matvec(x, y, y, 0.5, 2.0)  # the result may take the place of y
    np.testing.assert_array_equal(y.numpy(), z.numpy())
    nothing = wp.full_like(x, float("nan"))
    made.matvec(x, nothing, z, 0.5, 0.0)
    assert np.isfinite(z.numpy()).all()


def test_a_factor_of_fewer_bits():
    full = definite(40, 9)
    made, short = (FSAI(sparse(full), factor_dtype=t) for t in (None, wp.float32))
    assert made.G.scalar_type is wp.float64 and short.G.scalar_type is wp.float32
    np.testing.assert_array_equal(short.G.values.numpy(), made.G.values.numpy().astype(np.float32))
    x, z = wp.ones(40, dtype=wp.float64), wp.zeros(40, dtype=wp.float64)
    short.matvec(x, x, z, 1.0, 0.0)
    g = dense(short.G)
    np.testing.assert_allclose(z.numpy(), g.T @ (g @ np.ones(40)), rtol=1e-13)


@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize("method", [cg, cr])
def test_solvers_need_fewer_iterations(method, block):
    n = 24
    line = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    full = np.kron(line, np.eye(n)) + np.kron(np.eye(n), line)
    A = sparse(full, wp.float64, block)
    right = np.random.default_rng(1).normal(size=n * n)
    element = wp.types.vector(block, wp.float64) if block > 1 else wp.float64
    b = wp.array(right.reshape(-1, block) if block > 1 else right, dtype=element)
    counts = {}
    for ptype in ("diag", "fsai"):
        x = wp.zeros_like(b)
        counts[ptype] = method(A, b, x, M=preconditioner(A, ptype), tol=1e-9, check_every=1)[0]
        np.testing.assert_allclose(full @ x.numpy().ravel(), right, atol=1e-6)
    assert counts["fsai"] < 0.6 * counts["diag"]


def test_rows_end_at_bad_pivots():
    """Columns 0 and 1 are nearly the same: one of them must do."""
    full = np.eye(4) + np.diag([1e-9, 0, 0, 0])
    full[0, 1] = full[1, 0] = 1.0 - 1e-8
    full[2, :2] = full[:2, 2] = 0.3
    made = FSAI(sparse(full), 4, 0.0, pivot_floor=1e-4)
    assert made.truncated_rows == 2
    assert [np.count_nonzero(row) for row in dense(made.G)] == [1, 1, 2, 1]
    assert np.isfinite(made.G.values.numpy()).all()


@pytest.mark.parametrize("block", [1, 2])
def test_updates(block):
    first, second = definite(20, 3), definite(20, 3)
    scales = np.linspace(1.0, 3.0, 20)
    second = scales[:, None] * second * scales
    second[np.diag_indices(20)] *= 1.5
    A = sparse(first, wp.float64, block)
    made = FSAI(A, 5, 0.0, reuse_pattern=True)
    where = dense(made.G) != 0
    other = sparse(second, wp.float64, block)
    assert made.update(other) is made and made.source is other and made.update_status.list() == [0, 0, 0, 0]
    expected = np.array([row_for(second, i, list(np.nonzero(where[i, :i])[0]))[0] for i in range(20)])
    np.testing.assert_allclose(dense(made.G), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(dense(made.GT), dense(made.G).T)
    other.values.assign(A.values)
    made.update()
    np.testing.assert_allclose(dense(made.G), dense(FSAI(A, 5, 0.0).G), rtol=1e-10, atol=1e-13)


def test_an_update_in_a_capture():
    A = sparse(definite(30, 11))
    made = FSAI(A, 6, reuse_pattern=True)
    made.update()
    with wp.ScopedCapture() as capture:
        made.update()
    before = dense(made.G)
    A.values.assign(4.0 * A.values.numpy())
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(dense(made.G), 0.5 * before, rtol=1e-12)
    A.values.fill_(-1.0)
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(dense(made.G), 0.5 * before, rtol=1e-12)  # a failure changes nothing
    assert made.update_status.numpy()[1] == 30


def bad_update():
    """A factor, and a matrix of its topology with one bad pivot and one bad number on the diagonal."""
    full = definite(12, 2, density=0.6)
    made = sparse(full), sparse(full)
    rows = made[1].uncompress_rows().numpy()
    columns, values = made[1].columns.numpy(), made[1].values.numpy()
    on = rows == columns
    values[on & (rows == 3)] = -1.0
    values[on & (rows == 7)] *= 1e-3
    made[1].values.assign(values)
    return made


def test_failed_updates_change_nothing():
    A, bad = bad_update()
    made = FSAI(A, 6, 0.0, reuse_pattern=True)
    before = dense(made.G)
    with pytest.raises(ValueError, match=r"rows have bad pivots and 1 numbers on the diagonal are not positive"):
        made.update(bad)
    np.testing.assert_array_equal(dense(made.G), before)
    assert made.source is A and made.update_status.numpy()[1] == 1


def test_regularized_updates():
    A, bad = bad_update()
    made = FSAI(A, 6, 0.0, reuse_pattern=True, regularize_refit=True)
    made.update(bad)
    _, diagonals, failed, raised = made.update_status.list()
    assert diagonals == 1 and failed >= 1 and raised >= 1
    found = dense(made.G)
    assert np.isfinite(found).all() and (np.diag(found) > 0).all()
    assert np.count_nonzero(found[3]) == 1  # the row whose diagonal is bad has its scale alone


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda A: FSAI(wp.zeros((2, 2))), TypeError, "requires a wp.sparse.BsrMatrix, got array"),
        (lambda A: FSAI(wp.sparse.bsr_identity(3, int)), TypeError, "float16, float32 or float64, got int32"),
        (lambda A: FSAI(wp.sparse.bsr_zeros(3, 2, float)), ValueError, "square matrix"),
        (lambda A: FSAI(wp.sparse.bsr_zeros(3, 3, float)), ValueError, "3 numbers on the diagonal are missing"),
        (lambda A: FSAI(A, 65), ValueError, "max_row_size: expected an integer from 1 to 64, got 65"),
        (lambda A: FSAI(A, max_step_size=0), ValueError, "max_step_size: expected an integer from 1 to 64, got 0"),
        (lambda A: FSAI(A, kap_tolerance=1.0), ValueError, r"kap_tolerance: expected a number in \[0, 1\)"),
        (lambda A: FSAI(A, pivot_floor=0.0), ValueError, r"pivot_floor: expected a number in \(0, 1\)"),
        (lambda A: FSAI(A, factor_dtype=wp.float16), ValueError, "factor_dtype: expected float64, or float32"),
        (lambda A: FSAI(A, defer_pattern=True), ValueError, "defer_pattern: columns are chosen by the values"),
        (lambda A: FSAI(A).update(), ValueError, "reuse_pattern=True"),
        (lambda A: FSAI(A, reuse_pattern=True).update(sparse(definite(10, 2))), ValueError, "blocks of the first one"),
        (lambda A: FSAI(A, reuse_pattern=True).update(moved(A)), ValueError, "blocks are not where they were"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call(sparse(definite(10, 1)))


def moved(A):
    """A matrix with one block elsewhere."""
    made = wp.sparse.bsr_copy(A)
    columns = made.columns.numpy()
    columns[0], columns[1] = columns[1], columns[0]
    made.columns.assign(columns)
    return made
