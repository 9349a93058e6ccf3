"""Gradient descent, with momentum if wanted: each step goes on in the direction of the last ones."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from collections.abc import Sequence
from typing import Any

from .. import tid
from ..arrays.array import array, array1d
from ..lang.kernel import kernel
from ..lang.typevars import Float
from ..lang.values.scalars import float64
from .parameters import Optimizer


@kernel(enable_backward=False)
def sgd_step(
    x: array1d(dtype=Float),
    grad: array1d(dtype=Float),
    speed: array1d(dtype=Any),
    rate: float64,
    kept: float64,
    added: float64,
    decay: float64,
    ahead: float64,
    own: float64,
):
    """Change each number by `ahead` of its speed and `own` of its gradient."""
    i = tid()
    old = speed.dtype(x[i])
    g = speed.dtype(grad[i]) + speed.dtype(decay) * old
    v = speed.dtype(kept) * speed[i] + speed.dtype(added) * g
    speed[i] = v
    x[i] = x.dtype(old - speed.dtype(rate) * (speed.dtype(ahead) * v + speed.dtype(own) * g))


class SGD(Optimizer):
    """Gradient descent, an optimiser.

    Args:
        params: the arrays to change: floats, vectors or matrices.
        lr: how much of the gradient a step takes away.
        momentum: how much of the last step's direction a step goes on with.
        dampening: how much less than the gradient is added to that direction, from the second step on.
        weight_decay: how much of the arrays themselves is added to their gradients.
        nesterov: whether a step looks ahead, to where the direction leads.

    >>> x = wp.array([3.0, -2.0], dtype=float)
    >>> wp.optim.SGD([x], lr=0.25).step([2.0 * x])
    >>> x.list()
    [1.5, -1.0]
    """

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ):
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov
        super().__init__(params)

    def reset_internal_state(self) -> None:
        """Forget the steps so far."""
        super().reset_internal_state()
        self.b = self._state()

    def step(self, grad: Sequence[array]) -> None:
        """Change the arrays once.

        Args:
            grad: the gradient of each array.
        """
        added = 1.0 if self.t == 0 else 1.0 - self.dampening
        ahead, own = (self.momentum, 1.0) if self.nesterov else (1.0, 0.0)
        self._update(sgd_step, grad, (self.b,), self.lr, self.momentum, added, self.weight_decay, ahead, own)
