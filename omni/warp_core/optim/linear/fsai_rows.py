"""Rows of factorized sparse approximate inverses, in kernels: what a thread computes of its own.

The matrix is scaled to a diagonal of ones. The *support* of row i are columns before i. `root` is the triangular factor
of Cholesky of the rows and columns of the support, and `own` the row that i would have in it. The square of the last
number of that row is its *energy*. Start with `row_functions`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,operator,index,assignment,arg-type,misc"

from functools import cache
from typing import Any, NamedTuple

from ... import abs, min, zeros
from ...arrays.array import array1d
from ...lang.arrays import fixedarray
from ...lang.kernel import func
from ...lang.values.scalars import float32, float64
from ...lang.values.structs import struct
from ...lib.search import first_at_least


class RowTypes(NamedTuple):
    """The types of a row: its numbers, the matrix as kernels take it, and local arrays for numbers and for columns."""

    real: Any
    matrix: Any
    square: Any
    row: Any
    places: Any


class RowFunctions(NamedTuple):
    """What kernels do with a row."""

    put_row: Any
    solve_backwards: Any


@cache
def scaled_matrix(scalar: Any) -> tuple[Any, Any]:
    """Return the type that rows are computed in, and the class of matrices of numbers of a type with their scales."""
    real = float64 if scalar is float64 else float32

    class ScaledMatrix:
        offsets: array1d(dtype=int)
        columns: array1d(dtype=int)
        values: array1d(dtype=scalar)
        scales: array1d(dtype=real)

    ScaledMatrix.__name__ = ScaledMatrix.__qualname__ = f"ScaledMatrixOf{scalar.__name__}"
    return real, struct(ScaledMatrix)


@cache
def row_types(scalar: Any, most: int) -> RowTypes:
    """Return the types for a matrix of numbers of a type, and rows of up to `most` numbers."""
    real, matrix = scaled_matrix(scalar)
    square, row = fixedarray(dtype=real, shape=(most, most)), fixedarray(dtype=real, shape=most)
    return RowTypes(real, matrix, square, row, fixedarray(dtype=int, shape=most))


@func
def number(A: Any, i: int, j: int):
    """A number of a scaled matrix."""
    found, end = A.scales.dtype(0.0), A.offsets[i + 1]
    at = first_at_least(A.columns, A.offsets[i], end, j)
    if at < end and A.columns[at] == j:
        found = A.scales.dtype(A.values[at]) * A.scales[i] * A.scales[j]
    return found


@func
def is_good(left: Any, floor: Any) -> bool:
    """True for the square of a number on the diagonal that divisions may take; not for NaN."""
    return left > floor


@cache
def row_functions(scalar: Any, most: int) -> RowFunctions:
    """Return what kernels do with rows of up to `most` numbers."""
    real, scaled, square, row, places = row_types(scalar, most)

    @func
    def put_row(A: scaled, i: int, support: places, count: int, root: square, target: row) -> real:
        """Write the row that `i` has in the factor of Cholesky, and return the square of its last number."""
        left = real(1.0)
        for j in range(count):
            rest = number(A, i, support[j])
            for k in range(j):
                rest -= target[k] * root[j, k]
            target[j] = rest / root[j, j]
            left -= target[j] * target[j]
        return left

    @func
    def solve_backwards(count: int, root: square, own: row, solution: row):
        """Write the numbers of the support, of which the last number is one."""
        for back in range(count):
            j = count - 1 - back
            rest = -own[j]
            for k in range(j + 1, count):
                rest -= root[k, j] * solution[k]
            solution[j] = rest / root[j, j]

    return RowFunctions(put_row, solve_backwards)


@cache
def search_function(scalar: Any, most: int) -> Any:
    """Return the function that finds the columns a row should have next."""
    real, scaled, _, row, places = row_types(scalar, most)

    @func
    def is_member(support: places, count: int, column: int) -> bool:
        found = False
        for j in range(count):
            if support[j] == column:
                found = True
        return found

    @func
    def find_best(A: scaled, i: int, support: places, count: int, solution: row, step: int, best: places) -> int:
        """Write the `step` columns with the largest residuals, in the order of their size, and return how many."""
        at, sizes, found = zeros(most + 1, dtype=int), zeros(most, dtype=real), 0
        for m in range(count + 1):
            at[m] = A.offsets[support[m] if m < count else i]
        searches = True
        while searches:
            column = int(i)  # the next one of those that the rows of the support and of i have
            for m in range(count + 1):
                member = support[m] if m < count else i
                if at[m] < A.offsets[member + 1] and A.columns[at[m]] < column:
                    column = A.columns[at[m]]
            searches = column < i
            if searches:
                residual = real(0.0)
                for m in range(count + 1):
                    member = support[m] if m < count else i
                    if at[m] < A.offsets[member + 1] and A.columns[at[m]] == column:
                        factor = solution[m] if m < count else real(1.0)
                        residual += real(A.values[at[m]]) * A.scales[member] * factor
                        at[m] = at[m] + 1
                size = abs(residual * A.scales[column])
                if size > real(0.0) and not is_member(support, count, column):
                    place = int(found)
                    while place > 0 and sizes[place - 1 if place > 0 else 0] < size:
                        if place < step:
                            sizes[place], best[place] = sizes[place - 1], best[place - 1]
                        place -= 1
                    if place < step:
                        sizes[place], best[place] = size, column
                        found = min(found + 1, step)
        return found

    return find_best
