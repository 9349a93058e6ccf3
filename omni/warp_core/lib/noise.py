"""Gradient noise in one to four dimensions, its periodic form, and divergence-free flow made of it.

Every integer point of the lattice has a random unit vector (in one dimension, a number), made from `state` and its
coordinates. Noise is the scalar product of that vector with the way to the sample, blended between the corners of the
cell with 6 t**5 - 15 t**4 + 10 t**3 (Perlin, "Improving noise", 2002). Blending goes plane by plane: `_plane` does the
four corners in x and y, and the functions for three and four dimensions call it two and four times. The `_slope`
versions return the derivative too.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import N, Vec
from ..lang.registry import builtin
from ..lang.values.scalars import float32, int32, uint32
from .random import _pcg, rand_init

PRIMES = (73856093, 19349663, 53471161, 10000019)  # one for each coordinate
SECOND_FIELD, THIRD_FIELD = 10019689, 13112221  # streams of the further components of a vector potential
TINY = 1e-30
STEP = 2.0**-23

# -- lattice ----------------------------------------------------------------------------------------------------------


@builtin
def _direction(h: uint32, offset: Vec[N, float32]) -> Vec[N, float32]:
    """The vector of the corner with hash `h`, not of length 1 yet; `offset` only gives its dimension."""
    out = offset
    for i in range(N):
        h = _pcg(h)
        out[i] = _symmetric(h)
    return out


@builtin
def _symmetric(h: uint32) -> float32:
    """The upper 24 bits of `h` as a number in [-1, 1); nothing of this rounds."""
    return prim.fma(float32(int32(h >> uint32(8))), STEP, -1.0)


@builtin
def _inverse_length(v: Vec[N, float32]) -> float32:
    total = TINY
    for i in range(N):
        total = total + v[i] * v[i]
    return 1.0 / prim.sqrt(total)


@builtin
def _corner(h: uint32, offset: Vec[N, float32]) -> float32:
    """Return the contribution of the corner with hash `h` at `offset` from it."""
    v = _direction(h, offset)
    total = v[0] * offset[0]
    for i in range(1, N):
        total = total + v[i] * offset[i]
    return total * _inverse_length(v)


@builtin
def _from_corner(offset: Vec[N, float32], x: float32, y: float32) -> Vec[N, float32]:
    offset[0] = offset[0] - x
    offset[1] = offset[1] - y
    return offset


@builtin
def _fade(t: float32) -> float32:
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


@builtin
def _fade_slope(t: float32) -> float32:
    u = t * (t - 1.0)
    return 30.0 * u * u


@builtin
def _mix(a: float32, b: float32, w: float32) -> float32:
    return a + w * (b - a)


@builtin
def _cell(x: float32) -> tuple[int32, int32, float32]:
    """(lattice point below x, the one above, distance from the first)."""
    whole = prim.floor(x)
    return int32(whole), int32(whole) + 1, x - whole


@builtin
def _cell_periodic(x: float32, period: int32) -> tuple[int32, int32, float32]:
    """As `_cell`, with lattice points counted modulo a period."""
    whole = prim.floor(x)
    low = prim.rem(int32(whole), period)
    return low, prim.rem(low + 1, period), x - whole


@builtin
def _key(i: int32, prime: uint32) -> uint32:
    return uint32(i) * prime


# -- blending ---------------------------------------------------------------------------------------------------------


@builtin
def _line(state: uint32, low: int32, high: int32, t: float32) -> float32:
    a = _symmetric(_pcg(_key(low, uint32(PRIMES[0])) + state)) * t
    b = _symmetric(_pcg(_key(high, uint32(PRIMES[0])) + state)) * (t - 1.0)
    return _mix(a, b, _fade(t))


@builtin
def _plane(x0: uint32, x1: uint32, y0: uint32, y1: uint32, rest: uint32, offset: Vec[N, float32]) -> float32:
    """Blend of four corners: the hash of each is x ^ y ^ rest, `offset` is that of the sample from the first."""
    u = _fade(offset[0])
    low = _mix(_corner(x0 ^ y0 ^ rest, offset), _corner(x1 ^ y0 ^ rest, _from_corner(offset, 1.0, 0.0)), u)
    high = _mix(
        _corner(x0 ^ y1 ^ rest, _from_corner(offset, 0.0, 1.0)),
        _corner(x1 ^ y1 ^ rest, _from_corner(offset, 1.0, 1.0)),
        u,
    )
    return _mix(low, high, _fade(offset[1]))


@builtin
def _square(state: uint32, x0: int32, x1: int32, y0: int32, y1: int32, t: Vec[2, float32]) -> float32:
    px, py = uint32(PRIMES[0]), uint32(PRIMES[1])
    return _plane(_key(x0, px), _key(x1, px), _key(y0, py) + state, _key(y1, py) + state, uint32(0), t)


@builtin
def _cube(
    state: uint32, x0: int32, x1: int32, y0: int32, y1: int32, z0: int32, z1: int32, t: Vec[3, float32]
) -> float32:
    px, py, pz = uint32(PRIMES[0]), uint32(PRIMES[1]), uint32(PRIMES[2])
    a, b, c, d = _key(x0, px), _key(x1, px), _key(y0, py), _key(y1, py)
    near = _plane(a, b, c, d, _key(z0, pz) + state, t)
    far = _plane(a, b, c, d, _key(z1, pz) + state, Vec[3, float32](t[0], t[1], t[2] - 1.0))
    return _mix(near, far, _fade(t[2]))


@builtin
def _hypercube(
    state: uint32,
    low: Vec[4, int32],
    high: Vec[4, int32],
    t: Vec[4, float32],
) -> float32:
    px, py, pz, pw = uint32(PRIMES[0]), uint32(PRIMES[1]), uint32(PRIMES[2]), uint32(PRIMES[3])
    a, b, c, d = _key(low[0], px), _key(high[0], px), _key(low[1], py), _key(high[1], py)
    e, f, g, h = _key(low[2], pz), _key(high[2], pz), _key(low[3], pw) + state, _key(high[3], pw) + state
    z, w = t[2], t[3]
    s00 = _plane(a, b, c, d, e ^ g, t)
    s10 = _plane(a, b, c, d, f ^ g, Vec[4, float32](t[0], t[1], z - 1.0, w))
    s01 = _plane(a, b, c, d, e ^ h, Vec[4, float32](t[0], t[1], z, w - 1.0))
    s11 = _plane(a, b, c, d, f ^ h, Vec[4, float32](t[0], t[1], z - 1.0, w - 1.0))
    u = _fade(z)
    return _mix(_mix(s00, s10, u), _mix(s01, s11, u), _fade(w))


# -- noise ------------------------------------------------------------------------------------------------------------


@builtin
def noise(state: uint32, x: float32) -> float32:
    """Smooth random field.

    Args:
        state: of `rand_init`; it selects the field and is not advanced.
        x: where to evaluate, in units of the lattice: a float32, vec2, vec3 or vec4 (then called `xy`, `xyz`, `xyzt`).

    Returns:
        A float32 between -1 and 1; 0 at points with integer coordinates.

    Error: float32 8 ULP of 1.
    Derivative: continuous in `x`; none in `state`.

    >>> wp.noise(wp.rand_init(42), 3.0)
    0.0
    """
    low, high, t = _cell(x)
    return _line(state, low, high, t)


@builtin(name="noise")
def _noise2(state: uint32, xy: Vec[2, float32]) -> float32:
    x0, x1, tx = _cell(xy[0])
    y0, y1, ty = _cell(xy[1])
    return _square(state, x0, x1, y0, y1, Vec[2, float32](tx, ty))


@builtin(name="noise")
def _noise3(state: uint32, xyz: Vec[3, float32]) -> float32:
    x0, x1, tx = _cell(xyz[0])
    y0, y1, ty = _cell(xyz[1])
    z0, z1, tz = _cell(xyz[2])
    return _cube(state, x0, x1, y0, y1, z0, z1, Vec[3, float32](tx, ty, tz))


@builtin(name="noise")
def _noise4(state: uint32, xyzt: Vec[4, float32]) -> float32:
    x0, x1, tx = _cell(xyzt[0])
    y0, y1, ty = _cell(xyzt[1])
    z0, z1, tz = _cell(xyzt[2])
    w0, w1, tw = _cell(xyzt[3])
    low, high = Vec[4, int32](x0, y0, z0, w0), Vec[4, int32](x1, y1, z1, w1)
    return _hypercube(state, low, high, Vec[4, float32](tx, ty, tz, tw))


@builtin
def pnoise(state: uint32, x: float32, px: int32) -> float32:
    """Smooth random field that repeats.

    Args:
        state: of `rand_init`; it selects the field and is not advanced.
        x: where to evaluate: a float32, or a vec2, vec3 or vec4 (then called `xy`, `xyz`, `xyzt`).
        px: period in x, a positive int32; one more for each further coordinate: `py`, `pz`, `pt`.

    Returns:
        A float32 between -1 and 1. Below zero the field is continuous, but is not that of one period further.

    Error: float32 8 ULP of 1.
    Derivative: continuous in `x`; none in `state` and the periods.

    >>> wp.pnoise(wp.rand_init(42), 0.25, 4) == wp.pnoise(wp.rand_init(42), 8.25, 4)
    True
    """
    low, high, t = _cell_periodic(x, px)
    return _line(state, low, high, t)


@builtin(name="pnoise")
def _pnoise2(state: uint32, xy: Vec[2, float32], px: int32, py: int32) -> float32:
    x0, x1, tx = _cell_periodic(xy[0], px)
    y0, y1, ty = _cell_periodic(xy[1], py)
    return _square(state, x0, x1, y0, y1, Vec[2, float32](tx, ty))


@builtin(name="pnoise")
def _pnoise3(state: uint32, xyz: Vec[3, float32], px: int32, py: int32, pz: int32) -> float32:
    x0, x1, tx = _cell_periodic(xyz[0], px)
    y0, y1, ty = _cell_periodic(xyz[1], py)
    z0, z1, tz = _cell_periodic(xyz[2], pz)
    return _cube(state, x0, x1, y0, y1, z0, z1, Vec[3, float32](tx, ty, tz))


@builtin(name="pnoise")
def _pnoise4(state: uint32, xyzt: Vec[4, float32], px: int32, py: int32, pz: int32, pt: int32) -> float32:
    x0, x1, tx = _cell_periodic(xyzt[0], px)
    y0, y1, ty = _cell_periodic(xyzt[1], py)
    z0, z1, tz = _cell_periodic(xyzt[2], pz)
    w0, w1, tw = _cell_periodic(xyzt[3], pt)
    low, high = Vec[4, int32](x0, y0, z0, w0), Vec[4, int32](x1, y1, z1, w1)
    return _hypercube(state, low, high, Vec[4, float32](tx, ty, tz, tw))


# -- slopes -----------------------------------------------------------------------------------------------------------


@builtin
def _corner_slope(h: uint32, offset: Vec[N, float32]) -> tuple[float32, Vec[N, float32]]:
    """(contribution, vector) of the corner with hash `h`."""
    v = _direction(h, offset)
    v = v * _inverse_length(v)
    total = v[0] * offset[0]
    for i in range(1, N):
        total = total + v[i] * offset[i]
    return total, v


@builtin
def _blend_slope(
    a: float32, da: Vec[N, float32], b: float32, db: Vec[N, float32], t: float32, axis: int32
) -> tuple[float32, Vec[N, float32]]:
    """The blend of two values along `axis` at `t`, and its derivative."""
    w = _fade(t)
    slope = da + (db - da) * w
    slope[axis] = slope[axis] + _fade_slope(t) * (b - a)
    return _mix(a, b, w), slope


@builtin
def _plane_slope(
    x0: uint32, x1: uint32, y0: uint32, y1: uint32, rest: uint32, offset: Vec[N, float32]
) -> tuple[float32, Vec[N, float32]]:
    """`_plane` and its derivative in every coordinate, blending along further axes not counted."""
    a, da = _corner_slope(x0 ^ y0 ^ rest, offset)
    b, db = _corner_slope(x1 ^ y0 ^ rest, _from_corner(offset, 1.0, 0.0))
    a, da = _blend_slope(a, da, b, db, offset[0], 0)
    c, dc = _corner_slope(x0 ^ y1 ^ rest, _from_corner(offset, 0.0, 1.0))
    d, dd = _corner_slope(x1 ^ y1 ^ rest, _from_corner(offset, 1.0, 1.0))
    c, dc = _blend_slope(c, dc, d, dd, offset[0], 0)
    return _blend_slope(a, da, c, dc, offset[1], 1)


@builtin
def _square_slope(state: uint32, x0: int32, x1: int32, y0: int32, y1: int32, t: Vec[2, float32]) -> Vec[2, float32]:
    px, py = uint32(PRIMES[0]), uint32(PRIMES[1])
    return _plane_slope(_key(x0, px), _key(x1, px), _key(y0, py) + state, _key(y1, py) + state, uint32(0), t)[1]


@builtin
def _cube_slope(
    state: uint32, x0: int32, x1: int32, y0: int32, y1: int32, z0: int32, z1: int32, t: Vec[3, float32]
) -> Vec[3, float32]:
    px, py, pz = uint32(PRIMES[0]), uint32(PRIMES[1]), uint32(PRIMES[2])
    keys = _key(x0, px), _key(x1, px), _key(y0, py), _key(y1, py)
    a, da = _plane_slope(*keys, _key(z0, pz) + state, t)
    b, db = _plane_slope(*keys, _key(z1, pz) + state, Vec[3, float32](t[0], t[1], t[2] - 1.0))
    return _blend_slope(a, da, b, db, t[2], 2)[1]


@builtin
def _slope(state: uint32, xy: Vec[2, float32]) -> Vec[2, float32]:
    x0, x1, tx = _cell(xy[0])
    y0, y1, ty = _cell(xy[1])
    return _square_slope(state, x0, x1, y0, y1, Vec[2, float32](tx, ty))


@builtin(name="_slope")
def _slope3(state: uint32, xyz: Vec[3, float32]) -> Vec[3, float32]:
    x0, x1, tx = _cell(xyz[0])
    y0, y1, ty = _cell(xyz[1])
    z0, z1, tz = _cell(xyz[2])
    return _cube_slope(state, x0, x1, y0, y1, z0, z1, Vec[3, float32](tx, ty, tz))


@builtin(name="_slope")
def _slope4(state: uint32, xyzt: Vec[4, float32]) -> Vec[3, float32]:
    """Derivative in the first three coordinates."""
    x0, x1, tx = _cell(xyzt[0])
    y0, y1, ty = _cell(xyzt[1])
    z0, z1, tz = _cell(xyzt[2])
    w0, w1, tw = _cell(xyzt[3])
    px, py, pz, pw = uint32(PRIMES[0]), uint32(PRIMES[1]), uint32(PRIMES[2]), uint32(PRIMES[3])
    keys = _key(x0, px), _key(x1, px), _key(y0, py), _key(y1, py)
    e, f, g, h = _key(z0, pz), _key(z1, pz), _key(w0, pw) + state, _key(w1, pw) + state
    a, da = _plane_slope(*keys, e ^ g, Vec[4, float32](tx, ty, tz, tw))
    b, db = _plane_slope(*keys, f ^ g, Vec[4, float32](tx, ty, tz - 1.0, tw))
    a, da = _blend_slope(a, da, b, db, tz, 2)
    c, dc = _plane_slope(*keys, e ^ h, Vec[4, float32](tx, ty, tz, tw - 1.0))
    d, dd = _plane_slope(*keys, f ^ h, Vec[4, float32](tx, ty, tz - 1.0, tw - 1.0))
    c, dc = _blend_slope(c, dc, d, dd, tz, 2)
    slope = _blend_slope(a, da, c, dc, tw, 3)[1]
    return Vec[3, float32](slope[0], slope[1], slope[2])


# -- flow -------------------------------------------------------------------------------------------------------------


@builtin
def _curl(x: Vec[3, float32], y: Vec[3, float32], z: Vec[3, float32]) -> Vec[3, float32]:
    """The curl of a vector potential with components of these slopes."""
    return Vec[3, float32](z[1] - y[2], x[2] - z[0], y[0] - x[1])


@builtin
def _flow(state: uint32, x: Vec[N, float32], octaves: uint32, lacunarity: float32, gain: float32) -> Vec[3, float32]:
    """The curls of potentials, each finer and weaker than the one before, at a position or a position and time."""
    total = Vec[3, float32](0.0, 0.0, 0.0)
    weight, scale = 1.0, 1.0
    for _ in range(int32(octaves)):
        second = rand_init(int32(state), SECOND_FIELD)
        third = rand_init(int32(second), THIRD_FIELD)
        p = x * scale
        total = total + _curl(_slope(state, p), _slope(second, p), _slope(third, p)) * weight
        weight, scale, state = weight * gain, scale * lacunarity, third
    return total


@builtin
def curlnoise(
    state: uint32, xy: Vec[2, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> Vec[2, float32]:
    """Random flow without sources and sinks.

    Args:
        state: of `rand_init`; it selects the flow and is not advanced.
        xy: where to evaluate: a vec2, or a vec3 or vec4 (then called `xyz`, `xyzt`; the fourth coordinate is a time).
        octaves: how many flows are added, a uint32.
        lacunarity: factor by which each is finer than the one before.
        gain: factor by which each is weaker than the one before.

    Returns:
        vec2 for a vec2, else vec3: the curl of a potential made of `noise`.

    Error: float32 64 ULP of 1 for one octave.
    Derivative: continuous in the position; none in `state`.

    >>> wp.curlnoise(wp.rand_init(42), wp.vec2(0.5, 0.5), 0)
    vec2f([0.0, 0.0])
    """
    total = Vec[2, float32](0.0, 0.0)
    weight, scale = 1.0, 1.0
    for _ in range(int32(octaves)):
        slope = _slope(state, xy * scale)
        total = total + Vec[2, float32](prim.neg(slope[1]), slope[0]) * weight
        weight, scale = weight * gain, scale * lacunarity
    return total


@builtin(name="curlnoise")
def _curlnoise3(
    state: uint32, xyz: Vec[3, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> Vec[3, float32]:
    return _flow(state, xyz, octaves, lacunarity, gain)


@builtin(name="curlnoise")
def _curlnoise4(
    state: uint32, xyzt: Vec[4, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> Vec[3, float32]:
    return _flow(state, xyzt, octaves, lacunarity, gain)
