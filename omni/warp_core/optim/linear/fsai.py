"""Factorized sparse approximate inverses, preconditioners of symmetric positive definite matrices. Start with `FSAI`.

Source: C. Janna, M. Ferronato, Adaptive pattern research for block FSAI preconditioning, SIAM J. Sci. Comput. (2011).
"""

from __future__ import annotations

from typing import Any

from ...algo.scan import array_scan
from ...arrays.array import array
from ...arrays.factories import clone, empty, zeros
from ...dispatch import capture, observers
from ...lang.values.scalars import float16, float32, float64, int32
from ...launches.launch import launch
from ...sparse.combination import bsr_copy
from ...sparse.matrix import BsrMatrix, block_type, new_matrix
from ...sparse.matrix_checks import checked
from ...sparse.transposition import bsr_transposed
from .fsai_kernels import (
    BAD_DIAGONALS,
    FAILURES,
    MISMATCHES,
    choose_kernel,
    compare_places,
    count_infinite,
    multiply_factor,
    pack_rows,
    read_places,
    refit_kernel,
    scales_kernel,
    take_numbers,
    take_over,
    write_places,
)
from .fsai_rows import scaled_matrix
from .linear_operator import LinearOperator, flat

__all__ = ["FSAI"]

_MOST = 64
_FLOORS = {float16: 1e-3, float32: 1e-6, float64: 1e-12}


