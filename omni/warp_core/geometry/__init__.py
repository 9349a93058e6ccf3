"""`wp.geometry`: functions on meshes, and surfaces. The structures that kernels search are here too, as names of `wp`.

mesh.py over bvh.py, hash_grid.py; surfaces of fields in surfaces/; adjacency.py tells which triangles share an edge,
delaunay.py flips edges. descriptors.py gives ids.

Public names are loaded when they are first used, as they load kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .adjacency import find_triangle_neighbor_edge_index as find_triangle_neighbor_edge_index
    from .adjacency import tri_tri_adjacency as tri_tri_adjacency
    from .delaunay import delaunay_edge_flip as delaunay_edge_flip
    from .surfaces.iso_surface import IsoSurfaceBase as IsoSurfaceBase
    from .surfaces.lipschitz_octree import lipschitz_octree as lipschitz_octree
    from .surfaces.marching_cubes import IsoSurfaceMarchingCubes as IsoSurfaceMarchingCubes
    from .surfaces.sparse_marching_cubes import sparse_marching_cubes as sparse_marching_cubes
    from .surfaces.sparse_marching_cubes import sparse_marching_cubes_from_cells as sparse_marching_cubes_from_cells
    from .surfaces.surface_nets import IsoSurfaceNets as IsoSurfaceNets
    from .surfaces.swept_volume import SweptVolumeSignMode as SweptVolumeSignMode
    from .surfaces.swept_volume import swept_volume_bounds as swept_volume_bounds
    from .surfaces.swept_volume import swept_volume_field as swept_volume_field
    from .surfaces.swept_volume import swept_volume_mesh as swept_volume_mesh
    from .surfaces.swept_volume import swept_volume_sdf as swept_volume_sdf

_HOMES = {
    "adjacency": "find_triangle_neighbor_edge_index tri_tri_adjacency",
    "delaunay": "delaunay_edge_flip",
    "surfaces.iso_surface": "IsoSurfaceBase",
    "surfaces.lipschitz_octree": "lipschitz_octree",
    "surfaces.marching_cubes": "IsoSurfaceMarchingCubes",
    "surfaces.sparse_marching_cubes": "sparse_marching_cubes sparse_marching_cubes_from_cells",
    "surfaces.surface_nets": "IsoSurfaceNets",
    "surfaces.swept_volume": "SweptVolumeSignMode swept_volume_bounds swept_volume_field swept_volume_mesh "
    "swept_volume_sdf",
}
__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return __all__
