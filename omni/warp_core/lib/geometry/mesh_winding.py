"""Winding numbers of meshes. Start with `_mesh_winding`; mesh_signs.py has the query that uses them.

A face adds its solid angle. Far away, the angles of many faces add up as the field of a few moments does: Barill et
al., "Fast winding numbers for soups and clouds", 2018. The moments of a node are around the centre of its box, in units
of half its diagonal. With area vectors A, and y the place on a face, they are

- the sum of A: x, y, z;
- the integral of A y, symmetric and without trace: xx, yy, xy, xz, yz;
- that of A y y likewise: xxx, xyy, yyy, xxy, xxz, yyz, xyz;

times the factors `FACTORS`, with which they are the coefficients of solid harmonics. Traces have no effect far away.
With the direction u to the centre, and s the radius over the distance, the node adds
s^2 (A.u - 3 s u.Q.u + 15/2 s^2 T.u.u.u) / 4 pi.

On CPUs native/src/geometry/meshes/mesh_winding.h does the work of `_mesh_winding`, for eight nodes or faces at once.
"""

from __future__ import annotations

import math

from ...lang import prim
from ...lang.generics import Vec
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from .bvh_nodes import BvhNode, subtree_end
from .mesh_data import MeshData, _mesh_cross, _mesh_data, _mesh_dot, _mesh_face, _mesh_node, _mesh_offset

MOMENTS, SLOTS = 15, 8  # moments of a node, and nodes that have theirs side by side
_DIPOLE, _QUADRUPOLE, _OCTUPOLE = 1.0 / (4.0 * math.pi), -3.0 / (4.0 * math.pi), 7.5 / (4.0 * math.pi)
FACTORS = (
    *[_DIPOLE] * 3,
    *[_QUADRUPOLE * n for n in (1, 1, 2, 2, 2)],
    *[_OCTUPOLE * n for n in (1, 3, 1, 3, 1, 1, 6)],
)
LEAST_FAR, MOST_FAR = 1.0e-30, 1.0e37  # squares of distances: single precision has digits in between
# A number plus this one is rounded to a multiple of 2^-34. Sums of such numbers are exact, in any order, up to 2^18.
GRID = 1.5 * 2.0**18


@builtin
def _mesh_face_turns(data: MeshData, face: int32, point: Vec[3, float32]) -> float64:
    """The solid angle of a face, in full spheres, within 4e-12: Van Oosterom and Strackee, "The solid angle of a plane
    triangle", 1983. The series is an arctangent over 2 pi, fitted for arguments up to 1.
    """
    a, b = _mesh_offset(data, 3 * face, point), _mesh_offset(data, 3 * face + 1, point)
    c = _mesh_offset(data, 3 * face + 2, point)
    x, y, z = prim.sqrt(_mesh_dot(a, a)), prim.sqrt(_mesh_dot(b, b)), prim.sqrt(_mesh_dot(c, c))
    volume = _mesh_dot(a, _mesh_cross(b, c))
    rest = prim.fma(_mesh_dot(a, b), z, (x * y) * z)
    rest = prim.fma(_mesh_dot(c, a), y, prim.fma(_mesh_dot(b, c), x, rest))
    up, along = prim.abs(volume), prim.abs(rest)
    large = prim.select(up > along, up, along)
    share = prim.select(large > 0.0, prim.select(up > along, along, up) / large, 0.0)
    square = share * share
    turns = prim.fma(-9.353369758216143e-05, square, 0.0006833456754822062)
    turns = prim.fma(turns, square, -0.0023429312664690225)
    turns = prim.fma(turns, square, 0.0051299399948141365)
    turns = prim.fma(turns, square, -0.008357922915227509)
    turns = prim.fma(turns, square, 0.011368540089986029)
    turns = prim.fma(turns, square, -0.014230225857657857)
    turns = prim.fma(turns, square, 0.01764020896603938)
    turns = prim.fma(turns, square, -0.0227313863219542)
    turns = prim.fma(turns, square, 0.03183066000947965)
    turns = prim.fma(turns, square, -0.05305163768163513)
    turns = prim.fma(prim.fma(turns, square, 0.15915494300120495), share, 0.0)  # a product that is not fused
    turns = prim.select(up > along, 0.25 - turns, turns)
    turns = prim.select(rest < 0.0, 0.5 - turns, turns)
    return prim.select(volume < 0.0, -turns, turns)


