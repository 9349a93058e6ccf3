"""Mesh From Volume; omni/warp_core/nodes/library/volume_surface.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, volume_surface


class OgnMeshFromVolume:
    """Makes the mesh of the surface on which a dense field has a value."""

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, volume_surface.surface)
