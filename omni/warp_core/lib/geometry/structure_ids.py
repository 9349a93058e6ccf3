"""Ids of structures that kernels search, such as meshes and hash grids. geometry/descriptors.py makes them."""

ADDRESS = 0x0000_FFFF_FFFF_FFFF  # bits that are an address; those above tell apart structures that had it in turn
