"""Colours for the nodes of a graph, no edge joining two of one colour: what has one colour may be changed in parallel.

The algorithms are in native/src/algo/graph_coloring.cpp.
"""

from __future__ import annotations

import enum
import itertools
from typing import Any

import numpy as np

from .. import _native
from ..arrays.array import array
from ..arrays.factories import from_numpy
from ..devices.device import Device, get_device
from ..dispatch import capture
from ..dispatch.operation import Operation, Write, execute
from ..lang.types import I32
from ..logger import warn
from .argument_checks import (
    check_count,
    integer,
    number,
    require_arrays,
    require_contiguous,
    require_elements,
    require_writable,
)

__all__ = ["GraphColoringAlgorithm", "graph_coloring_assign", "graph_coloring_balance", "graph_coloring_get_groups"]

_MOST_COLORS = 1 << 16  # a graph with 2**31 edges has no use for more


class GraphColoringAlgorithm(enum.IntEnum):
    """In which order nodes get the smallest colour that no neighbour has.

    Attributes:
        MCS: Next comes a node with the most coloured neighbours (maximum cardinality search). Uses the fewest colours
            possible for chordal graphs, trees among them, and for bipartite ones.
        GREEDY: Last comes a node with the fewest neighbours, before it one with the fewest of those that are left, and
            so on (smallest last). Planar graphs get at most 6 colours.

    >>> wp.utils.GraphColoringAlgorithm.GREEDY.name
    'GREEDY'
    """

    MCS = 0
    GREEDY = 1


def graph_coloring_assign(
    edges: array, node_colors: array, algorithm: GraphColoringAlgorithm = GraphColoringAlgorithm.MCS
) -> int:
    """Give each node of a graph a colour, so that no edge joins two nodes of one colour.

    Args:
        edges: The nodes that each edge joins: int32, of shape (edges, 2), on the CPU. An edge may occur repeatedly.
        node_colors: Gets the colour of each node, from 0 on: int32, one dimension, contiguous, on the CPU. Its size is
            the number of nodes.
        algorithm: A `GraphColoringAlgorithm`. Equal edges get equal colours each time.

    Returns:
        How many colours there are: at most one more than the most neighbours of a node.

    Raises:
        TypeError: If an array is not of int32.
        ValueError: If an array has another shape or is on a GPU, an edge joins a node with itself or a node that is
            not there. Nothing has been written then.

    >>> edges = wp.array([[0, 1], [1, 2], [2, 3], [3, 0]], dtype=int)
    >>> colors = wp.empty(4, dtype=int)
    >>> wp.utils.graph_coloring_assign(edges, colors)
    2
    >>> colors.list()
    [0, 1, 0, 1]
    """
    _check_graph(edges, node_colors)
    try:
        order = GraphColoringAlgorithm(algorithm)
    except ValueError:
        raise ValueError(f"algorithm: expected one of wp.utils.GraphColoringAlgorithm, got {algorithm!r}") from None
    capture.refuse("a number of colours")
    count = 0

    def run() -> None:
        nonlocal count
        count = _named("edges", _native.graph_coloring_assign, edges.contiguous(), node_colors, int(order))

    writes = {"node_colors": Write(node_colors, overwrites_all=True)}
    execute(Operation("wp.utils.graph_coloring_assign", writes=writes, reads={"edges": edges}, run=run))
    return count


