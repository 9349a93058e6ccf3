"""The functions of the front end itself that access elements of arrays: documentation only, as in general_functions.py.

An array of several dimensions takes as many indices: `atomic_add(a, i, j, value)`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..generics import Array, Int, N, S
from ..values.scalars import uint64

# -- elements of arrays -----------------------------------------------------------------------------------------------


def load(arr: Array[S], i: Int) -> S:
    """Element of an array: `arr[i]` as a function. An array of several dimensions takes as many indices.

    Args:
        arr: an array.
        i: an index for each dimension.

    Returns:
        The element.

    Derivative: 1 in the element.

    >>> @wp.kernel
    ... def copy(x: wp.array[float], y: wp.array[float]):
    ...     i = wp.tid()
    ...     wp.store(y, i, wp.load(x, i))
    >>> y = wp.zeros(2, dtype=float)
    >>> wp.launch(copy, dim=2, inputs=[wp.ones(2, dtype=float), y])
    >>> y.list()
    [1.0, 1.0]
    """


def store(arr: Array[S], i: Int, value: S) -> None:
    """Set an element of an array: `arr[i] = value` as a function.

    Args:
        arr: an array.
        i: an index for each dimension.
        value: of the array's element type.

    Derivative: 1 in the value.

    >>> @wp.kernel
    ... def count(x: wp.array[int]):
    ...     wp.store(x, wp.tid(), wp.tid())
    >>> x = wp.zeros(3, dtype=int)
    >>> wp.launch(count, dim=3, inputs=[x])
    >>> x.list()
    [0, 1, 2]
    """


def array_store(arr: Array[S], i: Int, value: S) -> None:
    """Set an element of an array: `arr[i] = value` as a function.

    Args:
        arr: an array.
        i: an index for each dimension.
        value: of the array's element type.

    Derivative: 1 in the value.

    >>> @wp.kernel
    ... def diagonal(m: wp.array2d[float]):
    ...     i = wp.tid()
    ...     wp.array_store(m, i, i, 1.0)
    >>> m = wp.zeros((2, 2), dtype=float)
    >>> wp.launch(diagonal, dim=2, inputs=[m])
    >>> m.list()
    [1.0, 0.0, 0.0, 1.0]
    """


def view(arr: Array[S, N], i: Int) -> Array[S]:
    """Row of an array: `arr[i]` of an array of several dimensions as a function.

    Args:
        arr: an array of several dimensions.
        i: one index or several, fewer than `arr` has dimensions.

    Returns:
        The array of the dimensions that are left. It shares the memory of `arr`.

    >>> @wp.kernel
    ... def first(m: wp.array2d[float], out: wp.array[float]):
    ...     i = wp.tid()
    ...     row = wp.view(m, i)
    ...     out[i] = row[0]
    >>> out = wp.zeros(2, dtype=float)
    >>> wp.launch(first, dim=2, inputs=[wp.ones((2, 3), dtype=float), out])
    >>> out.list()
    [1.0, 1.0]
    """


def address(arr: Array[S], i: Int) -> S:
    """Element of an array: `arr[i]` as a function, which `wp.load` and `wp.store` take as the place it is.

    Args:
        arr: an array.
        i: an index for each dimension.

    Returns:
        The element.

    Derivative: 1 in the element.

    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i = wp.tid()
    ...     wp.store(wp.address(x, i), 2.0 * wp.address(x, i))
    >>> x = wp.ones(2, dtype=float)
    >>> wp.launch(double, dim=2, inputs=[x])
    >>> x.list()
    [2.0, 2.0]
    """


def address_of(arr: Array[S], i: Int) -> uint64:
    """Address of an element in memory. Only interpreted kernels have it; compiled ones refuse it.

    Args:
        arr: an array.
        i: an index for each dimension.

    Returns:
        The address in bytes.

    >>> @wp.kernel
    ... def distance(x: wp.array[float], out: wp.array[wp.uint64]):
    ...     out[0] = wp.address_of(x, 1) - wp.address_of(x, 0)
    >>> out = wp.zeros(1, dtype=wp.uint64)
    >>> wp.launch(distance, dim=1, inputs=[wp.zeros(2, dtype=float), out], interpret=True)
    >>> int(out.list()[0])
    4
    """


# -- atomics ----------------------------------------------------------------------------------------------------------

_ATOMIC = """{summary}

Args:
    arr: an array of {elements}.
    i: an index for each dimension.
{values}

Returns:
    The element as it was before.

{derivative}

>>> @wp.kernel
... def k(x: wp.array[int]):
...     wp.{name}(x, 0, {given})
>>> x = wp.array([{before}], dtype=int)
>>> wp.launch(k, dim=4, inputs=[x])
>>> x.list()
[{after}]
"""
_ANY = "numbers, vectors, matrices or quaternions; components are changed one by one"


def _atomic(given: str, before: int, after: int, elements: str = _ANY) -> Callable[[Callable], Callable]:
    """Decorator: complete the docstring of an atomic. In its example, four threads change the element `before`."""

    def describe(function: Callable) -> Callable:
        summary, derivative = filter(None, map(str.strip, (function.__doc__ or "").splitlines()))
        values = "\n".join(f"    {name}: of the element type." for name in list(function.__annotations__)[2:-1])
        function.__doc__ = _ATOMIC.format(
            summary=summary,
            elements=elements,
            values=values,
            derivative=derivative,
            name=function.__name__,
            given=given,
            before=before,
            after=after,
        )
        return function

    return describe


@_atomic("wp.tid()", 10, 16)
def atomic_add(arr: Array[S], i: Int, value: S) -> S:
    """Add to an element, so that no thread's addition is lost.

    Derivative: 1 in the value.
    """


@_atomic("wp.tid()", 10, 4)
def atomic_sub(arr: Array[S], i: Int, value: S) -> S:
    """Subtract from an element, so that no thread's subtraction is lost.

    Derivative: -1 in the value.
    """


@_atomic("wp.tid()", 2, 0)
def atomic_min(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the lesser of it and a value.

    Derivative: that of the one chosen.
    """


@_atomic("wp.tid()", 2, 3)
def atomic_max(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the greater of it and a value.

    Derivative: that of the one chosen.
    """


@_atomic("wp.tid() | 4", 15, 4, "integers")
def atomic_and(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the bitwise and of it and a value.

    Derivative: none.
    """


@_atomic("wp.tid()", 8, 11, "integers")
def atomic_or(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the bitwise or of it and a value.

    Derivative: none.
    """


@_atomic("1 << wp.tid()", 5, 10, "integers")
def atomic_xor(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the bitwise exclusive or of it and a value.

    Derivative: none.
    """


@_atomic("7", 1, 7)
def atomic_exch(arr: Array[S], i: Int, value: S) -> S:
    """Set an element and return what it was.

    Derivative: none.
    """


@_atomic("3, 5", 3, 5, "numbers")
def atomic_cas(arr: Array[S], i: Int, expected: S, value: S) -> S:
    """Set an element if it equals what is expected (compare and swap).

    Derivative: none.
    """
