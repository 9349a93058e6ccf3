"""Types and constants of indices and coordinates, by the names of `warp.fem`."""

from __future__ import annotations

import enum

from .. import vec3, vec3d  # type: ignore[attr-defined]
from ..lang.values.struct_operators import StructOperator

__all__ = [
    *("Coords", "Coords_f64", "ElementIndex", "ElementKind", "NULL_ELEMENT_INDEX", "NULL_NODE_INDEX", "NULL_QP_INDEX"),
    *("NodeIndex", "Operator", "QuadraturePointIndex"),
]

ElementIndex = int
NodeIndex = int
QuadraturePointIndex = int
Coords = vec3
Coords_f64 = vec3d
Operator = StructOperator

NULL_ELEMENT_INDEX = -1  # of cells that a partition lacks
NULL_NODE_INDEX = 2**31 - 1  # of nodes that a partition lacks
NULL_QP_INDEX = -1  # of samples that are no points of a quadrature


class ElementKind(enum.Enum):
    """What the elements of a domain are."""

    CELL = 0
    SIDE = 1
