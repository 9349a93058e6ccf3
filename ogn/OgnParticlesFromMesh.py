"""Particles From Mesh; omni/warp_core/nodes/library/particle_filling.py has the code."""

from omni.warp_core.nodes.library import particle_filling, prim_bundles


class OgnParticlesFromMesh:
    """Fills a closed mesh with particles: points of a jittered grid at a range of signed distances from its surface."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return particle_filling.FillingState()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, particle_filling.fill_mesh)
