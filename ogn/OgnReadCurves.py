"""Read Curves; omni/warp_core/nodes/library/stage_geometry.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, stage_geometry


class OgnReadCurves:
    """Reads a BasisCurves prim as arrays, for kernels, and as a bundle."""

    reads_stage = True  # what it reads may change within a frame

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return stage_geometry.GeometryReader()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run_data(db, stage_geometry.read_curves)
