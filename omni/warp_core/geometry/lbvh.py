"""A hierarchy over boxes that kernels build and refit on a GPU: a linear BVH, in the layout of `BvhNode`.

A build sorts the boxes by the Morton codes of their centres: Lauterbach et al., "Fast BVH construction on GPUs", 2009.
An inner node is all boxes whose keys begin with the same bits. So each thread finds one by itself: Karras, "Maximizing
parallelism in the construction of BVHs, octrees, and k-d trees", 2012. A running sum gives the number of each node in a
depth-first walk. Keys begin with the number of the group, if there are groups, so these are nodes.

Boxes of nodes come from a pyramid: its lowest level has the boxes in the order of leaves, and each box of a level holds
eight of the level below. The boxes below a node follow each other, so a thread joins a few boxes of each level. No
thread waits for another, as in a pass from leaves to the root with counters. The language has no fence for that.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from .. import vec2i, vec3
from ..algo.scan import array_scan, runlength_encode
from ..algo.sort import radix_sort_pairs
from ..arrays.array import array
from ..arrays.factories import clone, empty, zeros
from ..arrays.transfer import copy
from ..dispatch import observers
from ..lang.values.scalars import int32, uint64
from ..launches.launch import launch
from ..lib.geometry.bvh_nodes import BvhNode
from . import lbvh_kernels as kernels

_KEY_BITS = 63  # of a group, a code and the number of a box: no tree has more than 64 levels
_AXIS_BITS = 16  # of a code; a sort by 48 bits takes six passes


class Boxes(NamedTuple):
    """A pyramid of boxes: their corners, and where each level ends. The first end, 0, is that of no level."""

    least: array
    most: array
    ends: list[int]


class Lbvh:
    """The hierarchy over boxes on a GPU.

    Attributes:
        nodes: of `BvhNode`, in the order of a depth-first walk. Before `trim` there is room for more of them.
        order: the numbers of the boxes in the order of leaves.
        groups: the different groups of boxes in ascending order, or None.
        roots: the node above all boxes of each group, or None.
        places: the first place below each node, and the place behind the last.
    """

    def __init__(self, lowers: array, uppers: array, leaf_size: int, group_of_box: array | None = None):
        """Build the tree of at least one box. With groups this waits for the GPU to count them."""
        count, device = lowers.size, lowers.device
        self._leaf_size, self._device = leaf_size, device
        with observers.NotRecording():
            self._list_groups(group_of_box)
            self.nodes = zeros(2 * count - 1, dtype=BvhNode, device=device)
            self.places = empty(2 * count - 1, dtype=vec2i, device=device)
            self.order = empty(count, dtype=int32, device=device)
            self.build(lowers, uppers)

    def build(self, lowers: array, uppers: array) -> None:
        """Build the tree again, in the same memory, before `trim` alone. A graph can capture this."""
        with observers.NotRecording():
            keys, shift = self._sort(lowers, uppers)
            self.places.zero_()
            self._connect(keys, shift)
            if self.roots is not None:
                given = [keys, self.order.size, shift, self.places, self.roots]
                launch(kernels.bvh_find_roots, self.nodes.size, given, device=self.nodes.device)
            self.fit(lowers, uppers)

    def trim(self) -> None:
        """Give up the room for more nodes. This waits for the GPU to count them."""
        (root,) = self.nodes[:1].list()
        count = max(-root.count, 1)
        with observers.NotRecording():
            self.nodes, self.places = clone(self.nodes[:count]), clone(self.places[:count])

    def fit(self, lowers: array, uppers: array, wrong: array | None = None) -> Boxes:
        """Fit the nodes to boxes that have moved. The tree stays. A graph can capture this.

        Args:
            lowers: the lower corners of the boxes, vec3.
            uppers: the upper ones.
            wrong: None, or int32, any number of them. If one is not `kernels.GOOD`, all stays as it is.

        Returns:
            The pyramid over the boxes.
        """
        with observers.NotRecording():
            count = self.order.size
            pyramid = _pyramid(kernels.bvh_gather_boxes, [lowers, uppers, self.order], count)
            checked = empty(0, dtype=int32, device=lowers.device) if wrong is None else wrong
            given = [pyramid.least, pyramid.most, count, self.places, checked, self.nodes]
            launch(kernels.bvh_fit_nodes, self.nodes.size, given, device=self.nodes.device)
        return pyramid

    def _list_groups(self, group_of_box: array | None) -> None:
        """Number the groups. `_ranks` has the number of the group of each box, or nothing without groups."""
        self.groups = self.roots = None
        if group_of_box is None:
            self._ranks = empty(0, dtype=int32, device=self._device)
            return
        count = group_of_box.size
        keys, numbers = (empty(2 * count, dtype=int32, device=self._device) for _ in range(2))
        copy(keys, group_of_box, count=count)
        radix_sort_pairs(keys, numbers, count)
        found = runlength_encode(keys[:count], numbers[:count], keys[count:])
        self.groups, self.roots = clone(numbers[:found]), zeros(found, dtype=int32, device=self._device)
        self._ranks = empty(count, dtype=int32, device=self._device)
        launch(kernels.bvh_rank_groups, count, [group_of_box, self.groups, self._ranks], device=self._device)

    def _sort(self, lowers: array, uppers: array) -> tuple[array, int]:
        """Return the keys of the boxes in order, and the bit where numbers of groups begin. Writes the order."""
        count = self.order.size
        index_bits, group_bits = (count - 1).bit_length(), (self._group_count() - 1).bit_length()
        bits = min((_KEY_BITS - index_bits - group_bits) // 3, _AXIS_BITS)
        least, most, _ = _pyramid(kernels.bvh_find_centres, [lowers, uppers], count)
        keys = empty(2 * count, dtype=uint64, device=self._device)
        numbers = empty(2 * count, dtype=int32, device=self._device)
        given = [least, most, self._ranks, bits, index_bits, keys, numbers]
        launch(kernels.bvh_make_keys, count, given, device=self._device)
        shift = index_bits + 3 * bits
        radix_sort_pairs(keys, numbers, count, index_bits, shift + group_bits)
        copy(self.order, numbers, count=count)
        return keys, shift

    def _connect(self, keys: array, shift: int) -> None:
        """Write the nodes without boxes, and the places below each of them."""
        device, count, leaf_size = self._device, self.order.size, self._leaf_size
        cuts, is_leaf = count - 1, count <= leaf_size and self._group_count() == 1
        firsts, lasts, ranks = (empty(cuts, dtype=int32, device=device) for _ in range(3))
        starts = zeros(count + 1, dtype=int32, device=device)
        launch(kernels.bvh_find_ranges, cuts, [keys, count, firsts, lasts], device=device)
        if is_leaf:
            starts[:1].fill_(1)
        given = [keys, count, shift, leaf_size, firsts, lasts, ranks, starts]
        launch(kernels.bvh_count_nodes, cuts, given, device=device)
        array_scan(starts, starts, inclusive=False)
        if is_leaf:
            launch(kernels.bvh_write_only_leaf, 1, [count, starts, self.nodes, self.places], device=device)
        given = [keys, shift, leaf_size, firsts, lasts, ranks, starts, self.nodes, self.places]
        launch(kernels.bvh_write_nodes, cuts, given, device=device)

    def _group_count(self) -> int:
        return 1 if self.groups is None else int(self.groups.size)


def _pyramid(fill: Any, given: list[array], count: int) -> Boxes:
    """Return the boxes of all levels, the lowest first. A kernel writes that level."""
    device, ends = given[0].device, [0, count]
    while ends[-1] - ends[-2] > 1:
        ends.append(ends[-1] - (ends[-2] - ends[-1]) // kernels.FAN)
    least, most = (empty(ends[-1], dtype=vec3, device=device) for _ in range(2))
    launch(fill, count, [*given, least, most], device=device)
    for (begin, end), (_, behind) in pairwise(pairwise(ends)):
        launch(kernels.bvh_join_boxes, behind - end, [begin, end, least, most], device=device)
    return Boxes(least, most, ends)