@builtin
def _mesh_moment(data: MeshData, slot: int32, number: int32) -> float32:
    """A moment of the node in a slot."""
    place = ((slot // SLOTS) * MOMENTS + number) * SLOTS + slot % SLOTS
    return prim.array_at(data.moments, place + 1, float32)[place]


@builtin
def _mesh_expand(data: MeshData, slot: int32, x: float32, y: float32, z: float32, s: float32) -> float32:
    """The sum of the moments of a node in the direction (x, y, z). Its radius is the share `s` of the distance."""
    zz, xy, three = z * z, x * y, float32(3.0)
    twice, a, b = float32(2.0) * zz, prim.fma(x, x, -zz), prim.fma(y, y, -zz)
    dipole = prim.fma(_mesh_moment(data, slot, 1), y, _mesh_moment(data, slot, 0) * x)
    dipole = prim.fma(_mesh_moment(data, slot, 2), z, dipole)
    quadrupole = prim.fma(_mesh_moment(data, slot, 4), b, _mesh_moment(data, slot, 3) * a)
    quadrupole = prim.fma(_mesh_moment(data, slot, 6), x * z, prim.fma(_mesh_moment(data, slot, 5), xy, quadrupole))
    quadrupole = prim.fma(_mesh_moment(data, slot, 7), y * z, quadrupole)
    along_x = prim.fma(_mesh_moment(data, slot, 9), b, _mesh_moment(data, slot, 8) * (a - twice))
    along_y = prim.fma(_mesh_moment(data, slot, 11), a, _mesh_moment(data, slot, 10) * (b - twice))
    along_z = _mesh_moment(data, slot, 12) * prim.fma(three, a, twice)
    along_z = prim.fma(_mesh_moment(data, slot, 13), prim.fma(three, b, twice), along_z)
    along_z = prim.fma(_mesh_moment(data, slot, 14), xy, along_z)
    octupole = prim.fma(z, along_z, prim.fma(y, along_y, x * along_x))
    return prim.fma(s, prim.fma(s, octupole, quadrupole), dipole)


@builtin
def _mesh_slot(data: MeshData, number: int32) -> int32:
    """The slot of a node, or -1 for a node without moments."""
    slot = number
    if data.slots != uint64(0):
        slot = prim.array_at(data.slots, data.num_nodes, int32)[number]
    return slot


@builtin
def _mesh_node_turns(
    data: MeshData, node: BvhNode, slot: int32, point: Vec[3, float32], accuracy: float32
) -> tuple[boolean, float64]:
    """Whether a node is so far away that its moments count, and the solid angle of its faces by them."""
    half, squares, sizes, d = float32(0.5), float32(0.0), float32(0.0), Vec[3, float32]()
    for k in range(3):
        size = node.upper[k] - node.lower[k]
        d[k] = (half * node.lower[k] + half * node.upper[k]) - point[k]
        sizes = prim.fma(size, size, sizes)
        squares = prim.fma(d[k], d[k], squares)
    radius, distance = half * prim.sqrt(sizes), prim.sqrt(squares)
    is_far = distance > accuracy * radius and squares > float32(LEAST_FAR) and squares < float32(MOST_FAR)
    turns = float64(0.0)
    if is_far:
        inverse = float32(1.0) / distance
        s = radius * inverse
        sum = _mesh_expand(data, slot, d[0] * inverse, d[1] * inverse, d[2] * inverse, s)
        turns = float64((s * s) * sum)
    return is_far, turns


@builtin
def _mesh_winding(id: uint64, point: Vec[3, float32], accuracy: float32) -> float64:
    """How often a mesh winds around a point. The id was checked.

    The faces of a node count by its moments if the point is farther from the centre than `accuracy` radii, at least 1.
    A mesh without moments has all faces looked at.
    """
    data, total = _mesh_data(id), float64(0.0)
    least = prim.select(accuracy > float32(1.0), accuracy, float32(1.0))
    number = 0
    while number < data.num_nodes:
        node, is_far, following = _mesh_node(data, number), False, number + 1
        if data.moments != uint64(0):
            slot = _mesh_slot(data, number)
            if slot >= 0:
                is_far, turns = _mesh_node_turns(data, node, slot, point, least)
                total = total + ((turns + GRID) - GRID)
        if is_far:
            following = subtree_end(node, number)
        else:
            for place in range(node.child, node.child + node.count):
                turns = _mesh_face_turns(data, _mesh_face(data, place), point)
                total = total + ((turns + GRID) - GRID)
        number = following
    return total
