"""The kernels that flip edges; delaunay.py tells how. The predicates are in plane_predicates.py."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from __future__ import annotations

from typing import Any

from .. import atomic_add, atomic_min, max, min, tid, vec2
from ..arrays.array import array1d, array2d
from ..lang.kernel import func, kernel
from ..lang.values.scalars import float64, int32, int64, uint32
from .plane_predicates import area_is_above, is_inside_circle, reference_area

_FREE = 2**32 - 1  # the claim on a triangle that no edge claims
_PRIME = 2654435761  # odd, so that products with it differ in 32 bits; that of no side is _FREE
_INVERSE = pow(_PRIME, -1, 2**32)
_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}


@kernel(**_OPTIONS)
def begin(state: array1d(dtype=int32), flips: array1d(dtype=int32), wrong: array1d(dtype=int32)):
    """Set the state of the passes: whether there is one more, how many were made, and the flips before the last.

    The wrong triangle with the least number is to be found.
    """
    state[0] = 1
    state[1] = 0
    state[2] = 0
    flips[0] = 0
    wrong[0] = 2**31 - 1


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
def list_sides(
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
def join(
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
def free(claims: array1d(dtype=uint32)):
    """Take all claims away."""
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
def claim(
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
def flip(
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
def end_pass(state: array1d(dtype=int32), flips: array1d(dtype=int32), max_passes: int32):
    """Ask for one more pass if this one has flipped an edge."""
    state[1] += 1
    state[0] = int32(flips[0] != state[2] and state[1] < max_passes)
    state[2] = flips[0]
