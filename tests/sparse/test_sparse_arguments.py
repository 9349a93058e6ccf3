"""Arguments that do not fit: errors name the argument, and say what it got and what to write; no process ends."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import sparse as ws
from omni.warp_core.optim import linear


def identity(n=3):
    return ws.bsr_identity(n, float)


def numbers(n=3):
    return wp.ones(n, dtype=float)


def raised(A, nnz):
    A.nnz = nnz
    return A


# Operations on a matrix whose arrays hold less than it says.
USES = {
    "scale": lambda A: ws.bsr_scale(A, 2.0),
    "copy": ws.bsr_copy,
    "other blocks": lambda A: ws.bsr_copy(A, block_shape=(1, 1)),
    "sum": lambda A: A + identity(),
    "added in place": lambda A: ws.bsr_axpy(identity(), A),
    "assigned": lambda A: ws.bsr_assign(A, identity(), topology="masked"),
    "product": lambda A: A @ identity(),
    "result": lambda A: ws.bsr_mm(identity(), identity(), A, topology="masked"),
    "vector": lambda A: A @ numbers(),
    "transposed": lambda A: A.transpose(),
    "transpose into": lambda A: ws.bsr_set_transpose(A, identity(), topology="masked"),
    "diagonal": ws.bsr_get_diag,
    "compressed": ws.bsr_compress,
    "rows": lambda A: A.uncompress_rows(),
    "zero": lambda A: ws.bsr_set_zero(A, topology="masked"),
    "solve": lambda A: linear.cg(A, numbers(), wp.zeros(3, dtype=float)),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_sizes_that_arrays_do_not_hold_are_refused(use):
    for nnz in (4, 10**8):
        with pytest.raises(ValueError, match=rf"nnz is {nnz}, but there are 3 columns and 3 values; make room with"):
            use(raised(identity(), nnz))
    cut = identity()
    cut.offsets = wp.array([0, 1], dtype=int)
    with pytest.raises(ValueError, match="nrow is 3 and ncol 3, which do not fit 2 offsets"):
        use(cut)
    with pytest.raises(ValueError, match="the matrix has no offsets"):
        use(ws.bsr_matrix_t(float)())


@pytest.mark.cpu
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_more_blocks_than_the_matrix_says_are_refused(use):
    with pytest.raises(ValueError, match=r"nnz is 1, but the offsets say .* 3 blocks; .*notify_nnz_changed"):
        use(raised(identity(), 1))


def test_room_that_the_error_tells_of_is_made():
    A = raised(identity(), 5)
    A.notify_nnz_changed(nnz_capacity=5)
    ws.bsr_scale(A, 2.0)
    assert A.values.list()[:3] == [2.0, 2.0, 2.0] and A.values.size == 5


@pytest.mark.cpu
def test_sizes_are_not_compared_with_offsets_that_a_graph_will_write():
    A = identity()
    x, y = numbers(), wp.zeros(3, dtype=float)
    with wp.ScopedCapture("cpu") as captured:
        ws.bsr_mv(A, x, y)
    wp.capture_launch(captured.graph)
    assert y.list() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda A: A * A, r"`\*`: expected a matrix and a number, got a matrix and a matrix; .* is written A @ B"),
        (lambda A: A * (2.0 * A), r"got a matrix and a matrix; .* A @ B"),
        (lambda A: numbers() * A, "A @ B|cannot"),
        (lambda A: A * numbers(), "got a matrix and an array; .* A @ B"),
        (lambda A: A * np.ones(3), r"`\*`: expected a number, got ndarray"),
        (lambda A: np.ones(3) * A, r"`\*`: expected a number, got ndarray"),
        (lambda A: A * "2", r"`\*`: expected a number, got str"),
        (lambda A: A / A, "`/`: expected a matrix and a number, got a matrix and a matrix$"),
        (lambda A: np.ones(3) @ A, r"x: expected an array, got ndarray; write wp.array\(x\)"),
        (lambda A: A @ np.ones(3), r"x: expected an array, got ndarray; write wp.array\(x\)"),
        (lambda A: A @ [1.0, 2.0, 3.0], r"x: expected an array, got list; write wp.array\(x\)"),
        (lambda A: A @ 2.0, "x: expected an array, got float"),
        (lambda A: ws.bsr_scale(A, None), "alpha: expected a number, got NoneType"),
        (lambda A: ws.bsr_axpy(A, A, beta=numbers()), "beta: expected a number, got array"),
        (lambda A: ws.bsr_mm(A, A, beta="1"), "beta: expected a number, got str"),
        (lambda A: ws.bsr_mm(A, A, work_arrays=3), "work_arrays: expected wp.sparse.bsr_mm_work_arrays"),
        (lambda A: ws.bsr_mm(A, A, max_new_nnz=2.5), "max_new_nnz: expected an integer, got float"),
        (lambda A: ws.bsr_mv(A, numbers(), 1.0), "y: expected an array, got float"),
        (lambda A: ws.bsr_mv(A, x := numbers(), x, work_buffer=[0.0]), "work_buffer: expected an array, got list"),
        (lambda A: ws.bsr_assign(None, A), "dest: expected a sparse matrix, got NoneType; make a matrix with"),
        (lambda A: ws.bsr_assign(2.0 * A, A), r"dest: .* a matrix times a number; write dest = dest.eval\(\) before"),
        (lambda A: ws.bsr_compress(numbers()), "src: expected a sparse matrix, got wp.array of shape"),
        (lambda A: ws.bsr_copy(A, block_shape=2), "block_shape: expected two numbers"),
        (lambda A: ws.bsr_copy(A, block_shape=(1, 1.5)), "block_shape: expected an integer, got float"),
        (lambda A: ws.bsr_copy(A, scalar_type="diag"), "scalar_type: expected a scalar type"),
        (lambda A: ws.bsr_copy(A, scalar_type=wp.vec3), "scalar_type: expected a scalar type .* got 'vec3f'"),
        (lambda A: ws.bsr_zeros(3, 3, float, row_capacity=2.5), "row_capacity: expected an integer, got float"),
        (lambda A: ws.bsr_zeros(3, 3, float, row_capacity=numbers()), "row_capacity: expected elements of int32"),
        (lambda A: ws.bsr_zeros(3, 3, float, nnz_capacity=float("nan")), "nnz_capacity: expected an integer"),
        (lambda A: ws.bsr_zeros(2.0, 3, float), "rows_of_blocks: expected an integer, got float"),
        (lambda A: ws.bsr_set_zero(A, 3, "3"), "cols_of_blocks: expected an integer, got str"),
        (lambda A: ws.bsr_set_diag(A, "1"), "diag: expected float32"),
        (lambda A: ws.bsr_get_diag(A, [0.0]), "out: expected an array, got list"),
        (lambda A: ws.bsr_from_triplets(2, 2, [0], [1], numbers(1)), r"got list and list; write wp.array\(rows, dtype"),
        (lambda A: ws.bsr_from_triplets(2, 2, *places(1), [1.0]), "values: expected an array of blocks, got list"),
        (lambda A: ws.bsr_set_from_triplets(A, *places(2), numbers(2), 1), "count: expected an array, got int"),
        (lambda A: ws.bsr_set_from_triplets(A, *places(2), build_mapping=3), "build_mapping: expected True or"),
        (lambda A: ws.bsr_set_from_mapped_values(A, None, numbers(2)), "mapping: expected a BsrTripletMap, got None"),
        (lambda A: ws.BsrTripletMap(2.5), "capacity: expected an integer, got float"),
    ],
)
def test_arguments_of_wrong_types_are_named(use, text):
    with pytest.raises(TypeError, match=text):
        use(identity())


def places(n):
    return wp.zeros(n, dtype=int), wp.zeros(n, dtype=int)


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda A: A + 1.0, "cannot be interpreted as a BsrMatrix: right operand is of type float; make a matrix with"),
        (lambda A: ws.bsr_mm(A, numbers()), r"y is of type wp.array of shape \(3,\)"),
        (
            lambda A: ws.bsr_copy(A, block_shape=(0, 0)),
            r"block_shape: a block has at least 1 row and 1 column, got \(0",
        ),
        (lambda A: ws.bsr_zeros(10**12, 3, float), "rows_of_blocks: got 1000000000000, but a matrix has at most 21474"),
        (lambda A: ws.bsr_zeros(10**5, 3, float, row_capacity=10**5), "row_capacity times the rows: got 10000000000"),
        (lambda A: ws.bsr_zeros(-1, 3, float), "rows_of_blocks: must not be negative, got -1"),
        (lambda A: ws.bsr_diag(wp.zeros((3, 3), dtype=float)), r"diag: .* one dimension, .* got shape \(3, 3\)"),
        (lambda A: ws.bsr_copy(A, topology=np.ones(2)), "Unsupported topology policy: array"),
        (lambda A: ws.bsr_matrix_t("mat33"), "got 'mat33'; write a type such as wp.mat33"),
    ],
)
def test_values_that_do_not_fit_are_named(use, text):
    with pytest.raises(ValueError, match=text):
        use(identity())


def test_numbers_of_numpy_and_of_this_package_are_factors():
    A = identity()
    for two in (2, 2.0, np.float32(2.0), np.float64(2.0), np.int64(2), wp.float32(2.0), np.array(2.0)):
        assert (A * two).eval().values.list() == (two * A).eval().values.list() == [2.0] * 3
        assert (A / two).eval().values.list() == [0.5] * 3
    assert (-(2.0 * A)).eval().values.list() == [-2.0] * 3


def test_the_block_of_a_diagonal_is_checked_before_the_matrix_changes():
    A = 2.0 * identity()
    A = A.eval()
    with pytest.raises(TypeError, match="diag"):
        ws.bsr_set_diag(A, "1", 5)
    assert A.shape == (3, 3) and A.values.list() == [2.0] * 3


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"M": "diag"}, ValueError, r"M: .* from 'diag'; write M=wp.optim.linear.preconditioner\(A, 'diag'\)"),
        ({"M": [1.0]}, ValueError, r"M: .* from \[1.0\]; write wp.array\(M, dtype=float\)"),
        ({"A": np.eye(3)}, ValueError, r"A: .* from an array of shape \(3, 3\); write wp.array\(A, dtype=float\)"),
        ({"A": wp.zeros((1, 1, 1))}, ValueError, r"A: .* from an array of shape \(1, 1, 1\)"),
        ({"tol": "small"}, TypeError, "tol: expected a number, got str"),
        ({"atol": [1.0]}, TypeError, "atol: expected a number, got list"),
        ({"maxiter": "many"}, TypeError, "maxiter: expected a number, got str"),
        ({"maxiter": float("nan")}, ValueError, "maxiter: must not be NaN"),
        ({"check_every": 2.5}, TypeError, "check_every: expected an integer, got float"),
        ({"callback": 3}, TypeError, "callback: expected a function of iteration, residual and tolerance, got int"),
        ({"b": [1.0, 1.0, 1.0]}, TypeError, r"b: expected an array, got list; write wp.array\(b\)"),
    ],
)
def test_arguments_of_solvers_are_named(options, error, text):
    for solve in (linear.cg, linear.cr, linear.bicgstab, linear.gmres):
        with pytest.raises(error, match=text):
            solve(**{"A": identity(), "b": numbers(), "x": wp.zeros(3, dtype=float), **options})


def test_arguments_of_operators_and_preconditioners_are_named():
    A = identity()
    for use, error, text in (
        (lambda: linear.gmres(A, numbers(), numbers(), restart=2.5), TypeError, "restart: expected an integer"),
        (lambda: linear.aslinearoperator(2.0 * A), ValueError, r"A: .*; write A.eval\(\) for a matrix times a number"),
        (lambda: linear.aslinearoperator(A, [0, 3]), TypeError, "batch_offsets: expected an array, got list"),
        (lambda: linear.LinearOperator(3, float, "cpu", print), TypeError, "shape: expected a tuple of rows and col"),
        (lambda: linear.LinearOperator((3, 3), float, "cpu", A), TypeError, "matvec: expected a function"),
        (lambda: linear.preconditioner(np.eye(3)), ValueError, "A: Unsupported source matrix type .*: ndarray; pass a"),
        (lambda: linear.preconditioner(A, None), TypeError, "ptype: expected a name such as 'diag', got NoneType"),
    ):
        with pytest.raises(error, match=text):
            use()
