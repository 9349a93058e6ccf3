"""From the prims of a stage to graphs, and back to values of prims. Start with graph_loader.py."""
