"""Kernels of factorized sparse approximate inverses: a thread makes a row of the factor. Start with `choose_kernel`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,type-var,operator,index,assignment,arg-type,misc"

from functools import cache
from typing import Any

from ... import atomic_add, isfinite, min, sqrt, tid, zeros
from ...arrays.array import array1d, array2d
from ...lang.kernel import kernel
from .fsai_rows import is_good, number, row_functions, row_types, scaled_matrix, search_function
from .solver_kernels import OPTIONS

# The places of what `FSAI.update_status` counts.
MISMATCHES, BAD_DIAGONALS, FAILURES, REGULARIZED = 0, 1, 2, 3


@cache
def scales_kernel(scalar: Any) -> Any:
    """Return the kernel that scales a matrix of numbers of a type."""
    real, scaled = scaled_matrix(scalar)

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

    return find_scales


@cache
def choose_kernel(scalar: Any, most: int) -> Any:
    """Return the kernel that finds the supports of rows of up to `most` numbers, and the numbers."""
    real, scaled, *_ = row_types(scalar, most)
    put_row, solve_backwards = row_functions(scalar, most)
    find_best = search_function(scalar, most)

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

    return choose


@cache
def refit_kernel(scalar: Any, most: int) -> Any:
    """Return the kernel that computes the numbers of rows for given supports."""
    real, scaled, *_ = row_types(scalar, most)
    put_row, solve_backwards = row_functions(scalar, most)

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

    return refit


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


@kernel(**OPTIONS)
def write_places(out: array1d(dtype=Any)):
    """Write the index of each number."""
    i = tid()
    out[i] = out.dtype(i)


@kernel(**OPTIONS)
def read_places(x: array1d(dtype=Any), out: array1d(dtype=int)):
    """Write numbers as integers."""
    i = tid()
    out[i] = int(x[i])


@kernel(**OPTIONS)
def count_infinite(x: array1d(dtype=Any), count: array1d(dtype=int)):
    """Count the numbers that are not finite."""
    if not isfinite(x[tid()]):
        atomic_add(count, 0, 1)
