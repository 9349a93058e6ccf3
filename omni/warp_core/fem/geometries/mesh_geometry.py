"""Meshes of triangles, quadrilaterals, tetrahedra and hexahedra. Inside of a cell, positions are linear in each
coordinate between those of its vertices.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import inverse, outer
from ...arrays.array import array
from ...lang.kernel import func
from ...lang.types import F32, F64, I32, Scalar, Vec
from ...lang.values.scalars import int32
from ...lang.values.type_registry import wc_type
from ..kernel_records import (
    inverse_of_surface,
    jacobian_at,
    record,
    scalar_class,
    shape_gradient,
    shape_value,
    vector_type,
)
from .cell_geometry import Geometry
from .environments import EnvironmentParts, checked_environments, environments_of_nodes
from .mesh_lookup import (
    MESH_LOOKUPS,
    TREE_FIELDS,
    CellTree,
    SearchedCells,
    search_fields,
    search_tables,
    tree_of_mesh,
)
from .nearest_points import cell_searches, search_faces
from .reference_cells import Element, reference_cell
from .shape_functions import ShapeFunction, make_shape
from .shape_records import shape_record, table_record
from .vertex_maps import vertex_maps

__all__ = ["Hexmesh", "Quadmesh2D", "Quadmesh3D", "Tetmesh", "Trimesh2D", "Trimesh3D"]


@func
def position(g: Any, cell: int, place: Any, coords: Any):
    """The position in a cell of a mesh."""
    x = g.positions.dtype()
    for v in range(g.vertices.shape[0]):
        x += g.positions[g.vertices[v, cell]] * shape_value(g.shape, cell, place, v)
    return x


@func
def jacobian(g: Any, cell: int, place: Any):
    """The derivative of positions by coordinates."""
    j = outer(g.positions[g.vertices[0, cell]], shape_gradient(g.shape, cell, place, 0))
    for v in range(1, g.vertices.shape[0]):
        j += outer(g.positions[g.vertices[v, cell]], shape_gradient(g.shape, cell, place, v))
    return j


@func
def inverse_in_space(g: Any, cell: int, place: Any):
    """The inverse of the derivative."""
    return inverse(jacobian_at(g, cell, place))


@func
def inverse_in_surface(g: Any, cell: int, place: Any):
    """The inverse of the derivative of a surface: of vectors in it."""
    return inverse_of_surface(jacobian_at(g, cell, place))


_NO_TREE = "the mesh has no tree over its cells: make it with build_bvh=True, or call geometry.build_bvh()"


@cache
def mesh_record(cell_dimension: int, dimension: int, scalar: Scalar, has_several: bool) -> Any:
    """What kernels need of a mesh: vertices of cells, their positions, and the functions that interpolate these."""
    environments = EnvironmentParts.of(has_several)
    fields = {
        "positions": array(dtype=vector_type(dimension, scalar)),
        "vertices": array(dtype=int32, ndim=2),  # vertex of a cell x cell
        "shape": table_record(scalar, cell_dimension),
    }
    supplies = {"position_at": position, "jacobian_at": jacobian} | environments.supplies
    name = f"Mesh{cell_dimension}in{dimension}{environments.suffix}"
    return record(name, fields | environments.fields, supplies, environments.refuses)


@cache
def free_mesh_record(kind: Element, dimension: int, scalar: Scalar, has_tree: bool, has_several: bool) -> Any:
    """What kernels need of a mesh to evaluate fields anywhere, and to find positions in it."""
    cell = reference_cell(kind)
    cell_dimension = cell.dimension
    inverse_of = inverse_in_surface if cell_dimension < dimension else inverse_in_space
    environments = EnvironmentParts.of(has_several)
    fields = {
        "positions": array(dtype=vector_type(dimension, scalar)),
        "corners": array(dtype=int32, ndim=2),  # cell x vertex: those of a cell lie next to each other
        **search_fields(cell_dimension, scalar),
        **(TREE_FIELDS if has_tree else {}),
    }
    supplies = vertex_maps(kind) | {"inverse_at": inverse_of} | cell_searches(kind) | environments.supplies
    supplies |= MESH_LOOKUPS if has_tree else {}
    name = f"Mesh_{kind.name}_in{dimension}" + "_with_tree" * has_tree + environments.suffix
    refuses = environments.refuses | ({} if has_tree else {"find_cell": _NO_TREE})
    return record(name, fields | environments.fields, supplies, refuses)


class Mesh(SearchedCells, Geometry):
    """Cells given by the positions of vertices and the vertices of each cell."""

    def __init__(
        self, indices: array, positions: array, build_bvh: bool, cell_env: array | None, env_count: int | None
    ):
        self._check(indices, positions)
        self._cell_env = checked_environments(self.name, cell_env, env_count, len(indices))
        self._environment_count = int(env_count or 1)
        self._positions, self.device = positions, positions.device
        vector: Any = wc_type(positions.dtype)
        self.scalar = vector.scalar
        self.scalar_type = scalar_class(self.scalar)
        self._indices = indices
        self._free_records: dict[CellTree | None, Any] = {}
        if build_bvh:
            self.build_bvh()

    def _check(self, indices: Any, positions: Any) -> None:
        corners = len(self.cell.vertices)
        for name, given in (("indices", indices), ("positions", positions)):
            if not isinstance(given, array):
                raise TypeError(f"{self.name}: {name}: expected an array, got {type(given).__name__}")
        if wc_type(indices.dtype) is not I32 or indices.ndim != 2 or indices.shape[1] != corners:
            raise TypeError(
                f"{self.name}: expected indices of int32 with the shape (cells, {corners}), got "
                f"{indices.dtype.__name__} with the shape {tuple(indices.shape)}"
            )
        if wc_type(positions.dtype) not in (Vec(self.dimension, F32), Vec(self.dimension, F64)):
            raise TypeError(
                f"{self.name}: expected positions of wp.vec{self.dimension} or wp.vec{self.dimension}d, got "
                f"{positions.dtype.__name__}"
            )

    @property
    def positions(self) -> array:
        """The positions of vertices. They may be written to; another array makes another mesh."""
        return self._positions

    def environment_count(self) -> int:
        """Number of environments."""
        return self._environment_count

    @property
    def cell_env(self) -> array | None:
        """The environment of each cell as a program gave it; None if it gave none."""
        return self._cell_env

    @cached_property
    def cell_environments(self) -> np.ndarray | None:
        """The environment of each cell, on the host; None if there is one environment."""
        return None if self._environment_count == 1 or self._cell_env is None else self._cell_env.numpy()

    def vertex_count(self) -> int:
        """Number of vertices."""
        return self.positions.size

    @cached_property
    def cell_vertices(self) -> np.ndarray:
        """The vertices of each cell. Raises ValueError for those that are not there, or are of two environments."""
        found = self._indices.numpy()
        if found.size and not 0 <= found.min() <= found.max() < self.vertex_count():
            wrong = int(found.min() if found.min() < 0 else found.max())
            raise ValueError(f"{self.name}: a cell has the vertex {wrong}, of {self.vertex_count()} positions")
        if self.cell_environments is not None:
            environments = np.repeat(self.cell_environments, found.shape[1])
            count = self.vertex_count(), self.environment_count()
            environments_of_nodes(f"{self.name}: the vertex", found.ravel(), environments, *count)
        return found

    @property
    def vertex_positions(self) -> np.ndarray:
        """The positions of vertices, on the host."""
        return self.positions.numpy()

    @cached_property
    def vertex_table(self) -> array:
        """The vertices of cells as kernels read them: vertex of a cell x cell."""
        return array(np.ascontiguousarray(self.cell_vertices.T), dtype=int32, device=self.device)

    @property
    def shape(self) -> ShapeFunction:
        """The functions that interpolate positions between vertices."""
        return make_shape(self.kind, 1)

    def _make_tree(self) -> CellTree:
        return tree_of_mesh(self.positions, self.vertex_table, self.device)

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the mesh to sample it at some points of cells, or anywhere."""
        if points is not None:
            kind = mesh_record(self.cell_dimension, self.dimension, self.scalar, self._environment_count > 1)
            own = self.positions, self.vertex_table, self._shape_record(points)
            return kind(*own, *self.kernel_environments)
        if self.tree not in self._free_records:
            self._free_records = {self.tree: self._free_record()}
        return self._free_records[self.tree]

    def _shape_record(self, points: np.ndarray) -> Any:
        order = [int(np.abs(self.shape.nodes - v).sum(axis=1).argmin()) for v in self.cell.vertices]
        return shape_record(self.shape, points, self.scalar, self.device, order)

    def _free_record(self) -> Any:
        has_several = self._environment_count > 1
        kind = free_mesh_record(self.kind, self.dimension, self.scalar, self.tree is not None, has_several)
        own = self.positions, self._indices, *self._search_tables()
        return kind(*own, *self._tree_arrays, *self.kernel_environments)

    def _search_tables(self) -> tuple[Any, ...]:
        """What searches in cells begin with, and when they end."""
        corners = self.vertex_positions[self.cell_vertices]
        size = float(np.linalg.norm(corners.max(axis=1) - corners.min(axis=1), axis=1).max(initial=0.0))
        faces = search_faces(self.cell_dimension, self.cell.is_simplex)
        return *search_tables(faces, self.scalar, self.device), size


