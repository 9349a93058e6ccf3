"""Surfaces of scalar fields, by surface nets. The loops of cells are in surface_nets_table.py.

Kernels find the faces and count vertices, running sums number both, and other kernels write them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from ... import vec3
from ...arrays.array import array
from ...arrays.factories import empty, full, zeros
from ...devices.device import Device, get_device
from ...dispatch import capture, observers
from ...lang.values.scalars import int32, int64, uint32
from ...launches.launch import launch
from . import grid_words, numbering
from . import surface_nets_kernels as kernels
from .field_checks import check_field, level, spacing
from .iso_surface import IsoSurfaceBase
from .surface_nets_table import JOINED_FACES, LOOPS

__all__ = ["IsoSurfaceNets"]

_UNKNOWN_SIZES = "wp.geometry.IsoSurfaceNets with results whose sizes depend on the field"
_WAY_OUT = "(make an object with max_verts and max_tris)"
_SIZES = {"triangle": 6, "quad": 4}  # indices for an edge


class IsoSurfaceNets(IsoSurfaceBase):
    """Surfaces where a scalar field has a value, by surface nets: one vertex inside of a cell. For fields of one size.

    A field has a value at each node of a grid, and a cell has eight nodes as its corners. Where the surface passes a
    cell, the cell has a vertex, at the mean of the places where the edges that are cut have the threshold. Each edge
    that is cut has a face, whose corners are the vertices of the four cells around it. Triangles are better shaped than
    those of marching cubes, and corners are cut off a bit more. The method is that of S. Gibson, "Constrained elastic
    surface nets", MICCAI 1998, without smoothing.

    A surface that passes a cell several times has as many vertices there (G. Nielson, "Dual marching cubes", 2004). So
    no edge has more than two faces, and a surface inside the grid is closed. At the boundary of the grid it ends up to
    a cell before, as the outermost edges have no faces. Every vertex has a face.

    Args:
        nx: nodes in x.
        ny: nodes in y.
        nz: nodes in z.
        lower: where the first node is, three numbers. None is the origin.
        upper: where the last node is. None is (nx - 1, ny - 1, nz - 1), so that positions are indices of nodes.
        topology: "triangle" or "quad", the kind of faces. The shorter diagonal of a quad makes two triangles of it.
        device: where fields are. None takes fields on every device.
        max_verts: vertices for which there is room when a graph captures `surface`. Otherwise results are as large as
            the surface, whatever this is.
        max_tris: triangles, likewise; a quad counts as two.

    Attributes:
        nx, ny, nz: nodes in each direction.
        lower, upper: where the first and the last node are, as given.
        topology: as given.
        verts: the vertices of the last surface, an array of vec3; None before the first.
        indices: int32, three vertices for each triangle or four for each quad; None before the first surface.
        sizes: two int64, the numbers of vertices and of indices that were found, or None before the first surface.

    Raises:
        TypeError, ValueError: If a number of nodes is not a positive integer, a corner is not three finite numbers, or
            there is no such topology.

    >>> x, y, z = np.mgrid[:20, :20, :20] - 9.5
    >>> field = wp.array(np.sqrt(x * x + y * y + z * z), dtype=float, device="cpu")
    >>> nets = wp.geometry.IsoSurfaceNets(20, 20, 20, topology="quad")
    >>> nets.surface(field, 6.0)
    >>> nets.verts.size - nets.indices.size // 4  # the quads of a ball
    2
    """

    def __init__(
        self,
        nx: int,
        ny: int,
        nz: int,
        *,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
        topology: Literal["triangle", "quad"] = "triangle",
        device: Any = None,
        max_verts: int = 0,
        max_tris: int = 0,
    ):
        super().__init__(
            nx, ny, nz, lower=lower, upper=upper, device=device, max_verts=max_verts, max_tris=max_tris
        )  # fmt: skip
        _face_size(topology)
        self.topology = topology
        if all(self._room):
            _tables(get_device(device))  # a capture could not copy them to a GPU

    def surface(self, field: array, threshold: float) -> None:
        """Find the surface of a field. The results are new arrays, `verts`, `indices` and `sizes`.

        A graph can capture this if there are `max_verts` and `max_tris`. In a capture, `verts` and `indices` are as
        large as these say, and each launch of the graph fills them and `sizes`. Vertices and indices beyond the sizes
        are zero. If the surface is larger than the room, there are no faces, and `sizes` says what was needed.

        Args:
            field: float32, of shape (nx, ny, nz).
            threshold: the value on the surface.

        Raises:
            TypeError, ValueError, RuntimeError: As `extract` does, or if the field has another shape or is on another
                device.

        >>> nets = wp.geometry.IsoSurfaceNets(3, 3, 3, topology="quad")
        >>> values = np.zeros((3, 3, 3))
        >>> values[1, 1, 1] = 1.0
        >>> nets.surface(wp.array(values, dtype=float, device="cpu"), 0.5)
        >>> nets.verts.size, nets.indices.size // 4  # a cube
        (8, 6)
        """
        room = self._room_for(field)
        size = _face_size(self.topology)
        found = _surface(field, threshold, self.lower, self.upper, size, room)
        self.verts, self.indices, self.sizes = found

    @classmethod
    def extract(
        cls,
        field: array,
        threshold: float = 0.0,
        *,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
        topology: Literal["triangle", "quad"] = "triangle",
    ) -> tuple[array, array]:
        """Return the surface of a field of any size.

        Values at least the threshold are on one side of the surface, and lesser ones on the other. Faces are counter
        clockwise when seen from where values are greater. Cells with a corner that is NaN are left out. Next to an
        infinite value, the place on an edge is its other end.

        Vertices have gradients with respect to the field, on tapes and in forward mode. Which vertices there are, and
        the indices, change in jumps and have no derivative.

        Args:
            field: float32, of three dimensions, each with at least two nodes.
            threshold: the value on the surface; finite.
            lower: where the first node is, three numbers. None is the origin.
            upper: where the last node is. None puts the nodes at their indices.
            topology: "triangle" or "quad", the kind of faces.

        Returns:
            The vertices, an array of vec3, and the indices of vertices, three int32 for each triangle or four for each
            quad. Both are on the device of the field. They do not depend on the number of threads.

        Raises:
            TypeError: If `field` is not an array of float32, or another argument has another type.
            ValueError: If `field` has other dimensions, the threshold or a corner is not finite, there is no such
                topology, or there are more than 2**31 - 1 indices.
            RuntimeError: If a graph captures this, as the sizes of the results are not known then. See `surface`.

        >>> field = wp.array(np.mgrid[:3, :3, :3][0], dtype=float, device="cpu")
        >>> vertices, indices = wp.geometry.IsoSurfaceNets.extract(field, 0.25)
        >>> vertices.numpy()[:, 0].tolist(), indices.size // 3
        ([0.25, 0.25, 0.25, 0.25], 2)
        """
        return _surface(field, threshold, lower, upper, _face_size(topology), None)[:2]


def _face_size(topology: Any) -> int:
    if topology not in _SIZES:
        raise ValueError(f'topology: expected "triangle" or "quad", got {topology!r}')
    return _SIZES[topology]


@cache
def _tables(device: Device) -> tuple[array, array]:
    """Return the faces that join lines, and the loops, as the kernels take them."""
    joined, loops = (array(np.ravel(t).astype(np.int32), dtype=int32, device=device) for t in (JOINED_FACES, LOOPS))
    return joined, loops


def _surface(
    field: Any, threshold: Any, lower: Any, upper: Any, size: int, room: tuple[int, int] | None
) -> tuple[array, array, array]:
    """Return the vertices, the indices, of which an edge has a number, and an array of the two sizes.

    With room for so many vertices and triangles, wait for no sizes.
    """
    check_field(field)
    value, corners = level(threshold), spacing(field.shape, lower, upper)
    if room is None:
        capture.refuse(f"{_UNKNOWN_SIZES} {_WAY_OUT}", field.device)
    found = _Net(field, value, size, room)
    positions = zeros(found.vertices.size, dtype=vec3, device=field.device, requires_grad=field.requires_grad)
    given = [field, value, found.vertices, *corners, positions]
    launch(kernels.place_vertices, positions.size, given, device=field.device)  # a tape records it for no vertices, too
    return positions, found.connect(positions), found.sizes


class _Net:
    """The vertices and the faces of a field, before vertices have positions."""

    def __init__(self, field: array, threshold: float, size: int, room: tuple[int, int] | None):
        self.device, self.size = field.device, size
        self.words = numbering.words_of(field)
        count = math.prod(self.words)
        self.above, known, cells = (empty(self.words, dtype=uint32, device=self.device) for _ in range(3))
        self.faces, self.cell_counts = (empty(3 * count, dtype=uint32, device=self.device) for _ in range(2))
        self.starts = [empty(n + 1, dtype=int64, device=self.device) for n in (count, 3 * count)]
        with observers.NotRecording():
            self._do(grid_words.classify, field, threshold, self.above, known)
            self._do(grid_words.find_cells, known, cells)
            self._do(kernels.find_faces, self.above, cells, size, self.faces, self.starts[1])
            given = [self.above, cells, self.faces, *_tables(self.device)]
            self._do(kernels.count_vertices, *given, self.cell_counts, self.starts[0])
            self.sizes = numbering.sum_up(self.starts)
            wanted = numbering.read_sizes(self.sizes) if room is None else (room[0], size * (room[1] // 2))
            self.vertices = full(wanted[0], -1, dtype=int64, device=self.device)
            self.indices = zeros(wanted[1], dtype=int32, device=self.device)
            self._do(kernels.list_vertices, *given, field.shape[2], self.starts[0], self.vertices)

    def connect(self, positions: array) -> array:
        """Return the indices, once the vertices have positions."""
        given = [self.above, self.faces, self.size, *self.starts, self.cell_counts, self.vertices, positions]
        x, y, k = self.words
        with observers.NotRecording():
            launch(kernels.connect, (x, y, 3 * k), [*given, self.indices], device=self.device)
        return self.indices

    def _do(self, kernel: Any, *given: Any) -> None:
        launch(kernel, self.words, [*given], device=self.device)
