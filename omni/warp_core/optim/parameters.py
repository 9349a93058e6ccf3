"""Base of all optimisers: the arrays that they change, as rows of numbers, and checks of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arrays.array import array
from ..arrays.factories import zeros
from ..dispatch import observers
from ..lang.kernel import Kernel
from ..lang.types import F64, Packed, Struct
from ..lang.values.scalars import float32, float64
from ..lang.values.type_registry import python_type
from ..launches.launch import launch


class Optimizer:
    """An optimiser of arrays: numbers, vectors or matrices of floats, of any shape, each contiguous in memory.

    The state of float16 arrays is float32, so that small changes add up.
    """

    def __init__(self, params: Sequence[array] | None):
        self.t = 0
        self.set_params(params)

    def set_params(self, params: Sequence[array] | None) -> None:
        """Choose the arrays to change, and forget the steps so far.

        Args:
            params: the arrays; None for none yet.
        """
        self.params = None if params is None else list(params)
        self._rows = [_row(p, f"params[{i}]") for i, p in enumerate(self.params or ())]
        self.reset_internal_state()

    def reset_internal_state(self) -> None:
        """Forget the steps so far."""
        self.t = 0

    def _state(self) -> list[array]:
        """Zeros for each array to change: as many numbers, in float32 or float64."""
        return [zeros(row.size, dtype=_exact(row), device=row.device) for row in self._rows]

    def _update(self, kernel: Kernel, grad: Sequence[array], state: Sequence[Sequence[array]], *numbers: float) -> None:
        """Launch `kernel` for each array to change, on its numbers, those of its gradient, its state, and `numbers`.

        Raises:
            ValueError: there are more gradients or fewer than arrays, or one has another shape.
            TypeError: a gradient has another type of elements.
        """
        given = self._checked(grad)
        with observers.NotRecording():
            for row, gradient, *own in zip(self._rows, given, *state):
                launch(kernel, row.size, [row, gradient, *own, *numbers], device=row.device)
        self.t += 1

    def _checked(self, grad: Sequence[array]) -> list[array]:
        if self.params is None:
            raise RuntimeError("the optimiser has no arrays to change; call set_params(arrays) first")
        if isinstance(grad, array) or len(grad) != len(self.params):
            count = "one array, not a list" if isinstance(grad, array) else f"{len(grad)} gradients"
            raise ValueError(f"the optimiser changes {len(self.params)} arrays and got {count}; pass a list of as many")
        return [_row(_like(g, p, i), f"grad[{i}]") for i, (g, p) in enumerate(zip(grad, self.params))]


def _like(grad: Any, param: array, index: int) -> array:
    """`grad`, which must be an array like `param`."""
    if not isinstance(grad, array) or grad.dtype is not param.dtype:
        given = grad.dtype.__name__ if isinstance(grad, array) else type(grad).__name__
        raise TypeError(f"grad[{index}] has elements of type {given}, params[{index}] of {param.dtype.__name__}")
    if grad.shape != param.shape:
        raise ValueError(f"grad[{index}] has shape {grad.shape}, params[{index}] {param.shape}")
    return grad


def _row(a: array, name: str) -> array:
    """The numbers of an array, over the same memory, as one row."""
    t = a._require_element().type
    if isinstance(t, Struct) or not t.is_differentiable:
        raise TypeError(f"{name} has elements of type {a.dtype.__name__}; optimisers change floats, vectors, matrices")
    if not a.is_contiguous:
        raise ValueError(f"{name} is not contiguous in memory; pass {name}.contiguous() and copy the result back")
    return a.view(python_type(t.scalar)).flatten() if isinstance(t, Packed) else a.flatten()


def _exact(row: array) -> type:
    return float64 if row._require_element().type is F64 else float32
