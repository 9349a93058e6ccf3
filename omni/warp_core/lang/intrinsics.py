"""What the functions that the front end itself understands are called with, and what they do: documentation only.

`tid`, `printf`, `atomic_add` and their like have no body in the library (see registry.py); their meaning in kernels is
in front/intrinsics.py. The functions below carry their parameters and docstrings for `help(wp.tid)`, for the type stubs
and for the reference pages. Nothing calls them; operators as functions are in operators.py.
Types are the patterns of generics.py.
"""

from __future__ import annotations

from .generics import Any, AnyScalar, Array, Constant, F, Int, M, Mat, N, Quat, S, T, Transform, Vec
from .scalars import bool, int32, uint64

# -- threads ----------------------------------------------------------------------------------------------------------


def tid() -> int32:
    """Index of the thread that runs.

    `i = wp.tid()` gives one index, flattened in a launch of several dimensions; `i, j = wp.tid()` gives one index for
    each dimension of the launch, for two to four names.

    Returns:
        The index or indices, counted from 0.

    >>> @wp.kernel
    ... def table(out: wp.array2d(dtype=int)):
    ...     i, j = wp.tid()
    ...     out[i, j] = 10 * i + j
    >>> out = wp.zeros((2, 3), dtype=int)
    >>> wp.launch(table, dim=(2, 3), inputs=[out])
    >>> out.list()
    [0, 1, 2, 10, 11, 12]
    """


def block_dim() -> int32:
    """Number of threads in a block of the launch; this device has no blocks of several threads.

    Returns:
        1 at Python scope. Kernels for the CPU refuse it.

    >>> int(wp.block_dim())
    1
    """


# -- output and checks ------------------------------------------------------------------------------------------------


def printf(text: Constant, *args: Any) -> None:
    r"""Print formatted text, as C does.

    Lines of different threads come in any order; one call's text stays together.

    Args:
        text: a string literal with C's conversions: %d, %u, %x, %c, %f, %g, %s and so on, with flags, width and
            precision. %c shows a character of ASCII.
        args: one scalar or string for each conversion.

    >>> wp.printf("%d of %d: %.2f\n", 1, 4, 0.25)
    1 of 4: 0.25
    """


def print(*args: Any) -> None:
    """Print values of any type, separated by spaces, and end the line.

    Args:
        args: scalars, vectors, matrices, structs, strings.

    >>> wp.print(wp.vec2(1.0, 2.0))
    [1.0, 2.0]
    """


def expect_eq(a: S, b: S) -> None:
    """Check that two values are equal. Where they are not, a line with both is printed, and the program goes on.

    Args:
        a: a value of any type that `==` compares.
        b: another of the same type.

    Raises:
        KernelError: the values differ, in a kernel in debug mode.

    >>> wp.expect_eq(2 + 2, 5)
    expect_eq failed: 4 is not 5
    """


def expect_near(a: S, b: S, tolerance: float = 1e-6) -> None:
    """Check that two values differ by little. Where they do not, a line with both is printed, and the program goes on.

    Args:
        a: a float, or a vector, matrix, quaternion or transform of floats.
        b: another of the same type.
        tolerance: how much no component may differ by more than; NaN always does.

    Raises:
        KernelError: the values differ by more, in a kernel in debug mode.

    >>> wp.expect_near(wp.vec2(1.0, 2.0), wp.vec2(1.0, 2.5), 0.25)
    expect_near failed: [1, 2] and [1, 2.5] differ by more than 0.25
    """


# -- selection and conversion -----------------------------------------------------------------------------------------


def where(condition: bool, if_true: S, if_false: S) -> S:
    """One of two values. Both are computed; the ternary `a if c else b` computes only the one it gives.

    Args:
        condition: a bool, or a number that counts as true unless it is 0.
        if_true: a value of any type.
        if_false: another of the same type.

    Returns:
        `if_true` where the condition holds, else `if_false`.

    Derivative: that of the value chosen.

    >>> float(wp.where(2 > 1, 10.0, 20.0))
    10.0
    """


def select(condition: bool, if_false: S, if_true: S) -> S:
    """The older spelling of `where`, with the value for false first.

    Args:
        condition: a bool, or a number that counts as true unless it is 0.
        if_false: a value of any type.
        if_true: another of the same type.

    Returns:
        `if_true` where the condition holds, else `if_false`.

    Derivative: that of the value chosen.

    >>> float(wp.select(2 > 1, 10.0, 20.0))
    20.0
    """


