"""Flips of edges until triangles in the plane are Delaunay. The kernels are in delaunay_kernels.py.

Each side of a triangle knows its twin, the side of the triangle beyond it. In a pass, each edge that fails the test of
Delaunay claims the two triangles at it and those beyond their sides. Edges that get all their claims are flipped. The
next pass tests the edges of triangles that have changed.
"""

from __future__ import annotations

import math
from typing import Any

from .. import vec2
from ..algo.argument_checks import check_count, require_elements, require_writable
from ..algo.sort import radix_sort_pairs
from ..arrays.array import array
from ..arrays.factories import empty
from ..dispatch import capture
from ..dispatch.operation import Operation, Write, execute
from ..graphs.graph import capture_while
from ..lang.types import F32, I32, Vec
from ..lang.values.scalars import int32, int64, uint32
from ..launches.launch import launch
from . import delaunay_kernels as kernels

__all__ = ["delaunay_edge_flip"]

_VEC2 = Vec(2, F32)
_MOST = (2**31 - 1) // 3  # triangles, as sides have numbers of int32


def delaunay_edge_flip(
    positions: array,
    indices: array,
    ref_positions: array | None = None,
    max_passes: int = 1000,
    area_epsilon: float = 0.0,
    ref_area_epsilon: float = 1e-10,
) -> array:
    """Flip edges of a triangulation in the plane, in place, until it is Delaunay.

    An edge between two triangles is flipped if the circle through the corners of one contains the opposite corner of
    the other: C. Lawson, "Software for C1 surface interpolation", 1977. Each pass flips many edges at once, of which no
    two have a triangle in common. Tests are in float64 with a bound on their rounding: J. Shewchuk, "Adaptive precision
    floating-point arithmetic and fast robust geometric predicates", 1997. An edge is flipped only if it fails beyond
    doubt, and only to triangles whose corners run counter clockwise beyond doubt. So four points on a circle keep the
    edge that they have, and the passes end.

    Triangles are expected to be counter clockwise. Edges of the boundary stay, and so do edges that more than two
    triangles share, or two that run in opposite directions around their fronts. A graph can capture this; a triangle
    with wrong indices then keeps its edges. Which edges are flipped does not depend on threads.

    Args:
        positions: where points are, vec2 of shape (n,). It is not changed.
        indices: the points of triangles, int32 of shape (m, 3). It is changed in place.
        ref_positions: None, or other positions of the points, vec2 of shape (n,). An edge is not flipped if one of the
            two new triangles had no area there, such as for a mesh that is a deformed one.
        max_passes: how many passes there are at most, at least one.
        area_epsilon: the area that the two new triangles must exceed; finite, not negative.
        ref_area_epsilon: the area that they must exceed at `ref_positions`, in either direction; likewise.

    Returns:
        One int32 on the device of `indices`: how many flips there were.

    Raises:
        TypeError: If an array has elements of another type, or an argument has another type.
        ValueError: If a shape does not fit, arrays are on several devices, `indices` is read-only, a number is out of
            range, or a triangle has wrong indices. The error names the triangle. Nothing has changed then.

    >>> points = wp.array([(0.0, 0.0), (1.0, 0.0), (1.1, 1.0), (0.0, 0.3)], dtype=wp.vec2, device="cpu")
    >>> triangles = wp.array([[0, 1, 2], [0, 2, 3]], dtype=int, device="cpu")
    >>> wp.geometry.delaunay_edge_flip(points, triangles).list()
    [1]
    >>> triangles.numpy().tolist()  # the edge is now that between points 1 and 3
    [[1, 2, 3], [1, 3, 0]]
    """
    references = positions if ref_positions is None else ref_positions
    _check(positions, indices, references)
    passes = check_count("max_passes", max_passes, 2**31 - 1, "passes are counted in int32")
    if passes == 0:
        raise ValueError("max_passes: expected at least one pass, got 0")
    areas = [_area("area_epsilon", area_epsilon), _area("ref_area_epsilon", ref_area_epsilon)]
    if ref_positions is None:
        references = empty(0, dtype=vec2, device=positions.device)
    flips = empty(1, dtype=int32, device=indices.device)
    execute(
        Operation(
            "wp.geometry.delaunay_edge_flip",
            writes={"indices": Write(indices), "the result": Write(flips, overwrites_all=True)},
            reads={"positions": positions, "indices": indices, "ref_positions": references},
            run=lambda: _run(positions, indices, references, areas, passes, flips),
            vjp=lambda: lambda: None,  # indices have no derivative
            jvp=[],
        )
    )
    return flips


