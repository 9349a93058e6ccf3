"""The kernels that build a hierarchy over boxes on a GPU: see lbvh.py."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import INF, isfinite, max, min, tid, vec3, where
from ..arrays.array import array1d
from ..lang.kernel import func, kernel
from ..lang.values.scalars import float64, int32, uint64
from ..lang.values.value_classes import vector
from ..lib.geometry.bvh_nodes import BvhNode
from ..lib.search import first_at_least

FAN = 8  # boxes that a box of the next level of a pyramid holds
GOOD = 2**31 - 1  # what `wrong` has where all is well
_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}
_Range: Any = vector(2, int32)


@kernel(**_OPTIONS)
def bvh_find_centres(
    lowers: array1d(dtype=vec3), uppers: array1d(dtype=vec3), least: array1d(dtype=vec3), most: array1d(dtype=vec3)
):
    """Write the lowest level of a pyramid: the centre of each box, as a box. It is empty where no centre is finite."""
    i = tid()
    centre = lowers[i] * 0.5 + uppers[i] * 0.5  # never overflows
    finite = isfinite(centre)
    least[i] = where(finite, centre, vec3(INF))
    most[i] = where(finite, centre, vec3(-INF))


@kernel(**_OPTIONS)
def bvh_gather_boxes(
    lowers: array1d(dtype=vec3),
    uppers: array1d(dtype=vec3),
    order: array1d(dtype=int32),
    least: array1d(dtype=vec3),
    most: array1d(dtype=vec3),
):
    """Write the lowest level of a pyramid: the boxes in the order of leaves.

    A box with a coordinate that is NaN, or with a lower corner above the upper one, is empty.
    """
    i = tid()
    low, high = lowers[order[i]], uppers[order[i]]
    there = low[0] <= high[0] and low[1] <= high[1] and low[2] <= high[2]
    least[i] = where(there, low, vec3(INF))
    most[i] = where(there, high, vec3(-INF))


@kernel(**_OPTIONS)
def bvh_join_boxes(begin: int, end: int, least: array1d(dtype=vec3), most: array1d(dtype=vec3)):
    """Write a level of a pyramid, which lies behind the level below, [begin, end)."""
    i = tid()
    first = begin + i * FAN
    low, high = least[first], most[first]
    for k in range(first + 1, min(first + FAN, end)):
        low, high = min(low, least[k]), max(high, most[k])
    least[end + i] = low
    most[end + i] = high


@func
def _spread(x: uint64) -> uint64:
    """Put two zeros between the 21 bits of a number."""
    x = (x | x << uint64(32)) & uint64(0x1F00000000FFFF)
    x = (x | x << uint64(16)) & uint64(0x1F0000FF0000FF)
    x = (x | x << uint64(8)) & uint64(0x100F00F00F00F00F)
    x = (x | x << uint64(4)) & uint64(0x10C30C30C30C30C3)
    return (x | x << uint64(2)) & uint64(0x1249249249249249)


@kernel(**_OPTIONS)
def bvh_make_keys(
    least: array1d(dtype=vec3),
    most: array1d(dtype=vec3),
    ranks: array1d(dtype=int32),
    bits: int,
    index_bits: int,
    keys: array1d(dtype=uint64),
    order: array1d(dtype=int32),
):
    """A key is the number of a group, the Morton code of a centre, and the number of the box. So no two keys are equal.

    Boxes without a finite centre are last in their group. Without groups there are no `ranks`. Cells are cubes.
    `least` and `most` are the pyramid over the centres, so its last box has all of them.
    """
    i = tid()
    low, high = least[least.shape[0] - 1], most[most.shape[0] - 1]
    size = float64(0.0)
    for k in range(3):
        size = max(size, float64(high[k]) - float64(low[k]))
    code, cells = uint64(0), 1 << bits
    if not isfinite(least[i]):
        code = (uint64(1) << uint64(3 * bits)) - uint64(1)
    elif size > float64(0.0):
        for k in range(3):
            share = (float64(least[i][k]) - float64(low[k])) / size
            code |= _spread(uint64(min(int(share * float64(cells)), cells - 1))) << uint64(k)
    if ranks.shape[0] > 0:
        code |= uint64(ranks[i]) << uint64(3 * bits)
    keys[i] = code << uint64(index_bits) | uint64(i)
    order[i] = i


@kernel(**_OPTIONS)
def bvh_rank_groups(group_of_box: array1d(dtype=int32), groups: array1d(dtype=int32), ranks: array1d(dtype=int32)):
    """Find the place of the group of each box among all groups."""
    i = tid()
    ranks[i] = first_at_least(groups, 0, groups.shape[0], group_of_box[i])


@kernel(**_OPTIONS)
def bvh_find_ranges(keys: array1d(dtype=uint64), count: int, firsts: array1d(dtype=int32), lasts: array1d(dtype=int32)):
    """Find the first and the last place below the inner node that is cut behind place i.

    Keys i and i + 1 differ in some highest bit. The node has all keys that agree with them in the bits above.
    """
    i = tid()
    below = keys[i] ^ keys[i + 1]
    for k in range(6):
        below |= below >> uint64(1 << k)
    low, high = keys[i] & ~below, keys[i] | below
    step = 1
    while step <= i and keys[i - step] >= low:
        step *= 2
    firsts[i] = first_at_least(keys, max(i - step + 1, 0), i, low)
    step = 1
    while i + step < count and keys[i + step] <= high:
        step *= 2
    lasts[i] = first_at_least(keys, i + 1, min(i + step, count), high + uint64(1)) - 1


@func
def _is_one_group(keys: array1d(dtype=uint64), first: int, last: int, shift: int) -> bool:
    return (keys[first] ^ keys[last]) >> uint64(shift) == uint64(0)


@func
def _is_inner(keys: array1d(dtype=uint64), first: int, last: int, shift: int, leaf_size: int) -> bool:
    """True if the node of some places is no leaf: these have at most `leaf_size` boxes, all of one group."""
    return last - first >= leaf_size or not _is_one_group(keys, first, last, shift)


@kernel(**_OPTIONS)
def bvh_count_nodes(
    keys: array1d(dtype=uint64),
    count: int,
    shift: int,
    leaf_size: int,
    firsts: array1d(dtype=int32),
    lasts: array1d(dtype=int32),
    ranks: array1d(dtype=int32),
    counts: array1d(dtype=int32),
):
    """Count the nodes whose first place is the same: an inner node, its left child, and so on down to a leaf.

    Thread i has the inner node that is cut behind place i. Its rank is the number of such nodes above it. A leaf writes
    the count, and its parent's thread acts for it. Numbers of groups begin at the bit `shift` of keys.
    """
    i = tid()
    first, last = firsts[i], lasts[i]
    if _is_inner(keys, first, last, shift, leaf_size):
        rank, end = 0, last
        while end < count - 1 and (first == 0 or keys[end] ^ keys[end + 1] < keys[first - 1] ^ keys[first]):
            end = lasts[end]
            rank += 1
        ranks[i] = rank
        if not _is_inner(keys, first, i, shift, leaf_size):
            counts[first] = rank + 2
        if not _is_inner(keys, i + 1, last, shift, leaf_size):
            counts[i + 1] = 1


@func
def _write_leaf(
    begin: int, end: int, starts: array1d(dtype=int32), nodes: array1d(dtype=BvhNode), places: array1d(dtype=_Range)
):
    number = starts[end] - 1
    nodes[number].child = begin
    nodes[number].count = end - begin
    places[number] = _Range(begin, end)


@kernel(**_OPTIONS)
def bvh_write_only_leaf(
    count: int, starts: array1d(dtype=int32), nodes: array1d(dtype=BvhNode), places: array1d(dtype=_Range)
):
    """Write the tree of boxes that are all in one leaf."""
    _write_leaf(0, count, starts, nodes, places)


@kernel(**_OPTIONS)
def bvh_write_nodes(
    keys: array1d(dtype=uint64),
    shift: int,
    leaf_size: int,
    firsts: array1d(dtype=int32),
    lasts: array1d(dtype=int32),
    ranks: array1d(dtype=int32),
    starts: array1d(dtype=int32),
    nodes: array1d(dtype=BvhNode),
    places: array1d(dtype=_Range),
):
    """Write an inner node and its leaves, without boxes. `starts` are the sums of the counts before each place.

    They are numbers of nodes, as a depth-first walk comes to all nodes of a first place in turn.
    """
    i = tid()
    first, last = firsts[i], lasts[i]
    if _is_inner(keys, first, last, shift, leaf_size):
        number = starts[first] + ranks[i]
        nodes[number].child = starts[i + 1]
        nodes[number].count = -starts[last + 1]
        places[number] = _Range(first, last + 1)
        if not _is_inner(keys, first, i, shift, leaf_size):
            _write_leaf(first, i + 1, starts, nodes, places)
        if not _is_inner(keys, i + 1, last, shift, leaf_size):
            _write_leaf(i + 1, last + 1, starts, nodes, places)


@kernel(**_OPTIONS)
def bvh_find_roots(
    keys: array1d(dtype=uint64),
    count: int,
    shift: int,
    places: array1d(dtype=_Range),
    roots: array1d(dtype=int32),
):
    """Find the node that has all places of a group and no others. Nodes that are left out have no places."""
    number = tid()
    begin, end = places[number][0], places[number][1]
    if end > begin:
        alone = _is_one_group(keys, begin, end - 1, shift)
        if begin > 0:
            alone = alone and not _is_one_group(keys, begin - 1, begin, shift)
        if end < count:
            alone = alone and not _is_one_group(keys, end - 1, end, shift)
        if alone:
            roots[int(keys[begin] >> uint64(shift))] = number


@kernel(**_OPTIONS)
def bvh_mark_roots(roots: array1d(dtype=int32), starts: array1d(dtype=int32)):
    """Mark the roots of groups of a mesh, in `MeshData.starts`."""
    starts[roots[tid()]] = 0


@func
def all_good(wrong: array1d(dtype=int32)) -> bool:
    """True if a check has found nothing wrong."""
    good = True
    for i in range(wrong.shape[0]):
        good = good and wrong[i] == GOOD
    return good


@func
def whole_groups(begin: int, end: int) -> tuple[int, int]:
    """Return where the whole groups in a range of a level of a pyramid begin and end: boxes of the next level."""
    first = min((begin + FAN - 1) // FAN * FAN, end)
    return first, max(end // FAN * FAN, first)


@kernel(**_OPTIONS)
def bvh_fit_nodes(
    least: array1d(dtype=vec3),
    most: array1d(dtype=vec3),
    count: int,
    places: array1d(dtype=_Range),
    wrong: array1d(dtype=int32),
    nodes: array1d(dtype=BvhNode),
):
    """Write the box of a node: that of its places, of which the pyramid has most in groups."""
    number = tid()
    if all_good(wrong):
        begin, end = places[number][0], places[number][1]
        low, high = least[begin], most[begin]
        at, size = 0, count
        while begin < end:
            first, last = whole_groups(begin, end)
            for i in range(at + begin, at + first):
                low, high = min(low, least[i]), max(high, most[i])
            for i in range(at + last, at + end):
                low, high = min(low, least[i]), max(high, most[i])
            begin, end = first // FAN, last // FAN
            at, size = at + size, (size + FAN - 1) // FAN
        nodes[number].lower = low
        nodes[number].upper = high
