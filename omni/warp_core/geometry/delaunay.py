"""Flips of edges until triangles in the plane are Delaunay. The predicates are in plane_predicates.py.

Each side of a triangle knows its twin, the side of the triangle beyond it. In a pass, each edge that fails the test of
Delaunay claims the two triangles at it and those beyond their sides. Edges that get all their claims are flipped. The
next pass tests the edges of triangles that have changed.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from __future__ import annotations

import math
from typing import Any

from .. import atomic_add, atomic_min, max, min, tid, vec2
from ..algo.argument_checks import check_count, require_elements, require_writable
from ..algo.sort import radix_sort_pairs
from ..arrays.array import array, array1d, array2d
from ..arrays.factories import empty
from ..dispatch import capture
from ..dispatch.operation import Operation, Write, execute
from ..graphs.graph import capture_while
from ..lang.kernel import func, kernel
from ..lang.types import F32, I32, Vec
from ..lang.values.scalars import float64, int32, int64, uint32
from ..launches.launch import launch
from .plane_predicates import area_is_above, is_inside_circle, reference_area

__all__ = ["delaunay_edge_flip"]

_VEC2 = Vec(2, F32)
_MOST = (2**31 - 1) // 3  # triangles, as sides have numbers of int32
_FREE = 2**32 - 1  # the claim on a triangle that no edge claims
_PRIME = 2654435761  # odd, so that products with it differ in 32 bits; that of no side is _FREE
_INVERSE = pow(_PRIME, -1, 2**32)
_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}


@kernel(**_OPTIONS)
def _begin(state: array1d(dtype=int32), flips: array1d(dtype=int32)):
    """Set the state of the passes: whether there is one more, how many were made, and the flips before the last."""
    state[0] = 1
    state[1] = 0
    state[2] = 0
    flips[0] = 0


@func
def _after(side: int, turn: int) -> int:
    """Return the side of the same triangle that comes so many after a side: 0, 1 or 2."""
    last = 3 * (side // 3) + 2
    return side + turn if side + turn <= last else side + turn - 3


@func
def _corner(triangles: array2d(dtype=int32), side: int) -> int:
    """Return the point opposite of a side, which has its number in the triangle."""
    return triangles[side // 3, side - 3 * (side // 3)]


@kernel(**_OPTIONS)
def _list_sides(
    triangles: array2d(dtype=int32),
    num_points: int32,
    ends: array1d(dtype=int64),
    sides: array1d(dtype=int32),
    twins: array1d(dtype=int32),
    changed: array1d(dtype=int32),
    wrong: array1d(dtype=int32),
):
    """Write for each side its two ends as a key, and its number. Sides of wrong triangles have keys of their own.

    All triangles have changed before pass 0.
    """
    i = tid()
    changed[i] = 0
    a, b, c = triangles[i, 0], triangles[i, 1], triangles[i, 2]
    least, greatest = min(a, min(b, c)), max(a, max(b, c))
    good = least >= 0 and greatest < num_points and a != b and b != c and c != a
    if not good:
        atomic_min(wrong, 0, i)
    for j in range(3):
        side = 3 * i + j
        u, v = _corner(triangles, _after(side, 1)), _corner(triangles, _after(side, 2))
        ends[side] = int64(-1 - side)
        if good:
            ends[side] = int64(min(u, v)) << int64(32) | int64(max(u, v))
        sides[side] = side
        twins[side] = -1


@kernel(**_OPTIONS)
def _join(
    triangles: array2d(dtype=int32),
    ends: array1d(dtype=int64),
    sides: array1d(dtype=int32),
    twins: array1d(dtype=int32),
):
    """Write the twins of sides, which are sorted by their ends: two sides that run in opposite directions."""
    i = tid()
    last = twins.shape[0] - 1
    if i < last and ends[i] == ends[i + 1]:
        more = (i > 0 and ends[max(i - 1, 0)] == ends[i]) or (i + 1 < last and ends[min(i + 2, last)] == ends[i])
        a, b = sides[i], sides[i + 1]
        if not more and _corner(triangles, _after(a, 1)) != _corner(triangles, _after(b, 1)):
            twins[a] = b
            twins[b] = a


@func
def _point(positions: array1d(dtype=vec2), triangles: array2d(dtype=int32), side: int, turn: int) -> vec2:
    """Return where the corner is that comes so many after the one opposite of a side."""
    return positions[_corner(triangles, _after(side, turn))]


@func
def _around(side: int, twins: array1d(dtype=int32), turn: int) -> int:
    """Return the triangle beyond the side that comes so many after a side, or its own triangle at the boundary."""
    twin = twins[_after(side, turn)]
    return twin // 3 if twin >= 0 else side // 3


@func
def _priority(side: int) -> uint32:
    """Return a number that no other side has. The least one wins, and those of close sides are far apart."""
    return uint32(side) * uint32(_PRIME)


@kernel(**_OPTIONS)
def _free(claims: array1d(dtype=uint32)):
    claims[tid()] = uint32(_FREE)


@func
def _fails(
    positions: array1d(dtype=vec2),
    references: array1d(dtype=vec2),
    least_area: float64,
    least_reference_area: float64,
    triangles: array2d(dtype=int32),
    twins: array1d(dtype=int32),
    side: int,
) -> bool:
    """True if an edge fails the test of Delaunay and may be flipped."""
    twin = twins[side]
    p, u, v = (_point(positions, triangles, side, i) for i in range(3))
    q = _point(positions, triangles, twin, 0)
    fails = is_inside_circle(p, u, v, q)
    fails = fails and area_is_above(p, u, q, least_area) and area_is_above(p, q, v, least_area)
    if fails and references.shape[0] > 0:
        a, b, c = (_point(references, triangles, side, i) for i in range(3))
        d = _point(references, triangles, twin, 0)
        fails = reference_area(a, b, d) > least_reference_area and reference_area(a, d, c) > least_reference_area
    for turn in range(1, 3):  # neither triangle may be beyond another side, too
        fails = fails and _around(side, twins, turn) != twin // 3 and _around(twin, twins, turn) != side // 3
    return fails


@kernel(lanes=1, **_OPTIONS)
def _claim(
    positions: array1d(dtype=vec2),
    references: array1d(dtype=vec2),
    least_area: float64,
    least_reference_area: float64,
    triangles: array2d(dtype=int32),
    twins: array1d(dtype=int32),
    state: array1d(dtype=int32),
    changed: array1d(dtype=int32),
    wanted: array1d(dtype=int32),
    claims: array1d(dtype=uint32),
):
    """Write which edges of a triangle are to be flipped, as bits, and claim their triangles.

    An edge has the number of the lesser of its sides.
    """
    t = tid()
    if changed[t] == state[1]:
        edges = int32(0)
        for j in range(3):
            side = 3 * t + j
            if side < twins[side]:
                areas = least_area, least_reference_area
                edges |= int32(_fails(positions, references, *areas, triangles, twins, side)) << j
        wanted[t] = edges
    if wanted[t] != 0:
        for j in range(3):
            side = 3 * t + j
            if wanted[t] >> j & 1 != 0:
                for turn in range(3):
                    atomic_min(claims, _around(side, twins, turn), _priority(side))
                    atomic_min(claims, _around(twins[side], twins, turn), _priority(side))


@func
def _wins(side: int, twins: array1d(dtype=int32), claims: array1d(dtype=uint32)) -> bool:
    """True if an edge has all its claims.

    It looks at its own two triangles first. With them, no other edge changes their twins.
    """
    mine, twin = _priority(side), twins[side]
    wins = claims[side // 3] == mine
    if wins:
        wins = claims[twin // 3] == mine
    if wins:
        for turn in range(1, 3):
            wins = wins and claims[_around(side, twins, turn)] == mine and claims[_around(twin, twins, turn)] == mine
    return wins


@func
def _set_twin(twins: array1d(dtype=int32), changed: array1d(dtype=int32), when: int, side: int, twin: int):
    """Make two sides twins, and note that their triangles have changed."""
    twins[side] = twin
    changed[side // 3] = when
    if twin >= 0:
        twins[twin] = side
        changed[twin // 3] = when


@kernel(**_OPTIONS)
def _flip(
    triangles: array2d(dtype=int32),
    twins: array1d(dtype=int32),
    state: array1d(dtype=int32),
    changed: array1d(dtype=int32),
    claims: array1d(dtype=uint32),
    flips: array1d(dtype=int32),
):
    """Flip the edges that have all their claims: edge u, v between the corners p and q becomes edge p, q."""
    t = tid()
    side = int(claims[t] * uint32(_INVERSE))
    if claims[t] != uint32(_FREE) and side // 3 == t and _wins(side, twins, claims):
        twin = twins[side]
        here, there = side // 3, twin // 3
        p, u, v = (_corner(triangles, _after(side, i)) for i in range(3))
        q = _corner(triangles, twin)
        vp, pu = twins[_after(side, 1)], twins[_after(side, 2)]
        uq, qv = twins[_after(twin, 1)], twins[_after(twin, 2)]
        triangles[here, 0] = p
        triangles[here, 1] = u
        triangles[here, 2] = q
        triangles[there, 0] = p
        triangles[there, 1] = q
        triangles[there, 2] = v
        when = state[1] + 1
        _set_twin(twins, changed, when, 3 * here, uq)
        _set_twin(twins, changed, when, 3 * here + 1, 3 * there + 2)
        _set_twin(twins, changed, when, 3 * here + 2, pu)
        _set_twin(twins, changed, when, 3 * there, qv)
        _set_twin(twins, changed, when, 3 * there + 1, vp)
        atomic_add(flips, 0, 1)


@kernel(**_OPTIONS)
def _end_pass(state: array1d(dtype=int32), flips: array1d(dtype=int32), max_passes: int32):
    """Ask for one more pass if this one has flipped an edge."""
    state[1] += 1
    state[0] = int32(flips[0] != state[2] and state[1] < max_passes)
    state[2] = flips[0]


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
    launch(_begin, 1, [state, flips], device=device)
    if n == 0:
        return
    _pair_up(triangles, positions.size, twins, changed, check=captured is None)
    claims = empty(n, dtype=uint32, device=device)

    def make_pass() -> None:
        launch(_free, n, [claims], device=device)
        given = [triangles, twins, state, changed]
        launch(_claim, n, [positions, references, *areas, *given, wanted, claims], device=device)
        launch(_flip, n, [*given, claims, flips], device=device)
        launch(_end_pass, 1, [state, flips, max_passes], device=device)

    if captured is not None:
        capture_while(state, make_pass)
    else:
        make_pass()
        while state.list()[0]:
            make_pass()


def _pair_up(triangles: array, num_points: int, twins: array, changed: array, check: bool) -> None:
    """Write the twin of each side, or -1, and that all have changed.

    Raises ValueError for wrong triangles, if they are to be checked.
    """
    n, device = triangles.shape[0], triangles.device
    ends, sides = empty(6 * n, dtype=int64, device=device), empty(6 * n, dtype=int32, device=device)
    wrong = empty(1, dtype=int32, device=device)
    launch(_set_last, 1, [wrong], device=device)
    launch(_list_sides, n, [triangles, num_points, ends, sides, twins, changed, wrong], device=device)
    if check and (triangle := wrong.list()[0]) < n:
        corners = triangles.numpy()[triangle].tolist()
        text = f"indices: triangle {triangle} has the points {corners}"
        raise ValueError(f"{text}; expected three different numbers from 0 to {num_points - 1}")
    radix_sort_pairs(ends, sides, 3 * n)
    launch(_join, 3 * n, [triangles, ends, sides, twins], device=device)


@kernel(**_OPTIONS)
def _set_last(wrong: array1d(dtype=int32)):
    wrong[0] = 2**31 - 1


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
