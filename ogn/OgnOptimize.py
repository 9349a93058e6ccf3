"""Optimize; omni/warp_core/nodes/library/optimize.py has the code."""

from omni.warp_core.nodes.library import optimize, prim_bundles


class OgnOptimize:
    """Changes inputs of Kernel nodes in every frame so that a loss falls."""

    uses_time = True  # it goes on in every frame, also of a lazy graph

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return optimize.OptimizerState()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, optimize.optimize)
