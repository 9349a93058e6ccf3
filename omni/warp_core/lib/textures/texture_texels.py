"""Texels of textures: reading numbers of all types as float32."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, N, S, Vec
from ...lang.registry import builtin
from ...lang.types import F16
from ...lang.values.scalars import float32, int32, uint16, uint32
from .texture_types import FLOAT, HALF, UNSIGNED


@builtin(name="_texture_decode", cold=True)
def _decode(words: Array[uint32], at: int32, kind: int32, packing: int32, scale: float32) -> float32:
    """The number at a place among packed ones, before it is divided by `scale`."""
    packed = packing & 3  # also of a struct that is no texture
    bits = uint32(32 >> packed)
    shift = uint32(at & ((1 << packed) - 1)) * bits
    high = words[at >> packed] << (uint32(32) - bits - shift)
    value = float32(0.0)
    if kind == UNSIGNED:
        value = float32(high >> (uint32(32) - bits))
    elif kind == HALF:
        value = float32(prim.bitcast(uint16(high >> uint32(16)), F16))
    else:
        value = float32(int32(high) >> int32(uint32(32) - bits))
        value = prim.select(packing == 0, value, prim.max(value, prim.neg(scale)))
    return value


@builtin(name="_texture_number")
def _number(tex: S, at: int32) -> float32:
    value = float32(0.0)
    if tex.kind == FLOAT:
        value = tex.texels[at]
    else:
        value = _decode(tex.words, at, tex.kind, tex.packing, tex.scale)
    return value


@builtin(name="_texture_texel")
def texel(tex: S, first: int32, place: int32, like: float32) -> float32:
    """The numbers of a texel as they are stored: 0 if it lies beyond the border, where `place` is negative.

    Args:
        tex: the texture.
        first: where the texels of the level begin among the numbers.
        place: of the texel in the level.
        like: a zero of the type of the result.
    """
    found = _number(tex, first + prim.max(place, 0) * tex.channels)
    return prim.select(place < 0, like, found)


@builtin(name="_texture_texel")
def _texel_vector(tex: S, first: int32, place: int32, like: Vec[N, float32]) -> Vec[N, float32]:
    value, at = like, first + prim.max(place, 0) * tex.channels
    for c in range(N):
        if c < tex.channels:
            value[c] = prim.select(place < 0, float32(0.0), _number(tex, at + c))
    return value
