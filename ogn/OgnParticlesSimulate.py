"""Particle Simulate; omni/warp_core/nodes/library/particle_simulate.py has the code."""

from omni.warp_core.nodes.library import particle_simulate, prim_bundles


class OgnParticlesSimulate:
    """Simulates particles as grains."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return particle_simulate.Particles()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, db.per_instance_state.simulate)
