"""Mappers: a field of symmetric or skew matrices has fewer numbers at a node than its values have.

A mapper has a matrix for each number at a node. The value is the sum of the matrices, each times its number. Two of
them are orthogonal, and the squares of the elements of one sum up to 2. Start with `SymmetricTensorMapper`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

import enum
from typing import Any

import numpy as np

from ... import ddot
from ...lang.kernel import Function, func
from ...lang.types import F32, Mat
from ...lang.values.type_registry import wc_type
from ..kernel_records import matrix_type, scalar_class, vector_type

__all__ = ["DofMapper", "SkewSymmetricTensorMapper", "SymmetricTensorMapper"]


class DofMapper:
    """How the numbers at a node become the value of a field: what mappers derive from.

    Attributes:
        value_dtype: The type of values.
        dof_dtype: The type of what a node has.
        DOF_SIZE: How many numbers a node has.
        dof_to_value: The `wp.func` that makes a value.
        value_to_dof: The `wp.func` that makes what a node has.
    """

    value_dtype: Any
    dof_dtype: Any
    DOF_SIZE: int
    dof_to_value: Function
    value_to_dof: Function

    @property
    def key(self) -> tuple[str, ...]:
        """Words that tell it from other mappers: those of equal words map alike."""
        return type(self).__name__, self.dof_to_value.name, self.value_to_dof.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DofMapper) and other.key == self.key and other.value_dtype is self.value_dtype

    def __hash__(self) -> int:
        return hash(self.key)


class _TensorMapper(DofMapper):
    """A mapper to square matrices, given the matrix of each number at a node."""

    def __init__(self, dtype: Any, matrices: dict[int, np.ndarray], word: str):
        t: Any = wc_type(dtype)
        if not isinstance(t, Mat) or t.rows != t.cols or t.rows not in matrices:
            name = getattr(dtype, "__name__", dtype)
            raise TypeError(f"{type(self).__name__}: expected a type of matrices of 2 x 2 or 3 x 3, got {name}")
        self.value_dtype, self._word, picked = dtype, word, matrices[t.rows]
        self.DOF_SIZE, number = len(picked), scalar_class(t.scalar)
        self.dof_dtype = number if len(picked) == 1 else vector_type(len(picked), t.scalar)
        basis = tuple(dtype(*m.ravel().tolist()) for m in picked)
        made = _of_a_number if len(picked) == 1 else _of_numbers
        self.dof_to_value, self.value_to_dof = made(self.dof_dtype, dtype, basis, number(0.5))

    @property
    def key(self) -> tuple[str, ...]:
        """Words that tell it from other mappers."""
        return type(self).__name__, self._word


def _of_numbers(dof: Any, value: Any, basis: tuple, half: Any) -> tuple[Function, Function]:
    count = len(basis)

    @func
    def to_matrix(x: dof):
        found = x[0] * basis[0]
        for i in range(1, count):
            found += x[i] * basis[i]
        return found

    @func
    def to_numbers(x: value):
        return dof(*[half * ddot(matrix, x) for matrix in basis])

    return to_matrix, to_numbers


def _of_a_number(dof: Any, value: Any, basis: tuple, half: Any) -> tuple[Function, Function]:
    only = basis[0]

    @func
    def to_matrix(x: dof):
        return x * only

    @func
    def to_number(x: value):
        return half * ddot(only, x)

    return to_matrix, to_number


def _unit(n: int, i: int, j: int) -> np.ndarray:
    found = np.zeros((n, n))
    found[i, j] = 1.0
    return found


# The pairs of axes of the elements off the diagonal, in the order of the axes that are left.
_PAIRS = {2: [(0, 1)], 3: [(1, 2), (0, 2), (0, 1)]}
_OFF_DIAGONAL = {n: [_unit(n, i, j) + _unit(n, j, i) for i, j in pairs] for n, pairs in _PAIRS.items()}
_EACH_ELEMENT = {n: np.array([*(np.sqrt(2.0) * _unit(n, i, i) for i in range(n)), *_OFF_DIAGONAL[n]]) for n in (2, 3)}
_TRACE_AND_REST = {
    2: np.array([np.eye(2), np.diag([1.0, -1.0]), *_OFF_DIAGONAL[2]]),
    3: np.array(
        [
            *(np.sqrt(2.0 / 3.0) * np.eye(3), np.diag([1.0, -1.0, 0.0])),
            *(np.diag([-1.0, -1.0, 2.0]) / np.sqrt(3.0), *_OFF_DIAGONAL[3]),
        ]
    ),
}
_CROSS_PRODUCTS = {
    2: np.array([_unit(2, 1, 0) - _unit(2, 0, 1)]),
    3: np.array([_unit(3, (i + 2) % 3, (i + 1) % 3) - _unit(3, (i + 1) % 3, (i + 2) % 3) for i in range(3)]),
}


class SymmetricTensorMapper(_TensorMapper):
    """A mapper to symmetric matrices: of 2 x 2 with 3 numbers at a node, of 3 x 3 with 6.

    Args:
        dtype: The type of matrices.
        mapping: What the numbers are.

    >>> mapper = wp.fem.SymmetricTensorMapper(wp.mat22)
    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(1, 1)), dof_mapper=mapper)
    >>> space.dtype is wp.mat22, space.dof_dtype is wp.vec3
    (True, True)
    """

    class Mapping(enum.Enum):
        """What the numbers of a symmetric matrix are."""

        VOIGT = 0
        """The elements on the diagonal divided by the root of 2, then those off the diagonal."""
        DB16 = 1
        """The trace, scaled, then what is left of the diagonal, then the elements off the diagonal."""

    def __init__(self, dtype: Any, mapping: Mapping = Mapping.VOIGT):
        self.mapping = mapping
        matrices = _EACH_ELEMENT if mapping is self.Mapping.VOIGT else _TRACE_AND_REST
        super().__init__(dtype, matrices, mapping.name)


# Functions of kernels, for matrices of float32: `SymmetricTensorMapper.value_to_dof_3d(stress)` and the like.
for _name, _mapping in (("", SymmetricTensorMapper.Mapping.DB16), ("_voigt", SymmetricTensorMapper.Mapping.VOIGT)):
    for _n in (2, 3):
        _mapper = SymmetricTensorMapper(matrix_type(_n, _n, F32), _mapping)
        setattr(SymmetricTensorMapper, f"dof_to_value_{_n}d{_name}", _mapper.dof_to_value)
        setattr(SymmetricTensorMapper, f"value_to_dof_{_n}d{_name}", _mapper.value_to_dof)


class SkewSymmetricTensorMapper(_TensorMapper):
    """A mapper to skew matrices: of 2 x 2 with a number at a node; of 3 x 3 with 3, the vector of a cross product.

    Args:
        dtype: The type of matrices.

    >>> wp.fem.SkewSymmetricTensorMapper(wp.mat33).DOF_SIZE
    3
    """

    def __init__(self, dtype: Any):
        super().__init__(dtype, _CROSS_PRODUCTS, "")
