"""The operators as functions, `wp.add(a, b)` for `a + b`: documentation only, as in general_functions.py."""

from __future__ import annotations

from ..generics import AnyScalar, Int, S, T
from ..values.scalars import bool


def add(a: S, b: S) -> S:
    """`a + b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The sum.

    Error: one rounding for each component.
    Derivative: 1 in both.

    >>> wp.add(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    vec2f([4.0, 6.0])
    """


def sub(a: S, b: S) -> S:
    """`a - b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The difference.

    Error: one rounding for each component.
    Derivative: 1 in `a`, -1 in `b`.

    >>> wp.sub(3, 5)
    -2
    """


def mul(a: S, b: S) -> S:
    """`a * b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The product: of scalars, of a scalar with any value, of matrices, vectors, quaternions, transforms.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`, multiplied from its own side.

    >>> wp.mul(2.0, wp.vec2(1.0, 2.0))
    vec2f([2.0, 4.0])
    """


def div(a: S, b: S) -> S:
    """`a / b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The quotient; of integers truncated.

    Error: correctly rounded.
    Derivative: 1 / b in `a`, -a / b**2 in `b`.

    >>> wp.div(7.0, 2.0)
    3.5
    """


def mod(a: S, b: S) -> S:
    """`a % b` as a function.

    Args:
        a: a number or vector.
        b: another of the same type.

    Returns:
        The remainder, with the sign of `a`.

    Error: exact.
    Derivative: 1 in `a`, -trunc(a / b) in `b`.

    >>> wp.mod(wp.uint32(7), wp.uint32(2))
    uint32(1)
    """


def floordiv(a: T, b: T) -> T:
    """`a // b` as a function.

    Args:
        a: a number.
        b: another of the same type.

    Returns:
        The quotient, rounded down.

    Error: exact for integers; of floats, the floor of the rounded quotient.
    Derivative: 0.

    >>> wp.floordiv(-7, 2)
    -4
    """


def bit_and(a: Int, b: Int) -> Int:
    """`a & b` as a function.

    Args:
        a: an integer.
        b: another of the same type.

    Returns:
        The bits set in both.

    >>> wp.bit_and(12, 10)
    8
    """


def bit_or(a: Int, b: Int) -> Int:
    """`a | b` as a function.

    Args:
        a: an integer.
        b: another of the same type.

    Returns:
        The bits set in either.

    >>> wp.bit_or(12, 10)
    14
    """


def bit_xor(a: Int, b: Int) -> Int:
    """`a ^ b` as a function.

    Args:
        a: an integer.
        b: another of the same type.

    Returns:
        The bits set in one of them only.

    >>> wp.bit_xor(12, 10)
    6
    """


def lshift(a: Int, b: Int) -> Int:
    """`a << b` as a function.

    Args:
        a: an integer.
        b: how many bits.

    Returns:
        `a` shifted left; bits beyond the type are lost.

    >>> wp.lshift(1, 3)
    8
    """


def rshift(a: Int, b: Int) -> Int:
    """`a >> b` as a function.

    Args:
        a: an integer.
        b: how many bits.

    Returns:
        `a` shifted right; a negative one keeps its sign.

    >>> wp.rshift(-8, 1)
    -4
    """


def neg(a: S) -> S:
    """`-a` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.

    Returns:
        The value with its sign changed.

    Error: exact.
    Derivative: -1.

    >>> wp.neg(wp.vec2(1.0, -2.0))
    vec2f([-1.0, 2.0])
    """


def pos(a: S) -> S:
    """`+a` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.

    Returns:
        The value itself.

    Error: exact.
    Derivative: 1.

    >>> wp.pos(3)
    3
    """


def invert(a: Int) -> Int:
    """`~a` as a function.

    Args:
        a: an integer.

    Returns:
        All bits inverted.

    >>> wp.invert(5)
    -6
    """


def unot(a: AnyScalar) -> bool:
    """`not a` as a function.

    Args:
        a: a bool or a number.

    Returns:
        Whether it is false or 0.

    >>> wp.unot(True)
    False
    """
