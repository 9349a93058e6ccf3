"""Linear operators: what a solver knows of a matrix, its product with a vector. Start with `aslinearoperator`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from collections.abc import Callable
from typing import Any

from ... import tid
from ...algo.argument_checks import integer, require_elements
from ...algo.matmul import matmul
from ...arrays.array import array, array1d
from ...arrays.transfer import copy
from ...devices.device import get_device
from ...lang.kernel import kernel
from ...lang.types import I32, Mat, Packed, Vec
from ...lang.values.type_registry import python_type, wc_type
from ...launches.launch import launch
from ...sparse.matrix import BsrMatrix, ScaledMatrix
from ...sparse.matrix_checks import checked
from ...sparse.vector_product import bsr_mv

__all__ = ["LinearOperator", "aslinearoperator"]

Matvec = Callable[[Any, Any, Any, Any, Any], None]


class LinearOperator:
    """A linear map, which solvers take in the place of a matrix.

    Args:
        shape: Rows and columns, in numbers.
        dtype: The type of its elements, a scalar or block type.
        device: Where it computes.
        matvec: A function `matvec(x, y, z, alpha, beta)` that writes `alpha * (A @ x) + beta * y` to `z`, which may be
            `y`.
        batch_offsets: Where each of several independent systems begins, and where the last ends, in numbers: int32.
            Numbers behind the last are left alone.
        max_batch_length: An upper bound of the length of a system.

    >>> def twice(x, y, z, alpha, beta):
    ...     wp.copy(z, 2.0 * alpha * x + beta * y)
    >>> A = wp.optim.linear.LinearOperator((3, 3), float, "cpu", twice)
    >>> x = wp.zeros(3, dtype=float)
    >>> wp.optim.linear.cg(A, wp.ones(3, dtype=float), x)[0], x.list()
    (3, [0.5, 0.5, 0.5])
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        device: Any,
        matvec: Matvec,
        batch_offsets: array | None = None,
        max_batch_length: int | None = None,
    ):
        if max_batch_length is not None and batch_offsets is None:
            raise ValueError("max_batch_length: needs `batch_offsets`, as there is one system otherwise")
        if batch_offsets is not None:
            require_elements("batch_offsets", batch_offsets, I32)
            if batch_offsets.size < 2:
                raise ValueError("batch_offsets: expected at least two numbers, where systems begin and the last ends")
        if max_batch_length is not None:
            max_batch_length = integer("max_batch_length", max_batch_length)
        if not isinstance(shape, (tuple, list)):
            raise TypeError(f"shape: expected a tuple of rows and columns, got {type(shape).__name__}")
        shape = tuple(integer("shape", n) for n in shape)
        if not callable(matvec):
            raise TypeError(f"matvec: expected a function matvec(x, y, z, alpha, beta), got {type(matvec).__name__}")
        self._shape, self._dtype, self._device = shape, python_type(wc_type(dtype)), get_device(device)
        self._matvec, self._batch_offsets, self._max_batch_length = matvec, batch_offsets, max_batch_length
        self._source: Any = None  # the matrix or array that it is made of

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns, in numbers; of a diagonal, the number of its elements."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self._dtype

    @property
    def scalar_type(self) -> Any:
        """The type of its numbers."""
        t = wc_type(self._dtype)
        return python_type(t.scalar) if isinstance(t, Packed) else self._dtype

    @property
    def device(self) -> Any:
        """Where it computes."""
        return self._device

    @property
    def matvec(self) -> Matvec:
        """The function of products: `matvec(x, y, z, alpha, beta)`."""
        return self._matvec

    @property
    def batch_offsets(self) -> array | None:
        """Where each of several systems begins; None for one system."""
        return self._batch_offsets

    @property
    def batch_count(self) -> int:
        """The number of systems."""
        return 1 if self._batch_offsets is None else self._batch_offsets.size - 1

    @property
    def max_batch_length(self) -> int | None:
        """An upper bound of the length of a system, or None."""
        return self._max_batch_length


