"""The methods of conjugate gradients and of conjugate residuals, for symmetric matrices. Start with `cg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays.array import array
from ...arrays.transfer import copy
from .solver_kernels import advance, subtract, turn
from .solver_state import LinearSolverState

__all__ = ["CG", "CR", "cg", "cr"]


class _Conjugate(LinearSolverState):
    """What both methods share: restarts."""

    _is_symmetric = True

    def __init__(self, *args: Any, restart: int | None = None, **options: Any):
        if restart is not None and (isinstance(restart, bool) or not isinstance(restart, int)):
            raise TypeError("restart must be an integer or None")
        if restart is not None and restart < 1:
            raise ValueError("restart must be positive")
        self._options = {"restart": restart}
        super().__init__(*args, **options)
        self._restart = None if restart is None else min(restart, self._maxiter)
        self._cycle = self._restart or 1

    def _iterate(self) -> None:
        if self._restart is None:
            self._advance()
            return
        for i in range(self._restart):
            if i == 0:
                self._start()
            self._advance()
        self._find_residual()

    def _advance(self) -> None:
        raise NotImplementedError


class CG(_Conjugate):
    """The method of conjugate gradients with its buffers: see `LinearSolverState`, and `cg` for `restart`."""

    def _allocate(self) -> None:
        self._p, self._q, self._z = (self._vector() for _ in range(3))
        self._rz, self._new_rz, self._pq = (self._numbers() for _ in range(3))

    def _start(self) -> None:
        self._find_rz(self._rz)
        copy(self._p, self._direction)

    @property
    def _direction(self) -> array:
        return self._r if self._M is None else self._z

    def _find_rz(self, out: array) -> None:
        """Precondition the residual, and write its product with the result."""
        if self._M is not None:
            self._precondition(self._r, self._z)
            self._dot(self._r, self._z, out)
        else:
            self._dot(self._r, self._r, out)

    def _advance(self) -> None:
        self._multiply(self._p, self._q)
        self._dot(self._p, self._q, self._pq)
        self._launch(advance, self._x, self._p, self._r, self._q, self._rz, self._pq)
        self._find_rz(self._new_rz)
        self._launch(turn, self._p, self._direction, self._new_rz, self._rz)
        copy(self._rz, self._new_rz)
        if self._M is None:
            copy(self._residuals, self._rz)
        else:
            self._dot(self._r, self._r, self._residuals)


class CR(_Conjugate):
    """The method of conjugate residuals with its buffers: see `LinearSolverState`, and `cg` for `restart`."""

    def _allocate(self) -> None:
        self._p, self._q, self._z, self._az, self._y = (self._vector() for _ in range(5))
        self._zaz, self._new_zaz, self._yq = (self._numbers() for _ in range(3))

    @property
    def _residual(self) -> array:
        """The preconditioned residual."""
        return self._r if self._M is None else self._z

    def _start(self) -> None:
        if self._M is not None:
            self._precondition(self._r, self._z)
        self._multiply(self._residual, self._az)
        self._dot(self._residual, self._az, self._zaz)
        copy(self._p, self._residual)
        copy(self._q, self._az)

    def _advance(self) -> None:
        y = self._q
        if self._M is not None:
            self._precondition(self._q, self._y)
            y = self._y
        self._dot(y, self._q, self._yq)
        self._launch(advance, self._x, self._p, self._r, self._q, self._zaz, self._yq)
        if self._M is not None:
            self._launch(subtract, self._z, y, self._zaz, self._yq)
        self._multiply(self._residual, self._az)
        self._dot(self._residual, self._az, self._new_zaz)
        self._launch(turn, self._p, self._residual, self._new_zaz, self._zaz)
        self._launch(turn, self._q, self._az, self._new_zaz, self._zaz)
        copy(self._zaz, self._new_zaz)
        self._dot(self._r, self._r, self._residuals)


def cg(
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
    run: bool = True,
    *,
    restart: int | None = None,
) -> Any:
    """Solve `A @ x = b` by conjugate gradients. `A` is symmetric and positive definite.

    Args:
        A: The matrix: sparse, dense (an array of two dimensions), a diagonal (one dimension), or a `LinearOperator`.
        b: The right-hand side: one dimension, of numbers or vectors.
        x: Where the search begins, and the solution. It may be `b`.
        tol: The residual at which the system is solved, relative to the norm of `b`.
        atol: The same, absolute. The larger of both counts. One that is left out is the other; if both are, 1e-6 in
            float32, 1e-12 in float64, 1e-3 in float16.
        maxiter: The most iterations; as many as unknowns (of a batch, in the mean of its systems) for 0.
        M: A preconditioner: see `preconditioner`.
        callback: Called with iteration, residual and tolerance at every check. A kernel for `check_every=0`, which gets
            arrays: the iteration, and the squares of both.
        check_every: Iterations between checks of the residual. 0 lets the device check at each, so that nothing is read
            and a graph can capture the solve.
        use_cuda_graph: Whether iterations may be captured on a GPU. On a CPU they are where `A` and `M` are matrices.
        run: False to return a `CG` that solves when it is called.
        restart: Iterations after which the residual is computed anew and the direction forgotten; checks are there.

    Returns:
        The number of iterations, the norm of the residual, and the tolerance. For `check_every=0`, arrays: the number
        of iterations, and the squares of both.

    Raises:
        TypeError: If `restart` is no integer.
        ValueError: If sizes or types do not fit.
        RuntimeError: If a tape records, and numbers of a batch belong to none of its systems.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 4.0], dtype=float))
    >>> b, x = wp.ones(2, dtype=float), wp.zeros(2, dtype=float)
    >>> iterations, residual, tolerance = wp.optim.linear.cg(A, b, x)
    >>> residual <= tolerance, x.list()
    (True, [0.5, 0.25])
    """
    state = CG(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return state() if run else state


def cr(
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
    run: bool = True,
    *,
    restart: int | None = None,
) -> Any:
    """Solve `A @ x = b` by conjugate residuals. `A` is symmetric; its norm of the residual never grows.

    Arguments, results and errors are those of `cg`.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 4.0], dtype=float))
    >>> x = wp.zeros(2, dtype=float)
    >>> iterations, residual, tolerance = wp.optim.linear.cr(A, wp.ones(2, dtype=float), x)
    >>> residual <= tolerance
    True
    """
    state = CR(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return state() if run else state
