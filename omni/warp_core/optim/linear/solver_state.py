"""Base of all solvers: the system, its buffers, when to stop, what to return. Start with `LinearSolverState`.

A solver is a function of one iteration over arrays. Iterations are captured as a graph and replayed where the operators
are matrices; on GPUs, where `use_cuda_graph` is True.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...algo.argument_checks import check_count, number, require_arrays
from ...algo.reduce import array_inner
from ...arrays.array import array
from ...arrays.factories import clone, full, zeros
from ...arrays.layouts import may_share_memory
from ...arrays.transfer import copy
from ...dispatch import capture, observers
from ...dispatch.operation import Operation, Write, execute
from ...graphs.graph import ScopedCapture, capture_launch, capture_while
from ...lang.values.scalars import float16, float32, float64, int32
from ...launches.launch import launch
from .implicit_gradient import has_gradient, operands, solve_with_gradient
from .linear_operator import LinearOperator, flat, operator_of, rows_of
from .solver_kernels import check_systems, dot_systems, find_owners, set_tolerances

__all__ = ["LinearSolverState"]

_TOLERANCES = {float16: 1e-3, float32: 1e-6, float64: 1e-12}
_MOST = 2**31 - 1  # iterations that an int32 can count
_FEW = 4  # fewer iterations between checks are not worth a capture


class LinearSolverState:
    """A solver with its buffers, for systems that are solved again and again: `CG`, `CR`, `BiCGSTAB` and `GMRES`.

    `run=False` makes one, and a call solves a system: `state()`, or `state(A=..., b=..., x=..., M=...)` with other
    operands of the same sizes and types.

    Arguments and errors are those of `cg`, without `run` and `restart`.
    """

    _cycle = 1  # iterations that are done at once
    _is_symmetric = False  # whether the method is for symmetric matrices only
    _options: Mapping[str, Any] = {}  # arguments that only this method has

    def __init__(
        self,
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
    ):
        if type(self) is LinearSolverState:
            raise TypeError("LinearSolverState is the base of CG, CR, BiCGSTAB and GMRES; make one of those")
        require_arrays(b=b, x=x)
        self._A, self._b, self._x, self._M = operator_of("A", A), b, x, _preconditioner(M)
        self._check_every = check_count("check_every", check_every, _MOST, f"a solve has at most {_MOST} iterations")
        self._callback, self._use_cuda_graph = callback, use_cuda_graph
        if not (callback is None or self._check_every == 0 or callable(callback)):
            got = type(callback).__name__
            raise TypeError(f"callback: expected a function of iteration, residual and tolerance, got {got}")
        self._device, self._size = b.device, flat(b).size
        self._check_sizes()
        self._scalar = self._A.scalar_type
        default = _TOLERANCES.get(self._scalar)
        if default is None:
            raise ValueError(
                f"A: solvers need numbers of type float16, float32 or float64, got {self._scalar.__name__}"
            )
        named = (("tol", tol), ("atol", atol))
        bounds = [_tolerance(name, bound) for name, bound in named if bound is not None] or [default]
        self._tol, self._atol = bounds[0], bounds[-1]
        self._count = self._A.batch_count
        self._real = float64 if self._scalar is float64 else float32
        self._maxiter = _iterations(self._size // self._count if maxiter in (None, 0) else maxiter)
        self._offsets, self._owner = self._A.batch_offsets, None
        with observers.NotRecording():
            if self._offsets is not None:
                self._check_systems(self._offsets)
                self._owner = full(self._size, -1, dtype=int32, device=self._device)
                launch(find_owners, self._count, [self._offsets, self._owner], device=self._device)
            self._residuals, self._bounds = self._numbers(), self._numbers()
            self._iteration, self._goes_on = (zeros(1, dtype=int32, device=self._device) for _ in range(2))
            self._r = self._vector()
            self._allocate()

    # -- for solvers --------------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        """Make the buffers of the method."""
        raise NotImplementedError

    def _start(self) -> None:
        """Begin with the residual that `_r` has."""
        raise NotImplementedError

    def _iterate(self) -> None:
        """Do an iteration, or a cycle of them, and write the squares of residuals."""
        raise NotImplementedError

    def _vector(self) -> array:
        """A vector like `b`."""
        return zeros(self._b.shape, dtype=self._b.dtype, device=self._device)

    def _numbers(self) -> array:
        """A number for each system."""
        return zeros(self._count, dtype=self._real, device=self._device)

    def _dot(self, a: array, b: array, out: array) -> None:
        """Write the dot product of two vectors in each system."""
        a, b = flat(a), flat(b)
        if self._offsets is None and self._scalar is not float16:
            array_inner(a, b, out=out)
        else:
            launch(dot_systems, self._count, [self._offsets, self._size, a, b, out], device=self._device)

    def _launch(self, kernel: Any, *inputs: Any) -> None:
        """Launch a kernel for each number of vectors, which it gets as numbers."""
        launch(kernel, self._size, [self._owner, *(flat(a) for a in inputs)], device=self._device)

    def _multiply(self, x: array, z: array) -> None:
        """Write `A @ x` to `z`."""
        self._A.matvec(x, z, z, 1.0, 0.0)

    def _precondition(self, x: array, z: array) -> None:
        """Write `M @ x` to `z`."""
        assert self._M is not None
        self._M.matvec(x, z, z, 1.0, 0.0)

    def _find_residual(self) -> None:
        """Write `b - A @ x`, and the squares of its norms."""
        self._A.matvec(self._x, self._b, self._r, -1.0, 1.0)
        self._dot(self._r, self._r, self._residuals)

    # -- a solve ------------------------------------------------------------------------------------------------------

    def __call__(self, A: Any = None, b: array | None = None, x: array | None = None, M: Any = None) -> Any:
        """Solve a system, and return as `cg` does.

        Args:
            A: Another matrix; the last one if left out.
            b: Another right-hand side.
            x: Another start and solution.
            M: Another preconditioner.

        Raises:
            ValueError: If a shape, a type, a device or the systems of a batch differ.
        """
        operator = self._A if A is None else operator_of("A", A)
        rows = self._b if b is None else b, self._x if x is None else x
        require_arrays(b=rows[0], x=rows[1])
        preconditioner = self._M if M is None else _preconditioner(M)
        self._check_compatible(operator, *rows, preconditioner)
        self._A, self._M, (self._b, self._x) = operator, preconditioner, rows
        name = f"a solve by {type(self).__name__}"
        if has_gradient(self):
            return solve_with_gradient(self, name)
        done: list[Any] = []
        reads = {"b": self._b, "x": self._x, **operands(self)}
        execute(Operation(name, {"x": Write(self._x)}, reads, run=lambda: done.append(self._solve())))
        return done[0]

    def _check_compatible(self, A: LinearOperator, b: array, x: array, M: LinearOperator | None) -> None:
        for name, what, now, before in (
            ("A", "shape", A.shape, self._A.shape),
            ("A", "dtype", A.dtype, self._A.dtype),
            ("A", "device", A.device, self._A.device),
            ("A", "batch_offsets", A.batch_offsets, self._offsets),
            ("A", "max_batch_length", A.max_batch_length, self._A.max_batch_length),
            *((n, w, getattr(a, w), getattr(o, w)) for n, a, o in (("b", b, self._b), ("x", x, self._x))
              for w in ("shape", "dtype", "device")),
        ):  # fmt: skip
            if now is not before and (isinstance(now, array) or isinstance(before, array) or now != before):
                raise ValueError(f"Incompatible {name}.{what}: expected {before}, got {now}")
        if M is not None and M.device is not self._device:
            raise ValueError(f"Incompatible M.device: expected {self._device}, got {M.device}")
        self._check_preconditioner(M)

    def _check_sizes(self) -> None:
        A, size = self._A, self._size
        t = {flat(a).dtype for a in (self._b, self._x)} | {A.scalar_type}
        if len(t) > 1:
            raise ValueError(f"A, b and x must have the same scalar type, got {', '.join(s.__name__ for s in t)}")
        if len(A.shape) == 2 and A.shape[0] != A.shape[1]:
            raise ValueError(f"A: solvers need a square matrix, got shape {A.shape}")
        if flat(self._x).size != size or rows_of(A) not in (size, None):
            numbers = flat(self._x).size
            raise ValueError(f"Incompatible shapes: A has shape {A.shape}, b {size} numbers, x {numbers}")
        self._check_preconditioner(self._M)

    def _check_preconditioner(self, M: LinearOperator | None) -> None:
        rows = None if M is None or M._source is None else rows_of(M)
        if rows not in (self._size, None):
            raise ValueError(f"M: expected an operator of {self._size} rows, as b has so many numbers, got {rows}")

    def _check_systems(self, offsets: array) -> None:
        """Raise ValueError for systems beyond the vectors, where offsets can be read without waiting for a device."""
        if self._device.is_cpu and capture.innermost() is None:
            begins = offsets.list()
            if begins[0] < 0 or begins[-1] > self._size or begins != sorted(begins):
                raise ValueError(f"batch_offsets: expected ascending numbers from 0 to {self._size}, got {begins}")

    def _solve(self) -> Any:
        target = self._x
        if not (target.is_contiguous and self._b.is_contiguous) or may_share_memory(target, self._b):
            return self._solve_copies(target)
        self._dot(self._b, self._b, self._residuals)
        inputs = [self._residuals, float64(self._tol), float64(self._atol), self._bounds]
        launch(set_tolerances, self._count, inputs, device=self._device)
        self._find_residual()
        self._iteration.zero_()
        return self._solve_on_device() if self._check_every == 0 else self._solve_with_checks()

    def _solve_copies(self, target: array) -> Any:
        """Solve with copies of vectors that have gaps, or the same memory."""
        before = self._b, self._x
        self._b, self._x = clone(self._b), clone(target)
        result = self._solve()
        copy(target, self._x)
        self._b, self._x = before
        return result

    def _solve_on_device(self) -> tuple[array, array, array]:
        arrays = self._iteration, self._residuals, self._bounds

        def check(step: int) -> None:
            inputs = [self._residuals, self._bounds, step, self._maxiter, self._iteration, self._goes_on]
            launch(check_systems, 1, inputs, device=self._device)
            if self._callback is not None:
                launch(self._callback, 1, list(arrays), device=self._device)

        def iterate() -> None:
            self._iterate()
            check(self._cycle)

        self._start()
        check(0)
        capture_while(self._goes_on, iterate)
        return arrays

    def _solve_with_checks(self) -> tuple[int, float, float]:
        capture.refuse("a solve that checks residuals (give check_every=0)", self._device)
        done = 0
        residual, bound = self._worst()
        self._report(done, residual, bound)
        if residual <= bound:
            return done, residual, bound
        self._start()
        step = self._step()
        next_check = 0
        while residual > bound and done < self._maxiter:
            next_check = min(next_check + self._check_every, self._maxiter)
            while done < next_check:
                step()
                done += self._cycle
            residual, bound = self._worst()
            self._report(done, residual, bound)
        return done, residual, bound

    def _step(self) -> Callable[[], None]:
        """An iteration, captured where that is possible and worth it."""
        known = all(op is None or op._source is not None for op in (self._A, self._M))
        if min(self._check_every, self._maxiter) < _FEW * self._cycle or not (
            self._use_cuda_graph if self._device.is_cuda else known
        ):
            return self._iterate
        with ScopedCapture(self._device) as captured:
            self._iterate()
        assert captured.graph is not None
        return partial(capture_launch, captured.graph)

    def _worst(self) -> tuple[float, float]:
        """The residual and tolerance of the system that is farthest from its solution."""
        pairs = zip(self._residuals.list(), self._bounds.list())
        residual, bound = max(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] > 0.0 else pair[0])
        return math.sqrt(residual), math.sqrt(bound)

    def _report(self, iteration: int, residual: float, bound: float) -> None:
        if self._callback is not None:
            self._callback(iteration, residual, bound)


def _tolerance(name: str, given: float) -> float:
    """A tolerance; a negative one, which no residual has, counts as 0."""
    bound = number(name, given)
    if math.isnan(bound):
        raise ValueError(f"{name}: expected a number, got nan")
    return max(bound, 0.0)


def _iterations(maxiter: float) -> int:
    """The most iterations, at least 1: an int32, even for infinity."""
    most = number("maxiter", maxiter)
    if not most >= 0.0:
        raise ValueError(f"maxiter: must not be {'negative' if most < 0.0 else 'NaN'}, got {maxiter}")
    return max(int(min(most, _MOST)), 1)


def _preconditioner(M: Any) -> LinearOperator | None:
    return None if M is None else operator_of("M", M)
