"""Signatures and documentation of the functions that the front end itself understands.

`tid`, `printf`, `cast` and their like have no body in the library (see registry.py); their meaning in kernels is in
front/calls/intrinsic_calls.py. The functions below carry their parameters and docstrings for `help(wp.tid)`, for the
type stubs and for the reference pages. Nothing calls them. Those that access arrays are in access_functions.py,
operators as functions in operator_functions.py. Types are the patterns of generics.py.
"""

from __future__ import annotations

from ..generics import Any, AnyScalar, Constant, F, M, Mat, N, Quat, S, T, Transform, Vec
from ..values.scalars import bool, int32

# -- threads ----------------------------------------------------------------------------------------------------------


def tid() -> int32:
    """Index of the thread that runs.

    `i = wp.tid()` gives one index, flattened in a launch of several dimensions. `i, j = wp.tid()` gives one index for
    each dimension of the launch, for two to four names.

    Returns:
        The index or indices, counted from 0.

    >>> @wp.kernel
    ... def table(out: wp.array2d[int]):
    ...     i, j = wp.tid()
    ...     out[i, j] = 10 * i + j
    >>> out = wp.zeros((2, 3), dtype=int)
    >>> wp.launch(table, dim=(2, 3), inputs=[out])
    >>> out.list()
    [0, 1, 2, 10, 11, 12]
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


def expect_neq(a: S, b: S) -> None:
    """Check that two values differ. Where they are equal, a line with both is printed, and the program goes on.

    Args:
        a: a value of any type that `!=` compares.
        b: another of the same type.

    Raises:
        KernelError: the values are equal, in a kernel in debug mode.

    >>> wp.expect_neq(2 + 2, 4)
    expect_neq failed: 4 is 4
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
    expect_near failed: [1.0, 2.0] and [1.0, 2.5] differ by more than 0.25
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
    ... def fill(out: wp.array[int]):
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
