"""The gradient of a solve: where `A @ x = b`, a change of x solves `A @ dx = db - dA @ x`.

So a tape records the product `A @ x` as it records any other, and then a step that solves with the transposed matrix.
What that finds is the gradient of b, and its opposite that of the product. Forward mode solves with A itself.
Iterations are not recorded. Start with `solve_with_gradient`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...arrays.accumulate import add, taken
from ...arrays.array import array
from ...arrays.factories import clone, zeros
from ...arrays.transfer import copy
from ...dispatch import call_site, capture, observers
from ...dispatch.call_site import CallSite
from ...dispatch.operation import Backward, Operation, Write, execute
from ...lang.types import Mat
from ...lang.values.scalars import float16, float32, float64
from ...lang.values.type_registry import python_type, wc_type
from ...sparse.matrix import BsrMatrix, block_numbers, new_matrix
from ...sparse.transposition import bsr_transposed
from ...tape.saved import SavedArrays
from .linear_operator import LinearOperator, aslinearoperator

if TYPE_CHECKING:
    from .solver_state import LinearSolverState

__all__ = ["has_gradient", "operands", "solve_with_gradient"]

_End = Callable[[], tuple[float, float, float]]
_ROUNDING = {float16: 2.0**-10, float32: 2.0**-23, float64: 2.0**-52}
_SLACK = 100.0  # how many roundings of the right-hand side a residual may have, whatever the tolerance is


def has_gradient(state: LinearSolverState) -> bool:
    """True if an observer of this thread may follow an operand. What a program's own operator reads is unknown."""
    if observers.innermost_jvp() is not None:
        return True
    if observers.tape() is None:
        return False
    return any(observers.has_gradient(a) for a in (state._b, state._x)) or _may_have_gradient(state._A)


def operands(state: LinearSolverState) -> dict[str, array]:
    """The arrays of the matrix that a state solves with, by the names that errors use."""
    return {"A" if i == 0 else f"A ({i})": a for i, a in enumerate(_arrays_of(state._A))}


def solve_with_gradient(state: LinearSolverState, name: str) -> Any:
    """Solve the system of a state under the observers of this thread. Return what the solve returns."""
    trace = observers.innermost_jvp()
    return _solve_recorded(state, name) if trace is None else _solve_with_tangent(state, name, trace)


def _solve_recorded(state: LinearSolverState, name: str) -> Any:
    """Solve the system of a state while a tape records."""
    A, b, x = state._A, state._b, state._x
    solved = _Solved(state, name, call_site.here())
    reads = {"b": b, **operands(state)}
    if _may_have_gradient(A):
        product = solved.product = reads["A @ x"] = zeros(
            b.shape, dtype=b.dtype, device=b.device, requires_grad=x.requires_grad
        )
        A.matvec(solved.solution, product, product, 1.0, 0.0)
    written = {"x": Write(x, overwrites_all=True)}
    execute(Operation(name, written, reads, solved.write, vjp=solved.vjp, gives_way=True))
    return solved.result


def _solve_with_tangent(state: LinearSolverState, name: str, trace: observers.Observer) -> Any:
    """Solve the system of a state in forward mode. A tape around it sees the solve, and then the tangents."""
    A, b, x, M = state._A, state._b, state._x, state._M
    is_recorded = observers.tape() is not None
    with observers.NotRecording():
        solution = clone(x, requires_grad=is_recorded)
    with observers.OuterLevel(trace):
        result = state(x=solution)
    state._x = x
    product = zeros(b.shape, dtype=b.dtype, device=b.device, requires_grad=is_recorded)
    A.matvec(solution, product, product, 1.0, 0.0)

    def vjp() -> Backward:
        return lambda: add(solution.grad, taken(x))

    execute(
        Operation(
            name,
            writes={"x": Write(x, overwrites_all=True)},
            reads={"b": b, "A @ x": product, "the solution": solution},
            run=lambda: copy(x, solution),
            vjp=vjp,
            jvp=[
                (b, lambda t, out: _solve_like(state, A, t, out, M)),
                (product, lambda t, out: _solve_like(state, A, -1.0 * t, out, M)),
            ],
        )
    )
    return result


