"""Noise Deform; omni/warp_core/nodes/library/noise_deform.py has the code."""

from omni.warp_core.nodes.library import noise_deform, prim_bundles


class OgnNoiseDeform:
    """Moves the points of prims by noise that changes with time."""

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, noise_deform.deform_prims)
