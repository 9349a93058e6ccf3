# Written by `python -m tools.docs` from the source of the package; edit that, or tools/stubs/head.pyi.
# Of overloads that fit the first is taken, as in the library.
# mypy: disable-error-code="overload-overlap, overload-cannot-match"
"""`wp.utils`: parallel algorithms on arrays, colours of graphs. Most functions have a module in omni/warp_core/algo."""

import builtins
import typing
from collections.abc import Callable
from typing import Any

from . import _Array, Device, Function, Module
from omni.warp_core.algo.graph_coloring import GraphColoringAlgorithm as GraphColoringAlgorithm

def array_cast(in_array: _Array[Any], out_array: _Array[Any], count: int | None = None) -> None:
    """Convert the elements of an array to the type of another.

    Args:
        in_array: Scalars, vectors, matrices, quaternions or transforms of any scalar type.
        out_array: Gets the elements, in its own type.
        count: How many elements of `in_array` to convert; all if left out. Other than all only where `in_array` has
            one dimension.

    Arrays of equal dimensions whose elements have components of one shape are converted element by element, and then
    have the same shape unless it is one dimension. Any others are converted component by component in C order. In both
    cases `out_array` may be larger; what is beyond stays as it is.

    Floats become integers towards zero; what is out of range becomes the nearest integer, NaN zero. Integers wrap. To
    bool: whether not zero.

    Raises:
        TypeError: If elements are structs.
        ValueError: If `out_array` is too small, read-only, or of another shape, or `count` is out of range.

    >>> x = wp.array([1.5, -2.5, 1e20], dtype=float)
    >>> y = wp.empty(3, dtype=wp.int32)
    >>> wp.utils.array_cast(x, y)
    >>> y.list()
    [1, -2, 2147483647]
    """

def array_inner(a: _Array[Any], b: _Array[Any], out: _Array[Any] | None = None, count: int | None = None, axis: int | None = None) -> Any:
    """The sum of the products of two arrays' elements; the product of two vectors is their dot product.

    Args:
        a: As `values` of `array_sum`.
        b: The same type and shape.
        out: As for `array_sum`, but of the scalar type.
        count: As `value_count` of `array_sum`.
        axis: As for `array_sum`.

    Returns:
        As `array_sum`.

    Products of float32 and all sums of floats are computed in float64 and rounded once.

    Raises:
        TypeError, ValueError, IndexError, RuntimeError: As for `array_sum`; or if types or shapes differ.

    >>> x = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> float(wp.utils.array_inner(x, x))
    14.0
    """

def array_scan(in_array: _Array[Any], out_array: _Array[Any], inclusive: builtins.bool = True) -> None:
    """Write the running sums of an array, in C order and component by component.

    Args:
        in_array: Of int32, uint32, int64, uint64, float32, float64, or vectors or matrices of these.
        out_array: Gets the sums: as many elements of the same type. It may be `in_array`, but not overlap it otherwise.
        inclusive: Whether a sum includes the element at its own place; if not, the first is zero.

    Integer sums wrap. Float sums are computed in float64 and rounded once; they do not depend on the number of threads,
    and never decrease where no element is negative.

    Raises:
        TypeError: If an element type is not one of those, or the types differ.
        ValueError: If the sizes differ, or `out_array` is read-only or overlaps `in_array`.

    >>> x = wp.array([1, 2, 3, 4], dtype=wp.int32)
    >>> sums = wp.empty_like(x)
    >>> wp.utils.array_scan(x, sums, inclusive=False)
    >>> sums.list()
    [0, 1, 3, 6]
    """

