"""The headless OmniGraph host: plays the graphs of a USD scene without Kit.

Start with play.py (a scene from file to result); from there load.py (USD to graphs), evaluate.py (when nodes run),
stock.py (the nodes of omni.graph) and kernel_node.py (the Kernel node). docs/nodes.md tells what users see.
"""
