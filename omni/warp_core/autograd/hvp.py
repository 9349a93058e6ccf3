"""Products of Hessians with vectors: a tape around forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arrays.array import array
from ..forward_mode.jvp import program_jvp
from ..tape.tape import Tape

__all__ = ["hvp"]


def hvp(function: Callable[..., array], x: array | Sequence[array], v: array | Sequence[array | None]) -> Any:
    """The product of the Hessian of a function with a vector, without forming the Hessian.

    The function runs once in forward mode along `v`, and the tape of that once backwards. Some five to ten times the
    cost of the function, whatever the number of elements. It is exact, as differences of gradients are not (B. A.
    Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 6, 1994).

    Args:
        function: takes the arrays of `x` and gives an array of one element, by launching kernels. Arrays that it makes
            get gradients; others that it writes must have one.
        x: where the Hessian is taken: an array, or several, one for each argument. Their gradients stay as they are.
        v: the vector, like `x`; None stands for zeros.

    Returns:
        An array like `x`, or a tuple of them.

    Raises:
        CompileError: a kernel has no second derivative; it names the line.
        ValueError: the result is not one element, `v` does not fit `x`, or an array is written that has no gradient.

    >>> import omni.warp_core as wp
    >>> @wp.kernel
    ... def rosenbrock(x: wp.array[float], y: wp.array[float]):
    ...     i = wp.tid()
    ...     a, b = 1.0 - x[i], x[i + 1] - x[i] * x[i]
    ...     wp.atomic_add(y, 0, a * a + 100.0 * b * b)
    >>> def f(x):
    ...     y = wp.zeros(1, dtype=float)
    ...     wp.launch(rosenbrock, dim=x.size - 1, inputs=[x, y])
    ...     return y
    >>> x, v = wp.array([1.0, 1.0], dtype=float), wp.array([1.0, 0.0], dtype=float)
    >>> wp.autograd.hvp(f, x, v).list()
    [802.0, -400.0]
    """
    single = not isinstance(x, (tuple, list))
    held = [_with_gradient(a) for a in ([x] if single else x)]
    along: Any = [v] if single else v
    tape = Tape()
    try:
        with tape:
            value, change = program_jvp(function, held, along, differentiated=True)
        if not isinstance(value, array) or value.size != 1:
            what = f"shape {value.shape}" if isinstance(value, array) else type(value).__name__
            raise ValueError(f"function: must return an array with one element, got {what}")
        tape.backward(change)
        found = tuple(a.grad for a in held)
    finally:  # from here on the memory has the gradient again that it had: nothing is left that knows of this one
        for a in held:
            a.requires_grad = False
        tape.launches.clear()
    return found[0] if single else found


def _with_gradient(a: Any) -> array:
    """A view of an array with a gradient of its own."""
    if not isinstance(a, array):
        raise TypeError(f"x: expected an array or a sequence of arrays, got {type(a).__name__}")
    view = a[...]
    view.requires_grad = False
    view.requires_grad = True
    return view