class _Trimesh(Mesh):
    kind = Element.TRIANGLE

    def __init__(
        self,
        tri_vertex_indices: array,
        positions: array,
        build_bvh: bool = False,
        temporary_store: Any = None,
        cell_env: array | None = None,
        env_count: int | None = None,
    ):
        super().__init__(tri_vertex_indices, positions, build_bvh, cell_env, env_count)

    @property
    def tri_vertex_indices(self) -> array:
        """The vertices of each cell, as given."""
        return self._indices


class Trimesh2D(_Trimesh):
    """Triangles in the plane.

    Args:
        tri_vertex_indices: The vertices of each triangle: int32, with the shape (triangles, 3).
        positions: The positions of vertices: `wp.vec2` or `wp.vec2d`.
        build_bvh: Whether to build a tree over cells, which `fem.lookup` needs.
        temporary_store: Without effect.
        cell_env: The environment of each cell, int32; all cells are in one if left out. Environments share no vertices.
        env_count: Number of environments; needed with `cell_env`.

    >>> corners = wp.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], dtype=wp.vec2)
    >>> wp.fem.Trimesh2D(wp.array([(0, 1, 2)], dtype=int), corners).side_count()
    3
    """

    dimension = 2


class Trimesh3D(_Trimesh):
    """Triangles in space: a surface. Arguments are those of `Trimesh2D`, with positions of `wp.vec3`."""

    dimension = 3


