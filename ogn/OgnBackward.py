"""Backward; omni/warp_core/nodes/library/optimize.py has the code."""

from omni.warp_core.nodes.library import optimize, prim_bundles


class OgnBackward:
    """Computes the gradient of a loss with respect to an input of a Kernel node."""

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, optimize.backward)