class _Solved:
    """A system with its solution, and what its gradient needs."""

    product: array | None = None  # of the matrix and the solution, where that may have a gradient
    product_then: array | None = None

    def __init__(self, state: LinearSolverState, name: str, place: CallSite):
        self.state, self.A, self.M, self.b, self.x = state, state._A, state._M, state._b, state._x
        self.name, self.place = name, place
        self.solution = zeros(self.x.shape, dtype=self.x.dtype, device=self.x.device)
        with observers.NotRecording():
            copy(self.solution, self.x)
            state._x = self.solution
            try:
                self.result = state._solve()
            finally:
                state._x = self.x
            self.end = _end(state, self.result)
            self.norm = min(_norms(state, self.b))

    def write(self) -> None:
        """Write the solution to where the program wants it."""
        copy(self.x, self.solution)

    def vjp(self) -> Backward:
        """Keep the matrix as it is, and return the backward function."""
        _require_all_numbers(self.state)
        if self.A._source is None and not self.state._is_symmetric:
            raise RuntimeError(
                f"{self.name} with an operator of the program's own has no gradient, which needs the transposed "
                "operator: pass a matrix, or record a function: tape.record_func(backward, arrays)"
            )
        self.kept = SavedArrays(_arrays_of(self.A), of=self.name)
        if self.A._source is None and self.product is not None:
            self.product_then = clone(self.product, requires_grad=False)
        return self.backward

    def backward(self) -> None:
        """Solve with the transposed matrix, and add what is found to the gradients of b and of the product."""
        self._require_solution(self.end, self.norm, "it")
        self._require_same_operator()
        given, found = taken(self.x), zeros(self.b.shape, dtype=self.b.dtype, device=self.b.device)
        A, M = _as_it_was(self.A, self.kept), self.M
        if not self.state._is_symmetric:
            A, M = _transposed(A), None if M is None or M._source is None else _transposed(M)
        result = _solve_like(self.state, A, given, found, M)
        self._require_solution(_end(self.state, result), min(_norms(self.state, given)), "the solve of its gradient")
        if self.b.grad is not None:
            add(self.b.grad, found)
        if self.product is not None and self.product.grad is not None:
            add(self.product.grad, -1.0 * found)

    def _require_solution(self, end: _End, norm: float, what: str) -> None:
        iterations, residual, tolerance = end()
        if not residual <= max(tolerance, _SLACK * _ROUNDING[self.state._scalar] * norm):
            raise RuntimeError(
                f"{self.name} was recorded at {self.place}, and {what} ended after {iterations} iterations with a "
                f"residual of {residual:.3g}, which is more than the tolerance of {tolerance:.3g}: there is no "
                "gradient where there is no solution. Raise maxiter or tol, or pass a preconditioner M"
            )

    def _require_same_operator(self) -> None:
        """Raise RuntimeError if an operator of the program's own is another one by now."""
        if self.product_then is None or capture.innermost() is not None:
            return
        now = zeros(self.b.shape, dtype=self.b.dtype, device=self.b.device)
        self.A.matvec(self.solution, now, now, 1.0, 0.0)
        norm, change = (max(_norms(self.state, a)) for a in (self.product_then, now - self.product_then))
        if not change <= _SLACK * _ROUNDING[self.state._scalar] * norm:
            raise RuntimeError(
                f"{self.name} was recorded at {self.place}, and its gradient needs the operator `A` as it was then; "
                "the product that its function computes has changed. Call backward before that, or pass a matrix"
            )


def _may_have_gradient(A: LinearOperator) -> bool:
    return A._source is None or any(observers.has_gradient(a) for a in _arrays_of(A))


def _arrays_of(A: LinearOperator) -> list[array]:
    """The arrays of a matrix; none of an operator of the program's own."""
    source = A._source
    if isinstance(source, BsrMatrix):
        return [a for a in (source.values, source.offsets, source.columns, source.row_counts) if a is not None]
    return [] if source is None else [source]


def _as_it_was(A: LinearOperator, kept: SavedArrays) -> LinearOperator:
    """A matrix with the numbers that it had."""
    source = A._source
    if source is None:
        return A
    if not isinstance(source, BsrMatrix):
        return _like(A, kept.view(source))
    made = new_matrix(source.nrow, source.ncol, source.dtype, source.device)
    made.offsets, made.columns, made.values = (kept.view(a) for a in (source.offsets, source.columns, source.values))
    made.row_counts = None if source.row_counts is None else kept.view(source.row_counts)
    made.nnz = source.nnz
    return _like(A, made)


def _like(A: LinearOperator, source: Any) -> LinearOperator:
    """Another matrix for the systems of an operator."""
    made = aslinearoperator(source, A.batch_offsets, A.max_batch_length)
    made._shape = A.shape
    return made


def _transposed(A: LinearOperator) -> LinearOperator:
    source = A._source
    if isinstance(source, BsrMatrix):
        return _like(A, bsr_transposed(source))
    if source.ndim == 2:
        return _like(A, source.transpose())
    t = wc_type(source.dtype)
    if not isinstance(t, Mat):
        return A
    numbers = block_numbers(source, (t.rows, t.cols)).transpose((0, 2, 1)).contiguous()
    return _like(A, numbers.view(python_type(Mat(t.cols, t.rows, t.scalar))))


def _solve_like(state: LinearSolverState, A: LinearOperator, b: array, x: array, M: LinearOperator | None) -> Any:
    """Solve another system by the method of a state, from zero, to its relative tolerance. Return what that returns."""
    x.zero_()
    bounds = (state._tol, 0.0) if state._tol else (None, None)
    options = {"maxiter": state._maxiter, "M": M, "check_every": state._check_every, **state._options}
    return type(state)(A, b, x, *bounds, **options)()


def _end(state: LinearSolverState, result: Any) -> _End:
    """How a solve has ended: a function that returns iterations, residual and tolerance, those of the worst system."""
    if state._check_every != 0:
        return lambda: result
    iterations, squares, bounds = (clone(a) for a in result)

    def read() -> tuple[float, float, float]:
        if capture.innermost() is not None:
            return 0, 0.0, 0.0  # known when the graph runs
        pairs = zip(squares.list(), bounds.list())
        residual, tolerance = max(pairs, key=lambda pair: pair[0] - pair[1])
        return iterations.list()[0], math.sqrt(residual), math.sqrt(tolerance)

    return read


def _norms(state: LinearSolverState, b: array) -> list[float]:
    """The norm of a vector in each system; 0 while a graph is captured, as it is not known then."""
    if capture.innermost() is not None:
        return [0.0]
    squares = state._numbers()
    state._dot(b, b, squares)
    return [math.sqrt(square) for square in squares.list()]


def _require_all_numbers(state: LinearSolverState) -> None:
    """Raise RuntimeError if numbers of the vectors belong to no system of a batch."""
    if state._offsets is not None and capture.innermost() is None:
        begins = state._offsets.list()
        if (begins[0], begins[-1]) != (0, state._size):
            raise RuntimeError(
                f"batch_offsets: {begins[0]} to {begins[-1]} of {state._size} numbers belong to systems; a solve that "
                "leaves out numbers has no gradient: pass arrays without them"
            )
