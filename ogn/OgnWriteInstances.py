"""Write Instances; omni/warp_core/nodes/library/instances.py has the code."""

from omni.warp_core.nodes.library import instances, prim_bundles


class OgnWriteInstances:
    """Writes arrays to a PointInstancer prim."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return instances.InstanceWriter()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, instances.write)
