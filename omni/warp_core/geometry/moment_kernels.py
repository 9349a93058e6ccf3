"""The kernels that find the moments of meshes on GPUs: see moments.py. Native code has the same for CPUs, in
native/src/geometry/trees/bvh_moment_loops.h.

Tensors are symmetric. A vector of 19 has those of sources: x y z, then xx yy zz xy xz yz, then xxx yyy zzz xxy xxz xyy
yyz xzz yzz xyz. One of 15 has the moments in the order of lib/geometry/mesh_winding.py, without traces.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import max, min, sqrt, tid, vec3, where
from ..arrays.array import array1d
from ..lang.kernel import func, kernel
from ..lang.values.scalars import float32, int32
from ..lang.values.value_classes import vector
from ..lib.geometry.bvh_nodes import BvhNode
from ..lib.geometry.mesh_winding import FACTORS, MOMENTS, SLOTS
from .lbvh_kernels import FAN, all_good, whole_groups

_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}
_Range: Any = vector(2, int32)
_Sources: Any = vector(19, float32)
Moments: Any = vector(MOMENTS, float32)
_FACTORS = Moments(*FACTORS)


@func
def _mixed(ii: float, ij: float, i: float, j: float, of_i: float, of_j: float) -> float:
    """What a move adds to the component i, i, j."""
    return (ii * j + 2.0 * ij * i) * (2.0 / 3.0) + (of_j * i * i + 2.0 * of_i * i * j) / 3.0


@func
def _moved(m: _Sources, at: vec3) -> _Sources:
    """Return moments around the origin of sources that have the moments `m` around `at`."""
    x, y, z = at[0], at[1], at[2]
    a, b, c, xx, yy, zz, xy, xz, yz = m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]
    moved = m
    moved[3] += a * x
    moved[4] += b * y
    moved[5] += c * z
    moved[6] += 0.5 * (a * y + b * x)
    moved[7] += 0.5 * (a * z + c * x)
    moved[8] += 0.5 * (b * z + c * y)
    moved[9] += 2.0 * xx * x + a * x * x
    moved[10] += 2.0 * yy * y + b * y * y
    moved[11] += 2.0 * zz * z + c * z * z
    moved[12] += _mixed(xx, xy, x, y, a, b)
    moved[13] += _mixed(xx, xz, x, z, a, c)
    moved[14] += _mixed(yy, xy, y, x, b, a)
    moved[15] += _mixed(yy, yz, y, z, b, c)
    moved[16] += _mixed(zz, xz, z, x, c, a)
    moved[17] += _mixed(zz, yz, z, y, c, b)
    moved[18] += (xy * z + xz * y + yz * x) * (2.0 / 3.0) + (a * y * z + b * x * z + c * x * y) / 3.0
    return moved


@func
def _of_triangle(p: vec3, q: vec3, r: vec3) -> _Sources:
    """Return the moments of a triangle around the origin."""
    ax, ay, az = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    bx, by, bz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    x, y, z = 0.5 * (ay * bz - az * by), 0.5 * (az * bx - ax * bz), 0.5 * (ax * by - ay * bx)
    centre = (p + q + r) / 3.0
    d, e, f = p - centre, q - centre, r - centre
    xx = (d[0] * d[0] + e[0] * e[0] + f[0] * f[0]) / 12.0
    yy = (d[1] * d[1] + e[1] * e[1] + f[1] * f[1]) / 12.0
    zz = (d[2] * d[2] + e[2] * e[2] + f[2] * f[2]) / 12.0
    xy = (d[0] * d[1] + e[0] * e[1] + f[0] * f[1]) / 12.0
    xz = (d[0] * d[2] + e[0] * e[2] + f[0] * f[2]) / 12.0
    yz = (d[1] * d[2] + e[1] * e[2] + f[1] * f[2]) / 12.0
    m = _Sources()
    m[0], m[1], m[2] = x, y, z
    m[9], m[10], m[11] = x * xx, y * yy, z * zz
    m[12], m[13] = (y * xx + 2.0 * x * xy) / 3.0, (z * xx + 2.0 * x * xz) / 3.0
    m[14], m[15] = (x * yy + 2.0 * y * xy) / 3.0, (z * yy + 2.0 * y * yz) / 3.0
    m[16], m[17] = (x * zz + 2.0 * z * xz) / 3.0, (y * zz + 2.0 * z * yz) / 3.0
    m[18] = (x * yz + y * xz + z * xy) / 3.0
    return _moved(m, centre)


@func
def _without_traces(m: _Sources) -> Moments:
    trace = (m[3] + m[4] + m[5]) / 3.0
    x, y, z = (m[9] + m[14] + m[16]) / 5.0, (m[10] + m[12] + m[17]) / 5.0, (m[11] + m[13] + m[15]) / 5.0
    found = Moments()
    found[0], found[1], found[2] = m[0], m[1], m[2]
    found[3], found[4], found[5], found[6], found[7] = m[3] - trace, m[4] - trace, m[6], m[7], m[8]
    found[8], found[9], found[10], found[11] = m[9] - 3.0 * x, m[14] - x, m[10] - 3.0 * y, m[12] - y
    found[12], found[13], found[14] = m[13] - z, m[15] - z, m[18]
    return found


@func
def _scaled(m: Moments, s: float) -> _Sources:
    """Return the moments of a part in units of a radius that is 1 / s times as large."""
    square, cube, fourth = s * s, s * s * s, s * s * s * s
    found = _Sources()
    found[0], found[1], found[2] = m[0] * square, m[1] * square, m[2] * square
    found[3], found[4], found[5] = m[3] * cube, m[4] * cube, -(m[3] + m[4]) * cube
    found[6], found[7], found[8] = m[5] * cube, m[6] * cube, m[7] * cube
    found[9], found[10], found[11] = m[8] * fourth, m[10] * fourth, -(m[12] + m[13]) * fourth
    found[12], found[13], found[14] = m[11] * fourth, m[12] * fourth, m[9] * fourth
    found[15], found[16], found[17] = m[13] * fourth, -(m[8] + m[9]) * fourth, -(m[10] + m[11]) * fourth
    found[18] = m[14] * fourth
    return found


@func
def _centre(lower: vec3, upper: vec3) -> vec3:
    return lower * 0.5 + upper * 0.5


@func
def _radius(lower: vec3, upper: vec3) -> float:
    size = upper - lower
    return 0.5 * sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2])


@func
def _inverse(radius: float) -> float:
    return where(radius > 0.0, 1.0 / radius, 0.0)


@kernel(**_OPTIONS)
def mesh_find_face_moments(
    points: array1d(dtype=vec3),
    indices: array1d(dtype=int32),
    order: array1d(dtype=int32),
    least: array1d(dtype=vec3),
    most: array1d(dtype=vec3),
    parts: array1d(dtype=Moments),
):
    """Write the lowest level of a pyramid: the moments of faces in the order of leaves, around their own boxes."""
    i = tid()
    face = 3 * order[i]
    a, b, c = indices[face], indices[face + 1], indices[face + 2]
    if min(min(a, b), c) >= 0 and max(max(a, b), c) < points.shape[0]:
        centre, inverse = _centre(least[i], most[i]), _inverse(_radius(least[i], most[i]))
        p, q, r = (points[a] - centre) * inverse, (points[b] - centre) * inverse, (points[c] - centre) * inverse
        parts[i] = _without_traces(_of_triangle(p, q, r))


@func
def _part(
    least: array1d(dtype=vec3),
    most: array1d(dtype=vec3),
    parts: array1d(dtype=Moments),
    number: int,
    centre: vec3,
    inverse: float,
) -> _Sources:
    """Return the moments of a part around the centre of what it is a part of, whose radius is 1 / inverse."""
    share = _radius(least[number], most[number]) * inverse
    return _moved(_scaled(parts[number], share), (_centre(least[number], most[number]) - centre) * inverse)


@kernel(**_OPTIONS)
def mesh_join_moments(
    begin: int, end: int, least: array1d(dtype=vec3), most: array1d(dtype=vec3), parts: array1d(dtype=Moments)
):
    """Write a level of a pyramid, which lies behind the level below, [begin, end)."""
    i = tid()
    first = begin + i * FAN
    low, high = least[end + i], most[end + i]
    centre, inverse, total = _centre(low, high), _inverse(_radius(low, high)), _Sources()
    for k in range(first, min(first + FAN, end)):
        total += _part(least, most, parts, k, centre, inverse)
    parts[end + i] = _without_traces(total)


@kernel(**_OPTIONS)
def mesh_fit_moments(
    least: array1d(dtype=vec3),
    most: array1d(dtype=vec3),
    parts: array1d(dtype=Moments),
    count: int,
    places: array1d(dtype=_Range),
    wrong: array1d(dtype=int32),
    nodes: array1d(dtype=BvhNode),
    moments: array1d(dtype=float32),
):
    """Write the moments of a node: those of its places, of which the pyramid has most in groups."""
    number = tid()
    if all_good(wrong):
        begin, end = places[number][0], places[number][1]
        low, high = nodes[number].lower, nodes[number].upper
        centre, inverse, total = _centre(low, high), _inverse(_radius(low, high)), _Sources()
        at, size = 0, count
        while begin < end:
            first, last = whole_groups(begin, end)
            for i in range(at + begin, at + first):
                total += _part(least, most, parts, i, centre, inverse)
            for i in range(at + last, at + end):
                total += _part(least, most, parts, i, centre, inverse)
            begin, end = first // FAN, last // FAN
            at, size = at + size, (size + FAN - 1) // FAN
        found = _without_traces(total)
        for k in range(MOMENTS):
            moments[((number // SLOTS) * MOMENTS + k) * SLOTS + number % SLOTS] = found[k] * _FACTORS[k]
