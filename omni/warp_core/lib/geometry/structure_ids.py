"""Ids of structures that kernels search, such as meshes and hash grids. geometry/descriptors.py makes them.

From the lowest bit: 48 bits of an address, 12 bits that tell apart structures that had it in turn, 4 bits of a kind.
"""

ADDRESS = 0x0000_FFFF_FFFF_FFFF
KIND_SHIFT = 60
HASH_GRID, MESH, VOLUME, BVH = 1, 2, 3, 4  # kinds
