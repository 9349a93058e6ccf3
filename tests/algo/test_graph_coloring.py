"""Colours of graphs. The judge is validity: no edge joins one colour. The number of colours is known for graphs of
intervals (the most that overlap), for bipartite and for planar graphs.
"""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.utils import (
    GraphColoringAlgorithm,
    graph_coloring_assign,
    graph_coloring_balance,
    graph_coloring_get_groups,
)

ALGORITHMS = list(GraphColoringAlgorithm)


def edges_of(pairs) -> wp.array:
    return wp.array(np.asarray(pairs, dtype=np.int32).reshape(-1, 2), dtype=wp.int32, device="cpu")


def colored(pairs, nodes, algorithm=GraphColoringAlgorithm.MCS):
    colors = wp.full(nodes, 77, dtype=wp.int32, device="cpu")
    count = graph_coloring_assign(edges_of(pairs), colors, algorithm)
    assert_valid(pairs, colors.numpy(), count)
    assert sorted(set(colors.list())) == list(range(count))
    return colors, count


def assert_valid(pairs, colors, count):
    a, b = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    assert (colors[a] != colors[b]).all()
    assert colors.min(initial=0) >= 0 and colors.max(initial=0) < max(count, 1)


def random_pairs(rng, nodes, edges):
    pairs = rng.integers(0, nodes, (edges, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def triangulated_grid(n, m):
    at = np.arange(n * m).reshape(n, m)
    ends = ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]), (at[:-1, :-1], at[1:, 1:]))
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in ends])


def degeneracy(pairs, nodes) -> int:
    """The largest of the smallest degrees while nodes of smallest degree are taken away."""
    near = [set() for _ in range(nodes)]
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)
    left, most = set(range(nodes)), 0
    while left:
        node = min(left, key=lambda i: len(near[i]))
        most = max(most, len(near[node]))
        left.remove(node)
        for other in near[node]:
            near[other].discard(node)
    return most


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_random_graphs(algorithm):
    rng = np.random.default_rng(1)
    for nodes, edges in ((2, 1), (10, 20), (100, 300), (200, 4000)):
        pairs = random_pairs(rng, nodes, edges)
        _, count = colored(pairs, nodes, algorithm)
        unique = np.unique(np.sort(pairs, axis=1), axis=0)
        degrees = np.bincount(unique.ravel(), minlength=nodes)
        assert count <= degrees.max() + 1
        if algorithm == GraphColoringAlgorithm.GREEDY:  # repeated edges count, which makes the bound weaker
            assert colored(unique, nodes, algorithm)[1] <= degeneracy(unique, nodes) + 1


def test_graphs_of_intervals_need_as_many_colors_as_overlap():
    rng = np.random.default_rng(2)
    for _ in range(20):
        begin = rng.random(60)
        end = begin + rng.random(60) * 0.3
        overlap = (begin[:, None] < end) & (begin < end[:, None])
        pairs = np.argwhere(np.triu(overlap, 1))
        depth = max(((begin <= t) & (t < end)).sum() for t in begin)
        assert colored(pairs, 60)[1] == depth


def test_bipartite_graphs_need_two_colors():
    rng = np.random.default_rng(3)
    for _ in range(20):
        pairs = np.stack([rng.integers(0, 50, 120), rng.integers(50, 100, 120)], axis=1)
        assert colored(pairs[:, ::-1], 100)[1] == 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_known_graphs(algorithm):
    assert colored([], 5, algorithm)[1] == 1
    assert colored([], 0, algorithm)[1] == 0
    assert colored([[0, 1], [1, 2], [2, 3], [3, 0]], 4, algorithm)[1] == 2
    assert colored([[i, (i + 1) % 7] for i in range(7)], 7, algorithm)[1] == 3
    assert colored([[i, j] for i in range(9) for j in range(i)], 9, algorithm)[1] == 9
    assert colored([[0, 1], [1, 0], [0, 1]], 2, algorithm)[1] == 2
    assert colored(triangulated_grid(30, 40), 1200, algorithm)[1] == 3


# (nodes, edges drawn): colours by maximum cardinality search and by GREEDY of warp-lang 1.19 for the graphs below
PEER = {(100, 300): (5, 5), (1000, 5000): (7, 7), (1000, 20000): (16, 15), (5000, 10000): (4, 5)}


def test_no_more_colors_than_the_peer():
    rng = np.random.default_rng(0)
    for (nodes, edges), peer in PEER.items():
        pairs = random_pairs(rng, nodes, edges)
        assert min(colored(pairs, nodes, algorithm)[1] for algorithm in ALGORITHMS) <= max(peer)
        assert colored(pairs, nodes)[1] <= peer[0]


def test_equal_edges_give_equal_colors():
    pairs = random_pairs(np.random.default_rng(4), 300, 2000)
    assert all(colored(pairs, 300)[0].list() == colored(pairs, 300)[0].list() for _ in range(3))