def aslinearoperator(A: Any, batch_offsets: array | None = None, max_batch_length: int | None = None) -> LinearOperator:
    """Return a matrix as a linear operator.

    Args:
        A: A sparse matrix, an array of two dimensions, an array of one dimension (a diagonal: of numbers, vectors or
            blocks), or an operator, which is returned.
        batch_offsets: As for `LinearOperator`.
        max_batch_length: As for `LinearOperator`.

    Raises:
        ValueError: If it is something else.

    >>> wp.optim.linear.aslinearoperator(wp.sparse.bsr_identity(2, wp.mat22)).shape
    (4, 4)
    """
    return operator_of("A", A, batch_offsets, max_batch_length)


def operator_of(
    name: str, A: Any, batch_offsets: array | None = None, max_batch_length: int | None = None
) -> LinearOperator:
    """Return the operator that the argument of a name means. Raises ValueError if it means none."""
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, BsrMatrix):
        matvec = _sparse(checked(A, name))
    elif isinstance(A, array) and A.ndim <= 2:
        matvec = _dense(A) if A.ndim == 2 else _diagonal(A)
    else:
        got = f"an array of shape {A.shape}" if hasattr(A, "shape") else repr(A)
        raise ValueError(f"{name}: Unable to create LinearOperator from {got}; {_remedy(name, A)}")
    made = LinearOperator(A.shape, A.dtype, A.device, matvec, batch_offsets, max_batch_length)
    made._source = A
    return made


def _remedy(name: str, given: Any) -> str:
    """What to write in the place of an argument that means no operator."""
    if isinstance(given, str) and name == "M":
        return f"write M=wp.optim.linear.preconditioner(A, {given!r})"
    if isinstance(given, ScaledMatrix):
        return f"write {name}.eval() for a matrix times a number"
    if hasattr(given, "__array__") or isinstance(given, (list, tuple)):
        return f"write wp.array({name}, dtype=float) with one or two dimensions"
    return "pass a sparse matrix, an array of one or two dimensions, or a LinearOperator"


def flat(a: array) -> array:
    """The numbers of an array, in one row over the same memory."""
    t = a._require_element().type
    return a.view(python_type(t.scalar)).flatten() if isinstance(t, Packed) else a.flatten()


def rows_of(operator: LinearOperator) -> int | None:
    """The rows of an operator in numbers; None for one of a program's own whose shape does not say."""
    if len(operator.shape) == 2:
        return operator.shape[0]
    t = wc_type(operator.dtype)
    width = t.rows if isinstance(t, Mat) else t.count if isinstance(t, Packed) else 1
    return None if operator._source is None else operator.shape[0] * width


def _sparse(A: BsrMatrix) -> Matvec:
    def multiply(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        _begin(y, z, beta)
        bsr_mv(A, x, z, alpha, beta)

    return multiply


def _dense(A: array) -> Matvec:
    def multiply(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        column = flat(z).reshape((A.shape[0], 1))
        before = column if beta == 0.0 else flat(y).reshape((A.shape[0], 1))
        matmul(A, flat(x).reshape((A.shape[1], 1)), before, column, float(alpha), float(beta))

    return multiply


def _diagonal(A: array) -> Matvec:
    t = wc_type(A.dtype)
    cols = t.cols if isinstance(t, Mat) else 1
    factors = A if isinstance(t, Mat) else flat(A)
    element: Any = python_type(Vec(cols, t.scalar)) if isinstance(t, Mat) else factors.dtype
    scalar = python_type(t.scalar) if isinstance(t, Packed) else A.dtype

    def as_elements(a: array) -> array:
        numbers = flat(a)
        return (numbers if cols == 1 else numbers.reshape((factors.size, cols))).view(element)

    def multiply(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        _begin(y, z, beta)
        vectors = as_elements(x), as_elements(z)
        launch(multiply_diagonal, factors.size, [factors, *vectors, scalar(alpha), scalar(beta)], device=A.device)

    return multiply


def _begin(y: array, z: array, beta: float) -> None:
    """Bring `y` to where the result is written, if it is read."""
    if beta != 0.0 and y is not z and y.ptr != z.ptr:
        copy(z, y)


@kernel
def multiply_diagonal(factors: array1d(dtype=Any), x: array1d(dtype=Any), z: array1d(dtype=Any), alpha: Any, beta: Any):
    """Multiply an element of a vector by that of a diagonal."""
    i = tid()
    result = alpha * (factors[i] * x[i])
    if beta != type(beta)(0):
        result += beta * z[i]
    z[i] = result
