"""Facts of the values of fields and spaces: the types of their derivatives, and where they are known."""

from __future__ import annotations

from typing import Any

from ...lang.types import Mat, Scalar, Vec
from ...lang.values.type_registry import wc_type
from ..index_types import ElementKind
from ..kernel_records import matrix_type, scalar_class, vector_type


class ValueFacts:
    """Facts of fields and function spaces, which have a `geometry` and a `dtype`."""

    geometry: Any
    dtype: Any

    @property
    def element_kind(self) -> ElementKind:
        """Whether values belong to cells or to sides."""
        return ElementKind.CELL

    @property
    def gradient_dtype(self) -> Any:
        """The type of gradients; None for values that have none."""
        t: Any = wc_type(self.dtype)
        if isinstance(t, Scalar):
            return vector_type(self.geometry.dimension, t)
        return matrix_type(t.count, self.geometry.dimension, t.scalar) if isinstance(t, Vec) else None

    @property
    def divergence_dtype(self) -> Any:
        """The type of divergences: a number for vectors, a vector for matrices, None for numbers."""
        t: Any = wc_type(self.dtype)
        if isinstance(t, Mat):
            return vector_type(t.cols, t.scalar)
        return scalar_class(t.scalar) if isinstance(t, Vec) else None

    def gradient_valid(self) -> bool:
        """Return True if values have a gradient."""
        return self.gradient_dtype is not None

    def divergence_valid(self) -> bool:
        """Return True if values have a divergence: vectors and matrices with a row for each axis."""
        t: Any = wc_type(self.dtype)
        rows = t.rows if isinstance(t, Mat) else getattr(t, "count", None)
        return rows == self.geometry.dimension
