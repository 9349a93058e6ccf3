"""Block-sparse matrices: `BsrMatrix`, the scaled ones that expressions give, and what all operations ask of them.

A matrix is a struct of the kernel language as well, so that kernels take it as an argument. Row `r` has the blocks
`offsets[r]` to `offsets[r + 1]`, in ascending columns. A padded matrix has `row_counts` besides: of the blocks of row
`r`, the first `row_counts[r]` are active, the others are room. Start with `BsrMatrix`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..algo.argument_checks import number, require_arrays
from ..arrays.array import array, array1d
from ..arrays.factories import empty, zeros
from ..dispatch import capture, observers
from ..lang.types import Mat, Scalar
from ..lang.values.scalars import int32
from ..lang.values.structs import struct
from ..lang.values.type_registry import python_type, wc_type
from ..late_bound import late
from ..launches.launch import launch
from .matrix_checks import capacity, checked
from .rows import slot_rows

__all__ = ["BSR_STATUS_ROW_CAPACITY_EXCEEDED", "BSR_STATUS_SUCCESS", "BsrMatrix", "bsr_matrix_t"]

BSR_STATUS_SUCCESS = 0
BSR_STATUS_ROW_CAPACITY_EXCEEDED = 1
_MESSAGES = {
    BSR_STATUS_SUCCESS: "success",
    BSR_STATUS_ROW_CAPACITY_EXCEEDED: "a row has more blocks than its capacity; such rows were left empty",
}


class _Operators:
    """Arithmetic of matrices and scaled matrices. Products with numbers are lazy, the others give new matrices."""

    __array_ufunc__ = None  # NumPy leaves `array @ A` to `__rmatmul__`

    def _times(self, factor: float) -> ScaledMatrix:
        raise NotImplementedError

    def __neg__(self) -> ScaledMatrix:
        return self._times(-1.0)

    def __mul__(self, factor: Any) -> Any:
        return self._times(_factor("*", factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return self._times(1.0 / _factor("/", divisor))

    def __add__(self, other: Any) -> BsrMatrix:
        return late("sparse_added")(self, other, 1.0)

    def __sub__(self, other: Any) -> BsrMatrix:
        return late("sparse_added")(self, other, -1.0)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, _Operators):
            return late("sparse_mm")(self, other)
        require_arrays(x=other)
        return late("sparse_mv")(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        require_arrays(x=other)
        return late("sparse_mv")(self, other, transpose=True)


def _factor(symbol: str, given: Any) -> float:
    """The number by which an expression multiplies or divides a matrix. Raises TypeError for other operands."""
    if isinstance(given, (_Operators, array)):
        got = "an array" if isinstance(given, array) else "a matrix"
        remedy = "; the product with a matrix or vector is written A @ B" if "*" in symbol else ""
        raise TypeError(f"`{symbol}`: expected a matrix and a number, got a matrix and {got}{remedy}")
    return number(f"`{symbol}`", given)


class BsrMatrix(_Operators):
    """A matrix of blocks, most of which are zero and not stored: BSR, or CSR where blocks are numbers.

    `bsr_zeros`, `bsr_from_triplets` and others make matrices. `bsr_matrix_t(dtype)` is the type of those with blocks
    of one type, which annotates parameters of kernels.

    Attributes:
        nrow: Number of rows of blocks.
        ncol: Number of columns of blocks.
        nnz: An upper bound of the number of blocks, which launches use. `nnz_sync()` makes it exact.
        offsets: Where the blocks of each row begin: at least `nrow + 1` integers.
        row_counts: How many blocks of each row are active, in a padded matrix; None in a compact one.
        columns: The column of each block.
        values: The blocks.

    >>> A = wp.sparse.bsr_from_triplets(2, 2, wp.array([0, 1], dtype=int), wp.array([1, 1], dtype=int), wp.ones(2))
    >>> (A @ wp.array([3.0, 4.0], dtype=float)).list()
    [4.0, 4.0]
    """

    nrow: int
    ncol: int
    nnz: int
    offsets: Any
    row_counts: Any
    columns: Any
    values: Any
    _status: array | None = None

    __hash__ = object.__hash__
    __eq__ = object.__eq__  # structs compare all fields

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The type of blocks."""
        return self.values.dtype

    @property
    def scalar_type(self) -> Any:
        """The type of numbers."""
        t = wc_type(self.dtype)
        return python_type(t.scalar) if isinstance(t, Mat) else self.dtype

    def _number(self, value: float) -> Any:
        """A factor of this matrix, in its type of numbers. Raises ValueError if integers cannot hold it."""
        number = self.scalar_type(value)
        holds_fractions = float(self.scalar_type(0.5)) == 0.5
        if not holds_fractions and float(number) != value:
            name = self.scalar_type.__name__
            remedy = "write bsr_copy(A, scalar_type=float) for a matrix of floats"
            raise ValueError(f"a matrix of {name} cannot be multiplied by {value}; {remedy}")
        return number

    @property
    def block_shape(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return block_shape_of(self.dtype)

    @property
    def block_size(self) -> int:
        """Numbers in a block."""
        rows, cols = self.block_shape
        return rows * cols

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix, in numbers."""
        rows, cols = self.block_shape
        return self.nrow * rows, self.ncol * cols

    @property
    def device(self) -> Any:
        """Where its arrays are."""
        return self.values.device

    @property
    def requires_grad(self) -> bool:
        """True if tapes compute gradients of the values."""
        return self.values.requires_grad

    @property
    def scalar_values(self) -> array:
        """The values as an array of numbers with three dimensions: block, row, column."""
        return block_numbers(self.values, self.block_shape)

    @property
    def count(self) -> int:
        """The number of active blocks, read from the device."""
        counts = self.row_counts
        return self._stored() if counts is None else int(counts[: self.nrow].numpy().sum())

    def transpose(self) -> BsrMatrix:
        """Return a transposed copy."""
        return late("sparse_transposed")(self)

    def _times(self, factor: float) -> ScaledMatrix:
        return ScaledMatrix(self, factor)

    # -- in place -----------------------------------------------------------------------------------------------------

    def __iadd__(self, other: Any) -> BsrMatrix:
        return late("sparse_axpy")(other, self)

    def __isub__(self, other: Any) -> BsrMatrix:
        return late("sparse_axpy")(other, self, -1.0)

    def __imul__(self, factor: Any) -> Any:
        return late("sparse_scale")(self, _factor("*=", factor))

    def __itruediv__(self, divisor: Any) -> Any:
        return late("sparse_scale")(self, 1.0 / _factor("/=", divisor))

    def __imatmul__(self, other: Any) -> BsrMatrix:
        return late("sparse_mm")(self, other, self)

    # -- counts and status --------------------------------------------------------------------------------------------

    def _stored(self) -> int:
        capture.refuse("the number of blocks of a matrix is asked for", self.device)
        return int(self.offsets[self.nrow : self.nrow + 1].numpy()[0])

    def nnz_sync(self) -> int:
        """Read the number of blocks from the device, make `nnz` exact, and return it.

        In a padded matrix the room of rows counts, too.

        Raises:
            RuntimeError: While a graph is captured.
        """
        self.nnz = self._stored()
        return self.nnz

    def copy_nnz_async(self) -> None:
        """Do nothing: `nnz_sync` reads the number when it is asked for. Older programs call this before."""

    def notify_nnz_changed(self, nnz: int | None = None, nnz_capacity: int | None = None) -> None:
        """Take over changes of `offsets` or `nnz` that the program made itself, and make room for so many blocks.

        Args:
            nnz: An upper bound of the number of blocks; read from `offsets` if left out.
            nnz_capacity: How many blocks to make room for; `nnz` if left out.

        Raises:
            ValueError: If `nnz_capacity` is less than `nnz`, or `nnz` (of a matrix on the CPU) less than the blocks.
        """
        if nnz is None and nnz_capacity is None:
            nnz = self._stored()
        bound = capacity("nnz", nnz) if nnz is not None else capacity("nnz_capacity", nnz_capacity)
        if self.device.is_cpu and capture.innermost() is None and bound < self._stored():
            raise ValueError(f"nnz: the offsets say that there are {self._stored()} blocks, more than {bound}")
        room = bound if nnz_capacity is None else capacity("nnz_capacity", nnz_capacity)
        if room < bound:
            raise ValueError(f"nnz_capacity must be at least nnz, got {room} and {bound}")
        self.nnz = bound
        if min(self.columns.size, self.values.size) < room:
            reserve(self, room, keep=True)

    def uncompress_rows(self, out: array | None = None) -> array:
        """Return the row of each stored block; -1 for room that is not used.

        Args:
            out: Gets the rows: at least `nnz` elements of int32; new if left out.

        Raises:
            TypeError: If `out` is no array.
            ValueError: If `out` is too small.
        """
        checked(self, "A")
        if out is None:
            out = empty(self.nnz, dtype=int32, device=self.device)
        else:
            require_arrays(out=out)
        if out.size < self.nnz:
            raise ValueError(f"out: expected at least {self.nnz} elements, one for each block, got {out.size}")
        with observers.NotRecording():
            out[: self.nnz].fill_(-1)
            launch(slot_rows, self.nrow, [self.offsets, self.row_counts, self.nnz, out], device=self.device)
        return out

    def status_sync(self) -> int:
        """Return the status: `BSR_STATUS_SUCCESS`, or `BSR_STATUS_ROW_CAPACITY_EXCEEDED` once a row of a padded matrix
        had too little room. It stays until `clear_status()`.

        Raises:
            RuntimeError: While a graph is captured.
        """
        capture.refuse("cannot read sparse status", self.device)
        return BSR_STATUS_SUCCESS if self._status is None else int(self._status.numpy()[0])

    def status_message(self) -> str:
        """Return the status in words."""
        return _MESSAGES[self.status_sync()]

    def clear_status(self) -> None:
        """Set the status back to `BSR_STATUS_SUCCESS`."""
        if self._status is not None:
            self._status.zero_()


class ScaledMatrix(_Operators):
    """A matrix times a number, which operations take in the place of a matrix: `2.0 * A`."""

    def __init__(self, mat: BsrMatrix, scale: float):
        self.mat, self.scale = mat, scale

    def _times(self, factor: float) -> ScaledMatrix:
        return ScaledMatrix(self.mat, self.scale * factor)

    def __getattr__(self, name: str) -> Any:
        if name not in _SHARED:
            raise AttributeError(f"a scaled matrix has no attribute {name!r}; eval() gives a matrix")
        return getattr(self.mat, name)

    def eval(self) -> BsrMatrix:
        """Return the product as a matrix."""
        return late("sparse_copy")(self)

    def transpose(self) -> ScaledMatrix:
        """Return the transposed matrix times the number."""
        return ScaledMatrix(self.mat.transpose(), self.scale)


# What a scaled matrix has of its matrix.
_STRUCTURE = ("nrow", "ncol", "nnz", "offsets", "row_counts", "columns", "device", "requires_grad")
_SHARED = frozenset((*_STRUCTURE, "dtype", "scalar_type", "block_shape", "block_size", "shape"))


def bsr_matrix_t(dtype: Any) -> Any:
    """Return the type of matrices with blocks of a type, which is a struct of the kernel language.

    Args:
        dtype: The type of blocks: a scalar or a matrix type.

    Raises:
        ValueError: If it is another type.

    >>> A = wp.sparse.bsr_identity(3, wp.mat22)
    >>> isinstance(A, wp.sparse.bsr_matrix_t(wp.mat22))
    True
    """
    try:
        t = wc_type(dtype)
    except TypeError:
        t = None
    if not isinstance(t, (Scalar, Mat)):
        name = getattr(dtype, "__name__", repr(dtype))
        remedy = "write a type such as wp.mat33 or float"
        raise ValueError(f"BsrMatrix block type must be either warp matrix or scalar; got {name}; {remedy}")
    return _matrix_type(python_type(t))


@cache
def _matrix_type(dtype: Any) -> Any:
    fields = {"nrow": int, "ncol": int, "nnz": int, "offsets": array1d(dtype=int), "row_counts": array1d(dtype=int)}
    fields |= {"columns": array1d(dtype=int), "values": array1d(dtype=dtype)}
    rows, cols = block_shape_of(dtype)
    name = f"BsrMatrix_{dtype.__name__}" if dtype.__name__.isidentifier() else f"BsrMatrix_{rows}x{cols}"
    record = struct(type(name, (), {"__annotations__": fields}))
    return type(name, (BsrMatrix, record), {"__doc__": BsrMatrix.__doc__, "__wc_type__": record.__wc_type__})


def block_shape_of(dtype: Any) -> tuple[int, int]:
    """Rows and columns of a block of a type."""
    t = wc_type(dtype)
    return (t.rows, t.cols) if isinstance(t, Mat) else (1, 1)


def block_type(scalar: Any, shape: tuple[int, int], like: Any = None) -> Any:
    """Return the type of blocks of a shape: numbers for one by one, unless `like` is a matrix type."""
    is_matrix = shape != (1, 1) or (like is not None and isinstance(wc_type(like), Mat))
    t: Any = wc_type(scalar)
    return python_type(Mat(*shape, t)) if is_matrix else scalar


def block_numbers(values: array, shape: tuple[int, int]) -> array:
    """The numbers of an array of blocks: block, row, column. The memory is the same."""
    t = values._require_element().type
    numbers = values.view(python_type(t.scalar)) if isinstance(t, Mat) else values
    return numbers if numbers.ndim == 3 else numbers.reshape((values.size, *shape))


def new_matrix(rows: int, cols: int, dtype: Any, device: Any, nnz: int = 0) -> BsrMatrix:
    """Return a matrix without blocks, with room for `nnz`."""
    made = bsr_matrix_t(dtype)()
    made.nrow, made.ncol, made.nnz = rows, cols, 0
    made.offsets = zeros(rows + 1, dtype=int32, device=device)
    made.columns = empty(nnz, dtype=int32, device=device)
    made.values = empty(nnz, dtype=python_type(wc_type(dtype)), device=device)
    return made


def reserve(matrix: BsrMatrix, nnz: int, gradient: bool = False, keep: bool = False) -> None:
    """Make room for blocks. What the old ones held is lost, unless `keep` is True.

    Args:
        matrix: The matrix.
        nnz: For how many blocks.
        gradient: Whether values get a gradient although they had none.
        keep: Whether columns and values stay.
    """
    gradient = gradient or matrix.values.requires_grad
    old = matrix.columns, matrix.values
    if matrix.columns.size < nnz:
        matrix.columns = empty(nnz, dtype=int32, device=matrix.device)
    if matrix.values.size < nnz:
        matrix.values = empty(nnz, dtype=matrix.dtype, device=matrix.device, requires_grad=gradient)
    elif gradient and not matrix.values.requires_grad:
        matrix.values.requires_grad = True
    if keep:
        for new, before in zip((matrix.columns, matrix.values), old):
            if new is not before:
                new[: before.size].assign(before)


def status_of(matrix: BsrMatrix) -> array:
    """The status of a matrix as an array of one integer, made at first use."""
    if matrix._status is None:
        matrix._status = zeros(1, dtype=int32, device=matrix.device)
    return matrix._status
