"""Sample Ocean Deform; omni/warp_core/nodes/library/ocean_waves.py has the code."""

from omni.warp_core.nodes.library import ocean_waves, prim_bundles


class OgnSampleOceanDeform:
    """Moves the points of a mesh as the waves of an ocean do."""

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, ocean_waves.deform)
