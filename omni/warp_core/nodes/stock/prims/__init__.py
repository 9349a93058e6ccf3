"""Nodes that read and write prims, and those that take bundles apart. Start with prim_readers.py, prim_writers.py."""
