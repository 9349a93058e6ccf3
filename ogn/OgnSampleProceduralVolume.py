"""Sample Procedural Volume; omni/warp_core/nodes/library/volume_surface.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, volume_surface


class OgnSampleProceduralVolume:
    """Fills a field with distances to a box and a turning torus above it, which flow together."""

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, volume_surface.fill)
