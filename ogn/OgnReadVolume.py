"""Read Volume; omni/warp_core/nodes/library/volume_nodes.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, volume_nodes


class OgnReadVolume:
    """Reads a field of a Volume prim as a dense array."""

    reads_stage = True  # what it reads may change within a frame

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return volume_nodes.HeldField()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run_data(db, volume_nodes.read)
