"""Positions anywhere in cells of meshes, and their derivatives: between vertices, linear in each coordinate.

Each kind of cells has its own formulas, as general polynomials would take several times as long. Start with
`vertex_maps`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from typing import Any

from ... import matrix_from_cols
from ...lang.kernel import Function, func
from .reference_cells import Element


@func
def vertex(g: Any, cell: int, number: int):
    """The position of a vertex of a cell."""
    return g.positions[g.corners[cell, number]]


@func
def position_in_triangle(g: Any, cell: int, place: Any, coords: Any):
    """The position in a triangle."""
    a = vertex(g, cell, 0)
    return a + (vertex(g, cell, 1) - a) * coords[0] + (vertex(g, cell, 2) - a) * coords[1]


@func
def jacobian_of_triangle(g: Any, cell: int, place: Any):
    """The derivative in a triangle, the same everywhere."""
    a = vertex(g, cell, 0)
    return matrix_from_cols(vertex(g, cell, 1) - a, vertex(g, cell, 2) - a)


@func
def position_in_tetrahedron(g: Any, cell: int, place: Any, coords: Any):
    """The position in a tetrahedron."""
    a = vertex(g, cell, 0)
    x, y, z = vertex(g, cell, 1) - a, vertex(g, cell, 2) - a, vertex(g, cell, 3) - a
    return a + x * coords[0] + y * coords[1] + z * coords[2]


@func
def jacobian_of_tetrahedron(g: Any, cell: int, place: Any):
    """The derivative in a tetrahedron, the same everywhere."""
    a = vertex(g, cell, 0)
    return matrix_from_cols(vertex(g, cell, 1) - a, vertex(g, cell, 2) - a, vertex(g, cell, 3) - a)


@func
def between(a: Any, b: Any, share: Any):
    """The point of an edge with a share of its end."""
    return a + (b - a) * share


@func
def position_in_square(g: Any, cell: int, place: Any, coords: Any):
    """The position in a quadrilateral."""
    lower = between(vertex(g, cell, 0), vertex(g, cell, 1), coords[0])
    upper = between(vertex(g, cell, 3), vertex(g, cell, 2), coords[0])
    return between(lower, upper, coords[1])


@func
def jacobian_of_square(g: Any, cell: int, place: Any):
    """The derivative in a quadrilateral."""
    a, b, c, d = vertex(g, cell, 0), vertex(g, cell, 1), vertex(g, cell, 2), vertex(g, cell, 3)
    return matrix_from_cols(between(b - a, c - d, place[1]), between(d - a, c - b, place[0]))


@func
def position_in_cube(g: Any, cell: int, place: Any, coords: Any):
    """The position in a hexahedron."""
    front = between(vertex(g, cell, 0), vertex(g, cell, 1), coords[0])
    back = between(vertex(g, cell, 3), vertex(g, cell, 2), coords[0])
    upper_front = between(vertex(g, cell, 4), vertex(g, cell, 5), coords[0])
    upper_back = between(vertex(g, cell, 7), vertex(g, cell, 6), coords[0])
    return between(between(front, back, coords[1]), between(upper_front, upper_back, coords[1]), coords[2])


@func
def jacobian_of_cube(g: Any, cell: int, place: Any):
    """The derivative in a hexahedron."""
    a, b, c, d = vertex(g, cell, 0), vertex(g, cell, 1), vertex(g, cell, 2), vertex(g, cell, 3)
    e, f, h, i = vertex(g, cell, 4), vertex(g, cell, 5), vertex(g, cell, 6), vertex(g, cell, 7)
    u, v, w = place[0], place[1], place[2]
    along_u = between(between(b - a, c - d, v), between(f - e, h - i, v), w)
    along_v = between(between(d - a, c - b, u), between(i - e, h - f, u), w)
    along_w = between(between(e - a, f - b, u), between(i - d, h - c, u), v)
    return matrix_from_cols(along_u, along_v, along_w)


_MAPS = {
    Element.TRIANGLE: (position_in_triangle, jacobian_of_triangle),
    Element.SQUARE: (position_in_square, jacobian_of_square),
    Element.TETRAHEDRON: (position_in_tetrahedron, jacobian_of_tetrahedron),
    Element.CUBE: (position_in_cube, jacobian_of_cube),
}


def vertex_maps(kind: Element) -> dict[str, Function]:
    """What meshes of a kind of cells supply for positions anywhere in cells."""
    return dict(zip(("position_at", "jacobian_at"), _MAPS[kind]))
