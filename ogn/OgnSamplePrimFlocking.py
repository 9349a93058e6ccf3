"""Sample Prim Flocking; omni/warp_core/nodes/library/flocking.py has the code."""

from omni.warp_core.nodes.library import flocking, prim_bundles


class OgnSamplePrimFlocking:
    """Lets prims fly as a flock."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return flocking.FlockState()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, flocking.flock)
