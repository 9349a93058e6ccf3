"""Surfaces of scalar fields, by marching cubes. The table of triangles is in marching_cubes_table.py.

Kernels find the edges that have a vertex and count triangles, running sums number both, and other kernels write them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ... import vec3
from ...arrays.array import array
from ...arrays.factories import empty, full, zeros
from ...devices.device import Device, get_device
from ...dispatch import capture, observers
from ...lang.values.scalars import int32, int64, uint32
from ...launches.launch import launch
from . import grid_words, numbering
from . import marching_cubes_kernels as kernels
from .field_checks import check_field, level, spacing
from .iso_surface import IsoSurfaceBase
from .marching_cubes_table import CORNERS, EDGES, TRIANGLES

__all__ = ["IsoSurfaceMarchingCubes", "MarchingCubes"]

_UNKNOWN_SIZES = (
    "wp.MarchingCubes with results whose sizes depend on the field (make an object with max_verts and max_tris)"
)
_LOCAL = tuple(edge for case in TRIANGLES for triangle in case for edge in triangle)
_RANGES = tuple(3 * sum(map(len, TRIANGLES[:case])) for case in range(257))


class MarchingCubes(IsoSurfaceBase):
    """Surfaces where a scalar field has a value, as triangles; for fields of one size.

    A field has a value at each node of a grid, and a cell has eight nodes as its corners. Vertices lie on the edges of
    cells, where the value of the field, taken as linear along the edge, is the threshold. Cells that share an edge
    share its vertex. Triangles are counter clockwise when seen from where values are greater. The surface has no holes
    and no edge with more than two triangles, and ends only at the boundary of the grid and at values that are NaN.

    Args:
        nx: nodes in x.
        ny: nodes in y.
        nz: nodes in z.
        lower: where the first node is, three numbers. None is the origin.
        upper: where the last node is. None is (nx - 1, ny - 1, nz - 1), so that positions are indices of nodes.
        device: where fields are. None takes fields on every device.
        domain_bounds_lower_corner: another name of `lower`.
        domain_bounds_upper_corner: another name of `upper`.
        max_verts: vertices for which there is room when a graph captures `surface`. Otherwise results are as large as
            the surface, whatever this is.
        max_tris: triangles, likewise.

    Attributes:
        nx, ny, nz: nodes in each direction.
        lower, upper: where the first and the last node are, as given.
        verts: the vertices of the last surface, an array of vec3; None before the first.
        indices: three int32 for each triangle, which are indices of vertices; None before the first surface.
        sizes: two int64, the numbers of vertices and of indices that were found, or None before the first surface.

    Raises:
        TypeError, ValueError: If a number of nodes is not a positive integer, or a corner is not three finite numbers.

    >>> x, y, z = np.mgrid[:20, :20, :20] - 9.5
    >>> field = wp.array(np.sqrt(x * x + y * y + z * z), dtype=float, device="cpu")
    >>> cubes = wp.MarchingCubes(20, 20, 20, device="cpu")
    >>> cubes.surface(field, 6.0)
    >>> radius = np.linalg.norm(cubes.verts.numpy() - 9.5, axis=1)
    >>> bool(abs(radius - 6.0).max() < 0.05)
    True
    """

    CUBE_CORNER_OFFSETS = CORNERS
    """The offset in x, y and z of each of the eight corners of a cell."""
    EDGE_TO_CORNERS = EDGES
    """The two corners of each of the twelve edges of a cell."""
    CASE_TO_TRI_RANGE = _RANGES
    """Where the indices of each of the 256 cases begin, and the end. Bit i of a case: corner i is not below."""
    TRI_LOCAL_INDICES = _LOCAL
    """The edges on which the corners of triangles lie, three for a triangle, for all cases in order."""

    def __init__(
        self,
        nx: int,
        ny: int,
        nz: int,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
        device: Any = None,
        *,
        domain_bounds_lower_corner: Sequence[float] | None = None,
        domain_bounds_upper_corner: Sequence[float] | None = None,
        max_verts: int = 0,
        max_tris: int = 0,
    ):
        super().__init__(
            nx,
            ny,
            nz,
            lower=domain_bounds_lower_corner if lower is None else lower,
            upper=domain_bounds_upper_corner if upper is None else upper,
            device=device,
            max_verts=max_verts,
            max_tris=max_tris,
        )
        if all(self._room):
            _tables(get_device(device))  # a capture could not copy them to a GPU

    @property
    def domain_bounds_lower_corner(self) -> Sequence[float] | None:
        """Another name of `lower`."""
        return self.lower

    @domain_bounds_lower_corner.setter
    def domain_bounds_lower_corner(self, value: Sequence[float] | None) -> None:
        self.lower = value

    @property
    def domain_bounds_upper_corner(self) -> Sequence[float] | None:
        """Another name of `upper`."""
        return self.upper

    @domain_bounds_upper_corner.setter
    def domain_bounds_upper_corner(self, value: Sequence[float] | None) -> None:
        self.upper = value

    def surface(self, field: array, threshold: float) -> None:
        """Find the surface of a field. The results are new arrays, `verts`, `indices` and `sizes`.

        A graph can capture this if there are `max_verts` and `max_tris`. In a capture, `verts` and `indices` are as
        large as these say, and each launch of the graph fills them and `sizes`. Vertices and indices beyond the sizes
        are zero. If the surface is larger than the room, there are no triangles, and `sizes` says what was needed.

        Args:
            field: float32, of shape (nx, ny, nz).
            threshold: the value on the surface.

        Raises:
            TypeError, ValueError, RuntimeError: As `extract` does, or if the field has another shape or is on another
                device.

        >>> cubes = wp.MarchingCubes(2, 2, 2, device="cpu")
        >>> cubes.surface(wp.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], device="cpu"), 0.5)
        >>> cubes.verts.list()
        [vec3(0.5, 0.0, 0.0), vec3(0.0, 0.5, 0.0), vec3(0.0, 0.0, 0.5)]
        """
        room = self._room_for(field)
        self.verts, self.indices, self.sizes = _surface(field, threshold, self.lower, self.upper, room)

    @classmethod
    def extract(
        cls,
        field: array,
        threshold: float = 0.0,
        *,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
    ) -> tuple[array, array]:
        """Return the surface of a field of any size.

        Values at least the threshold are on one side of the surface, and lesser ones on the other. Cells with a corner
        that is NaN are left out. Next to an infinite value, the vertex lies on the other end of the edge.

        Vertices have gradients with respect to the field, on tapes and in forward mode. Which vertices there are, and
        the indices, change in jumps and have no derivative.

        Args:
            field: float32, of three dimensions, each with at least two nodes.
            threshold: the value on the surface; finite.
            lower: where the first node is, three numbers. None is the origin.
            upper: where the last node is. None puts the nodes at their indices.

        Returns:
            The vertices, an array of vec3, and the indices of vertices, three int32 for each triangle. Both are on the
            device of the field. They do not depend on the number of threads.

        Raises:
            TypeError: If `field` is not an array of float32, or another argument has another type.
            ValueError: If `field` has other dimensions, the threshold or a corner is not finite, or there are more than
                2**31 - 1 indices.
            RuntimeError: If a graph captures this, as the sizes of the results are not known then. See `surface`.

        >>> field = wp.array(np.mgrid[:3, :2, :2][0], dtype=float, device="cpu")
        >>> vertices, indices = wp.MarchingCubes.extract(field, 0.25)
        >>> vertices.numpy()[:, 0].tolist(), indices.size // 3
        ([0.25, 0.25, 0.25, 0.25], 2)
        """
        return _surface(field, threshold, lower, upper, None)[:2]

    @staticmethod
    def extract_surface_marching_cubes(
        field: array,
        threshold: float = 0.0,
        domain_bounds_lower_corner: Sequence[float] | None = None,
        domain_bounds_upper_corner: Sequence[float] | None = None,
    ) -> tuple[array, array]:
        """Return the surface of a field of any size: another name of `extract`.

        Args:
            field: as there.
            threshold: as there.
            domain_bounds_lower_corner: `lower` there.
            domain_bounds_upper_corner: `upper` there.

        Returns:
            The vertices and the indices.

        Raises:
            TypeError, ValueError, RuntimeError: As `extract` does.

        >>> field = wp.zeros((4, 4, 4), dtype=float, device="cpu")
        >>> vertices, indices = wp.MarchingCubes.extract_surface_marching_cubes(field, 1.0)
        >>> vertices.size, indices.size
        (0, 0)
        """
        return MarchingCubes.extract(
            field, threshold, lower=domain_bounds_lower_corner, upper=domain_bounds_upper_corner
        )


IsoSurfaceMarchingCubes = MarchingCubes


class _Tables(NamedTuple):
    ranges: array
    corners: array


@cache
def _tables(device: Device) -> _Tables:
    """Return the table of triangles, as `kernels.connect` takes it."""
    codes = []
    for edge in _LOCAL:
        begin, end = (CORNERS[corner] for corner in EDGES[edge])
        axis = next(i for i in range(3) if begin[i] != end[i])
        codes.append(axis << 3 | begin[0] | begin[1] << 1 | begin[2] << 2)
    return _Tables(*(array(np.array(t, np.int32), dtype=int32, device=device) for t in (_RANGES, codes)))


def _surface(
    field: Any, threshold: Any, lower: Any, upper: Any, room: tuple[int, int] | None
) -> tuple[array, array, array]:
    """Return the vertices, the indices, and an array of the two sizes. With room for so many, wait for no sizes."""
    check_field(field)
    value, corners = level(threshold), spacing(field.shape, lower, upper)
    if room is None:
        capture.refuse(_UNKNOWN_SIZES, field.device)
    with observers.NotRecording():
        edges, indices, sizes = _find(field, value, room)
    positions = zeros(edges.size, dtype=vec3, device=field.device, requires_grad=field.requires_grad)
    given = [field, value, edges, *corners, positions]
    launch(kernels.place_vertices, edges.size, given, device=field.device)  # a tape records it for no vertices, too
    return positions, indices, sizes


def _find(field: array, threshold: float, room: tuple[int, int] | None) -> tuple[array, array, array]:
    """Return the edges that have a vertex, as `kernels.list_edges` writes them, the indices, and the two sizes."""
    device, tables = field.device, _tables(field.device)
    words = numbering.words_of(field)
    count = math.prod(words)
    above, known, cells = (empty(words, dtype=uint32, device=device) for _ in range(3))
    edges = empty(3 * count, dtype=uint32, device=device)
    starts = [empty(n + 1, dtype=int64, device=device) for n in (3 * count, count)]
    launch(grid_words.classify, words, [field, threshold, above, known], device=device)
    launch(grid_words.find_cells, words, [known, cells], device=device)
    launch(kernels.find_edges, words, [above, cells, edges, starts[0]], device=device)
    launch(kernels.count_indices, words, [above, cells, tables.ranges, starts[1]], device=device)
    sizes = numbering.sum_up(starts)
    num_vertices, num_indices = numbering.read_sizes(sizes) if room is None else (room[0], 3 * room[1])
    vertices = full(num_vertices, -1, dtype=int64, device=device)
    indices = zeros(num_indices, dtype=int32, device=device)
    size = (words[2], field.shape[2])
    launch(kernels.list_edges, (words[0] * words[1], words[2], 3), [edges, *size, starts[0], vertices], device=device)
    given = [above, cells, edges, *starts, *tables, num_vertices, indices]
    launch(kernels.connect, words, given, device=device)
    return vertices, indices, sizes
