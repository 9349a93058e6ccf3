"""Script; omni/warp_core/nodes/extensions/script_node.py has the code."""

from omni.warp_core.nodes.extensions import script_node
from omni.warp_core.nodes.graph.node_graph import GraphError


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
        try:
            return script_node.compute(db)
        except GraphError as error:
            db.log_error(str(error))
            return False

    @staticmethod
    def release(node):
        """Let the text clean up."""
        script_node.release(node)
