"""Gradients in the user's hand: `@wp.func_grad(f)`, `@wp.func_replay(f)`, `wp.adjoint`, `wp.grad(f)`.

The decorators note on the function what its kernels are differentiated with; front/gradients/custom_gradient_ir.py
compiles it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .kernel import Definition, Function, on_redefinition
from .registry import Builtin, Intrinsic

__all__ = ["Gradient", "GradientOf", "Replay", "adjoint", "func_grad", "func_replay", "grad"]


class Gradient(Definition):
    """The gradient that a user gives for a function."""


class Replay(Definition):
    """A custom replay, which runs in place of a function when its kernel is differentiated."""


class _Adjoints:
    """`wp.adjoint[x]`: in a function under `@wp.func_grad`, the adjoint of its parameter `x`, to be added to.

    For an array it is the array of its gradient.

    >>> @wp.func
    ... def cube(x: float):
    ...     return x * x * x
    >>> @wp.func_grad(cube)
    ... def cube_gradient(x: float, dy: float):
    ...     wp.adjoint[x] += 3.0 * x * x * dy
    """

    def __getitem__(self, parameter: Any) -> Any:
        raise TypeError("wp.adjoint[...] works only in functions decorated with @wp.func_grad")

    def __repr__(self) -> str:
        return "wp.adjoint"


adjoint = _Adjoints()


def func_grad(forward: Function) -> Callable[[Callable], Gradient]:
    """Decorator: the gradient of a function, used instead of differentiating it.

    The decorated function takes the parameters of `forward` and then the adjoint of each of its results. It adds to
    `wp.adjoint[x]` for every parameter `x` that the results depend on, and returns nothing. What it reads from arrays
    is what they hold after the launch. Where `forward` overwrites an array element, it sets the adjoint of that to 0.

    Args:
        forward: the function, decorated with `@wp.func`. Of several overloads, the one with the same parameter types.

    Returns:
        The decorator.

    Raises:
        TypeError: `forward` is no function of the kernel language.
        CompileError: when a kernel that calls it is compiled: the parameters do not fit, or `forward` overwrites
            elements whose adjoints stay.

    >>> @wp.func
    ... def root(x: float):
    ...     return wp.sqrt(x)
    >>> @wp.func_grad(root)
    ... def root_gradient(x: float, dy: float):
    ...     wp.adjoint[x] += dy * 0.5 / wp.sqrt(wp.max(x, 1.0e-3))
    """
    return _noting(forward, Gradient, "func_grad")


def func_replay(forward: Function) -> Callable[[Callable], Replay]:
    """Decorator: what runs instead of a function where a gradient computes the values of the launch again.

    It takes the parameters of `forward` and gives the same results without doing again what cannot be done twice, such
    as counting: it may read what `forward` has left in arrays.

    Args:
        forward: the function, decorated with `@wp.func`. Of several overloads, the one with the same parameter types.

    Returns:
        The decorator.

    Raises:
        TypeError: `forward` is no function of the kernel language.
        CompileError: when a kernel that calls it is compiled: the parameters do not fit.

    >>> @wp.func
    ... def next_slot(counter: wp.array[int], slots: wp.array[int], i: int):
    ...     slots[i] = wp.atomic_add(counter, 0, 1)
    ...     return slots[i]
    >>> @wp.func_replay(next_slot)
    ... def same_slot(counter: wp.array[int], slots: wp.array[int], i: int):
    ...     return slots[i]
    """
    return _noting(forward, Replay, "func_replay")


def _noting(forward: Any, kind: type, name: str) -> Callable[[Callable], Any]:
    if not isinstance(forward, Function):
        shown = getattr(forward, "__name__", type(forward).__name__)
        raise TypeError(f"wp.{name} takes a function decorated with @wp.func, got `{shown}`")

    def decorate(func: Callable) -> Any:
        made = kind(func, sys._getframe(1))
        forward.custom.append(made)
        for told in on_redefinition:
            told()
        return made

    return decorate


class GradientOf:
    """The result of `wp.grad(f)`: called in a kernel, it returns the gradient of `f`."""

    def __init__(self, of: Any):
        self.of = of
        self.__name__ = f"grad({of.__name__})"

    def __call__(self, *args: Any) -> Any:
        """Refuse: kernels alone call it."""
        raise TypeError(
            f"wp.{self.__name__} can be called in compiled kernels only, not from Python or interpreted ones"
        )

    def __repr__(self) -> str:
        return f"wp.{self.__name__}"


def grad(f: Any) -> GradientOf:
    """The gradient of a function, to be called in kernels with the function's own arguments.

    Args:
        f: a function decorated with `@wp.func`, or one of the library.

    Returns:
        What gives the gradient of the result for each parameter, zero for integers and None for arrays, whose elements
        are constants to it: one value where there is one parameter, else a tuple. Of a vector, or of several results,
        it is the gradient of the sum of all numbers.

    Raises:
        TypeError: `f` is no such function.

    >>> @wp.func
    ... def area(a: float, b: float):
    ...     return a * b
    >>> @wp.kernel
    ... def slopes(x: wp.array[float]):
    ...     da, db = wp.grad(area)(2.0, 3.0)
    ...     x[0] = da
    ...     x[1] = db
    >>> x = wp.zeros(2, dtype=float)
    >>> wp.launch(slopes, dim=1, inputs=[x])
    >>> x.list()
    [3.0, 2.0]
    """
    if not isinstance(f, (Function, Builtin)):
        shown = f"wp.{f.name}, which has no gradient" if isinstance(f, Intrinsic) else repr(f)
        raise TypeError(f"wp.grad takes a function decorated with @wp.func, or a library function; got {shown}")
    return GradientOf(f)
