"""The restarted method of generalized minimal residuals, for any square matrix. Start with `gmres`.

A cycle builds an orthonormal basis, each vector made orthogonal to the others twice, as one pass leaves errors in
float32. Then the small least-squares problem is solved, and the residual is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...algo.argument_checks import integer
from ...algo.matmul import matmul
from ...arrays.array import array
from ...arrays.factories import zeros
from ...lang.types import Packed
from ...lang.values.scalars import float16
from ...launches.launch import launch
from .arnoldi_kernels import (
    add_vector,
    combine_rows,
    keep_norm,
    keep_projection,
    normalize_row,
    project_systems,
    remove_projection,
    solve_small,
)
from .linear_operator import flat
from .solver_state import LinearSolverState

__all__ = ["GMRES", "gmres"]


class GMRES(LinearSolverState):
    """GMRES with its buffers: see `LinearSolverState`, and `gmres` for `restart` and `is_left_preconditioner`."""

    def __init__(
        self,
        A: Any,
        b: array,
        x: array,
        tol: float | None = None,
        atol: float | None = None,
        restart: int = 31,
        *args: Any,
        is_left_preconditioner: bool = False,
        **options: Any,
    ):
        self._restart, self._is_left = integer("restart", restart), is_left_preconditioner
        if self._restart < 1:
            raise ValueError(f"restart: must be positive, got {restart}")
        self._options = {"restart": self._restart, "is_left_preconditioner": is_left_preconditioner}
        super().__init__(A, b, x, tol, atol, *args, **options)

    def _allocate(self) -> None:
        self._cycle = count = min(self._restart, self._maxiter)
        self._basis = zeros((count + 1, self._size), dtype=self._scalar, device=self._device)
        self._rows = [self._like_b(self._basis[row]) for row in range(count + 1)]
        self._w, self._z = self._vector(), self._vector()
        shape = (self._count, count + 1, count)
        self._hessenberg = zeros(shape, dtype=self._real, device=self._device)
        self._h, self._g = (zeros((count + 1, self._count), dtype=self._real, device=self._device) for _ in range(2))
        self._squares, self._begin = self._numbers(), self._numbers()

    def _like_b(self, numbers: array) -> array:
        """A row of numbers as a vector like `b`."""
        t = self._b._require_element().type
        if not isinstance(t, Packed):
            return numbers.reshape(self._b.shape)
        inner = self._b._require_element().inner
        return (
            numbers.reshape((*self._b.shape, *inner)).view(self._b.dtype)
            if t.count > 1
            else numbers.view(self._b.dtype)
        )

    def _start(self) -> None:
        """Each cycle begins with the residual."""

    def _iterate(self) -> None:
        self._hessenberg.zero_()
        first = self._r
        if self._M is not None and self._is_left:
            self._precondition(self._r, self._w)
            first = self._w
        self._dot(first, first, self._begin)
        self._launch(normalize_row, first, self._begin, self._rows[0])
        for k in range(self._cycle):
            self._extend(k)
        launch(solve_small, self._count, [self._hessenberg, self._begin, self._g], device=self._device)
        inputs = [self._owner, self._basis, self._g, flat(self._w)]
        launch(combine_rows, self._size, inputs, device=self._device)
        step = self._w
        if self._M is not None and not self._is_left:
            self._precondition(self._w, self._z)
            step = self._z
        self._launch(add_vector, self._x, step)
        self._find_residual()

    def _extend(self, k: int) -> None:
        """Add a vector to the basis."""
        if self._M is None:
            self._multiply(self._rows[k], self._w)
        elif self._is_left:
            self._multiply(self._rows[k], self._z)
            self._precondition(self._z, self._w)
        else:
            self._precondition(self._rows[k], self._z)
            self._multiply(self._z, self._w)
        for _ in range(2):
            self._orthogonalize(k)
        self._dot(self._w, self._w, self._squares)
        launch(keep_norm, self._count, [self._squares, k, self._hessenberg], device=self._device)
        self._launch(normalize_row, self._w, self._squares, self._rows[k + 1])

    def _orthogonalize(self, k: int) -> None:
        rows, w, h = self._basis[: k + 1], flat(self._w), self._h[: k + 1]
        if self._offsets is None and self._scalar is not float16:
            matmul(rows, w.reshape((self._size, 1)), h, h)
        else:
            inputs = [self._offsets, self._size, rows, w, h]
            launch(project_systems, (k + 1, self._count), inputs, device=self._device)
        launch(remove_projection, self._size, [self._owner, rows, k + 1, h, w], device=self._device)
        launch(keep_projection, (k + 1, self._count), [h, k, self._hessenberg], device=self._device)


def gmres(
    A: Any,
    b: array,
    x: array,
    tol: float | None = None,
    atol: float | None = None,
    restart: int = 31,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    check_every: int = 31,
    use_cuda_graph: bool = True,
    is_left_preconditioner: bool = False,
    run: bool = True,
) -> Any:
    """Solve `A @ x = b` by restarted GMRES. `A` need not be symmetric.

    Results and errors are those of `cg`.

    Args:
        A: As for `cg`.
        b: As for `cg`.
        x: As for `cg`.
        tol: As for `cg`.
        atol: As for `cg`.
        restart: Iterations of a cycle. More need more memory, and fewer iterations in all. Cycles are done whole, so
            there may be `restart - 1` more iterations than `maxiter`.
        maxiter: As for `cg`.
        M: A preconditioner.
        callback: As for `cg`.
        check_every: As for `cg`, in whole cycles.
        use_cuda_graph: As for `cg`.
        is_left_preconditioner: Whether `M @ A` is close to the identity, rather than `A @ M`.
        run: False to return a `GMRES`.

    >>> A = wp.array([[2.0, 1.0], [0.0, 4.0]], dtype=float)
    >>> x = wp.zeros(2, dtype=float)
    >>> iterations, residual, tolerance = wp.optim.linear.gmres(A, wp.ones(2, dtype=float), x)
    >>> residual <= tolerance
    True
    """
    options = (tol, atol, restart, maxiter, M, callback, check_every, use_cuda_graph)
    state = GMRES(A, b, x, *options, is_left_preconditioner=is_left_preconditioner)
    return state() if run else state
