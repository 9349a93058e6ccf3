"""Sample Mesh Deform; omni/warp_core/nodes/library/noise_deform.py has the code."""

from omni.warp_core.nodes.library import noise_deform, prim_bundles


class OgnSampleMeshDeform:
    """Moves the points of meshes up and down, as a wave that runs along x."""

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, noise_deform.ripple_mesh)
