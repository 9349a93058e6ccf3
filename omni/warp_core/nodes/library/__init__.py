"""Geometry for nodes: their kernels, and the bundles of meshes and points. Start with prim_bundles.py."""