def test_edges_with_gaps():
    wide = wp.array([[0, 9, 1, 9], [1, 9, 2, 9]], dtype=wp.int32, device="cpu")
    colors = wp.empty(3, dtype=wp.int32, device="cpu")
    assert graph_coloring_assign(wide[:, ::2], colors) == 2
    assert colors.list() == [0, 1, 0]


# -- balance ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_balanced_colors_are_valid_and_reach_the_ratio(algorithm):
    rng = np.random.default_rng(5)
    for nodes, edges, target in ((100, 300, 1.1), (1000, 5000, 1.1), (300, 6000, 1.2)):
        pairs = random_pairs(rng, nodes, edges)
        colors, count = colored(pairs, nodes, algorithm)
        ratio = graph_coloring_balance(edges_of(pairs), colors, count, target)
        assert_valid(pairs, colors.numpy(), count)
        sizes = np.bincount(colors.numpy(), minlength=count)
        assert ratio == sizes.max() / sizes.min() <= target


def test_each_iteration_brings_colors_closer():
    pairs = random_pairs(np.random.default_rng(6), 500, 2000)
    colors, count = colored(pairs, 500)
    sizes = np.bincount(colors.numpy())
    ratios = [sizes.max() / sizes.min()]
    while ratios[-1] > 1.05:
        with pytest.warns(UserWarning, match=r"1 iterations have reached a ratio of .*, and not yet 1"):
            ratios.append(graph_coloring_balance(edges_of(pairs), colors, count, 1.0, max_iterations=1))
        assert_valid(pairs, colors.numpy(), count)
        assert ratios[-1] <= ratios[-2]


def test_a_reached_target_changes_nothing():
    colors = wp.array([0, 1, 0, 1, 1], dtype=wp.int32, device="cpu")
    assert graph_coloring_balance(edges_of([[0, 1]]), colors, 2, 1.5) == 1.5
    assert graph_coloring_balance(edges_of([[0, 1]]), colors, 2, 1.5, max_iterations=0) == 1.5
    assert colors.list() == [0, 1, 0, 1, 1]


def test_parts_change_places_as_a_whole():
    star = [[0, 1], [0, 2], [0, 3]]
    other = [[4, 5], [4, 6], [4, 7]]
    colors = wp.array([0, 1, 1, 1, 0, 1, 1, 1], dtype=wp.int32, device="cpu")
    assert graph_coloring_balance(edges_of(star + other), colors, 2, 1.0) == 1.0
    assert_valid(star + other, colors.numpy(), 2)


def test_what_cannot_be_balanced_stays():
    colors = wp.array([0, 1, 1, 1], dtype=wp.int32, device="cpu")
    assert graph_coloring_balance(edges_of([[0, 1], [0, 2], [0, 3]]), colors, 2, 1.0) == 3.0
    assert sorted(np.bincount(colors.numpy())) == [1, 3]


def test_colors_without_nodes():
    colors = wp.array([0, 1, 0, 0], dtype=wp.int32, device="cpu")
    assert graph_coloring_balance(edges_of([[0, 1]]), colors, 4, 1.0) == 1.0
    assert sorted(colors.list()) == [0, 1, 2, 3]
    assert graph_coloring_balance(edges_of([[0, 1]]), colors, 5, 1.0) == np.inf
    empty = wp.empty(0, dtype=wp.int32, device="cpu")
    assert graph_coloring_balance(edges_of([]), empty, 1, 1.0) == 1.0


# -- groups -----------------------------------------------------------------------------------------------------------


def test_groups():
    colors = wp.array([1, 0, 1, 3, 0], dtype=wp.int32, device="cpu")
    groups = graph_coloring_get_groups(colors, 5)
    assert [group.list() for group in groups] == [[1, 4], [0, 2], [], [3], []]
    assert all(isinstance(group, wp.array) and group.dtype is wp.int32 for group in groups)
    plain = graph_coloring_get_groups(colors, 4, return_wp_array=False)
    assert [group.tolist() for group in plain] == [[1, 4], [0, 2], [], [3]]
    assert all(isinstance(group, np.ndarray) and group.dtype == np.int32 for group in plain)


def test_groups_can_be_launched_one_by_one():
    @wp.kernel
    def take_the_least(group: wp.array[int], near: wp.array2d[int], x: wp.array[int]):
        i = group[wp.tid()]
        for k in range(near.shape[1]):
            x[i] = wp.min(x[i], x[near[i, k]])

    ring = [[i, (i + 1) % 100] for i in range(100)]
    colors, count = colored(ring, 100)
    near = wp.array([[(i - 1) % 100, (i + 1) % 100] for i in range(100)], dtype=int)
    x = wp.array(np.random.default_rng(7).permutation(100), dtype=int)
    for _ in range(100):
        for group in graph_coloring_get_groups(colors, count):
            wp.launch(take_the_least, dim=group.size, inputs=[group, near, x])
    assert x.list() == [0] * 100


