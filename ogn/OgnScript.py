"""Script; omni/warp_core/nodes/extensions/script_node.py has the code."""

from omni.warp_core.nodes.extensions import script_node


class OgnScript:
    """Runs Python that stands in the scene."""

    uses_time = True  # its text may read the clock

    @staticmethod
    def internal_state():
        """What the node keeps between frames."""
        return script_node.ScriptState()

    @staticmethod
    def compute(db) -> bool:
        """Run the text."""
        return script_node.compute(db)

    @staticmethod
    def release(node):
        """Let the text clean up."""
        node.shared_state.release()
