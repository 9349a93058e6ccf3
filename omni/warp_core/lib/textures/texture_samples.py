"""Samples of textures: `texture_sample`.

`_texture_in_level` of each dimension samples one level of detail, `_texture_sampled` blends two of them. All that
depends on the texture alone, such as its address modes, is the same in all lanes where all lanes sample one texture:
branches on it cost next to nothing.
"""

from __future__ import annotations

from typing import Any

from ...lang import prim
from ...lang.generics import Constant, N, S, Vec
from ...lang.registry import builtin
from ...lang.values.constants import NAN
from ...lang.values.scalars import float32, float64, int32
from .texture_axes import Axis, around
from .texture_texels import Texel, texel
from .texture_types import FLOAT, LINEAR, Texture1D, Texture2D, Texture3D

_NO_TEXTURE = (
    "the texture has no texels, or fewer than its extents say: pass a texture that wp.Texture1D, wp.Texture2D or "
    "wp.Texture3D made, and leave the members as they are"
)


@builtin(name="_texture_extent")
def _extent(size: int32, level: int32) -> int32:
    """The texels along an axis in a level of detail."""
    return prim.max(size >> level, 1)


@builtin(name="_texture_numbers")
def _numbers(tex: S, level: int32) -> float64:
    """How many numbers a level has. Those of no real texture may not fit an integer."""
    texels = float64(_extent(tex.width, level)) * float64(_extent(tex.height, level))
    return texels * float64(_extent(tex.depth, level)) * float64(tex.channels)


@builtin(name="_texture_first")
def _first(tex: S, level: int32) -> int32:
    """Where a level begins among the numbers; -1, and the launch raises, if the texture does not have it whole."""
    begin, count = float64(0.0), float64(tex.words.shape[0] << (tex.packing & 3))
    for k in range(level):
        begin += _numbers(tex, k)
    if tex.kind == FLOAT:
        count = float64(tex.texels.shape[0])
    is_whole = begin + _numbers(tex, level) <= count and tex.channels > 0
    if not is_whole:
        prim.fail("argument", _NO_TEXTURE)
    return prim.select(is_whole, int32(begin), -1)


@builtin(name="_texture_scale")
def _scale(tex: S, size: int32, extent: int32) -> float32:
    """What a coordinate is multiplied by to count the texels of a level."""
    return prim.select(tex.normalized != 0, float32(extent), float32(extent) / float32(size))


@builtin(name="_texture_mix")
def _mix(a: Texel, b: Texel, w: float32) -> Texel:
    """`a` where `w` is 0, `b` where it is 1."""
    return a + (b - a) * w


@builtin(name="_texture_line")
def _line(tex: S, first: int32, u: Axis, row: int32, like: Texel) -> Texel:
    """The value at a coordinate in a row of texels, which lies beyond the border if it is negative."""
    start = row * u.size
    value = texel(tex, first, prim.bit_or(start + u.low, prim.bit_or(row, u.low) >> 31), like)
    if tex.filter == LINEAR:
        other = texel(tex, first, prim.bit_or(start + u.high, prim.bit_or(row, u.high) >> 31), like)
        value = _mix(value, other, u.weight)
    return value


@builtin(name="_texture_plane")
def _plane(tex: S, first: int32, u: Axis, v: Axis, plane: int32, like: Texel) -> Texel:
    """The value at two coordinates in a plane of texels, which lies beyond the border if it is negative."""
    start = plane * v.size
    value = _line(tex, first, u, prim.bit_or(start + v.low, prim.bit_or(plane, v.low) >> 31), like)
    if tex.filter == LINEAR:
        other = _line(tex, first, u, prim.bit_or(start + v.high, prim.bit_or(plane, v.high) >> 31), like)
        value = _mix(value, other, v.weight)
    return value


@builtin(name="_texture_nan_if")
def _nan_if(weight: float32, value: float32) -> float32:
    """`value`, or NaN if the weight is: closest texels do not depend on it."""
    return prim.select(weight == weight, value, float32(NAN))


@builtin(name="_texture_nan_if")
def _nan_vector_if(weight: float32, value: Vec[N, float32]) -> Vec[N, float32]:
    for c in range(N):
        value[c] = _nan_if(weight, value[c])
    return value


@builtin(name="_texture_axis_u")
def _axis_u(tex: S, u: float32, level: int32) -> Axis:
    extent = _extent(tex.width, level)
    return around(u, _scale(tex, tex.width, extent), extent, tex.mode_u, tex.filter)


@builtin(name="_texture_axis_v")
def _axis_v(tex: S, v: float32, level: int32) -> Axis:
    extent = _extent(tex.height, level)
    return around(v, _scale(tex, tex.height, extent), extent, tex.mode_v, tex.filter)


@builtin(name="_texture_axis_w")
def _axis_w(tex: S, w: float32, level: int32) -> Axis:
    extent = _extent(tex.depth, level)
    return around(w, _scale(tex, tex.depth, extent), extent, tex.mode_w, tex.filter)


@builtin(name="_texture_in_level")
def _in_level(tex: Texture1D, uvw: Vec[3, float32], level: int32, like: Texel) -> Texel:
    """The value at a place in a level of detail, before it is divided by the scale."""
    value, first = like, _first(tex, level)
    if first >= 0:
        u = _axis_u(tex, uvw[0], level)
        value = _nan_if(u.weight, _line(tex, first, u, 0, like))
    return value


