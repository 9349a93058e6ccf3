"""Which triangles of a mesh share an edge. Edges are sorted by their ends, so that those of two triangles meet."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from __future__ import annotations

from typing import Any

from .. import atomic_min, max, min, tid
from ..algo.argument_checks import check_count, require_contiguous, require_elements
from ..algo.sort import radix_sort_pairs
from ..arrays.array import array, array1d, array2d
from ..arrays.factories import empty, full
from ..dispatch import capture, observers
from ..lang.kernel import func, kernel
from ..lang.types import I32
from ..lang.values.scalars import int32, int64
from ..launches.launch import launch

__all__ = ["find_triangle_neighbor_edge_index", "tri_tri_adjacency"]

_LAST = 2**31 - 1  # index of int32
_MOST = _LAST // 3  # triangles, as sides have numbers of int32
_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}


@func
def find_triangle_neighbor_edge_index(triangle_neighbors: array2d(dtype=int32), triangle: int, neighbor: int) -> int:
    """Return the side of a triangle that it shares with a neighbor; in kernels.

    Args:
        triangle_neighbors: what `tri_tri_adjacency` returns, of shape (n, 3).
        triangle: an index from 0 to n - 1.
        neighbor: the triangle to look for.

    Returns:
        The side as `tri_tri_adjacency` numbers them, the first one of several, or -1 if the triangles share none.

    >>> triangles = wp.array([[0, 1, 2], [2, 1, 3]], dtype=int, device="cpu")
    >>> neighbors = wp.geometry.tri_tri_adjacency(triangles, return_neighbor_edge_indices=False)
    >>> @wp.kernel
    ... def find(neighbors: wp.array2d[int], side: wp.array[int]):
    ...     side[0] = wp.geometry.find_triangle_neighbor_edge_index(neighbors, 1, 0)
    >>> side = wp.zeros(1, dtype=int, device="cpu")
    >>> wp.launch(find, dim=1, inputs=[neighbors, side], device="cpu")
    >>> side.list()
    [2]
    """
    for side in range(3):
        if triangle_neighbors[triangle, side] == neighbor:
            return side
    return -1


@kernel(**_OPTIONS)
def _list_sides(
    indices: array2d(dtype=int32),
    last: int32,
    ends: array1d(dtype=int64),
    sides: array1d(dtype=int32),
    wrong: array1d(dtype=int32),
):
    """Write for each side the two points at its ends, the lesser one first, and its number."""
    i = tid()
    for j in range(3):
        a, b = indices[i, (j + 1) % 3], indices[i, (j + 2) % 3]
        if a == b or a < 0 or a > last:
            atomic_min(wrong, 0, i)
        ends[3 * i + j] = int64(min(a, b)) << int64(32) | int64(max(a, b))
        sides[3 * i + j] = 3 * i + j


@kernel(**_OPTIONS)
def _join(
    ends: array1d(dtype=int64),
    sides: array1d(dtype=int32),
    triangles: array1d(dtype=int32),
    others: array1d(dtype=int32),
    wrong: array1d(dtype=int32),
):
    """Write for each side the triangle beyond it and that triangle's side, from sides that are sorted by their ends."""
    i = tid()
    before = i > 0 and ends[max(i - 1, 0)] == ends[i]
    after = i + 1 < triangles.shape[0] and ends[min(i + 1, triangles.shape[0] - 1)] == ends[i]
    if before and after:
        atomic_min(wrong, 1, i)
    other = int32(-1)
    if before:
        other = sides[i - 1]
    elif after:
        other = sides[i + 1]
    triangle = other // 3  # -1 for none
    triangles[sides[i]] = triangle
    others[sides[i]] = other - 3 * triangle if other >= 0 else int32(-1)