def cast(a: AnyScalar, dtype: Constant) -> AnyScalar:
    """The bits of a number read as another type of the same size.

    Args:
        a: a scalar.
        dtype: the scalar type to read it as, of as many bits.

    Returns:
        The number that has these bits.

    Derivative: none.

    >>> wp.cast(1.0, wp.int32)
    1065353216
    """


def static(x: Constant) -> Constant:
    """Value of a Python expression, evaluated once when the kernel compiles.

    Args:
        x: any expression of Python over module names, closure variables and constants.

    Returns:
        Its value, as if it had been written there.

    >>> sizes = {"small": 4}
    >>> @wp.kernel
    ... def fill(out: wp.array(dtype=int)):
    ...     out[wp.tid()] = wp.static(sizes["small"] * 2)
    >>> out = wp.zeros(1, dtype=int)
    >>> wp.launch(fill, dim=1, inputs=[out])
    >>> out.list()
    [8]
    """


def constant(x: Constant) -> Constant:
    """Mark a value as a compile-time constant. Kernels capture constants by themselves; this changes nothing.

    Args:
        x: a number, vector, matrix, tuple or enum.

    Returns:
        `x`.

    >>> wp.constant(0.5)
    0.5
    """


def len(a: Any) -> int32:
    """Extent of the first dimension.

    Args:
        a: an array, vector, matrix or tuple.

    Returns:
        Elements of an array's first dimension, components of a vector, rows of a matrix, items of a tuple.

    >>> int(wp.len(wp.vec3()))
    3
    """


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
# An array of several dimensions takes as many indices: `atomic_add(a, i, j, value)`.


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


# -- values of any size -----------------------------------------------------------------------------------------------


def vector(*args: AnyScalar, length: Constant = None, dtype: Constant = None) -> Vec[N, T]:
    """Vector of any length.

    Args:
        args: the components, one number for all of them, or another vector to convert.
        length: how many components; taken from `args` if left out.
        dtype: their type; taken from `args` if left out.

    Returns:
        The vector; zero without components. `wp.types.vector(length, dtype)` is its type.

    Derivative: 1 in each component given.

    >>> wp.vector(1.0, 2.0, 3.0, length=3)
    vec3f([1.0, 2.0, 3.0])
    """


def matrix(*args: AnyScalar, shape: Constant = None, dtype: Constant = None) -> Mat[M, N, T]:
    """Matrix of any shape.

    Args:
        args: the components row by row, one number for all of them, or another matrix to convert.
        shape: (rows, columns).
        dtype: their type; taken from `args` if left out.

    Returns:
        The matrix; zero without components. `wp.types.matrix(shape, dtype)` is its type.

    Derivative: 1 in each component given.

    >>> wp.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2))[1]
    vec2f([3.0, 4.0])
    """


def quaternion(*args: F, dtype: Constant = None) -> Quat[F]:
    """Quaternion x, y, z, w of any float type.

    Args:
        args: four numbers, or a vector and the real part.
        dtype: their type; taken from `args` if left out.

    Returns:
        The quaternion; zero without components.

    Derivative: 1 in each component given.

    >>> wp.quaternion(0.0, 0.0, 0.0, 1.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """


def transformation(p: Vec[3, F], q: Quat[F], dtype: Constant = None) -> Transform[F]:
    """Rigid transform of any float type.

    Args:
        p: the translation.
        q: the rotation, a unit quaternion.
        dtype: the type of the components; taken from the arguments if left out.

    Returns:
        The transform that rotates by `q`, then moves by `p`.

    Derivative: 1 in `p` and `q`.

    >>> wp.transformation(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    transformf([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    """


def identity(n: Constant, dtype: Constant = None) -> Mat[N, N, T]:
    """Identity matrix of any size.

    Args:
        n: rows and columns.
        dtype: the type of the components; float32 if left out.

    Returns:
        The matrix with ones on its diagonal.

    Derivative: none.

    >>> wp.identity(n=2, dtype=float)[1]
    vec2f([0.0, 1.0])
    """


def matrix_from_rows(*rows: Vec[N, T]) -> Mat[M, N, T]:
    """Matrix of the given rows.

    Args:
        rows: vectors of one type.

    Returns:
        The matrix with as many rows as vectors were given.

    Derivative: the rows of the result's.

    >>> wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))[0]
    vec2f([1.0, 2.0])
    """


def matrix_from_cols(*cols: Vec[M, T]) -> Mat[M, N, T]:
    """Matrix of the given columns.

    Args:
        cols: vectors of one type.

    Returns:
        The matrix with as many columns as vectors were given.

    Derivative: the columns of the result's.

    >>> wp.matrix_from_cols(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))[0]
    vec2f([1.0, 3.0])
    """