@builtin(name="_texture_in_level")
def _in_level_2d(tex: Texture2D, uvw: Vec[3, float32], level: int32, like: Texel) -> Texel:
    value, first = like, _first(tex, level)
    if first >= 0:
        u, v = _axis_u(tex, uvw[0], level), _axis_v(tex, uvw[1], level)
        value = _nan_if(u.weight + v.weight, _plane(tex, first, u, v, 0, like))
    return value


@builtin(name="_texture_in_level")
def _in_level_3d(tex: Texture3D, uvw: Vec[3, float32], level: int32, like: Texel) -> Texel:
    value, first = like, _first(tex, level)
    if first >= 0:
        u, v, w = _axis_u(tex, uvw[0], level), _axis_v(tex, uvw[1], level), _axis_w(tex, uvw[2], level)
        value = _plane(tex, first, u, v, w.low, like)
        if tex.filter == LINEAR:
            value = _mix(value, _plane(tex, first, u, v, w.high, like), w.weight)
        value = _nan_if(u.weight + v.weight + w.weight, value)
    return value


@builtin(name="_texture_levels")
def _levels(tex: S, lod: float32) -> tuple[int32, int32, float32]:
    """The two levels of detail around one, and the weight of the second; NaN if `lod` is."""
    low, high, weight = 0, 0, float32(0.0)
    if tex.levels > 1:
        top = float32(prim.min(tex.levels, 31) - 1)
        detail = prim.max(float32(0.0), prim.min(top, lod))  # of two numbers, one NaN, min and max give the second
        if tex.level_filter == LINEAR:
            weight = detail - prim.floor(detail)
            low = int32(prim.min(prim.floor(detail), top))
            high = prim.select(lod > 0.0, prim.min(low + 1, int32(top)), low)
        else:
            weight = detail - detail
            low = int32(prim.min(prim.floor(detail + 0.5), top))
            high = low
    return low, high, weight


@builtin(name="_texture_blended", cold=True)
def _blended(tex: S, uvw: Vec[3, float32], level: int32, value: Texel, weight: float32, like: Texel) -> Texel:
    """A value of one level of detail, blended with that of another one."""
    return _mix(value, _in_level(tex, uvw, level, like), weight)


@builtin(name="_texture_sampled")
def _sampled(tex: S, uvw: Vec[3, float32], lod: float32, like: Texel) -> Texel:
    """The value at a place."""
    low, high, weight = _levels(tex, lod)
    value = _in_level(tex, uvw, low, like)
    if high != low or weight != weight:
        value = _blended(tex, uvw, high, value, weight, like)
    return value / tex.scale


@builtin
def texture_sample(tex: Texture2D, uv: Vec[2, float32], dtype: Constant, lod: float32 = -1.0) -> Any:
    """Value of a texture at a place between its texels.

    Texel i of an axis is centred at i + 0.5, where coordinates count texels; see [textures.md](../textures.md).

    Args:
        tex: the texture: a wp.Texture1D, wp.Texture2D or wp.Texture3D.
        uv: the place: a float u, a vec2 or floats u and v, or a vec3 or floats u, v and w, as the texture has
            dimensions. Coordinates from 0 to 1 span a texture. They count texels if it was made with
            `normalized_coords=False`.
        dtype: the type of the result, known when the kernel compiles: `float` for the first channel, `wp.vec2` or
            `wp.vec4`. Channels that the texture does not have are 0.
        lod: the level of detail, a float: 0 is the finest, and each one has half as many texels along an axis. Values
            beyond the levels count as the nearest.

    Returns:
        The value. Numbers of uint8 and uint16 become 0 to 1, those of int8 and int16 -1 to 1, others stay as they are.
        A coordinate that is NaN gives NaN, and so does an infinite one that wraps around, or a NaN `lod` of a texture
        with several levels. A member of a struct that was not set is a KernelError.

    Error: 8 ulp of the largest of the texels around, and what float32 loses of the coordinate: half an ulp of it, by
    the slope.
    Derivative: with respect to coordinates, `lod` and the texels of a texture of float32. At the centre of a texel, the
    slope of the side with the greater coordinate. CLOSEST has the derivative zero.

    >>> tex = wp.Texture2D(np.array([[0.0, 4.0], [8.0, 12.0]], np.float32), device="cpu")
    >>> wp.texture_sample(tex, 0.5, 0.5, dtype=float), wp.texture_sample(tex, wp.vec2(0.25, 1.0), dtype=float)
    (6.0, 8.0)
    """
    return _sampled(tex, Vec[3, float32](uv[0], uv[1], 0.0), lod, dtype())


@builtin(name="texture_sample")
def _sample_2d(tex: Texture2D, u: float32, v: float32, dtype: Constant, lod: float32 = -1.0) -> Any:
    return _sampled(tex, Vec[3, float32](u, v, 0.0), lod, dtype())


@builtin(name="texture_sample")
def _sample_1d(tex: Texture1D, u: float32, dtype: Constant, lod: float32 = -1.0) -> Any:
    return _sampled(tex, Vec[3, float32](u, 0.0, 0.0), lod, dtype())


@builtin(name="texture_sample")
def _sample_3d_vector(tex: Texture3D, uvw: Vec[3, float32], dtype: Constant, lod: float32 = -1.0) -> Any:
    return _sampled(tex, uvw, lod, dtype())


@builtin(name="texture_sample")
def _sample_3d(tex: Texture3D, u: float32, v: float32, w: float32, dtype: Constant, lod: float32 = -1.0) -> Any:
    return _sampled(tex, Vec[3, float32](u, v, w), lod, dtype())