def tri_tri_adjacency(
    indices: array, vertex_count: int | None = None, return_neighbor_edge_indices: bool = True
) -> array | tuple[array, array]:
    """Return for each triangle of a mesh the triangles with which it shares its sides.

    Side j of a triangle lies opposite its corner j: it joins the corners (j + 1) % 3 and (j + 2) % 3. Triangles may run
    in either direction around their fronts. At most two triangles share an edge.

    Args:
        indices: int32 of shape (n, 3), or contiguous of shape (3 * n,) as in `wp.Mesh.indices`: points of triangles.
        vertex_count: the number of points; None accepts every index that is not negative.
        return_neighbor_edge_indices: whether to return the second array.

    Returns:
        Arrays of int32 of shape (n, 3) on the device of `indices`. The first one has the triangle beyond each side, or
        -1 at the boundary of the mesh. The second one has the number that the side has there, or -1.

    Raises:
        TypeError: If `indices` is not an array of int32, or `vertex_count` is not an integer.
        ValueError: If the shape does not fit, an index is out of range, two corners of a triangle are the same point,
            or more than two triangles share an edge. The error names them.
        RuntimeError: If a graph captures this, as it looks at the result of its checks.

    >>> triangles = wp.array([[0, 1, 2], [2, 1, 3]], dtype=int, device="cpu")
    >>> neighbors, sides = wp.geometry.tri_tri_adjacency(triangles)
    >>> neighbors.list(), sides.list()
    ([1, -1, -1, -1, -1, 0], [2, -1, -1, -1, -1, 0])
    """
    triangles, last = _checked(indices), _LAST
    if vertex_count is not None:
        last = check_count("vertex_count", vertex_count, _LAST, "indices are int32") - 1
    capture.refuse("wp.geometry.tri_tri_adjacency", triangles.device)
    n, device = triangles.shape[0], triangles.device
    ends, sides = empty(6 * n, dtype=int64, device=device), empty(6 * n, dtype=int32, device=device)
    neighbors, others = (empty(3 * n, dtype=int32, device=device) for _ in range(2))
    wrong = full(2, _LAST, dtype=int32, device=device)
    with observers.NotRecording():
        launch(_list_sides, n, [triangles, last, ends, sides, wrong], device=device)
        if n:
            radix_sort_pairs(ends, sides, 3 * n)
        launch(_join, 3 * n, [ends, sides, neighbors, others, wrong], device=device)
    _raise_for(wrong, triangles, sides, last)
    first = neighbors.reshape((n, 3))
    return (first, others.reshape((n, 3))) if return_neighbor_edge_indices else first


def _checked(indices: Any) -> array:
    """Return indices as an array of two dimensions. Raises TypeError, ValueError."""
    require_elements("indices", indices, I32)
    if indices.ndim == 1 and indices.size % 3 == 0:
        require_contiguous("indices", indices)
        indices = indices.reshape((indices.size // 3, 3))
    if indices.ndim != 2 or indices.shape[1] != 3:
        raise ValueError(f"indices: expected shape (n, 3), got {indices.shape}")
    if indices.shape[0] > _MOST:
        raise ValueError(f"indices: {indices.shape[0]} triangles are more than the limit of {_MOST}")
    return indices


def _raise_for(wrong: array, triangles: array, sides: array, last: int) -> None:
    """Raise ValueError for a triangle or an edge that the kernels found."""
    triangle, side = wrong.list()
    if triangle != _LAST:
        corners = triangles.numpy()[triangle].tolist()
        limit = "not negative" if last == _LAST else f"from 0 to {last}"
        text = f"indices: triangle {triangle} has the points {corners}"
        raise ValueError(f"{text}; expected three different numbers {limit}")
    if side != _LAST:
        shared = [number // 3 for number in sides.numpy()[side - 1 : side + 2].tolist()]
        text = f"indices: triangles {shared[0]}, {shared[1]} and {shared[2]} share an edge"
        raise ValueError(
            f"{text}; an edge may have two triangles at most. Give each further triangle points of its own"
        )