def graph_coloring_balance(
    edges: array,
    node_colors: array,
    color_count: int,
    target_max_min_ratio: float,
    *,
    max_iterations: int | None = None,
) -> float:
    """Change colours until the colours have about as many nodes each. The colouring stays right.

    An iteration takes two colours and exchanges them in Kempe chains: parts in which edges connect nodes of these two
    colours only. Their numbers of nodes come closer, and no iteration makes the ratio larger.

    Args:
        edges: As for `graph_coloring_assign`.
        node_colors: The colour of each node; gets the new ones.
        color_count: How many colours there are.
        target_max_min_ratio: Which ratio of the most to the fewest nodes of a colour is enough.
        max_iterations: The most iterations, with a warning if the target is not reached then. Without it they end
            where none helps.

    Returns:
        The ratio that was reached; infinite if a colour has no node.

    Raises:
        TypeError: If an array is not of int32.
        ValueError: As for `graph_coloring_assign`; or if a colour is not in [0, color_count), or an edge joins nodes of
            one colour. Nothing has been written then.

    >>> edges = wp.array([[0, 1], [0, 2], [3, 4]], dtype=int)
    >>> colors = wp.array([0, 1, 1, 0, 1, 0], dtype=int)
    >>> wp.utils.graph_coloring_balance(edges, colors, 2, 1.0)
    1.0
    """
    _check_graph(edges, node_colors)
    count = check_count("color_count", color_count, _MOST_COLORS, f"there are at most {_MOST_COLORS} colours")
    if count == 0:
        raise ValueError("color_count: there must be at least one colour, got 0")
    target = number("target_max_min_ratio", target_max_min_ratio)
    limit = -1 if max_iterations is None else integer("max_iterations", max_iterations)
    if max_iterations is not None and limit < 0:
        raise ValueError(f"max_iterations: must not be negative, got {limit}")
    capture.refuse("a ratio of colours")
    ratio, limited = 1.0, False

    def run() -> None:
        nonlocal ratio, limited
        given = edges.contiguous(), node_colors, count, target, limit
        ratio, limited = _named("edges, node_colors", _native.graph_coloring_balance, *given)

    arrays = {"edges": edges, "node_colors": node_colors}
    writes = {"node_colors": Write(node_colors)}
    execute(Operation("wp.utils.graph_coloring_balance", writes=writes, reads=arrays, run=run))
    if limited:
        warn(
            f"graph_coloring_balance: {limit} iterations have reached a ratio of {ratio:.6g}, and not yet {target:.6g}",
            stacklevel=2,
        )
    return ratio


def graph_coloring_get_groups(
    node_colors: array, color_count: int, return_wp_array: bool = True, device: Device | str | None = "cpu"
) -> tuple[Any, ...]:
    """Return the nodes of each colour, in ascending order.

    Args:
        node_colors: The colour of each node: int32, one dimension, on the CPU.
        color_count: How many colours there are.
        return_wp_array: Whether to return arrays of this package, else those of NumPy.
        device: Where the arrays are to be. They share one allocation.

    Returns:
        An array of int32 for each colour.

    Raises:
        TypeError: If `node_colors` is not of int32.
        ValueError: If it has another shape or is on a GPU, or a colour is not in [0, color_count).

    >>> colors = wp.array([0, 1, 0, 1, 2], dtype=int)
    >>> [group.list() for group in wp.utils.graph_coloring_get_groups(colors, 3)]
    [[0, 2], [1, 3], [4]]
    """
    _check_colors(node_colors)
    count = check_count("color_count", color_count, _MOST_COLORS, f"there are at most {_MOST_COLORS} colours")
    colors = node_colors.numpy()
    wrong = np.flatnonzero((colors < 0) | (colors >= count))
    if wrong.size:
        raise ValueError(f"node_colors: node {wrong[0]} has colour {colors[wrong[0]]}, but there are {count} colours")
    order = np.argsort(colors, kind="stable").astype(np.int32)
    bounds = [0, *np.cumsum(np.bincount(colors, minlength=count)).tolist()]
    nodes: Any = from_numpy(order, device=get_device(device)) if return_wp_array else order
    return tuple(nodes[begin:end] for begin, end in itertools.pairwise(bounds))


def _named(names: str, function: Any, *args: Any) -> Any:
    """Call a native function, whose errors then name the arguments that they are about."""
    try:
        return function(*args)
    except ValueError as why:
        raise ValueError(f"{names}: {why}") from None


def _check_graph(edges: Any, node_colors: Any) -> None:
    _check_colors(node_colors)
    require_arrays(edges=edges)
    require_elements("edges", edges, I32)
    _check_on_cpu("edges", edges)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges: expected shape (edges, 2), got {edges.shape}")
    require_contiguous("node_colors", node_colors)
    require_writable("node_colors", node_colors)


def _check_colors(node_colors: Any) -> None:
    require_arrays(node_colors=node_colors)
    require_elements("node_colors", node_colors, I32)
    _check_on_cpu("node_colors", node_colors)
    if node_colors.ndim != 1:
        raise ValueError(f"node_colors: expected one dimension, got shape {node_colors.shape}")
    if node_colors.size > 2**31 - 1:
        raise ValueError(f"node_colors: nodes are numbered by int32, got {node_colors.size}")


def _check_on_cpu(name: str, a: array) -> None:
    if not a.device.is_cpu:
        raise ValueError(f'{name}: graphs are coloured on the CPU, got an array on {a.device}; pass {name}.to("cpu")')
