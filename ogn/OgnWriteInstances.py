"""Write Instances; omni/warp_core/nodes/library/point_instances.py has the code."""

from omni.warp_core.nodes.library import point_instances, prim_bundles


class OgnWriteInstances:
    """Writes arrays to a PointInstancer prim."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return point_instances.InstanceWriter()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, point_instances.write)