def _run(
    positions: array, triangles: array, references: array, areas: list[float], max_passes: int, flips: array
) -> None:
    """Flip edges in passes. Raises ValueError for wrong triangles, unless a graph captures this."""
    n, device = triangles.shape[0], triangles.device
    captured = capture.gpu() if device.is_cuda else capture.current()
    state, changed, wanted, twins = (empty(size, dtype=int32, device=device) for size in (3, n, n, 3 * n))
    wrong = empty(1, dtype=int32, device=device)
    launch(kernels.begin, 1, [state, flips, wrong], device=device)
    if n == 0:
        return
    _pair_up(triangles, positions.size, twins, changed, wrong, check=captured is None)
    claims = empty(n, dtype=uint32, device=device)

    def make_pass() -> None:
        launch(kernels.free, n, [claims], device=device)
        given = [triangles, twins, state, changed]
        launch(kernels.claim, n, [positions, references, *areas, *given, wanted, claims], device=device)
        launch(kernels.flip, n, [*given, claims, flips], device=device)
        launch(kernels.end_pass, 1, [state, flips, max_passes], device=device)

    if captured is not None:
        capture_while(state, make_pass)
    else:
        make_pass()
        while state.list()[0]:
            make_pass()


def _pair_up(triangles: array, num_points: int, twins: array, changed: array, wrong: array, check: bool) -> None:
    """Write the twin of each side, or -1, and that all have changed.

    Raises ValueError for wrong triangles, if they are to be checked.
    """
    n, device = triangles.shape[0], triangles.device
    ends, sides = empty(6 * n, dtype=int64, device=device), empty(6 * n, dtype=int32, device=device)
    launch(kernels.list_sides, n, [triangles, num_points, ends, sides, twins, changed, wrong], device=device)
    if check and (triangle := wrong.list()[0]) < n:
        corners = triangles.numpy()[triangle].tolist()
        text = f"indices: triangle {triangle} has the points {corners}"
        raise ValueError(f"{text}; expected three different numbers from 0 to {num_points - 1}")
    radix_sort_pairs(ends, sides, 3 * n)
    launch(kernels.join, 3 * n, [triangles, ends, sides, twins], device=device)


def _check(positions: Any, indices: Any, references: Any) -> None:
    """Check the arrays. Raises TypeError, ValueError."""
    require_elements("positions", positions, _VEC2)
    require_elements("indices", indices, I32)
    require_elements("ref_positions", references, _VEC2)
    require_writable("indices", indices)
    if positions.ndim != 1 or references.shape != positions.shape:
        shapes = f"{positions.shape} and {references.shape}"
        raise ValueError(f"positions, ref_positions: expected shape (n,) for both, got {shapes}")
    if indices.ndim != 2 or indices.shape[1] != 3:
        raise ValueError(f"indices: expected shape (m, 3), got {indices.shape}")
    if indices.shape[0] > _MOST:
        raise ValueError(f"indices: {indices.shape[0]} triangles are more than the limit of {_MOST}")
    for name, a in (("positions", positions), ("ref_positions", references)):
        if a.device is not indices.device:
            raise ValueError(f"{name}: is on {a.device}, but indices is on {indices.device}")


def _area(name: str, value: Any) -> float:
    """A number from 0. Raises TypeError, ValueError."""
    try:
        area = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {value!r}") from None
    if not math.isfinite(area) or area < 0.0:
        raise ValueError(f"{name}: expected a finite number from 0, got {value}")
    return area
