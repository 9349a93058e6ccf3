"""Bundle Inspect Changes; omni/warp_core/nodes/library/bundle_changes.py has the code."""

from omni.warp_core.nodes.library import bundle_changes, prim_bundles


class OgnBundleInspectChanges:
    """Passes a bundle on, and tells which attributes were written since the frame before."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return bundle_changes.SeenBundle()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, bundle_changes.inspect)