# -- errors -----------------------------------------------------------------------------------------------------------

EDGES = [[0, 1], [1, 2]]


def colors_of(values, dtype=wp.int32):
    return wp.array(values, dtype=dtype, device="cpu")


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 1], [0, 3]], "edges: edge 1 joins nodes 0 and 3, but there are 3 nodes"),
        ([[-1, 1]], "edges: edge 0 joins nodes -1 and 1, but there are 3 nodes"),
        ([[0, 1], [2, 2]], "edges: edge 1 joins node 2 with itself"),
        ([[2**31 - 1, 0]], "edges: edge 0 joins nodes 2147483647 and 0"),
    ],
)
def test_wrong_edges(pairs, message):
    colors = colors_of([5, 6, 7])
    with pytest.raises(ValueError, match=message):
        graph_coloring_assign(edges_of(pairs), colors)
    assert colors.list() == [5, 6, 7]
    with pytest.raises(ValueError, match=message.removeprefix("edges: ")):
        graph_coloring_balance(edges_of(pairs), colors_of([0, 1, 0]), 2, 1.0)


@pytest.mark.parametrize(
    ("edges", "colors", "error", "message"),
    [
        (wp.zeros(4, dtype=int), colors_of([0, 0]), ValueError, r"edges: expected shape \(edges, 2\), got \(4,\)"),
        (wp.zeros((4, 3), dtype=int), colors_of([0, 0]), ValueError, r"edges: expected shape \(edges, 2\)"),
        (wp.zeros((4, 2), dtype=float), colors_of([0, 0]), TypeError, "edges: expected elements of int32, got float32"),
        (wp.zeros(4, dtype=wp.vec2i), colors_of([0, 0]), TypeError, "edges: expected elements of int32, got vec2i"),
        (np.zeros((4, 2), np.int32), colors_of([0, 0]), TypeError, "edges: expected an array, got ndarray"),
        (edges_of(EDGES), colors_of([0.0, 0.0], float), TypeError, "node_colors: expected elements of int32"),
        (edges_of(EDGES), colors_of([[0, 0]]), ValueError, r"node_colors: expected one dimension, got shape \(1, 2\)"),
        (edges_of(EDGES), [0, 0], TypeError, "node_colors: expected an array, got list"),
        (edges_of(EDGES), colors_of([0] * 6)[::2], ValueError, "node_colors: expected a contiguous array"),
    ],
)
def test_wrong_arrays(edges, colors, error, message):
    with pytest.raises(error, match=message):
        graph_coloring_assign(edges, colors)
    with pytest.raises(error, match=message):
        graph_coloring_balance(edges, colors, 2, 1.0)


def test_wrong_options():
    edges, colors = edges_of(EDGES), colors_of([0, 1, 0])
    with pytest.raises(ValueError, match=r"algorithm: expected one of wp\.utils.GraphColoringAlgorithm, got 7"):
        graph_coloring_assign(edges, colors, 7)
    with pytest.raises(ValueError, match="max_iterations: must not be negative, got -1"):
        graph_coloring_balance(edges, colors, 2, 1.0, max_iterations=-1)
    with pytest.raises(ValueError, match="color_count: there must be at least one colour"):
        graph_coloring_balance(edges, colors, 0, 1.0)
    with pytest.raises(ValueError, match="color_count: got 1000000, but there are at most 65536 colours"):
        graph_coloring_balance(edges, colors, 1_000_000, 1.0)
    with pytest.raises(TypeError, match="target_max_min_ratio: expected a number, got str"):
        graph_coloring_balance(edges, colors, 2, "1.0")


def test_wrong_colors():
    edges = edges_of(EDGES)
    with pytest.raises(ValueError, match="node 1 has colour 2, but there are 2 colours"):
        graph_coloring_balance(edges, colors_of([0, 2, 0]), 2, 1.0)
    with pytest.raises(ValueError, match="node 0 has colour 0, and so has node 1, with which an edge joins it"):
        graph_coloring_balance(edges, colors_of([0, 0, 1]), 2, 1.0)
    with pytest.raises(ValueError, match="node_colors: node 2 has colour -1, but there are 2 colours"):
        graph_coloring_get_groups(colors_of([0, 1, -1]), 2)
    with pytest.raises(ValueError, match="node_colors: node 1 has colour 1, but there are 1 colours"):
        graph_coloring_get_groups(colors_of([0, 1]), 1)


def test_graphs_capture_no_colors():
    edges, colors = edges_of(EDGES), colors_of([0, 1, 0])
    with wp.ScopedCapture():
        with pytest.raises(RuntimeError, match="a number of colours while a graph is captured"):
            graph_coloring_assign(edges, colors)
        with pytest.raises(RuntimeError, match="a ratio of colours while a graph is captured"):
            graph_coloring_balance(edges, colors, 2, 1.0)
