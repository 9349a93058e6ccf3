"""The triangles of the 256 cases of marching cubes, derived from the geometry of a cube.

The method is that of W. Lorensen and H. Cline, "Marching cubes: a high resolution 3D surface construction algorithm",
SIGGRAPH 1987. A vertex lies on each edge of a cell whose ends are on different sides of the surface. The sides of the
eight corners say which triangles connect the vertices. The 15 patterns of the paper leave holes between some cells.
This table leaves no holes:

1. On each face, lines cut off each run of corners above the threshold. The two corners of a diagonal are two runs. The
   lines of a face depend on its four corners alone, so the two cells that share it agree.
2. A line has a direction: corners above lie on a fixed side of it. Each vertex lies on two faces, ends a line of one
   and begins a line of the other. So the lines of a case form loops.
3. A loop becomes triangles without a diagonal between two vertices of one face. The neighbour might have that diagonal,
   too, and four triangles would meet there. Every loop has such triangles, and the first ones are taken.

So each edge inside the grid belongs to two triangles, which use it in opposite directions. Triangles are counter
clockwise when seen from corners above.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

Triangle = tuple[int, int, int]

CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
EDGES = ((0, 1), (1, 2), (3, 2), (0, 3), (4, 5), (5, 6), (7, 6), (4, 7), (0, 4), (1, 5), (2, 6), (3, 7))
# The corners of each face, counter clockwise when seen from outside; faces 2 * axis and 2 * axis + 1 are opposite.
FACES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
_EDGE_OF = {frozenset(corners): edge for edge, corners in enumerate(EDGES)}
_FACES_OF = [{f for f, corners in enumerate(FACES) if {*ends} <= {*corners}} for ends in EDGES]


def triangles(case: int) -> list[Triangle]:
    """Return the triangles of a case, each of three edges whose vertices it connects.

    Args:
        case: bit i is set if corner i is above the threshold.
    """
    return [triangle for loop in loops(case) for triangle in _triangulate(loop)]


def loops(case: int, joined: int = -1) -> list[tuple[int, ...]]:
    """Return the loops in which the surface cuts the faces of a cell, as edges in order.

    Args:
        case: as above.
        joined: a face whose lines cut off the corners below instead, so that corners above are joined; -1 for none.
    """
    following = {start: end for f, face in enumerate(FACES) for start, end in lines(case, face, f == joined)}
    found = []
    while following:
        loop = [min(following)]
        while (edge := following.pop(loop[-1])) != loop[0]:
            loop.append(edge)
        found.append(tuple(loop))
    return found


def lines(case: int, face: tuple[int, ...], joined: bool = False) -> Iterator[tuple[int, int]]:
    """Give the lines of a face: from the edge where a run of corners above ends back to where it begins.

    With `joined`, they go on to where the next run begins. That cuts off the run of corners below between them.
    """
    above = [case >> corner & 1 for corner in face]
    edges = [_EDGE_OF[frozenset((face[i - 1], face[i]))] for i in range(4)]  # edge i ends at corner i
    for first in range(4):
        if above[first] and not above[first - 1]:
            last = next(i for i in range(first + 1, first + 4) if not above[i % 4])
            following = next(i for i in range(last, last + 4) if above[i % 4])
            yield edges[last % 4], edges[following % 4 if joined else first]


def _triangulate(loop: tuple[int, ...]) -> tuple[Triangle, ...]:
    """Return the first triangles of a loop that have no diagonal in a face."""
    return next(found for found in _triangulations(loop) if not any(map(_is_in_face, _diagonals(loop, found))))


def _triangulations(loop: tuple[int, ...]) -> Iterator[tuple[Triangle, ...]]:
    """Give all ways to cut a loop into triangles."""
    if len(loop) < 3:
        yield ()
    for i in range(1, len(loop) - 1):
        for left in _triangulations(loop[: i + 1]):
            for right in _triangulations(loop[i:]):
                yield ((loop[0], loop[i], loop[-1]), *left, *right)


def _diagonals(loop: tuple[int, ...], found: tuple[Triangle, ...]) -> set[frozenset[int]]:
    """Return the sides of triangles that are no sides of the loop."""
    sides = {frozenset(side) for triangle in found for side in combinations(triangle, 2)}
    return sides - {frozenset((loop[i - 1], loop[i])) for i in range(len(loop))}


def _is_in_face(side: frozenset[int]) -> bool:
    """True if a face has both ends of a side."""
    a, b = side
    return bool(_FACES_OF[a] & _FACES_OF[b])


TRIANGLES = tuple(tuple(triangles(case)) for case in range(256))
