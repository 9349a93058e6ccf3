"""Wave Solve; omni/warp_core/nodes/library/wave_solver.py has the code."""

from omni.warp_core.nodes.library import prim_bundles, wave_solver


class OgnWaveSolve:
    """Lets waves run over a grid mesh."""

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return wave_solver.WaveState()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return prim_bundles.run(db, wave_solver.solve)
