"""Ids of structures that kernels search, such as meshes and hash grids. geometry/descriptors.py makes them.

From the lowest bit: 48 bits of an address, 12 bits that tell apart structures that had it in turn, 4 bits of a kind.
"""

ADDRESS = 0x0000_FFFF_FFFF_FFFF
KIND_SHIFT = 60
HASH_GRID, MESH, VOLUME, BVH = 1, 2, 3, 4  # kinds
NAMES = {HASH_GRID: "hash grid", MESH: "mesh", VOLUME: "volume", BVH: "wp.Bvh"}


def other_kind(wanted: str, id: int) -> str:
    """Return the part of a message that tells that an id is one of another kind of structure than `wanted`, or ""."""
    found = NAMES.get(int(id) >> KIND_SHIFT, wanted)
    return "" if found == wanted else f", but one of a {found}"
