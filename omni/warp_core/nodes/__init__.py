"""The headless OmniGraph host: plays the graphs of a USD scene without Kit.

Start with player.py (a scene from file to result). From there graph_loader.py (USD to graphs), evaluate.py (when nodes
run), builtin_nodes.py (the nodes of omni.graph) and kernel_node.py (the Kernel node). docs/nodes.md tells what users
see.
"""
