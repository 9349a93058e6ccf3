"""Queries of trees over boxes. Start with `bvh_query_aabb` and `bvh_query_next`.

`BvhData` is the layout of a tree in memory, and geometry/bvh.py makes it. A query walks through the tree without a
stack: the next node is the one that follows in memory, or the one behind a subtree whose box the query misses. A ray
is a capsule with a radius of zero. On CPUs native/src/geometry/trees/bvh_queries.cpp does the work of `_bvh_next`, by
the same operations.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ...lang.values.structs import struct
from ...lang.values.value_classes import vec3f
from ..search import first_at_least
from ..vectors import isnan
from .bvh_nodes import (
    INFINITE,
    LARGEST,
    BvhNode,
    boxes_overlap,
    distance_sq,
    entry_of,
    node_at,
    reciprocal,
    subtree_end,
)
from .structure_ids import ADDRESS, BVH
from .structure_lookup import structure_at, structure_of, unknown

BOX, SPHERE, CAPSULE = 0, 1, 2  # shapes of queries
_UNKNOWN = unknown("wp.Bvh", "bvh")
_NO_NODE = "root {0} is no node of a wp.Bvh of {1} nodes: pass what wp.bvh_get_group_root returns, or -1"


@struct
class BvhData:
    """A tree over boxes in memory, at the address that the lower 48 bits of its id are.

    Attributes:
        id: the tree's id; zero once it is freed.
        nodes: address of the nodes, `BvhNode`. That behind the subtree of the first one is the end.
        order: address of an int32 for each box: the boxes in the order of leaves.
        lowers: address of a vec3 for each box, its lower corner.
        uppers: address of the upper corners.
        points: zero, or of the tree of a mesh address of a vec3 for each point. Boxes are then those of faces.
        indices: address of three int32 for each face: the numbers of its points.
        groups: address of the different groups of boxes, int32 in ascending order; zero without groups.
        roots: address of an int32 for each group: the node above all its boxes and no others.
        num_boxes: the number of boxes, and likewise of groups and points.
        max_nodes: the nodes that there is room for.
    """

    id: uint64
    nodes: uint64
    order: uint64
    lowers: uint64
    uppers: uint64
    points: uint64
    indices: uint64
    groups: uint64
    roots: uint64
    num_boxes: int32
    num_groups: int32
    num_points: int32
    max_nodes: int32


@struct
class BvhQuery:
    """A query on its way through a tree: its shape, the next node, and what is left of a leaf.

    `wp.bvh_query_aabb` and its relatives make it, and `wp.bvh_query_next` advances it. `tree` is the address of the
    `BvhData`. Of a box, `first` and `second`
    are the corners. Of a sphere, `first` is the centre. Of a capsule, `first` is the start, and `second` has the
    reciprocals of the direction.
    """

    tree: uint64
    shape: int32
    first: vec3f
    second: vec3f
    radius: float32
    number: int32
    stop: int32
    place: int32
    end: int32


@builtin(name="_bvh_query_at")
def _query_at(id: uint64, root: int32) -> BvhQuery:
    """A query of the boxes below a node, or of all if `root` is negative. It has no shape yet."""
    data, query = structure_at(id, BVH, BvhData, _UNKNOWN), BvhQuery()
    query.tree = prim.bit_and(id, uint64(ADDRESS))
    if root >= data.max_nodes and data.id != uint64(0):
        prim.fail("bounds", _NO_NODE, root, data.max_nodes)
    elif data.max_nodes > 0:
        query.number = prim.max(root, 0)
        query.stop = subtree_end(node_at(data.nodes, data.max_nodes, query.number), query.number)
    return query


@builtin(name="_bvh_without_nan")
def _without_nan(query: BvhQuery, x: float32) -> BvhQuery:
    """A query of a shape; of nothing if `x`, the sum of what the shape is made of, is NaN."""
    if isnan(x):
        query.stop = query.number
    return query


@builtin
def bvh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32], root: int32 = -1) -> BvhQuery:
    """Query of a `wp.Bvh` for the boxes that overlap a box. `wp.bvh_query_next` gives them one by one.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        low: the lower corner of the box, a vec3.
        high: its upper corner.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. Boxes that only touch overlap. It finds nothing if a coordinate is NaN. An id without a tree is a
        KernelError, as is a root that is no node.

    Error: exact.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_aabb(bvh.id, wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 1.0, 1.0))
    >>> query.stop  # nodes to visit
    5
    """
    query = _query_at(id, root)
    query.shape, query.first, query.second = BOX, low, high
    return query


@builtin
def bvh_query_sphere(id: uint64, center: Vec[3, float32], radius: float32, root: int32 = -1) -> BvhQuery:
    """Query of a `wp.Bvh` for the boxes that overlap a sphere. `wp.bvh_query_next` gives them one by one.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        center: the centre of the sphere, a vec3.
        radius: its radius, a float32; a negative one counts as zero.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. Boxes that only touch the sphere overlap it. It finds nothing if a number is NaN. An id without a
        tree is a KernelError, as is a root that is no node.

    Error: finds all boxes that overlap, and may find others that are farther by 4 ULP of the distance.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_sphere(bvh.id, wp.vec3(-1.0, 0.5, 0.5), 1.5)
    >>> query.radius
    1.5
    """
    query = _query_at(id, root)
    query.shape, query.first, query.radius = SPHERE, center, prim.max(radius, float32(0.0))
    return _without_nan(query, center[0] * float32(0.0) + center[1] * float32(0.0) + center[2] * float32(0.0) + radius)


@builtin
def bvh_query_capsule(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], radius: float32, root: int32 = -1
) -> BvhQuery:
    """Query of a `wp.Bvh` for boxes near a ray or segment. `wp.bvh_query_next` gives them one by one.

    A box is found if the ray passes through it after it has grown by `radius` in every direction. So the query finds
    all boxes that overlap the capsule, and others whose corners are near. The segment from p to q has the direction
    q - p and a `max_dist` of 1.0 in `wp.bvh_query_next`.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        start: where the ray starts, a vec3.
        dir: its direction, a vec3 of any length.
        radius: the radius of the capsule, a float32; a negative one counts as zero.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. It finds nothing if a number is NaN. If the direction is zero, it finds the boxes around `start`. An
        id without a tree is a KernelError, as is a root that is no node.

    Error: finds all such boxes, and may find others that the ray misses by 8 ULP of the distance.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_capsule(bvh.id, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(2.0, 0.0, 0.0), 0.25)
    >>> query.second  # reciprocals
    vec3f([0.5, 0.0, 0.0])
    """
    query = _query_at(id, root)
    query.shape, query.first, query.second = CAPSULE, start, reciprocal(dir)
    query.radius = prim.min(prim.max(radius, float32(0.0)), float32(LARGEST))
    total = float32(0.0)
    for k in range(3):
        total = total + start[k] * float32(0.0) + dir[k] * float32(0.0)
    return _without_nan(query, total + radius)


@builtin
def bvh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], root: int32 = -1) -> BvhQuery:
    """Query of a `wp.Bvh` for the boxes that a ray passes through. `wp.bvh_query_next` gives them one by one.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        start: where the ray starts, a vec3.
        dir: its direction, a vec3 of any length.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. A ray that only touches a box passes through it. It finds nothing if a number is NaN or infinite.
        If the direction is zero, it finds the boxes around `start`. An id without a tree is a KernelError, as is a
        root that is no node.

    Error: finds all such boxes, and may find others that the ray misses by 8 ULP of the distance.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_ray(bvh.id, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(4.0, 0.0, 0.0))
    >>> query.second  # reciprocals
    vec3f([0.25, 0.0, 0.0])
    """
    return bvh_query_capsule(id, start, dir, float32(0.0), root)


@builtin(name="_bvh_overlaps")
def _overlaps(query: BvhQuery, node: BvhNode, max_dist: float32) -> boolean:
    """True if a query finds a box. Boxes with a lower corner above the upper one, or NaN, are empty."""
    found = node.lower[0] <= node.upper[0]
    if query.shape == BOX:
        found = found and boxes_overlap(node.lower, node.upper, query.first, query.second)
    elif query.shape == SPHERE:
        radius = float64(query.radius)
        found = found and distance_sq(node, query.first) <= radius * radius
    else:
        for k in range(3):
            node.lower[k] = node.lower[k] - query.radius
            node.upper[k] = node.upper[k] + query.radius
        found = found and entry_of(node, query.first, query.second, max_dist) < float32(INFINITE)
    return found


@builtin(name="_bvh_box_of_face")
def _box_of_face(data: BvhData, face: int32) -> tuple[Vec[3, float32], Vec[3, float32]]:
    points = prim.array_at(data.points, data.num_points, Vec[3, float32])
    indices = prim.array_at(data.indices, data.num_boxes * 3, int32)
    a, b, c = points[indices[3 * face]], points[indices[3 * face + 1]], points[indices[3 * face + 2]]
    return prim.min(prim.min(a, b), c), prim.max(prim.max(a, b), c)


@builtin(name="_bvh_box")
def _box_of(data: BvhData, box: int32) -> BvhNode:
    """A node around a box alone."""
    node = BvhNode()
    if data.points != uint64(0):
        node.lower, node.upper = _box_of_face(data, box)
    else:
        node.lower = prim.array_at(data.lowers, data.num_boxes, Vec[3, float32])[box]
        node.upper = prim.array_at(data.uppers, data.num_boxes, Vec[3, float32])[box]
    is_empty = False
    for k in range(3):
        is_empty = is_empty or not node.lower[k] <= node.upper[k]
    if is_empty:
        node.lower[0] = float32(INFINITE)
        node.upper[0] = float32(-INFINITE)
    return node


@builtin
def _bvh_next(query: BvhQuery, max_dist: float32) -> tuple[int32, int32, int32, int32]:
    """(index, number, place, end): the next box of a query, -1 without one, and where the query is then."""
    data, index = structure_of(query.tree, BvhData), -1
    while index < 0 and (query.place < query.end or query.number < query.stop):
        if query.place < query.end:
            box = prim.array_at(data.order, data.num_boxes, int32)[query.place]
            query.place += 1
            if _overlaps(query, _box_of(data, box), max_dist):
                index = box
        else:
            node = node_at(data.nodes, data.max_nodes, query.number)
            overlaps = _overlaps(query, node, max_dist)
            if overlaps and node.count == 1:
                index = prim.array_at(data.order, data.num_boxes, int32)[node.child]
            elif overlaps and node.count > 1:
                query.place, query.end = node.child, node.child + node.count
            query.number = prim.select(overlaps or node.count > 0, query.number + 1, -node.count)
    return index, query.number, query.place, query.end


@builtin
def bvh_query_next(query: ref[BvhQuery], index: ref[int32], max_dist: float32 = INFINITE) -> boolean:
    """Next box of a query of a `wp.Bvh`.

    Args:
        query: from `wp.bvh_query_aabb`, `wp.bvh_query_ray`, `wp.bvh_query_sphere` or `wp.bvh_query_capsule`; a local
            variable, which is advanced.
        index: a local int32, which becomes the index of the box.
        max_dist: boxes count if a ray or capsule reaches them at `start + t * dir` with `t` up to this, a float32. It
            may become less during a query. It does not matter for boxes and spheres.

    Returns:
        True if there was a box; otherwise `index` stays as it is. No box comes twice. The order depends on the tree
        alone.

    Error: see the query.
    Derivative: none.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, found: wp.array[int]):
    ...     query = wp.bvh_query_aabb(bvh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 1.0, 1.0))
    ...     index = int(0)
    ...     while wp.bvh_query_next(query, index):
    ...         found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> found = wp.zeros(3, dtype=int, device="cpu")
    >>> wp.launch(mark, dim=1, inputs=[bvh.id, found], device="cpu")
    >>> found.list()
    [1, 1, 0]
    """
    box, query.number, query.place, query.end = _bvh_next(query, max_dist)
    if box >= 0:
        index = box  # noqa: F841 - it is the caller's
    return box >= 0


@builtin
def bvh_get_group_root(id: uint64, group: int32) -> int32:
    """Node above the boxes of a group of a `wp.Bvh`, which restricts queries to the group.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        group: the group, an int32.

    Returns:
        The number of the node, an int32 for the argument `root` of queries. It is -1 if no box is of the group: a query
        with this root finds boxes of all groups. An id without a tree is a KernelError.

    Error: exact.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers, groups=wp.array([7, 7, 8], dtype=int, device="cpu"))
    >>> wp.bvh_get_group_root(bvh.id, 9)
    -1
    """
    return root_of_group(structure_at(id, BVH, BvhData, _UNKNOWN), group)


@builtin(name="_bvh_root_of_group")
def root_of_group(data: BvhData, group: int32) -> int32:
    """The node above the boxes of a group, -1 for a group without boxes."""
    root = -1
    if data.num_groups > 0:
        groups = prim.array_at(data.groups, data.num_groups, int32)
        place = first_at_least(groups, 0, data.num_groups, group)
        if place < data.num_groups and groups[place] == group:
            root = prim.array_at(data.roots, data.num_groups, int32)[place]
    return root
