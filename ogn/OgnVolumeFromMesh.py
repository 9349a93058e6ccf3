"""Volume From Mesh; omni/warp_core/nodes/library/volume_nodes.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, volume_nodes


class OgnVolumeFromMesh:
    """Makes the field of signed distances to a mesh."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return volume_nodes.HeldField()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, volume_nodes.from_mesh)
