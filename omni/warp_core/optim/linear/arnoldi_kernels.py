"""The kernels of GMRES: a basis of vectors as rows, and the small system of each cycle. See generalized.py."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from ... import sqrt, tid
from ...arrays.array import array1d, array2d, array3d
from ...lang.kernel import kernel
from ...lang.values.scalars import float64
from .solver_kernels import OPTIONS, numbers_of, ratio, system_of


@kernel(**OPTIONS)
def project_systems(
    offsets: array1d(dtype=int), size: int, basis: array2d(dtype=Any), w: array1d(dtype=Any), h: array2d(dtype=Any)
):
    """Write the products of a vector and the rows of the basis in each system."""
    row, system = tid()
    start, end = numbers_of(offsets, size, system)
    total = float64(0.0)
    for i in range(start, end):
        total += float64(basis[row, i]) * float64(w[i])
    h[row, system] = h.dtype(total)


@kernel(**OPTIONS)
def remove_projection(
    owner: array1d(dtype=int), basis: array2d(dtype=Any), count: int, h: array2d(dtype=Any), w: array1d(dtype=Any)
):
    """Subtract the projection of a vector on the first rows of the basis."""
    i = tid()
    system = system_of(owner, i)
    if system < 0:
        return
    rest = h.dtype(w[i])
    for row in range(count):
        rest -= h[row, system] * h.dtype(basis[row, i])
    w[i] = w.dtype(rest)


@kernel(**OPTIONS)
def keep_projection(h: array2d(dtype=Any), column: int, hessenberg: array3d(dtype=Any)):
    """Add products to a column of the small matrix."""
    row, system = tid()
    hessenberg[system, row, column] = hessenberg[system, row, column] + h[row, system]


@kernel(**OPTIONS)
def keep_norm(squares: array1d(dtype=Any), column: int, hessenberg: array3d(dtype=Any)):
    """Write the norm below the diagonal of the small matrix."""
    system = tid()
    hessenberg[system, column + 1, column] = sqrt(squares[system])


@kernel(**OPTIONS)
def normalize_row(
    owner: array1d(dtype=int), w: array1d(dtype=Any), squares: array1d(dtype=Any), row: array1d(dtype=Any)
):
    """Write a vector, divided by its norm, to a row of the basis."""
    i = tid()
    system = system_of(owner, i)
    if system >= 0:
        row[i] = row.dtype(ratio(squares.dtype(w[i]), sqrt(squares[system])))


@kernel(**OPTIONS)
def solve_small(hessenberg: array3d(dtype=Any), squares: array1d(dtype=Any), g: array2d(dtype=Any)):
    """Solve the least-squares problem of a cycle by rotations; `g` gets the factors of the basis."""
    system = tid()
    count = hessenberg.shape[2]
    for row in range(count + 1):
        g[row, system] = g.dtype(0)
    g[0, system] = sqrt(squares[system])
    for k in range(count):
        a = hessenberg[system, k, k]
        b = hessenberg[system, k + 1, k]
        length = sqrt(a * a + b * b)
        c = g.dtype(1)
        s = g.dtype(0)
        if length != g.dtype(0):
            c = a / length
            s = b / length
        for j in range(k, count):
            upper = hessenberg[system, k, j]
            lower = hessenberg[system, k + 1, j]
            hessenberg[system, k, j] = c * upper + s * lower
            hessenberg[system, k + 1, j] = c * lower - s * upper
        first = g[k, system]
        g[k, system] = c * first
        g[k + 1, system] = -(s * first)
    for i in range(count):
        k = count - 1 - i
        rest = g[k, system]
        for j in range(k + 1, count):
            rest -= hessenberg[system, k, j] * g[j, system]
        g[k, system] = ratio(rest, hessenberg[system, k, k])


@kernel(**OPTIONS)
def combine_rows(owner: array1d(dtype=int), basis: array2d(dtype=Any), g: array2d(dtype=Any), w: array1d(dtype=Any)):
    """Write the sum of the rows of the basis, each times its factor."""
    i = tid()
    system = system_of(owner, i)
    if system < 0:
        return
    total = g.dtype(0)
    for row in range(basis.shape[0] - 1):
        total += g[row, system] * g.dtype(basis[row, i])
    w[i] = w.dtype(total)


@kernel(**OPTIONS)
def add_vector(owner: array1d(dtype=int), x: array1d(dtype=Any), w: array1d(dtype=Any)):
    """Add a vector."""
    i = tid()
    if system_of(owner, i) >= 0:
        x[i] = x[i] + w[i]
