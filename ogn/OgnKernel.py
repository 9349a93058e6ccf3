"""The Kernel node: a kernel whose text lives in the node; omni/warp_core/nodes/kernel has the code."""

from omni.warp_core.nodes.graph import execution
from omni.warp_core.nodes.graph.node_graph import GraphError
from omni.warp_core.nodes.kernel import kernel_node, replay


class OgnKernel:
    """Runs the kernel in `inputs:codeStr` or `inputs:codeFile` on the node's attributes."""

    @staticmethod
    def internal_state():
        """The compiled kernel and its bindings, kept between evaluations."""
        return kernel_node.internal_state()

    @staticmethod
    def update_node_version(context, node, old, new):
        """Version 1 of omni.warp's kernel node had one number of threads, `inputs:dim`."""
        kernel_node.take_old_dimension(node)

    @staticmethod
    def chain(nodes, database):
        """Kernel nodes that the headless host runs one after the other, as one graph."""
        return replay.chain_of(nodes, database)

    @staticmethod
    def compute(db) -> bool:
        """Compile when something changed, launch, and let execution go on."""
        try:
            kernel_node.compute(db)
        except GraphError as error:
            db.log_error(str(error))
            return False
        execution.enable(db, "execOut")
        return True
