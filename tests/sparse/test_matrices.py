"""Operations of `wp.sparse` on matrices of all kinds of blocks, against SciPy in float64."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import sparse as ws
from omni.warp_core.sparse.matrix import block_shape_of
from tests.sparse.matrices import (
    KINDS,
    MAT23,
    blocks_array,
    close,
    dense,
    dense_of_triplets,
    random_matrix,
    scipy_matrix,
    triplets,
)

MAT32 = wp.types.matrix((3, 2), float)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def integers(values):
    return wp.array(np.asarray(values, dtype=np.int32), dtype=int)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prune", [False, True])
def test_triplets(kind, prune, rng, device):
    dtype, shape, error = KINDS[kind]
    rows, columns, values = triplets(rng, 9, 7, 80, shape)
    rows[:6], columns[:6] = [-1, 9, 2, 3, 4, 8], [0, 1, -1, 7, 3, 6]
    values[10:20] = 0.0
    A = ws.bsr_from_triplets(9, 7, integers(rows), integers(columns), blocks_array(values, dtype), prune)
    inside = (rows >= 0) & (rows < 9) & (columns >= 0) & (columns < 7)
    right = dense_of_triplets(9, 7, rows[inside], columns[inside], values[inside])
    assert close(dense(A), right, error) and A.nnz == 80 and A.shape == right.shape
    stored = inside & (np.abs(values).max(axis=(1, 2)) > 0) if prune else inside
    assert A.nnz_sync() == A.count == len(set(zip(rows[stored], columns[stored])))


def test_many_triplets_in_long_rows(rng, device):
    rows, columns, values = triplets(rng, 50, 3000, 40000, (1, 1))
    rows[:20000] = 17
    A = ws.bsr_from_triplets(50, 3000, integers(rows), integers(columns), blocks_array(values, wp.float64))
    assert close(dense(A), dense_of_triplets(50, 3000, rows, columns, values), 1e-12)


def test_zeros_that_cancel_stay_and_a_compression_takes_them_out(device):
    A = ws.bsr_from_triplets(2, 2, integers([0, 0, 1]), integers([1, 1, 0]), wp.array([1.0, -1.0, 2.0], dtype=float))
    assert A.nnz_sync() == 2
    assert ws.bsr_compress(A) is A and A.nnz_sync() == 1 and dense(A)[1, 0] == 2.0


def test_triplets_as_numbers_of_three_dimensions_and_a_count_on_the_device(rng, device):
    rows, columns, values = triplets(rng, 4, 5, 12, (2, 3))
    A = ws.bsr_from_triplets(4, 5, integers(rows), integers(columns), wp.array(values, dtype=float))
    assert A.block_shape == (2, 3) and close(dense(A), dense_of_triplets(4, 5, rows, columns, values), 1e-6)
    ws.bsr_set_from_triplets(A, integers(rows), integers(columns), wp.array(values, dtype=float), count=integers([5]))
    assert close(dense(A), dense_of_triplets(4, 5, rows[:5], columns[:5], values[:5]), 1e-6)


def test_no_triplets(device):
    A = ws.bsr_from_triplets(3, 4, integers([]), integers([]), wp.zeros(0, dtype=float))
    assert A.nnz == A.nnz_sync() == 0 and (A @ wp.ones(4, dtype=float)).list() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("reduction", ["gather", "atomic"])
def test_new_values_by_a_map(reduction, rng, device):
    rows, columns, values = triplets(rng, 6, 5, 40, (2, 2))
    rows[3] = -1
    A = ws.bsr_zeros(6, 5, wp.mat22)
    places = integers(rows), integers(columns)
    mapping = ws.bsr_set_from_triplets(A, *places, build_mapping=True, prune_numerical_zeros=False)
    for _ in range(2):
        values = rng.normal(size=values.shape)
        ws.bsr_set_from_mapped_values(A, mapping, wp.array(values, dtype=wp.mat22), reduction)
        right = dense_of_triplets(6, 5, np.delete(rows, 3), np.delete(columns, 3), np.delete(values, 3, 0))
        assert close(dense(A), right, 1e-6)
    assert mapping.capacity == 40
    mapping.validate(A)
    with pytest.raises(ValueError, match="differs from that used"):
        mapping.validate(ws.bsr_copy(A))
    with pytest.raises(ValueError, match="has not been built"):
        ws.BsrTripletMap(3).validate(A)
    with pytest.raises(ValueError, match="prune_numerical_zeros"):
        ws.bsr_set_from_triplets(A, *places, build_mapping=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("alpha, beta", [(1.0, 0.0), (2.0, -0.5), (0.0, 2.0), (0.0, 0.0)])
def test_products_with_vectors(kind, transpose, alpha, beta, rng, device):
    dtype, _, error = KINDS[kind]
    A = random_matrix(rng, 8, 6, dtype)
    right = scipy_matrix(A).T if transpose else scipy_matrix(A)
    numbers = rng.normal(size=right.shape[1]), rng.normal(size=right.shape[0])
    x, y = (wp.array(n, dtype=A.scalar_type) for n in numbers)
    result = ws.bsr_mv(A, x, y, alpha, beta, transpose)
    assert result is y and close(y.numpy(), alpha * (right @ numbers[0]) + beta * numbers[1], error)
    if beta == 0.0:  # what is not read may be anything
        y.fill_(np.nan)
        x.fill_(np.nan if alpha == 0.0 else 1.0)
        assert np.isfinite(ws.bsr_mv(A, x, y, alpha, beta, transpose).numpy()).all()


def test_products_with_vectors_of_vectors_and_operators(rng, device):
    A = random_matrix(rng, 5, 4, MAT23)
    x = rng.normal(size=(4, 3))
    y = A @ wp.array(x, dtype=wp.vec3)
    assert y.dtype is wp.vec2 and close(y.numpy().ravel(), dense(A) @ x.ravel(), 1e-6)
    z = y @ (2.0 * A)
    assert z.dtype is wp.vec3 and close(z.numpy().ravel(), 2.0 * dense(A).T @ y.numpy().ravel(), 1e-5)
    square = random_matrix(rng, 4, 4, wp.float32)
    v = wp.array(x[:, 0], dtype=float)
    assert ws.bsr_mv(square, v, v) is v and close(v.numpy(), dense(square) @ x[:, 0], 1e-6)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "half"])
@pytest.mark.parametrize("alpha, beta", [(1.0, 1.0), (2.0, -0.5), (1.5, 0.0), (0.0, 2.0)])
def test_sums(kind, alpha, beta, rng, device):
    dtype, _, error = KINDS[kind]
    x, y = random_matrix(rng, 8, 6, dtype), random_matrix(rng, 8, 6, dtype)
    right = alpha * dense(x) + beta * dense(y)
    assert ws.bsr_axpy(x, y, alpha, beta) is y and close(dense(y), right, error)
    assert close(dense(ws.bsr_axpy(x, alpha=alpha)), alpha * dense(x), error)


def test_arithmetic_of_matrices(rng, device):
    A, B = (random_matrix(rng, 5, 5, wp.mat22d) for _ in range(2))
    a, b = dense(A), dense(B)
    for result, right in (
        (A + B, a + b),
        (A - 2.0 * B, a - 2.0 * b),
        (-A + B / 4.0, -a + b / 4.0),
        (A @ B, a @ b),
        ((2.0 * A) @ (B * 3.0), 6.0 * a @ b),
        (A.transpose(), a.T),
        ((2.0 * A).transpose().eval(), 2.0 * a.T),
        (A + A, 2.0 * a),
    ):
        assert close(dense(result), right, 1e-12)
    C = ws.bsr_copy(A)
    C += B
    C *= 2.0
    C -= A
    C /= 4.0
    C @= B
    assert close(dense(C), (2.0 * (a + b) - a) / 4.0 @ b, 1e-12)
    assert (2.0 * A).shape == A.shape and (2.0 * A).dtype is A.dtype
    assert close(dense(ws.bsr_axpy(C, C, 2.0, 3.0)), 5.0 * ((2.0 * (a + b) - a) / 4.0 @ b), 1e-12)


@pytest.mark.parametrize("kinds", [("float", "float"), ("mat22", "mat22"), ("mat23", "mat32"), ("mat23", "mat31")])
@pytest.mark.parametrize("alpha, beta", [(1.0, 0.0), (2.0, 0.5)])
def test_products_of_matrices(kinds, alpha, beta, rng, device):
    types = {"float": wp.float32, "mat22": wp.mat22, "mat23": MAT23, "mat32": MAT32}
    types["mat31"] = wp.types.matrix((3, 1), float)
    x, y = random_matrix(rng, 7, 9, types[kinds[0]]), random_matrix(rng, 9, 5, types[kinds[1]])
    z = x @ y
    assert close(dense(z), dense(x) @ dense(y), 1e-5) and z.nnz == z.count
    old = random_matrix(rng, 7, 5, z.dtype)
    right = alpha * dense(x) @ dense(y) + beta * dense(old)
    assert ws.bsr_mm(x, y, old, alpha, beta) is old and close(dense(old), right, 1e-5)


def test_products_that_overwrite_a_factor(rng, device):
    A, B = (random_matrix(rng, 6, 6, wp.float64) for _ in range(2))
    a, b = dense(A), dense(B)
    assert close(dense(ws.bsr_mm(A, B, A, 1.0, 1.0)), a @ b + a, 1e-12)
    assert close(dense(ws.bsr_mm(A, A, A)), (a @ b + a) @ (a @ b + a), 1e-12)


def test_products_with_long_rows(rng, device):
    A = random_matrix(rng, 60, 60, wp.float64, number=2000)
    assert close(dense(A @ A), dense(A) @ dense(A), 1e-12)


@pytest.mark.parametrize("spread", [3, 40, 5000])
@pytest.mark.parametrize("topology", ["compact", "padded"])
def test_products_of_wide_matrices(spread, topology, rng, device):
    """Columns near the diagonal, at both of its ends, and in a row that has most of them; and blocks of before."""
    n = 3000
    rows = np.concatenate([np.repeat(np.arange(n), 5), np.full(2000, 7)])
    columns = rng.integers(-spread, spread + 1, rows.size) + rows
    columns[-2000:] = rng.integers(0, n, 2000)
    inside = (columns >= 0) & (columns < n)
    given = integers(rows[inside]), integers(columns[inside])
    A = ws.bsr_from_triplets(n, n, *given, wp.array(rng.normal(size=inside.sum()), dtype=wp.float64))
    z = ws.bsr_zeros(n, n, wp.float64, row_capacity=n) if topology == "padded" else ws.bsr_identity(n, wp.float64)
    if topology == "padded":
        ws.bsr_assign(z, ws.bsr_identity(n, wp.float64), topology=topology)
    a = scipy_matrix(A)
    right = (2.0 * a @ a + 3.0 * scipy_matrix(ws.bsr_identity(n, wp.float64))).toarray()
    ws.bsr_mm(A, A, z, 2.0, 3.0, topology=topology)
    assert close(dense(z), right, 1e-12)
    stored = abs(a).astype(bool).astype(int)
    counts = z.offsets.numpy()[1 : n + 1] - z.offsets.numpy()[:n] if z.row_counts is None else z.row_counts.numpy()
    expected = (stored @ stored + scipy_matrix(ws.bsr_identity(n, wp.float64))).getnnz(axis=1)
    assert counts.tolist() == expected.tolist()


def test_products_with_columns_that_do_not_ascend(device):
    A = ws.bsr_from_triplets(1, 2, integers([0, 0]), integers([0, 1]), wp.array([1.0, 2.0], dtype=float))
    B = ws.bsr_zeros(2, 80, float)
    B.offsets, B.columns = integers([0, 3, 5]), integers([70, 5, 40, 5, 0])
    B.values = wp.array([1.0, 2.0, 3.0, 4.0, 5.0], dtype=float)
    B.notify_nnz_changed(nnz=5)
    C = ws.bsr_mm(A, B)
    assert C.columns.list()[: C.nnz] == [0, 5, 40, 70] and C.values.list()[: C.nnz] == [10.0, 10.0, 3.0, 1.0]


def test_products_with_rows_of_before(rng, device):
    A, work = random_matrix(rng, 6, 6, wp.float32), ws.bsr_mm_work_arrays()
    z = ws.bsr_mm(A, A, work_arrays=work)
    ws.bsr_scale(A, 2.0)
    ws.bsr_mm(A, A, z, work_arrays=work, reuse_topology=True)
    assert close(dense(z), dense(A) @ dense(A), 1e-5)
    with pytest.raises(ValueError, match="work_arrays"):
        ws.bsr_mm(A, A, z, reuse_topology=True)
    B = ws.bsr_identity(9, wp.float32)
    with pytest.raises(ValueError, match=r"got \(9, 9\) and \(6, 6\) rows and columns of blocks"):
        ws.bsr_mm(B, B, work_arrays=work, reuse_topology=True)
    with pytest.warns(UserWarning, match="exceeded"):
        assert close(dense(ws.bsr_mm(A, A, max_new_nnz=1)), dense(z), 1e-6)
    assert ws.bsr_mm(A, A, max_new_nnz=100).nnz == 100


@pytest.mark.parametrize("kind", KINDS)
def test_transposed_matrices(kind, rng, device):
    dtype, (rows, cols), _ = KINDS[kind]
    A = random_matrix(rng, 8, 5, dtype)
    B = ws.bsr_transposed(A)
    assert B.block_shape == (cols, rows) and (dense(B) == dense(A).T).all()
    ws.bsr_set_transpose(A, 2.0 * B)
    assert (dense(A) == 2.0 * dense(B).T).all()


@pytest.mark.parametrize(
    "dtype, shape",
    [(wp.mat22, (1, 1)), (wp.float32, (2, 3)), (MAT23, (4, 1)), (MAT23, (1, 6)), (wp.mat44, (2, 2)), (MAT23, (2, 3))],
)
def test_copies_of_other_blocks(dtype, shape, rng, device):
    A = random_matrix(rng, 12, 12, dtype)
    B = ws.bsr_copy(A, block_shape=shape, scalar_type=wp.float64)
    assert B.block_shape == shape and B.scalar_type is wp.float64 and (dense(B) == dense(A)).all()
    C = ws.bsr_copy(A)
    ws.bsr_assign(C, -2.0 * B)
    assert (dense(C) == -2.0 * dense(A)).all()


def test_blocks_that_do_not_divide_are_errors(device):
    A = ws.bsr_zeros(3, 3, wp.mat22)
    for dest, text in (((3, 3), "evenly divide one another"), ((4, 4), "total size")):
        with pytest.raises(ValueError, match=text):
            ws.bsr_copy(A, block_shape=dest)


def test_diagonals(rng, device):
    blocks = rng.normal(size=(4, 2, 2))
    A = ws.bsr_diag(wp.array(blocks, dtype=wp.mat22d))
    assert (ws.bsr_get_diag(2.0 * A).numpy() == 2.0 * blocks).all() and A.nnz == A.count == 4
    B = random_matrix(rng, 5, 3, MAT23)
    assert close(ws.bsr_get_diag(B).numpy()[2], dense(B)[4:6, 6:9], 0.0)
    identity = ws.bsr_identity(3, wp.mat33)
    assert (dense(identity) == np.eye(9)).all()
    ws.bsr_set_identity(identity, 2)
    assert (dense(identity) == np.eye(6)).all()
    assert (dense(ws.bsr_diag(2.0, 3, 5)) == 2.0 * np.eye(3, 5)).all()
    assert ws.bsr_diag(None, 3, block_type=wp.mat22).nnz == 3
    assert (dense(ws.bsr_diag(wp.array([1.0, 2.0], dtype=float), cols_of_blocks=4)) == np.diag([1, 2, 0, 0])).all()
    with pytest.raises(ValueError, match="square blocks"):
        ws.bsr_identity(3, MAT23)
    for change in (
        lambda: ws.bsr_identity(-1, float),
        lambda: ws.bsr_set_diag(A, None, -1),
        lambda: ws.bsr_set_zero(A, -1),
    ):
        with pytest.raises(ValueError, match="must not be negative, got -1"):
            change()
    with pytest.raises(ValueError, match="at least 4"):
        ws.bsr_get_diag(A, out=wp.zeros(2, dtype=wp.mat22d))


def test_rows_of_blocks_and_types(rng, device):
    A = random_matrix(rng, 5, 4, wp.mat33)
    rows = A.uncompress_rows().numpy()
    offsets = A.offsets.numpy()
    count = offsets[-1]
    assert rows[:count].tolist() == np.repeat(np.arange(5), np.diff(offsets)).tolist() and (rows[count:] == -1).all()
    assert isinstance(A, ws.BsrMatrix) and isinstance(A, ws.bsr_matrix_t(wp.mat33))
    assert ws.bsr_matrix_t(wp.mat33) is ws.bsr_matrix_t(wp.mat33f) is type(A)
    assert (A.dtype, A.scalar_type, A.block_size) == (wp.mat33, wp.float32, 9) and not A.requires_grad
    for wrong in (wp.vec3, wp.quat, str):
        with pytest.raises(ValueError, match="block type must be either"):
            ws.bsr_zeros(1, 1, wrong)
    assert block_shape_of(float) == (1, 1)


@wp.kernel
def look_up(A: ws.bsr_matrix_t(float), rows: wp.array[int], columns: wp.array[int], found: wp.array2d[int]):
    i = wp.tid()
    block = ws.bsr_block_index(rows[i], columns[i], A.offsets, A.columns)
    found[i, 0] = block
    found[i, 1] = ws.bsr_block_index(rows[i], columns[i], A.offsets, A.columns, A.row_counts)
    found[i, 2] = ws.bsr_row_index(A.offsets, A.nrow, block)
    found[i, 3] = ws.bsr_row_index(A.offsets, A.nrow, block, A.row_counts)


def test_kernels_take_matrices_and_find_blocks(rng, device):
    A = random_matrix(rng, 6, 7, wp.float32)
    rows, columns = np.divmod(np.arange(42), 7)
    found = wp.zeros((42, 4), dtype=int)
    wp.launch(look_up, 42, [A, integers(rows), integers(columns), found])
    a, values = dense(A), A.values.numpy()
    for r, c, (block, same, row, again) in zip(rows, columns, found.numpy()):
        assert block == same and row == again == (r if block >= 0 else -1)
        assert (values[block] if block >= 0 else 0.0) == np.float32(a[r, c])


def test_values_of_the_matrix_that_changes(rng, device):
    A = random_matrix(rng, 50, 50, wp.float64, number=400)
    before, count = dense(A), A.nnz_sync()
    ws.bsr_set_from_triplets(A, A.columns[:count], A.uncompress_rows(), A.values[:count])
    assert (dense(A) == before.T).all()
    places = A.uncompress_rows(), wp.clone(A.columns[:count])
    backwards = [wp.array(a.numpy()[::-1].copy(), dtype=int) for a in places]
    mapping = ws.bsr_set_from_triplets(A, *backwards, prune_numerical_zeros=False, build_mapping=True)
    old = A.values.numpy()[:count].copy()
    ws.bsr_set_from_mapped_values(A, mapping, A.values[:count])
    assert (A.values.numpy()[:count] == old[::-1]).all()
    for call in (ws.bsr_set_from_mapped_values, lambda A, m, v: ws.bsr_set_from_triplets(A, *places, v)):
        with pytest.raises(TypeError, match="values: expected an array of blocks, got list"):
            call(A, mapping, [1.0])


def test_integers_are_not_multiplied_by_fractions():
    A = wp.sparse.bsr_diag(wp.array([2, 4], dtype=int))
    x = wp.array([1, 1], dtype=int)
    assert wp.sparse.bsr_mv(A, x, alpha=2.0).list() == [4, 8]
    for multiply in (
        lambda: wp.sparse.bsr_mv(A, x, alpha=0.5),
        lambda: wp.sparse.bsr_scale(A, 0.5),
        lambda: (0.5 * A) @ x,
    ):
        with pytest.raises(ValueError, match=r"a matrix of int32 cannot be multiplied by 0\.5"):
            multiply()


def test_sums_of_integers_take_no_fractions():
    A, B = (ws.bsr_diag(wp.array([2, 4], dtype=int)) for _ in range(2))
    for topology in ("compact", "masked", "padded"):
        assert ws.bsr_axpy(A, ws.bsr_copy(B), 2.0, topology=topology).values.list()[:2] == [6, 12]
        with pytest.raises(ValueError, match=r"a matrix of int32 cannot be multiplied by 0\.5"):
            ws.bsr_axpy(A, ws.bsr_copy(B), 0.5, topology=topology)
    with pytest.raises(ValueError, match=r"cannot be multiplied by 0\.5"):
        A + 0.5 * B
