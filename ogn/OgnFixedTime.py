"""Fixed Time; omni/warp_core/nodes/library/steady_clock.py has the code."""

from omni.warp_core.nodes.library import steady_clock


class OgnFixedTime:
    """A time that goes on by one frame at each compute while the timeline plays, whatever the timeline shows."""

    uses_time = True  # a lazy graph computes it at every frame

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return steady_clock.ClockState()

    @staticmethod
    def compute(db) -> bool:
        """Compute the outputs."""
        return steady_clock.tick(db)
