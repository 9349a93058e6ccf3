"""Linear BVHs, which GPUs build: trees over boxes, on every device. NumPy looks at all nodes of a tree at once."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.geometry import lbvh
from omni.warp_core.geometry.lbvh_kernels import GOOD


def tree(*given):
    """A tree without room for more nodes."""
    made = lbvh.Lbvh(*given)
    made.trim()
    return made


LEVELS = 64  # which the stacks of queries have room for


def vectors(a):
    return wp.array(np.ascontiguousarray(a, np.float32), dtype=wp.vec3)


def levels_of(bvh, leaf_size: int) -> int:
    """Check the layout of a tree, and return the number of its levels."""
    nodes, order = bvh.nodes.numpy(), bvh.order.numpy()
    child, count = nodes["child"], nodes["count"]
    level, ends, levels, leaves, seen = np.array([0]), np.array([len(nodes)]), 0, [], 0
    while level.size:
        levels, seen = levels + 1, seen + level.size
        inner = count[level] < 0
        leaf, node = level[~inner], level[inner]
        assert (ends[~inner] == leaf + 1).all()
        assert (-count[node] == ends[inner]).all()
        leaves.append(np.stack([child[leaf], count[leaf]], 1))
        level = np.concatenate([node + 1, child[node]])
        ends = np.concatenate([child[node], ends[inner]])
    begin, size = np.concatenate(leaves)[np.argsort(np.concatenate(leaves)[:, 0])].T
    assert seen == len(nodes)
    assert (size >= 1).all()
    assert (size <= leaf_size).all()
    assert np.array_equal(begin, np.cumsum(size) - size)
    assert size.sum() == len(order)
    assert np.array_equal(np.sort(order), np.arange(len(order)))
    return levels


def check_boxes(bvh, lowers, uppers) -> None:
    """Each leaf has the box of its boxes to the bit, and each inner node that of its children."""
    nodes, order = bvh.nodes.numpy(), bvh.order.numpy()
    with np.errstate(invalid="ignore"):
        empty = ~(lowers <= uppers).all(1, keepdims=True)
    lowers, uppers = np.where(empty, np.inf, lowers), np.where(empty, -np.inf, uppers)
    leaf = np.flatnonzero(nodes["count"] > 0)
    leaf = leaf[np.argsort(nodes["child"][leaf])]
    inner = np.flatnonzero(nodes["count"] < 0)
    for name, given, join in (("lower", lowers, np.minimum), ("upper", uppers, np.maximum)):
        assert np.array_equal(nodes[name][leaf], join.reduceat(given[order], nodes["child"][leaf]))
        children = nodes[name][inner + 1], nodes[name][nodes["child"][inner]]
        assert np.array_equal(nodes[name][inner], join(*children))


def boxes(centres, size=0.0):
    centres = np.asarray(centres, np.float32).reshape(-1, 3)
    return centres - np.float32(size), centres + np.float32(size)


def deep():
    """Centres that halve their distance to the origin along one axis after the other: all bits of keys make levels."""
    k = np.arange(63)
    return boxes(np.vstack([np.eye(3)[2 - k % 3] * 0.75 * 2.0 ** -(k // 3)[:, None], np.zeros((40, 3))]))


def unusual():
    """Boxes that are empty, infinite, or both, among some that are not."""
    lowers, uppers = (a.copy() for a in boxes(np.random.default_rng(3).normal(size=(100, 3)), 0.1))
    lowers[::7], uppers[1::7, 1], lowers[2::7, 2] = np.nan, np.nan, 9.0
    lowers[3::7], uppers[3::7] = -np.inf, np.inf
    lowers[4::14], uppers[4::14] = np.inf, -np.inf
    return lowers, uppers


rng = np.random.default_rng(1)
SETS = {
    "one": lambda: boxes([1, 2, 3], 0.5),
    "two": lambda: boxes([[1, 2, 3], [3, 2, 1]], 0.5),
    "equal": lambda: boxes(np.ones((1000, 3))),
    "deep": deep,
    "random": lambda: boxes(rng.normal(size=(513, 3)), 0.01),
    "sizes": lambda: boxes(rng.normal(size=(300, 3)), 10.0 ** rng.uniform(-6, 3, (300, 1))),
    "line": lambda: boxes(rng.uniform(-9, 9, (257, 1)) * [0, 1, 0], 0.1),
    "huge": lambda: boxes(rng.choice([-3.4e38, 3.4e38, 0.0], (200, 3))),
    "tiny": lambda: boxes(rng.integers(-3, 4, (200, 3)) * 1e-45),
    "unusual": unusual,
    "all empty": lambda: boxes(np.ones((9, 3)), -1.0),
    "half at one place": lambda: boxes(np.vstack([rng.normal(size=(65, 3)), np.zeros((64, 3))])),
}


@pytest.mark.parametrize("leaf_size", [1, 2, 4, 8])
@pytest.mark.parametrize("name", SETS)
def test_trees_over_all_kinds_of_boxes(name, leaf_size, device):
    lowers, uppers = SETS[name]()
    bvh = tree(vectors(lowers), vectors(uppers), leaf_size)
    levels = levels_of(bvh, leaf_size)
    check_boxes(bvh, lowers, uppers)
    assert levels <= LEVELS
    if leaf_size == 1:
        assert len(bvh.nodes) == 2 * len(lowers) - 1
        assert (levels > 48) == (name == "deep")
        assert name != "equal" or levels == 11


@pytest.mark.parametrize("count", [7, 8, 9, 63, 64, 65, 129, 4097])
def test_trees_of_sizes_around_powers_of_two(count, device):
    lowers, uppers = boxes(np.random.default_rng(count).uniform(-1, 1, (count, 3)), 0.02)
    bvh = tree(vectors(lowers), vectors(uppers), 4)
    assert levels_of(bvh, 4) <= 2 * count.bit_length() + 3
    check_boxes(bvh, lowers, uppers)


def test_a_million_equal_boxes(device):
    lowers, uppers = boxes(np.full((1_000_001, 3), 7.0))
    bvh = tree(vectors(lowers), vectors(uppers), 4)
    assert levels_of(bvh, 4) <= 20
    assert (bvh.nodes.numpy()["lower"] == 7.0).all()


def test_near_boxes_are_near_in_the_order():
    """The leaves of a tree over a grid of points: boxes of four of them are small."""
    grid = np.stack(np.meshgrid(*[np.arange(16.0)] * 3), -1).reshape(-1, 3)
    lowers, uppers = boxes(np.random.default_rng(2).permutation(grid))
    nodes = tree(vectors(lowers), vectors(uppers), 4).nodes.numpy()
    leaf = nodes[nodes["count"] > 0]
    assert (leaf["upper"] - leaf["lower"]).sum(1).mean() <= 2.0


def test_boxes_that_have_moved(device):
    lowers, uppers = SETS["random"]()
    bvh, good = tree(vectors(lowers), vectors(uppers), 2), wp.full(3, GOOD, dtype=int)
    order = bvh.order.list()
    moved = np.float32(rng.normal(size=lowers.shape))
    bvh.fit(vectors(moved), vectors(moved + 1), good)
    check_boxes(bvh, moved, moved + 1)
    assert bvh.order.list() == order
    good[1:2].fill_(17)
    bvh.fit(vectors(lowers), vectors(uppers), good)
    check_boxes(bvh, moved, moved + 1)
