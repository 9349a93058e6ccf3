"""The stabilized method of biconjugate gradients, for any square matrix. Start with `bicgstab`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays.array import array
from ...arrays.transfer import copy
from .linear_operator import LinearOperator
from .solver_kernels import stabilize, subtract, turn_stabilized
from .solver_state import LinearSolverState

__all__ = ["BiCGSTAB", "bicgstab"]


class BiCGSTAB(LinearSolverState):
    """BiCGSTAB with its buffers: see `LinearSolverState`, and `bicgstab` for `is_left_preconditioner`."""

    def __init__(self, *args: Any, is_left_preconditioner: bool = False, **options: Any):
        self._is_left = is_left_preconditioner
        self._options = {"is_left_preconditioner": is_left_preconditioner}
        super().__init__(*args, **options)

    def _allocate(self) -> None:
        self._shadow, self._p, self._v, self._t = (self._vector() for _ in range(4))
        self._y, self._z, self._mt = (self._vector() if self._M is not None else None for _ in range(3))
        self._rho, self._new_rho, self._rv, self._ts, self._tt = (self._numbers() for _ in range(5))

    def _check_compatible(self, A: LinearOperator, b: array, x: array, M: LinearOperator | None) -> None:
        super()._check_compatible(A, b, x, M)
        if (M is None) != (self._y is None):
            raise ValueError(
                "BiCGSTAB requires M to be consistently provided between construction and call (both None or both "
                "non-None)"
            )

    def _start(self) -> None:
        copy(self._shadow, self._r)
        copy(self._p, self._r)
        copy(self._rho, self._residuals)

    def _conditioned(self, vector: array, out: array | None) -> array:
        if out is None:
            return vector
        self._precondition(vector, out)
        return out

    def _iterate(self) -> None:
        y = self._conditioned(self._p, self._y)
        self._multiply(y, self._v)
        self._dot(self._shadow, self._v, self._rv)
        self._launch(subtract, self._r, self._v, self._rho, self._rv)
        z = self._conditioned(self._r, self._z)
        self._multiply(z, self._t)
        if self._mt is not None and self._is_left:
            mt = self._conditioned(self._t, self._mt)
            self._dot(mt, z, self._ts)
            self._dot(mt, mt, self._tt)
        else:
            self._dot(self._t, self._r, self._ts)
            self._dot(self._t, self._t, self._tt)
        self._launch(stabilize, self._x, self._r, y, z, self._t, self._rho, self._rv, self._ts, self._tt)
        self._dot(self._shadow, self._r, self._new_rho)
        numbers = self._new_rho, self._rho, self._rv, self._ts, self._tt
        self._launch(turn_stabilized, self._p, self._r, self._v, *numbers)
        copy(self._rho, self._new_rho)
        self._dot(self._r, self._r, self._residuals)


def bicgstab(
    A: Any,
    b: array,
    x: array,
    tol: float | None = None,
    atol: float | None = None,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    check_every: int = 10,
    use_cuda_graph: bool = True,
    is_left_preconditioner: bool = False,
    run: bool = True,
) -> Any:
    """Solve `A @ x = b` by BiCGSTAB. `A` need not be symmetric.

    Arguments, results and errors are those of `cg`, and besides:

    Args:
        A: As for `cg`.
        b: As for `cg`.
        x: As for `cg`.
        tol: As for `cg`.
        atol: As for `cg`.
        maxiter: As for `cg`.
        M: A preconditioner. A solver that is made with one needs one in each call, and the reverse.
        callback: As for `cg`.
        check_every: As for `cg`.
        use_cuda_graph: As for `cg`.
        is_left_preconditioner: Whether `M @ A` is close to the identity, rather than `A @ M`.
        run: False to return a `BiCGSTAB`.

    >>> A = wp.array([[2.0, 1.0], [0.0, 4.0]], dtype=float)
    >>> x = wp.zeros(2, dtype=float)
    >>> iterations, residual, tolerance = wp.optim.linear.bicgstab(A, wp.ones(2, dtype=float), x)
    >>> residual <= tolerance
    True
    """
    options = (tol, atol, maxiter, M, callback, check_every, use_cuda_graph)
    state = BiCGSTAB(A, b, x, *options, is_left_preconditioner=is_left_preconditioner)
    return state() if run else state
