"""Adam: steps of the same size for all numbers, from running means of gradients and of their squares.

D. P. Kingma and J. Ba, Adam: A Method for Stochastic Optimization, 2015.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from collections.abc import Sequence
from typing import Any

from .. import sqrt, tid
from ..arrays.array import array, array1d
from ..lang.kernel import kernel
from ..lang.typevars import Float
from ..lang.values.scalars import float64
from .parameters import Optimizer


@kernel(enable_backward=False)
def adam_step(
    x: array1d(dtype=Float),
    grad: array1d(dtype=Float),
    mean: array1d(dtype=Any),
    square: array1d(dtype=Any),
    rate: float64,
    beta1: float64,
    beta2: float64,
    eps: float64,
    share1: float64,
    share2: float64,
    unbiased1: float64,
    unbiased2: float64,
):
    """Change each number by its gradient."""
    i = tid()
    g = mean.dtype(grad[i])
    m = mean.dtype(beta1) * mean[i] + mean.dtype(share1) * g
    s = mean.dtype(beta2) * square[i] + mean.dtype(share2) * g * g
    mean[i] = m
    square[i] = s
    change = mean.dtype(rate) * (m / mean.dtype(unbiased1)) / (sqrt(s / mean.dtype(unbiased2)) + mean.dtype(eps))
    x[i] = x.dtype(mean.dtype(x[i]) - change)


class Adam(Optimizer):
    """Adam, an optimiser.

    Args:
        params: the arrays to change: floats, vectors or matrices.
        lr: how far a number changes in a step, at most about.
        betas: how much of the mean of the gradients, and of that of their squares, is left after a step.
        eps: added to the root of the mean of the squares.

    >>> x = wp.array([3.0, -2.0], dtype=float)
    >>> optimizer = wp.optim.Adam([x], lr=0.5)
    >>> for _ in range(200):
    ...     optimizer.step([2.0 * x])
    >>> bool((abs(x.numpy()) < 0.01).all())
    True
    """

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ):
        self.lr, self.beta1, self.beta2, self.eps = lr, betas[0], betas[1], eps
        super().__init__(params)

    def reset_internal_state(self) -> None:
        """Forget the steps so far."""
        super().reset_internal_state()
        self.m, self.v = self._state(), self._state()

    def step(self, grad: Sequence[array]) -> None:
        """Change the arrays once.

        Args:
            grad: the gradient of each array.
        """
        betas = (self.beta1, self.beta2)
        shares = [1.0 - beta**n for n in (1, self.t + 1) for beta in betas]
        self._update(adam_step, grad, (self.m, self.v), self.lr, *betas, self.eps, *shares)
