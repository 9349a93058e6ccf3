"""Texture Write; omni/warp_core/nodes/library/texture_write.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, texture_write


class OgnTextureWrite:
    """Gives a field of colors to a dynamic texture: headless a PNG for each frame, in Kit that of the renderer."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return texture_write.TextureState()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, texture_write.write)
