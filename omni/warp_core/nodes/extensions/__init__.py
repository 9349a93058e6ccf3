"""Node types from other extensions: folders of `.ogn` and `.py` files, checked, documented, tested and played.

Start with node_folders.py.
"""
