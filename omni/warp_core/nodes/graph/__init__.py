"""Graphs of nodes in memory, and when nodes run. Start with node_graph.py, then evaluate.py."""
