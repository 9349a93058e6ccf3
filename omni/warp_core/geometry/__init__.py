"""`wp.geometry`: functions on meshes, and surfaces. The structures that kernels search are here too, as names of `wp`.

mesh.py over bvh.py, hash_grid.py; surfaces of fields in surfaces/; adjacency.py tells which triangles share an edge.
descriptors.py gives ids.

Public names are loaded when they are first used, as they load kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .adjacency import find_triangle_neighbor_edge_index as find_triangle_neighbor_edge_index
    from .adjacency import tri_tri_adjacency as tri_tri_adjacency
    from .surfaces.iso_surface import IsoSurfaceBase as IsoSurfaceBase
    from .surfaces.marching_cubes import IsoSurfaceMarchingCubes as IsoSurfaceMarchingCubes
    from .surfaces.surface_nets import IsoSurfaceNets as IsoSurfaceNets

_HOMES = {
    "adjacency": "find_triangle_neighbor_edge_index tri_tri_adjacency",
    "surfaces.iso_surface": "IsoSurfaceBase",
    "surfaces.marching_cubes": "IsoSurfaceMarchingCubes",
    "surfaces.surface_nets": "IsoSurfaceNets",
}
__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return __all__
