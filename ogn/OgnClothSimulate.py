"""Cloth Simulate; omni/warp_core/nodes/library/cloth_simulate.py has the code."""

from omni.warp_core.nodes.library import cloth_simulate, prim_bundles


class OgnClothSimulate:
    """Simulates a mesh as cloth."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return cloth_simulate.Cloth()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, db.per_instance_state.simulate)
