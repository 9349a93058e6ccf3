"""Arguments that are matrices: one that an operation reads, times a number, or one that it changes."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays.array import array
from .matrix import BsrMatrix, ScaledMatrix
from .matrix_checks import MAKERS, checked


class Operand(NamedTuple):
    """A matrix and the number it is multiplied by."""

    matrix: BsrMatrix
    scale: float

    def scaled(self) -> ScaledMatrix:
        """The product, for functions that take matrices."""
        return ScaledMatrix(self.matrix, self.scale)


def operand(given: Any, name: str) -> Operand:
    """Return the operand that an argument means. Raises ValueError for other arguments."""
    if isinstance(given, BsrMatrix):
        return Operand(checked(given, name), 1.0)
    if isinstance(given, ScaledMatrix):
        return Operand(checked(given.mat, name), given.scale)
    raise ValueError(f"Argument cannot be interpreted as a BsrMatrix: {name} is of type {_type_name(given)}; {MAKERS}")


def destination(given: Any, name: str) -> BsrMatrix:
    """Return the matrix that an argument means, which changes. Raises TypeError for other arguments."""
    if isinstance(given, ScaledMatrix):
        remedy = f"write {name} = {name}.eval() before"
        raise TypeError(f"{name}: expected a matrix that can change, got a matrix times a number; {remedy}")
    if not isinstance(given, BsrMatrix):
        raise TypeError(f"{name}: expected a sparse matrix, got {_type_name(given)}; {MAKERS}")
    return checked(given, name)


def _type_name(given: Any) -> str:
    return f"wp.array of shape {given.shape}" if isinstance(given, array) else type(given).__name__
