"""Where the blocks of a result go: policies, room of rows, status, compression, captured graphs."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import sparse as ws
from tests.sparse.matrices import close, dense, random_matrix


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def integers(values):
    return wp.array(np.asarray(values, dtype=np.int32), dtype=int)


def padded(capacity, dtype=wp.float32, n=6):
    return ws.bsr_zeros(n, n, dtype, row_capacity=capacity)


def rows_that_fit(a, capacity):
    """A dense matrix whose rows with more than `capacity` entries are empty."""
    return np.where((np.count_nonzero(a, axis=1) <= capacity)[:, None], a, 0.0)


RESULTS = {
    "assign": (lambda A, B, dest, t: ws.bsr_assign(dest, 2.0 * A, topology=t), lambda a, b: 2.0 * a),
    "transpose": (lambda A, B, dest, t: ws.bsr_set_transpose(dest, A, topology=t), lambda a, b: a.T),
    "axpy": (lambda A, B, dest, t: ws.bsr_axpy(A, dest, 2.0, 1.0, topology=t), lambda a, b: 2.0 * a),
    "mm": (lambda A, B, dest, t: ws.bsr_mm(A, B, dest, topology=t), lambda a, b: a @ b),
    "triplets": (
        lambda A, B, dest, t: ws.bsr_set_from_triplets(
            dest, A.uncompress_rows(), A.columns[: A.nnz], A.values[: A.nnz], topology=t
        ),
        lambda a, b: a,
    ),
}


@pytest.mark.parametrize("result", RESULTS)
def test_padded_rows(result, rng, device):
    run, right = RESULTS[result]
    A, B = random_matrix(rng, 6, 6, wp.float32, 12), random_matrix(rng, 6, 6, wp.float32, 12)
    a, b = dense(A), dense(B)
    dest = padded(6)
    offsets = dest.offsets
    run(A, B, dest, "padded")
    assert close(dense(dest), right(a, b), 1e-6) and dest.offsets is offsets and dest.nnz == 36
    assert dest.status_sync() == ws.BSR_STATUS_SUCCESS and dest.status_message() == "success"
    tight = padded(2)
    run(A, B, tight, "padded")
    assert close(dense(tight), rows_that_fit(right(a, b), 2), 1e-6)
    assert tight.status_sync() == ws.BSR_STATUS_ROW_CAPACITY_EXCEEDED and "capacity" in tight.status_message()
    tight.clear_status()
    assert tight.status_sync() == ws.BSR_STATUS_SUCCESS


@pytest.mark.parametrize("result", RESULTS)
def test_masked_blocks(result, rng, device):
    run, right = RESULTS[result]
    A, B = random_matrix(rng, 6, 6, wp.float32, 12), random_matrix(rng, 6, 6, wp.float32, 12)
    a, b = dense(A), dense(B)
    dest = random_matrix(rng, 6, 6, wp.float32, 15)
    mask, before = dense(dest) != 0.0, dense(dest)
    run(A, B, dest, "masked")
    kept = before if result == "axpy" else 0.0
    assert close(dense(dest), np.where(mask, right(a, b), 0.0) + kept, 1e-6)
    assert dest.count == mask.sum()


@pytest.mark.parametrize("result", RESULTS)
def test_padded_matrices_are_operands(result, rng, device):
    run, right = RESULTS[result]
    A, B = padded(5), padded(6)
    ws.bsr_assign(A, random_matrix(rng, 6, 6, wp.float32, 12), topology="padded")
    ws.bsr_assign(B, random_matrix(rng, 6, 6, wp.float32, 12), topology="padded")
    a, b = dense(A), dense(B)
    x = rng.normal(size=6)
    for transpose in (False, True):
        y = ws.bsr_mv(A, wp.array(x, dtype=float), transpose=transpose)
        assert close(y.numpy(), (a.T if transpose else a) @ x, 1e-6)
    dest = ws.bsr_zeros(6, 6, wp.float32)
    run(A, B, dest, None)
    assert close(dense(dest), right(a, b), 1e-6) and dest.row_counts is None
    assert close(ws.bsr_get_diag(A).numpy(), a.diagonal(), 0.0)
    copied = ws.bsr_copy(A, topology="padded")
    assert (dense(copied) == a).all() and copied.nnz == A.nnz and copied.row_counts is not None
    assert (dense(ws.bsr_copy(A, block_shape=(2, 3))) == a).all()


def test_room_of_rows_by_numbers_and_arrays(device):
    A = ws.bsr_zeros(3, 3, wp.mat22, row_capacity=integers([1, 0, 2]), nnz_capacity=7)
    assert A.offsets.list() == [0, 1, 1, 3] and A.nnz == 3 and A.values.size == A.columns.size == 7
    assert A.row_counts.list() == [0, 0, 0] and A.uncompress_rows().list() == [-1, -1, -1]
    ws.bsr_set_zero(A, 4, 5, topology="padded")
    assert A.offsets.list() == [0, 1, 1, 3, 3] and (A.nrow, A.ncol) == (4, 5)
    ws.bsr_set_zero(A, 2, 2, topology="padded")
    assert A.offsets.list() == [0, 1, 1] and A.nnz == 1
    ws.bsr_set_zero(A)
    assert A.row_counts is None and A.nnz == 0 and A.offsets.list()[:3] == [0, 0, 0]
    for options, text in (
        ({"row_capacity": -1}, "negative"),
        ({"row_capacity": integers([2, -5, 9])}, "negative, got -5"),
        ({"row_capacity": integers([1])}, "expected 3 elements"),
        ({"row_capacity": 2, "nnz_capacity": 4}, "at least nnz"),
        ({"row_capacity": 2, "topology": "compact"}, "requires topology"),
        ({"topology": "masked"}, "Unsupported topology"),
    ):
        with pytest.raises(ValueError, match=text):
            ws.bsr_zeros(3, 3, float, **options)


def test_policies_that_keep_rows_keep_sizes(device):
    A, B = ws.bsr_zeros(3, 3, float), ws.bsr_zeros(3, 4, float)
    for topology in ("masked", "padded"):
        with pytest.raises(ValueError, match="Incompatible number of rows/columns"):
            ws.bsr_assign(A, B, topology=topology)
    with pytest.raises(ValueError, match="Unsupported topology"):
        ws.bsr_assign(A, B, topology="wide")
    ws.bsr_assign(A, B)
    assert A.shape == (3, 4)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("topology", ["compact", "padded"])
@pytest.mark.parametrize("prune", [False, True])
def test_compression(inplace, topology, prune, device):
    A = padded(3, n=3)
    ws.bsr_set_from_triplets(
        A, integers([0, 0, 0, 1, 1, 2]), integers([0, 1, 2, 0, 1, 2]), wp.ones(6, dtype=float), topology="padded"
    )
    A.columns.assign(np.array([2, 0, 2, 1, -1, 0, 3, 0, 0], dtype=np.int32))  # not in order, twice, out of range
    A.values.assign(np.array([1, 0, -1, 4, 5, 0, 6, 0, 0], dtype=np.float32))
    assert ws.bsr_compress(A, prune_numerical_zeros=prune, inplace=inplace, topology=topology) is A
    assert dense(A)[1, 1] == 4.0 and np.count_nonzero(dense(A)) == 1
    assert A.count == (2 if prune else 3)
    assert A.offsets.list()[:4] == (
        [0, 3, 6, 9] if topology == "padded" else np.cumsum([0, A.count - 1, 1, 0]).tolist()
    )


def test_compression_of_columns_alone(device):
    A = ws.bsr_from_triplets(2, 3, integers([0, 0, 1]), integers([0, 1, 2]), wp.ones(3, dtype=float))
    A.columns.assign(np.array([1, 1, 0], dtype=np.int32))
    ws.bsr_compress(A, structure_only=True)
    assert A.nnz_sync() == 2 and A.columns.list()[:2] == [1, 0]


def test_counts_that_the_program_changed(device):
    A = ws.bsr_from_triplets(2, 2, integers([0, 1]), integers([1, 0]), wp.array([1.0, 2.0], dtype=float))
    A.notify_nnz_changed(nnz_capacity=5)
    assert A.nnz == 5 and A.values.size == 5 and dense(A).tolist() == [[0.0, 1.0], [2.0, 0.0]]
    A.notify_nnz_changed()
    assert A.nnz == 2
    with pytest.raises(ValueError, match="at least nnz"):
        A.notify_nnz_changed(4, 3)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda A, M: ws.bsr_axpy(M, A), "Incompatible block sizes"),
        (lambda A, M: ws.bsr_axpy(ws.bsr_zeros(4, 3, float), A), "Incompatible number of rows/columns"),
        (lambda A, M: ws.bsr_axpy(ws.bsr_zeros(3, 3, wp.float64), A), "same scalar type"),
        (lambda A, M: ws.bsr_mm(M, A), "Incompatible block sizes"),
        (lambda A, M: ws.bsr_mm(ws.bsr_zeros(3, 4, float), A), "Incompatible number of rows/columns"),
        (lambda A, M: ws.bsr_mm(ws.bsr_zeros(3, 3, wp.float64), A), "same scalar type"),
        (lambda A, M: ws.bsr_mv(A, wp.zeros(2, dtype=float)), "Incompatible 'x'"),
        (lambda A, M: ws.bsr_mv(A, wp.zeros(3, dtype=wp.float64)), "Incompatible 'x'"),
        (lambda A, M: ws.bsr_mv(A, wp.zeros(3, dtype=float), wp.zeros(4, dtype=float)), "Incompatible 'y'"),
        (lambda A, M: ws.bsr_set_transpose(ws.bsr_zeros(3, 3, wp.mat33), M), "Destination block shape must be"),
        (lambda A, M: A + 1.0, "cannot be interpreted as a BsrMatrix"),
        (lambda A, M: ws.bsr_set_from_triplets(A, integers([0]), integers([0, 1])), "same length"),
        (lambda A, M: ws.bsr_set_from_triplets(A, integers([0]), integers([0]), wp.ones(2)), "one for each triplet"),
        (lambda A, M: ws.bsr_set_from_triplets(A, integers([0, 1]), integers([0, 1]), wp.ones(4)[::2]), "contiguous"),
        (lambda A, M: ws.bsr_set_from_triplets(M, integers([0]), integers([0]), wp.ones(1)), "must correspond"),
        (lambda A, M: ws.bsr_set_from_triplets(M, integers([0]), integers([0]), wp.ones((1, 2, 3))), "block shape"),
    ],
)
def test_operands_that_do_not_fit(call, text, device):
    A, M = ws.bsr_zeros(3, 3, float), ws.bsr_zeros(3, 3, wp.mat22)
    with pytest.raises(ValueError, match=text):
        call(A, M)
    with pytest.raises(TypeError, match="int32"):
        ws.bsr_set_from_triplets(A, wp.zeros(1, dtype=wp.int64), integers([0]), wp.ones(1))


def test_a_graph_rebuilds_matrices(rng, device):
    rows, columns = rng.integers(0, 6, 20), rng.integers(0, 6, 20)
    places, values = (integers(rows), integers(columns)), wp.zeros(20, dtype=float)
    A, x, y = ws.bsr_zeros(6, 6, float), wp.array(rng.normal(size=6), dtype=float), wp.zeros(6, dtype=float)
    B = ws.bsr_identity(6, float)

    def step():
        ws.bsr_set_from_triplets(A, *places, values, prune_numerical_zeros=False)
        ws.bsr_mv(ws.bsr_axpy(B, ws.bsr_transposed(A), 2.0), x, y)

    step()
    with wp.ScopedCapture() as capture:
        step()
        with pytest.raises(RuntimeError, match="while a graph is captured"):
            A.nnz_sync()
        with pytest.raises(RuntimeError, match="while a graph is captured"):
            ws.bsr_mm(A, A)
    for _ in range(2):
        numbers = rng.normal(size=20)
        values.assign(numbers.astype(np.float32))
        places[0].assign(rows := rng.integers(0, 6, 20).astype(np.int32))
        wp.capture_launch(capture.graph)
        right = np.zeros((6, 6))
        np.add.at(right, (rows, columns), numbers)
        assert close(y.numpy(), (right.T + 2.0 * np.eye(6)) @ x.numpy(), 1e-5) and close(dense(A), right, 1e-6)


@pytest.mark.cpu
def test_results_do_not_depend_on_threads(rng):
    rows, columns = rng.integers(0, 300, 9000).astype(np.int32), rng.integers(0, 300, 9000).astype(np.int32)
    values, seen = rng.normal(size=9000).astype(np.float32), set()
    before = wp.config.num_threads
    for threads in (1, 2, 5):
        wp.config.num_threads = threads
        A = ws.bsr_from_triplets(300, 300, integers(rows), integers(columns), wp.array(values, dtype=float))
        A.nnz_sync()
        Z = A @ A + A.transpose()
        y = Z @ wp.ones(300, dtype=float)
        Z.nnz_sync()
        seen.add((Z.values.numpy()[: Z.nnz].tobytes(), Z.columns.numpy()[: Z.nnz].tobytes(), y.numpy().tobytes()))
    wp.config.num_threads = before
    assert len(seen) == 1
