"""Grid Create; omni/warp_core/nodes/library/grid_mesh.py has the code."""

from omni.warp_core.nodes.library import grid_mesh, prim_bundles


class OgnGridCreate:
    """Makes a grid mesh in the plane of x and z, with its front towards +y, normals and texture coordinates."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return grid_mesh.GridState()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, grid_mesh.create)
