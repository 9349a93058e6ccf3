"""The headless OmniGraph host: plays the graphs of a USD scene without Kit.

Start with play/player.py (a scene from file to result). Its rooms, lowest first: `values` (types and values of
attributes), `ogn` (node descriptions), `graph` (nodes in memory, and when they run), `stock` (the nodes of omni.graph),
`kernel` (the Kernel node), `scene` (USD to graphs and back), `play`. docs/nodes.md tells what users see.
"""
