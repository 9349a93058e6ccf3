"""Trees over boxes: the layout of a node in memory, and where boxes lie. Meshes and `wp.Bvh` share them."""

from __future__ import annotations

import math

from ...lang import prim
from ...lang.generics import Vec
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ...lang.values.structs import struct
from ...lang.values.value_classes import vec3f

DEPTH = 64  # levels of the deepest tree, as in native/include/warp_core/geometry/bvh.h
TINY, LARGEST, INFINITE = 1.0e-37, 3.4e38, math.inf
MORE, LESS = 1.0000005, 0.9999995  # cover the rounding of some operations, so that boxes hold all that is in them


@struct
class BvhNode:
    """A node of a tree over boxes. Nodes are in the order of a depth-first walk.

    Attributes:
        lower, upper: the corners of the box around all boxes below.
        child: the number of the right child, where the left one is the next node; of a leaf, its first place in
            the order of boxes.
        count: the number of boxes of a leaf. Of an inner node, minus the number of the first node behind its subtree.
    """

    lower: vec3f
    child: int32
    upper: vec3f
    count: int32


@builtin(name="_bvh_node")
def node_at(nodes: uint64, count: int32, number: int32) -> BvhNode:
    """The node with a number, of the tree of `count` nodes at an address."""
    return prim.array_at(nodes, count, BvhNode)[number]


@builtin(name="_bvh_subtree_end")
def subtree_end(node: BvhNode, number: int32) -> int32:
    """The number behind the subtree of a node."""
    return prim.select(node.count < 0, -node.count, number + 1)


@builtin(name="_box_overlap")
def boxes_overlap(
    lower: Vec[3, float32], upper: Vec[3, float32], other_lower: Vec[3, float32], other_upper: Vec[3, float32]
) -> boolean:
    """True if two boxes have a common point."""
    found = True
    for k in range(3):
        found = found and lower[k] <= other_upper[k] and upper[k] >= other_lower[k]
    return found


@builtin(name="_box_reciprocal")
def reciprocal(dir: Vec[3, float32]) -> Vec[3, float32]:
    """1 / x of each component of a direction, or 0 where that is not finite."""
    out = Vec[3, float32]()
    for k in range(3):
        out[k] = prim.select(prim.abs(dir[k]) < float32(TINY), float32(0.0), float32(1.0) / dir[k])
    return out


@builtin(name="_box_entry")
def entry_of(node: BvhNode, start: Vec[3, float32], inverse: Vec[3, float32], most: float32) -> float32:
    """Where a ray enters the box of a node; infinite if it does not by `most`.

    A ray at right angles to an axis is between the planes everywhere or nowhere.
    """
    first, last, infinite = float32(0.0), most, float32(INFINITE)
    for k in range(3):
        below, above, across = node.lower[k] - start[k], node.upper[k] - start[k], inverse[k] == float32(0.0)
        between = below <= float32(0.0) and above >= float32(0.0)
        a, b = below * inverse[k], above * inverse[k]
        enters = prim.select(across, prim.select(between, -infinite, infinite), prim.min(a, b) * float32(LESS))
        leaves = prim.select(across, infinite, prim.max(a, b) * float32(MORE))
        first, last = prim.max(first, enters), prim.min(last, leaves)
    return prim.select(first <= last, first, infinite)


@builtin(name="_box_distance_sq")
def distance_sq(node: BvhNode, p: Vec[3, float32]) -> float64:
    """The square of the distance to the box of a node, rounded down.

    In single precision, squares of numbers below 1e-19 would lose digits, and those of numbers above 1e19 overflow.
    """
    total = float64(0.0)
    for k in range(3):
        gap = float64(prim.max(prim.max(node.lower[k] - p[k], p[k] - node.upper[k]), float32(0.0)))
        total = total + gap * gap
    return total * float64(LESS)
