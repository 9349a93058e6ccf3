"""The loops in which a surface passes a cell, for surface nets: each loop has a vertex.

The loops are those of marching cubes (marching_cubes_table.py), whose dual surface nets are: G. Nielson, "Dual marching
cubes", IEEE Visualization 2004. In some cases both lines of a face belong to one loop. If that is so in both cells at
the face, the edge between their two vertices would have four faces. There the lines of the face join the corners above
instead, which makes two loops of one in both cells: R. Wenger, "Isosurfaces", 2013, on dual contouring. A case has at
most one such face.

A loop is a set of edges, as bits. Edge `axis * 4 + u + 2 * v` runs along an axis, at offset u in the next axis and at v
in the one after it.
"""

from __future__ import annotations

from .marching_cubes_table import CORNERS, EDGES, FACES, lines, loops

MOST_LOOPS = 4  # of a cell


def _bit(edge: int) -> int:
    """Return the bit of an edge of the table of marching cubes."""
    begin, end = (CORNERS[corner] for corner in EDGES[edge])
    axis = next(i for i in range(3) if begin[i] != end[i])
    return 1 << (axis * 4 + begin[(axis + 1) % 3] + 2 * begin[(axis + 2) % 3])


def _row(case: int, joined: int = -1) -> tuple[int, ...]:
    """Return the loops of a case as bits of edges, and zeros for loops that there are not."""
    found = [sum(map(_bit, loop)) for loop in loops(case, joined)]
    return (*found, *[0] * (MOST_LOOPS - len(found)))


def _face_of_one_loop(case: int) -> int:
    """Return the face with two lines that belong to one loop, or -1."""
    for f, face in enumerate(FACES):
        starts = [start for start, _ in lines(case, face)]
        if len(starts) == 2 and any({*starts} <= {*loop} for loop in loops(case)):
            return f
    return -1


JOINED_FACES = tuple(map(_face_of_one_loop, range(256)))
"""The face of each case on which both lines belong to one loop, or -1."""
LOOPS = tuple((_row(case), _row(case, JOINED_FACES[case])) for case in range(256))
"""The loops of each case: as they are, and with the lines of that face joined."""
