"""Write Volume; omni/warp_core/nodes/library/volume_nodes.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, stage_geometry, volume_nodes


class OgnWriteVolume:
    """Writes a dense field to a Volume prim."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return stage_geometry.writer()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, volume_nodes.write)
