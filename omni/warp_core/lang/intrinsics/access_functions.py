"""The functions of the front end itself that access elements of arrays: documentation only, as in general_functions.py.

An array of several dimensions takes as many indices: `atomic_add(a, i, j, value)`.
"""

from __future__ import annotations

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
    ... def copy(x: wp.array(dtype=float), y: wp.array(dtype=float)):
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
    ... def count(x: wp.array(dtype=int)):
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
    ... def diagonal(m: wp.array2d(dtype=float)):
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
    ... def first(m: wp.array2d(dtype=float), out: wp.array(dtype=float)):
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
    ... def double(x: wp.array(dtype=float)):
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
    ... def distance(x: wp.array(dtype=float), out: wp.array(dtype=wp.uint64)):
    ...     out[0] = wp.address_of(x, 1) - wp.address_of(x, 0)
    >>> out = wp.zeros(1, dtype=wp.uint64)
    >>> wp.launch(distance, dim=1, inputs=[wp.zeros(2, dtype=float), out], interpret=True)
    >>> int(out.list()[0])
    4
    """


# -- atomics ----------------------------------------------------------------------------------------------------------


def atomic_add(arr: Array[S], i: Int, value: S) -> S:
    """Add to an element, so that no thread's addition is lost.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: 1 in the value.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_add(x, 0, wp.tid())
    >>> x = wp.array([10], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [16]
    """


def atomic_sub(arr: Array[S], i: Int, value: S) -> S:
    """Subtract from an element, so that no thread's subtraction is lost.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: -1 in the value.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_sub(x, 0, wp.tid())
    >>> x = wp.array([10], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [4]
    """


def atomic_min(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the lesser of it and a value.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: that of the one chosen.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_min(x, 0, wp.tid())
    >>> x = wp.array([2], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [0]
    """


def atomic_max(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the greater of it and a value.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: that of the one chosen.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_max(x, 0, wp.tid())
    >>> x = wp.array([2], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [3]
    """


def atomic_and(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the bitwise and of it and a value.

    Args:
        arr: an array of integers.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_and(x, 0, wp.tid() | 4)
    >>> x = wp.array([15], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [4]
    """


def atomic_or(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the bitwise or of it and a value.

    Args:
        arr: an array of integers.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_or(x, 0, wp.tid())
    >>> x = wp.array([8], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [11]
    """


def atomic_xor(arr: Array[S], i: Int, value: S) -> S:
    """Set an element to the bitwise exclusive or of it and a value.

    Args:
        arr: an array of integers.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_xor(x, 0, 1 << wp.tid())
    >>> x = wp.array([5], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [10]
    """


def atomic_exch(arr: Array[S], i: Int, value: S) -> S:
    """Set an element and return what it was.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are exchanged one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_exch(x, 0, 7)
    >>> x = wp.array([1], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [7]
    """


def atomic_cas(arr: Array[S], i: Int, expected: S, value: S) -> S:
    """Set an element if it equals what is expected (compare and swap).

    Args:
        arr: an array of numbers.
        i: an index for each dimension.
        expected: of the element type.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array(dtype=int)):
    ...     wp.atomic_cas(x, 0, 3, 5)
    >>> x = wp.array([3], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [5]
    """
