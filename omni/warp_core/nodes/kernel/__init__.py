"""The Kernel node: from the text in a node to a launch. Start with kernel_node.py."""
