"""Kernels of factorized sparse approximate inverses: a thread makes a row of the factor.

The matrix is scaled to a diagonal of ones. The *support* of row i are columns before i. `root` is the triangular factor
of Cholesky of the rows and columns of the support, `own` the row that i would have in it, and `energy` the square of
the last number of that row. Start with `row_kernels`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,type-var,operator,index,assignment,arg-type,misc"

from functools import cache
from typing import Any, NamedTuple

from ... import abs, atomic_add, isfinite, lower_bound, min, sqrt, tid, zeros
from ...arrays.array import array1d, array2d
from ...lang.arrays import fixedarray
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float32, float64
from ...lang.values.structs import struct
from .solver_kernels import OPTIONS

# The places of what `FSAI.update_status` counts.
MISMATCHES, BAD_DIAGONALS, FAILURES, REGULARIZED = 0, 1, 2, 3


class RowKernels(NamedTuple):
    """What makes rows of a factor of one length.

    `scaled` is the class of the matrix that kernels take, `find_scales` fills its scales, `choose` finds the supports
    and the numbers of rows, and `refit` the numbers for given supports.
    """

    scaled: Any
    find_scales: Any
    choose: Any
    refit: Any


@cache
def row_kernels(scalar: Any, most: int) -> RowKernels:
    """Return the kernels for a matrix of numbers of a type, and rows of up to `most` numbers."""
    real = float64 if scalar is float64 else float32
    square, row = fixedarray(dtype=real, shape=(most, most)), fixedarray(dtype=real, shape=most)
    places = fixedarray(dtype=int, shape=most)

    class ScaledMatrix:
        offsets: array1d(dtype=int)
        columns: array1d(dtype=int)
        values: array1d(dtype=scalar)
        scales: array1d(dtype=real)

    ScaledMatrix.__name__ = ScaledMatrix.__qualname__ = f"ScaledMatrixOf{scalar.__name__}"
    scaled = struct(ScaledMatrix)

    @func
    def number(A: scaled, i: int, j: int) -> real:
        """A number of the scaled matrix."""
        found, end = real(0.0), A.offsets[i + 1]
        at = lower_bound(A.columns, A.offsets[i], end, j)
        if at < end and A.columns[at] == j:
            found = real(A.values[at]) * A.scales[i] * A.scales[j]
        return found

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

    @func
    def is_good(left: real, floor: real) -> bool:
        """True for the square of a number on the diagonal that divisions may take; not for NaN."""
        return left > floor

    @kernel(**OPTIONS)
    def find_scales(A: scaled, status: array1d(dtype=int)):
        """Write the scales that make the diagonal one, and count the numbers on it that are not positive."""
        i = tid()
        A.scales[i] = real(1.0)
        diagonal = number(A, i, i)
        A.scales[i] = real(1.0) / sqrt(diagonal)
        if not is_good(diagonal, real(0.0)) or not isfinite(diagonal):
            A.scales[i] = real(1.0)
            atomic_add(status, BAD_DIAGONALS, 1)

    @kernel(**OPTIONS)
    def choose(
        A: scaled,
        tolerance: real,
        floor: real,
        step: int,
        counts: array1d(dtype=int),
        columns: array2d(dtype=int),
        factors: array2d(dtype=real),
        cuts: array1d(dtype=int),
    ):
        """Find the support of a row, and write its columns and numbers in order."""
        i = tid()
        root, own, trial, solution = zeros((most, most), real), zeros(most, real), zeros(most, real), zeros(most, real)
        support, best = zeros(most, int), zeros(most, int)
        count, energy, grows, is_cut = 0, real(1.0), True, False
        while grows and count < most - 1:
            solve_backwards(count, root, own, solution)
            found = find_best(A, i, support, count, solution, min(step, most - 1 - count), best)
            before = energy
            for b in range(found):
                left = put_row(A, best[b], support, count, root, trial)
                if is_good(left, floor) and not is_cut:
                    rest = number(A, i, best[b])
                    for m in range(count):
                        rest -= own[m] * trial[m]
                    own[count] = rest / sqrt(left)
                    is_cut = not is_good(energy - own[count] * own[count], floor)
                else:
                    is_cut = True
                if not is_cut:
                    for m in range(count):
                        root[count, m] = trial[m]
                    root[count, count] = sqrt(left)
                    energy -= own[count] * own[count]
                    support[count] = best[b]
                    count += 1
            grows = found > 0 and not is_cut and before - energy >= tolerance * before
        if is_cut:
            atomic_add(cuts, 0, 1)
        solve_backwards(count, root, own, solution)
        last = real(1.0) / sqrt(energy)
        for m in range(count):
            rank = 0
            for other in range(count):
                if support[other] < support[m]:
                    rank += 1
            columns[i, rank] = support[m]
            factors[i, rank] = solution[m] * A.scales[support[m]] * last
        columns[i, count] = i
        factors[i, count] = A.scales[i] * last
        counts[i] = count + 1

    @kernel(**OPTIONS)
    def refit(
        A: scaled,
        offsets: array1d(dtype=int),
        columns: array1d(dtype=int),
        floor: real,
        regularizes: bool,
        factors: array1d(dtype=real),
        status: array1d(dtype=int),
    ):
        """Compute the numbers of a row of a given support. Bad pivots are raised to the floor, or the row fails."""
        i = tid()
        root, own, trial, solution = zeros((most, most), real), zeros(most, real), zeros(most, real), zeros(most, real)
        support = zeros(most, int)
        begin = offsets[i]
        count = offsets[i + 1] - begin - 1
        fails, is_raised = not is_good(number(A, i, i), real(0.0)), False
        for j in range(count):
            support[j] = columns[begin + j]
            left = put_row(A, support[j], support, j, root, trial)
            if not is_good(left, floor):
                is_raised = True
                fails = fails or not isfinite(left)
                left = floor
            for m in range(j):
                root[j, m] = trial[m]
            root[j, j] = sqrt(left)
        energy = put_row(A, i, support, count, root, own)
        if not is_good(energy, floor):
            is_raised = True
            fails = fails or not isfinite(energy)
            energy = floor
        fails = fails or (is_raised and not regularizes)
        solve_backwards(count, root, own, solution)
        last = real(1.0) / sqrt(energy)
        for m in range(count):
            factors[begin + m] = real(0.0) if fails else solution[m] * A.scales[support[m]] * last
        factors[begin + count] = A.scales[i] if fails else A.scales[i] * last
        if fails:
            atomic_add(status, FAILURES, 1)
        elif is_raised:
            atomic_add(status, REGULARIZED, 1)

    return RowKernels(scaled, find_scales, choose, refit)


@kernel(**OPTIONS)
def pack_rows(
    offsets: array1d(dtype=int),
    chosen: array2d(dtype=int),
    factors: array2d(dtype=Any),
    columns: array1d(dtype=int),
    values: array1d(dtype=Any),
):
    """Write a row of a factor to its place."""
    i = tid()
    begin = offsets[i]
    for m in range(offsets[i + 1] - begin):
        columns[begin + m] = chosen[i, m]
        values[begin + m] = values.dtype(factors[i, m])


@kernel(**OPTIONS)
def take_numbers(sources: array1d(dtype=int), numbers: array1d(dtype=Any), out: array1d(dtype=Any)):
    """Write numbers in another order."""
    i = tid()
    out[i] = numbers[sources[i]]


@kernel(**OPTIONS)
def compare_places(a: array1d(dtype=int), b: array1d(dtype=int), status: array1d(dtype=int)):
    """Count where two arrays differ."""
    i = tid()
    if a[i] != b[i]:
        atomic_add(status, MISMATCHES, 1)


@kernel(**OPTIONS)
def take_over(status: array1d(dtype=int), keeps_all: bool, factors: array1d(dtype=Any), values: array1d(dtype=Any)):
    """Take new numbers over, unless an update failed."""
    i = tid()
    if status[MISMATCHES] == 0 and (keeps_all or status[BAD_DIAGONALS] + status[FAILURES] == 0):
        values[i] = values.dtype(factors[i])


@kernel(**OPTIONS)
def multiply_factor(
    offsets: array1d(dtype=int),
    columns: array1d(dtype=int),
    values: array1d(dtype=Any),
    x: array1d(dtype=Any),
    y: array1d(dtype=Any),
    z: array1d(dtype=Any),
    alpha: Any,
    beta: Any,
):
    """Multiply a row of a factor, which may be stored in fewer bits, and add a vector."""
    i = tid()
    total = x.dtype(0.0)
    for place in range(offsets[i], offsets[i + 1]):
        total += x.dtype(values[place]) * x[columns[place]]
    total = alpha * total
    if beta != x.dtype(0.0):
        total += beta * y[i]
    z[i] = total