class _Quadmesh(Mesh):
    kind = Element.SQUARE

    def __init__(
        self,
        quad_vertex_indices: array,
        positions: array,
        build_bvh: bool = False,
        temporary_store: Any = None,
        cell_env: array | None = None,
        env_count: int | None = None,
    ):
        super().__init__(quad_vertex_indices, positions, build_bvh, cell_env, env_count)

    @property
    def quad_vertex_indices(self) -> array:
        """The vertices of each cell, as given."""
        return self._indices


class Quadmesh2D(_Quadmesh):
    """Quadrilaterals in the plane.

    Args:
        quad_vertex_indices: The vertices of each quadrilateral, around it: int32, with the shape (cells, 4).
        positions: The positions of vertices: `wp.vec2` or `wp.vec2d`.
        build_bvh: Whether to build a tree over cells, which `fem.lookup` needs.
        temporary_store: Without effect.
        cell_env: The environment of each cell, int32; all cells are in one if left out. Environments share no vertices.
        env_count: Number of environments; needed with `cell_env`.
    """

    dimension = 2


class Quadmesh3D(_Quadmesh):
    """Quadrilaterals in space: a surface. Arguments are those of `Quadmesh2D`, with positions of `wp.vec3`."""

    dimension = 3


class Tetmesh(Mesh):
    """Tetrahedra.

    Args:
        tet_vertex_indices: The vertices of each tetrahedron: int32, with the shape (cells, 4).
        positions: The positions of vertices: `wp.vec3` or `wp.vec3d`.
        build_bvh: Whether to build a tree over cells, which `fem.lookup` needs.
        temporary_store: Without effect.
        cell_env: The environment of each cell, int32; all cells are in one if left out. Environments share no vertices.
        env_count: Number of environments; needed with `cell_env`.
    """

    kind, dimension = Element.TETRAHEDRON, 3

    def __init__(
        self,
        tet_vertex_indices: array,
        positions: array,
        build_bvh: bool = False,
        temporary_store: Any = None,
        cell_env: array | None = None,
        env_count: int | None = None,
    ):
        super().__init__(tet_vertex_indices, positions, build_bvh, cell_env, env_count)

    @property
    def tet_vertex_indices(self) -> array:
        """The vertices of each cell, as given."""
        return self._indices


class Hexmesh(Mesh):
    """Hexahedra.

    Args:
        hex_vertex_indices: The vertices of each hexahedron: around the bottom, then around the top, each top vertex
            over its bottom one. int32, with the shape (cells, 8).
        positions: The positions of vertices: `wp.vec3` or `wp.vec3d`.
        assume_parallelepiped_cells: Without effect.
        build_bvh: Whether to build a tree over cells, which `fem.lookup` needs.
        temporary_store: Without effect.
        cell_env: The environment of each cell, int32; all cells are in one if left out. Environments share no vertices.
        env_count: Number of environments; needed with `cell_env`.
    """

    kind, dimension = Element.CUBE, 3

    def __init__(
        self,
        hex_vertex_indices: array,
        positions: array,
        assume_parallelepiped_cells: bool = False,
        build_bvh: bool = False,
        temporary_store: Any = None,
        cell_env: array | None = None,
        env_count: int | None = None,
    ):
        super().__init__(hex_vertex_indices, positions, build_bvh, cell_env, env_count)

    @property
    def hex_vertex_indices(self) -> array:
        """The vertices of each cell, as given."""
        return self._indices
