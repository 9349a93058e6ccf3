"""Write Mesh; omni/warp_core/nodes/library/stage_geometry.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, stage_geometry


class OgnWriteMesh:
    """Writes arrays to a Mesh prim, which it makes if the stage lacks it."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return stage_geometry.writer()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, stage_geometry.write_mesh)