class FSAI(LinearOperator):
    """An adaptive factorized sparse approximate inverse of a symmetric positive definite matrix, for `cg` and `cr`.

    The operator is `G.T @ G` for a sparse lower triangular `G`, a factor of the inverse. A row of `G` has the columns
    that reduce its energy most, chosen one after the other. Rows are independent, so all are made in parallel.

    Args:
        A: The matrix, of numbers or of square blocks, which are taken apart. Both triangles must be stored, with the
            columns of a row in order. It must be symmetric and positive definite, which is not checked.
        max_row_size: The most numbers in a row of `G`, from 1, which divides by the diagonal, to 64. Time and memory of
            the set-up grow with its square.
        kap_tolerance: A row ends when its energy was reduced by a smaller share, in [0, 1); 0 for never.
        pivot_floor: A row ends before a pivot of its scaled Cholesky factor that is not larger, in (0, 1). By default
            1e-3 for float16, 1e-6 for float32 and 1e-12 for float64.
        factor_dtype: The type of the numbers of `G`: that of `A`, or `wp.float32` for a matrix of float64.
        reuse_pattern: Whether `update` may be called.
        max_step_size: How many columns are chosen at a time, from 1 to 64. More are faster, and other columns.
        regularize_refit: Whether `update` raises bad pivots to the floor, and takes the diagonal of rows that fail.
        validate_topology: Whether `update` checks that blocks are where they were.
        defer_pattern: False; the columns are chosen here.

    Attributes:
        G: The factor, a matrix of numbers.
        GT: Its transpose.
        truncated_rows: How many rows ended at a pivot.
        source: The matrix that it was last made of.
        update_status: With `reuse_pattern`, an array of what the last update counted: differences of the topology, bad
            numbers on the diagonal, rows that failed, rows with raised pivots.

    Raises:
        TypeError: If `A` is no sparse matrix, or has other numbers.
        ValueError: If its shape or an option is wrong, or if a number on the diagonal is not positive.

    Source: C. Janna, M. Ferronato, SIAM J. Sci. Comput. 33 (2011).

    >>> rows, columns = wp.array([0, 0, 1, 1], dtype=int), wp.array([0, 1, 0, 1], dtype=int)
    >>> A = wp.sparse.bsr_from_triplets(2, 2, rows, columns, wp.array([2.0, 1.0, 1.0, 2.0], dtype=float))
    >>> x = wp.zeros(2, dtype=float)
    >>> wp.optim.linear.cg(A, wp.ones(2, dtype=float), x, M=wp.optim.linear.FSAI(A), check_every=1)[0]
    1
    """

    def __init__(
        self,
        A: BsrMatrix,
        max_row_size: int = 8,
        kap_tolerance: float = 0.001,
        pivot_floor: float | None = None,
        factor_dtype: Any = None,
        reuse_pattern: bool = False,
        max_step_size: int = 1,
        regularize_refit: bool = False,
        validate_topology: bool = True,
        defer_pattern: bool = False,
    ):
        self._check(A, max_row_size, kap_tolerance, pivot_floor, max_step_size, defer_pattern)
        super().__init__(A.shape, A.dtype, A.device, self._multiply)
        number = A.scalar_type
        self._floor = _FLOORS[number] if pivot_floor is None else pivot_floor
        self._regularizes, self._validates = regularize_refit, validate_topology
        self._most = max_row_size
        self.source, self.pattern_ready, self.pattern_status = A, None, None
        self.update_status: array | None = None
        with observers.NotRecording():
            self._take_apart(A)
            self._choose(kap_tolerance, max_step_size, _factor_type(factor_dtype, number))
            if reuse_pattern:
                self._keep_plan(A)

    def _check(self, A: Any, most: Any, tolerance: float, floor: float | None, step: Any, deferred: bool) -> None:
        if not isinstance(A, BsrMatrix):
            raise TypeError(f"A: FSAI requires a wp.sparse.BsrMatrix, got {type(A).__name__}")
        checked(A, "A")
        if A.scalar_type not in _FLOORS:
            raise TypeError(f"A: FSAI requires float16, float32 or float64, got {A.scalar_type.__name__}")
        if A.nrow != A.ncol or A.block_shape[0] != A.block_shape[1]:
            raise ValueError(f"A: FSAI requires a square matrix of square blocks, got {A.shape} of {A.block_shape}")
        for name, given in (("max_row_size", most), ("max_step_size", step)):
            if not isinstance(given, int) or not 1 <= given <= _MOST:
                raise ValueError(f"{name}: expected an integer from 1 to {_MOST}, got {given!r}")
        if not 0.0 <= tolerance < 1.0:
            raise ValueError(f"kap_tolerance: expected a number in [0, 1), got {tolerance!r}")
        if floor is not None and not 0.0 < floor < 1.0:
            raise ValueError(f"pivot_floor: expected a number in (0, 1), got {floor!r}")
        if deferred:
            raise ValueError("defer_pattern: columns are chosen by the values; make the FSAI when the matrix has them")

    # -- set-up -------------------------------------------------------------------------------------------------------

    def _take_apart(self, A: BsrMatrix) -> None:
        """Find the numbers of the matrix: where its rows and columns are, and which number of a block each is."""
        places = new_matrix(A.nrow, A.ncol, block_type(float64, A.block_shape), A.device)
        places.offsets, places.row_counts, places.columns, places.nnz = A.offsets, A.row_counts, A.columns, A.nnz
        places.values = empty(A.values.size, dtype=places.dtype, device=A.device)
        launch(write_places, A.values.size * A.block_size, [flat(places.values)], device=A.device)
        apart = bsr_copy(places, block_shape=(1, 1))
        self._sources = _as_places(apart.values, apart.nnz_sync())
        real, scaled = scaled_matrix(A.scalar_type)
        self._matrix = scaled(offsets=apart.offsets, columns=apart.columns)
        self._matrix.values = empty(self._sources.size, dtype=A.scalar_type, device=A.device)
        self._matrix.scales = empty(A.shape[0], dtype=real, device=A.device)

    def _read(self, A: BsrMatrix, status: array) -> None:
        """Read the numbers of a matrix, and find the scales of its rows."""
        launch(take_numbers, self._sources.size, [self._sources, flat(A.values), self._matrix.values], device=A.device)
        launch(scales_kernel(A.scalar_type), A.shape[0], [self._matrix, status], device=A.device)

    def _choose(self, tolerance: float, step: int, factor: Any) -> None:
        A, count = self.source, self.shape[0]
        status, real = zeros(4, dtype=int32, device=A.device), self._matrix.scales.dtype
        self._read(A, status)
        if bad := status.list()[BAD_DIAGONALS]:
            raise ValueError(f"A: {bad} numbers on the diagonal are missing, or are not positive and finite")
        counts, cuts = zeros(count + 1, dtype=int32, device=A.device), zeros(1, dtype=int32, device=A.device)
        chosen = empty((count, self._most), dtype=int32, device=A.device)
        factors = empty((count, self._most), dtype=real, device=A.device)
        how = [real(tolerance), real(self._floor), step, counts, chosen, factors, cuts]
        launch(choose_kernel(A.scalar_type, self._most), count, [self._matrix, *how], device=A.device)
        self.truncated_rows = cuts.list()[0]
        self.G = new_matrix(count, count, factor, A.device)
        array_scan(counts, self.G.offsets, inclusive=False)
        self.G.nnz = size = self.G.offsets.list()[-1]
        self.G.columns, self.G.values = (empty(size, dtype=t, device=A.device) for t in (int32, factor))
        launch(pack_rows, count, [self.G.offsets, chosen, factors, self.G.columns, self.G.values], device=A.device)
        status.zero_()
        launch(count_infinite, size, [self.G.values, status], device=A.device)
        if status.list()[0]:
            raise ValueError(f"A: the factor has numbers that {factor.__name__} cannot hold; scale the matrix")
        self.GT = bsr_transposed(self.G)
        self._between = empty(count, dtype=A.scalar_type, device=A.device)

    # -- updates ------------------------------------------------------------------------------------------------------

    def _keep_plan(self, A: BsrMatrix) -> None:
        """Keep what updates need: the topology, and where each number of the transpose comes from."""
        if A.row_counts is not None:
            remedy = "compact it with wp.sparse.bsr_compress(A, prune_numerical_zeros=False)"
            raise ValueError(f"A: reuse_pattern requires a compact matrix, and this one is padded; {remedy}")
        self.update_status = zeros(4, dtype=int32, device=A.device)
        self._topology = clone(A.offsets[: A.nrow + 1]), clone(A.columns[: A.nnz])
        places = new_matrix(*self.G.shape, float64, A.device)
        places.offsets, places.columns, places.nnz = self.G.offsets, self.G.columns, self.G.nnz
        places.values = empty(self.G.nnz, dtype=float64, device=A.device)
        launch(write_places, self.G.nnz, [places.values], device=A.device)
        self._order = _as_places(bsr_transposed(places).values, self.G.nnz)
        self._fresh = empty(self.G.nnz, dtype=self._matrix.scales.dtype, device=A.device)

    def update(self, A: BsrMatrix | None = None) -> FSAI:
        """Compute the numbers of the factor for new values, in the columns that were chosen before.

        Args:
            A: The matrix, with blocks where they were; by default, the one of last time.

        Returns:
            The operator itself. If the update fails, it stays as it was. In a capture, failures show in `update_status`
            only.

        Raises:
            ValueError: If `reuse_pattern` was not given, if blocks are elsewhere, or if a row fails.

        >>> A = wp.sparse.bsr_diag(wp.array([4.0, 4.0], dtype=float))
        >>> M = wp.optim.linear.FSAI(A, reuse_pattern=True)
        >>> A.values.fill_(16.0)
        >>> M.update().G.values.list()
        [0.25, 0.25]
        """
        if self.update_status is None:
            raise ValueError("update: there is no plan; make the FSAI with reuse_pattern=True")
        given: Any = self.source if A is None else A
        status = self._check_like(given)
        with observers.NotRecording():
            self._refit(given, status)
        if not capture.active() and not (self._regularizes and not self._validates):
            self._require_success(status)
        self.source = given
        return self

    def _check_like(self, A: BsrMatrix) -> array:
        """Check that a matrix has the sizes of the first one, and return the status, cleared."""
        assert self.update_status is not None
        checked(A, "A")
        offsets, columns = self._topology
        found = A.dtype, A.nrow, A.ncol, A.nnz, A.row_counts
        if found != (self.dtype, offsets.size - 1, offsets.size - 1, columns.size, None):
            raise ValueError("A: update requires a matrix with the blocks of the first one; make a new FSAI")
        self.update_status.zero_()
        return self.update_status

    def _refit(self, A: BsrMatrix, status: array) -> None:
        if self._validates:
            for now, before in zip((A.offsets, A.columns), self._topology):
                launch(compare_places, before.size, [now, before, status], device=A.device)
        self._read(A, status)
        real = self._matrix.scales.dtype
        how = [self.G.offsets, self.G.columns, real(self._floor), self._regularizes, self._fresh, status]
        launch(refit_kernel(A.scalar_type, self._most), self.shape[0], [self._matrix, *how], device=A.device)
        launch(take_over, self.G.nnz, [status, self._regularizes, self._fresh, self.G.values], device=A.device)
        launch(take_numbers, self.G.nnz, [self._order, self.G.values, self.GT.values], device=A.device)

    def _require_success(self, status: array) -> None:
        found = status.list()
        if found[MISMATCHES]:
            raise ValueError("A: blocks are not where they were; make a new FSAI")
        if not self._regularizes and (found[BAD_DIAGONALS] or found[FAILURES]):
            raise ValueError(
                f"A: {found[FAILURES]} rows have bad pivots and {found[BAD_DIAGONALS]} numbers on the diagonal are not "
                "positive; make a new FSAI, or one with regularize_refit=True"
            )

    # -- products -----------------------------------------------------------------------------------------------------

    def _multiply(self, x: array, y: array, z: array, alpha: float, beta: float) -> None:
        count, number = self.shape[0], self.scalar_type
        read, added, written, between = flat(x), flat(y), flat(z), self._between
        one = [number(1.0), number(0.0)]
        launch(multiply_factor, count, [*_rows(self.G), read, between, between, *one], device=self.device)
        factors = [number(alpha), number(beta)]
        launch(multiply_factor, count, [*_rows(self.GT), between, added, written, *factors], device=self.device)


def _rows(matrix: BsrMatrix) -> list[array]:
    return [matrix.offsets, matrix.columns, matrix.values]


def _as_places(numbers: array, count: int) -> array:
    made = empty(count, dtype=int32, device=numbers.device)
    launch(read_places, count, [flat(numbers), made], device=numbers.device)
    return made


def _factor_type(given: Any, number: Any) -> Any:
    if given is None or given is number:
        return number
    if given is float32 and number is float64:
        return given
    shown = getattr(given, "__name__", given)
    raise ValueError(f"factor_dtype: expected {number.__name__}, or float32 for a matrix of float64, got {shown}")
