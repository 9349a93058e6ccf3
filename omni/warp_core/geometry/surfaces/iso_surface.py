"""The interface of methods that find surfaces of fields, so that a program can choose one by its class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ...algo.argument_checks import check_count, integer
from ...arrays.array import array
from ...devices.device import get_device
from ...dispatch import capture
from .field_checks import check_field, spacing
from .numbering import MOST

__all__ = ["IsoSurfaceBase"]


class IsoSurfaceBase(ABC):
    """The interface of `wp.geometry.IsoSurfaceMarchingCubes` and `wp.geometry.IsoSurfaceNets`.

    All methods find where a scalar field at the nodes of a grid has a value, as faces that are counter clockwise when
    seen from where values are greater. A class of your own has `surface` and `extract`.

    Args:
        nx: nodes in x.
        ny: nodes in y.
        nz: nodes in z.
        lower: where the first node is, three numbers. None is the origin.
        upper: where the last node is. None is (nx - 1, ny - 1, nz - 1), so that positions are indices of nodes.
        device: where fields are. None takes fields on every device.
        max_verts: vertices for which there is room when a graph captures `surface`. Otherwise results are as large as
            the surface, whatever this is.
        max_tris: triangles, likewise.

    Attributes:
        nx, ny, nz: nodes in each direction.
        lower, upper: where the first and the last node are, as given.
        verts: the vertices of the last surface, an array of vec3; None before the first.
        indices: int32, the vertices of each face in order; None before the first surface.
        sizes: two int64, the numbers of vertices and of indices that were found, or None before the first surface.

    Raises:
        TypeError, ValueError: If a number of nodes is not a positive integer, or a corner is not three finite numbers.

    >>> field = wp.array(np.mgrid[:4, :4, :4].sum(0), dtype=float, device="cpu")
    >>> for method in (wp.geometry.IsoSurfaceMarchingCubes, wp.geometry.IsoSurfaceNets):
    ...     maker = method(4, 4, 4)
    ...     maker.surface(field, 4.5)
    ...     isinstance(maker, wp.geometry.IsoSurfaceBase), maker.verts.size
    (True, 27)
    (True, 12)
    """

    def __init__(
        self,
        nx: int,
        ny: int,
        nz: int,
        *,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
        device: Any = None,
        max_verts: int = 0,
        max_tris: int = 0,
    ):
        self.resize(nx, ny, nz)
        self.device = None if device is None else get_device(device)
        self.lower, self.upper = lower, upper
        spacing((self.nx, self.ny, self.nz), lower, upper)
        self._room = (_count("max_verts", max_verts), _count("max_tris", max_tris))
        self.verts: array | None = None
        self.indices: array | None = None
        self.sizes: array | None = None

    def resize(self, nx: int, ny: int, nz: int) -> None:
        """Take fields of another size from now on.

        Args:
            nx: nodes in x.
            ny: nodes in y.
            nz: nodes in z.

        Raises:
            TypeError, ValueError: If one is not a positive integer.

        >>> cubes = wp.geometry.IsoSurfaceMarchingCubes(8, 8, 8)
        >>> cubes.resize(16, 8, 4)
        >>> cubes.nx
        16
        """
        self.nx, self.ny, self.nz = (_nodes(name, n) for name, n in (("nx", nx), ("ny", ny), ("nz", nz)))

    @abstractmethod
    def surface(self, field: array, threshold: float) -> None:
        """Find the surface of a field. The results are new arrays, `verts` and `indices`.

        Args:
            field: float32, of shape (nx, ny, nz).
            threshold: the value on the surface.

        >>> nets = wp.geometry.IsoSurfaceNets(2, 2, 2)
        >>> nets.surface(wp.zeros((2, 2, 2), dtype=float), 0.5)
        >>> nets.verts.size
        0
        """

    @classmethod
    @abstractmethod
    def extract(
        cls,
        field: array,
        threshold: float = 0.0,
        *,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
    ) -> tuple[array, array]:
        """Return the surface of a field of any size.

        Args:
            field: float32, of three dimensions, each with at least two nodes.
            threshold: the value on the surface; finite.
            lower: where the first node is, three numbers. None is the origin.
            upper: where the last node is. None puts the nodes at their indices.

        Returns:
            The vertices, an array of vec3, and the indices of the vertices of faces, int32.

        >>> vertices, indices = wp.geometry.IsoSurfaceNets.extract(wp.zeros((2, 2, 2), dtype=float))
        >>> vertices.size, indices.size
        (0, 0)
        """

    def _room_for(self, field: Any) -> tuple[int, int] | None:
        """Check a field. Return the room for vertices and triangles if a graph captures this and there is some."""
        check_field(field)
        if field.shape != (self.nx, self.ny, self.nz):
            raise ValueError(f"field: expected shape {(self.nx, self.ny, self.nz)}, got {field.shape}; see resize()")
        if self.device not in (None, field.device):
            name = type(self).__name__
            raise ValueError(f"field: is on {field.device}, but this {name} is for fields on {self.device}")
        captured = capture.gpu() if field.device.is_cuda else capture.current()
        return self._room if all(self._room) and captured is not None else None


def _nodes(name: str, value: Any) -> int:
    n = integer(name, value)
    if n < 1:
        raise ValueError(f"{name}: expected at least one node, got {n}")
    return n


def _count(name: str, value: Any) -> int:
    return check_count(name, value, MOST // 3, "there are at most 2**31 - 1 indices")
