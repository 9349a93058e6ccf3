"""Programs as users of warp-lang write them: they run under both packages. SciPy judges their results in float64.

python tests/sparse/programs.py NAME    # prints a line of JSON, with the package that `import warp` finds
"""

import json
import sys

import numpy as np
import warp as wp
from warp.optim.linear import LinearOperator, bicgstab, cg, cr, gmres, preconditioner
from warp.sparse import (
    bsr_axpy,
    bsr_copy,
    bsr_diag,
    bsr_from_triplets,
    bsr_get_diag,
    bsr_mm,
    bsr_mv,
    bsr_set_from_triplets,
    bsr_transposed,
    bsr_zeros,
)

N = 12


@wp.kernel
def laplacian(
    n: int, rows: wp.array(dtype=int), cols: wp.array(dtype=int), values: wp.array(dtype=float)
):  # five entries a cell; those beyond the border are out of range, and left out
    i, j = wp.tid()
    cell = i * n + j
    at = 5 * cell
    count = float(0.0)  # noqa: UP018 (warp-lang asks for it)
    for k in range(4):
        di = (k // 2) * (2 * (k % 2) - 1)
        dj = (1 - k // 2) * (2 * (k % 2) - 1)
        inside = i + di >= 0 and i + di < n and j + dj >= 0 and j + dj < n
        rows[at + k] = wp.where(inside, cell, -1)
        cols[at + k] = wp.where(inside, (i + di) * n + j + dj, -1)
        values[at + k] = -1.0
        if inside:
            count += 1.0
    rows[at + 4] = cell
    cols[at + 4] = cell
    values[at + 4] = count


def grid_matrix(n):
    rows, cols = wp.zeros(5 * n * n, dtype=int), wp.zeros(5 * n * n, dtype=int)
    values = wp.zeros(5 * n * n, dtype=float)
    wp.launch(laplacian, dim=(n, n), inputs=[n, rows, cols, values])
    return bsr_from_triplets(n * n, n * n, rows, cols, values)


def implicit_diffusion():
    """Heat on a grid by implicit steps: (I + dt L) u' = u."""
    A = bsr_axpy(grid_matrix(N), bsr_diag(1.0, N * N), alpha=0.3)
    u = wp.array(np.sin(np.arange(N * N)).astype(np.float32), dtype=float)
    M = preconditioner(A, "diag")
    for _ in range(4):
        new = wp.zeros_like(u)
        cg(A, u, new, tol=1.0e-6, M=M)
        u = new
    return u


def pressure_projection():
    """Makes a velocity free of divergence: div grad p = div v, v' = v - grad p, with faces as unknowns."""
    faces = [(i * N + j, i * N + j + 1) for i in range(N) for j in range(N - 1)]
    faces += [(i * N + j, (i + 1) * N + j) for i in range(N - 1) for j in range(N)]
    count = len(faces)
    rows = wp.array(np.repeat(np.arange(count), 2), dtype=int)
    cols = wp.array(np.array(faces).ravel(), dtype=int)
    signs = wp.array(np.tile([-1.0, 1.0], count), dtype=float)
    gradient = bsr_from_triplets(count, N * N, rows, cols, signs)
    laplace = bsr_mm(bsr_transposed(gradient), gradient)
    velocity = wp.array(np.cos(np.arange(count)).astype(np.float32), dtype=float)
    divergence = bsr_mv(gradient, velocity, transpose=True)
    pressure = wp.zeros(N * N, dtype=float)
    cr(laplace, divergence, pressure, tol=1.0e-6, maxiter=500)
    bsr_mv(gradient, pressure, velocity, alpha=-1.0, beta=1.0)
    return velocity


@wp.kernel
def spring_blocks(
    points: wp.array(dtype=wp.vec3),
    springs: wp.array2d(dtype=int),
    rows: wp.array(dtype=int),
    cols: wp.array(dtype=int),
    blocks: wp.array(dtype=wp.mat33),
):
    s = wp.tid()
    i = springs[s, 0]
    j = springs[s, 1]
    d = wp.normalize(points[j] - points[i])
    k = wp.outer(d, d) * 50.0
    for a in range(2):
        for b in range(2):
            rows[4 * s + 2 * a + b] = springs[s, a]
            cols[4 * s + 2 * a + b] = springs[s, b]
            blocks[4 * s + 2 * a + b] = wp.where(a == b, k, -k)


def mass_springs():
    """An implicit step of a net of springs: (M + dt^2 K) v' = M v + dt f, with 3 x 3 blocks."""
    at = np.stack([np.arange(N) % 4, np.arange(N) // 4, 0.1 * np.arange(N) ** 1.5], axis=1)
    springs = np.array([(i, j) for i in range(N) for j in range(i) if np.linalg.norm(at[i] - at[j]) < 2.5])
    points = wp.array(at.astype(np.float32), dtype=wp.vec3)
    count = 4 * len(springs)
    rows, cols, blocks = wp.zeros(count, dtype=int), wp.zeros(count, dtype=int), wp.zeros(count, dtype=wp.mat33)
    wp.launch(spring_blocks, dim=len(springs), inputs=[points, wp.array(springs, dtype=int), rows, cols, blocks])
    K = bsr_zeros(N, N, wp.mat33)
    bsr_set_from_triplets(K, rows, cols, blocks)
    A = bsr_diag(wp.mat33(2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0), N, N) + 0.01 * K
    b = wp.array(np.sin(np.arange(3 * N)).reshape(N, 3).astype(np.float32), dtype=wp.vec3)
    v = wp.zeros(N, dtype=wp.vec3)
    cg(A, b, v, tol=1.0e-6, M=preconditioner(A, "block_jacobi_direct"))
    return v


def advection():
    """A system that is not symmetric, by two solvers and an operator without a matrix."""
    n = N * N
    rows = np.concatenate([np.arange(n), np.arange(1, n)]).astype(np.int32)
    cols = np.concatenate([np.arange(n), np.arange(n - 1)]).astype(np.int32)
    values = np.concatenate([np.full(n, 1.5), np.full(n - 1, -0.5)]).astype(np.float32)
    A = bsr_from_triplets(n, n, wp.array(rows, dtype=int), wp.array(cols, dtype=int), wp.array(values, dtype=float))
    D = bsr_copy(A, scalar_type=wp.float64)

    def matvec(x, y, z, alpha, beta):
        if beta != 0.0 and y.ptr != z.ptr:
            wp.copy(z, y)
        bsr_mv(D, x, z, alpha=alpha, beta=beta)

    operator = LinearOperator((n, n), wp.float64, D.device, matvec)
    b = wp.array(np.cos(np.arange(n)), dtype=wp.float64)
    x, y = wp.zeros(n, dtype=wp.float64), wp.zeros(n, dtype=wp.float64)
    bicgstab(operator, b, x, tol=1.0e-10)
    gmres(D, b, y, tol=1.0e-10, M=preconditioner(D, "diag"))
    return wp.array(np.concatenate([x.numpy(), y.numpy(), bsr_get_diag(D).numpy()]), dtype=wp.float64)


if __name__ == "__main__":
    wp.config.quiet = True
    print(json.dumps(globals()[sys.argv[1]]().numpy().astype(np.float64).ravel().tolist()))
