"""The headless OmniGraph host: plays the graphs of a USD scene without Kit.

Start with play/player.py: a scene from file to result. The rooms, lowest first:

- `values`: types and values of attributes;
- `ogn`: node descriptions;
- `graph`: nodes in memory, and when they run;
- `stock`: the nodes of omni.graph, and the registry of all node types;
- `kernel`: the Kernel node;
- `scene`: from USD to graphs and back;
- `play`: from a scene to its result.

docs/nodes.md tells what users see.
"""