def array_sum(values: _Array[Any], out: _Array[Any] | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of the elements, component by component.

    Args:
        values: Of int32, uint32, int64, uint64, float32, float64, or of vectors, matrices, quaternions or transforms of
            these.
        out: Gets the result: the same type, contiguous, shape (1,), or with `axis` the shape of `values` with 1 there.
        value_count: Sum the first elements only: of the array in C order, or along the axis. All if left out.
        axis: The dimension to sum over, negative ones counted from the last; all elements if left out.

    Returns:
        `out` if given; else with `axis` an array like it, without `axis` a NumPy scalar, or array of the components.

    Floats are added in float64 and rounded once, integers wrap. The result depends only on the values and their number,
    not on the number of threads. On a GPU it may differ from that on the CPU in the last bit.

    Raises:
        TypeError: If an element type is not one of those, or that of `out` differs.
        ValueError: If `out` has another shape, is not contiguous or read-only, or `value_count` is out of range.
        IndexError: If there is no such axis.
        RuntimeError: If a tape records, `values` requires a gradient, and the result would be a number: give `out`.

    >>> x = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float)
    >>> float(wp.utils.array_sum(x))
    21.0
    >>> wp.utils.array_sum(x, axis=1).numpy().tolist()
    [[6.0], [15.0]]
    """

def create_warp_function(func: Callable) -> tuple[Function, Module]:
    """Make a kernel function of a Python function or a lambda that is written like one.

    Args:
        func: the function. Parameters without an annotation take every type.

    Returns:
        The function, and the module that it belongs to.

    Raises:
        TypeError: `func` is no Python function.

    >>> square, module = wp.utils.create_warp_function(lambda x: x * x)
    >>> wp.map(square, wp.array([1.0, 2.0, 3.0])).list()
    [1.0, 4.0, 9.0]
    """

def graph_coloring_assign(edges: _Array[Any], node_colors: _Array[Any], algorithm: GraphColoringAlgorithm = ...) -> int:
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

def graph_coloring_balance(edges: _Array[Any], node_colors: _Array[Any], color_count: int, target_max_min_ratio: float, *, max_iterations: int | None = None) -> float:
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

def graph_coloring_get_groups(node_colors: _Array[Any], color_count: int, return_wp_array: builtins.bool = True, device: Device | str | None = 'cpu') -> tuple[Any, ...]:
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

def radix_sort_pairs(keys: _Array[Any], values: _Array[Any], count: int, begin_bit: int = 0, end_bit: int | None = None) -> None:
    """Sort keys in ascending order, and values along with them, in place. Pairs of equal keys keep their order.

    Args:
        keys: Of int32, uint32, int64, uint64, float32 or float64, contiguous. The first `count` are sorted, the next
            `count` are scratch: what they hold afterwards is not defined.
        values: As many elements of 4 or 8 bytes each, contiguous; likewise.
        count: How many pairs to sort.
        begin_bit: The least significant bit of the keys that matters.
        end_bit: The bit above the most significant that matters; all bits if left out.

    Floats are sorted from -infinity to infinity, with -0.0 before 0.0, a NaN whose sign bit is set before all numbers
    and any other NaN after them. The order of signed and float keys comes from their most significant bit, so leave it
    out with `end_bit` only where all keys have the same sign.

    Other threads must not use the arrays meanwhile.

    Raises:
        TypeError: If an element type is not one of those.
        ValueError: If an array has fewer than 2 * count elements, is not contiguous or read-only, if both share memory,
            or if the bits are no range of the key's bits.

    >>> keys = wp.array([3, 1, 2, 0, 0, 0], dtype=wp.int32)
    >>> values = wp.array([30, 10, 20, 0, 0, 0], dtype=wp.int32)
    >>> wp.utils.radix_sort_pairs(keys, values, 3)
    >>> keys.list()[:3], values.list()[:3]
    ([1, 2, 3], [10, 20, 30])
    """

def runlength_encode(values: _Array[Any], run_values: _Array[Any], run_lengths: _Array[Any], run_count: _Array[Any] | None = None, value_count: int | None = None) -> int | _Array[Any]:
    """Write the value and the length of each run of equal values.

    Args:
        values: Of int32, uint32, int64 or uint64.
        run_values: Gets the value of each run: the same type, contiguous, at least `value_count` elements.
        run_lengths: Gets the length of each run: int32, contiguous, at least `value_count` elements.
        run_count: Gets the number of runs in its first element: int32, at least one element.
        value_count: How many of the values to encode; all if left out.

    Returns:
        The number of runs, or `run_count` if that was given. Elements beyond the runs are left as they are.

    Raises:
        TypeError: If an element type is not one of those.
        ValueError: If `value_count` is negative or an array has fewer elements, if an output is not contiguous or
            read-only, or if outputs share memory.

    >>> x = wp.array([1, 1, 1, 2, 2, 3], dtype=wp.int32)
    >>> values, lengths = wp.empty_like(x), wp.empty_like(x)
    >>> n = wp.utils.runlength_encode(x, values, lengths)
    >>> n, values.list()[:n], lengths.list()[:n]
    (3, [1, 2, 3], [3, 2, 1])
    """

def segmented_sort_pairs(keys: _Array[Any], values: _Array[Any], count: int, segment_start_indices: _Array[Any], segment_end_indices: _Array[Any] | None = None) -> None:
    """Sort the pairs of each segment by their keys, like `radix_sort_pairs`; pairs in no segment stay as they are.

    Args:
        keys: As for `radix_sort_pairs`.
        values: As for `radix_sort_pairs`.
        count: How many pairs the segments lie in.
        segment_start_indices: Where each segment begins: int32, one dimension.
        segment_end_indices: One beyond the last pair of each. If left out, a segment ends where the next begins, and
            the last start only ends the segment before it.

    Segments may be empty, and in any order.

    Raises:
        TypeError: If an element type is not one of those.
        ValueError: As for `radix_sort_pairs`; or if a segment does not lie within `count`, two of them overlap, or
            there are more starts than ends or the reverse. Nothing has been sorted then.

    On a GPU this waits for the segments to be looked at, before anything is sorted. A graph that captures it does not:
    when that is launched, segments that do not lie within `count` are left as they are, and the order of pairs in more
    than one segment is not defined. If it was captured in debug mode, its launches wait and raise.

    >>> keys = wp.array([3, 1, 4, 2, 0, 0, 0, 0], dtype=wp.int32)
    >>> values = wp.array([30, 10, 40, 20, 0, 0, 0, 0], dtype=wp.int32)
    >>> wp.utils.segmented_sort_pairs(keys, values, 4, wp.array([0, 2, 4], dtype=wp.int32))
    >>> keys.list()[:4], values.list()[:4]
    ([1, 3, 2, 4], [10, 30, 20, 40])
    """
