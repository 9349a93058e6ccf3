"""Texels of textures: reading numbers of all types as float32."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, N, S, TypeVar, Vec
from ...lang.registry import builtin
from ...lang.types import F16, F32
from ...lang.types import Vec as VecType
from ...lang.values.scalars import float32, int32, uint16, uint32
from .texture_types import FLOAT, HALF, UNSIGNED

Texel = TypeVar("Texel", "type", among=(F32, VecType(2, F32), VecType(4, F32)))


@builtin(name="_texture_convert")
def _convert(high: uint32, kind: int32, packed: int32, scale: float32) -> float32:
    """The number that the uppermost bits of a word are, before it is divided by `scale`."""
    rest = uint32(32) - uint32(32 >> packed)
    value = float32(0.0)
    if kind == UNSIGNED:
        value = float32(high >> rest)
    elif kind == HALF:
        value = float32(prim.bitcast(uint16(high >> rest), F16))
    else:
        value = float32(int32(high) >> int32(rest))
        value = prim.select(packed == 0, value, prim.max(value, prim.neg(scale)))
    return value


@builtin(name="_texture_high")
def _high(words: Array[uint32], at: int32, packed: int32) -> uint32:
    """A number among packed ones, as the uppermost bits of a word."""
    bits = uint32(32 >> packed)
    shift = uint32(at & ((1 << packed) - 1)) * bits
    return words[at >> packed] << (uint32(32) - bits - shift)


@builtin(name="_texture_decode", cold=True)
def _decode(
    words: Array[uint32], at: int32, channels: int32, kind: int32, packing: int32, scale: float32, like: float32
) -> float32:
    """The first number of a texel whose numbers begin at a place among packed ones, before it is divided by `scale`."""
    packed = packing & 3  # also of a struct that is no texture
    return _convert(_high(words, at, packed), kind, packed, scale)


@builtin(name="_texture_decode", cold=True)
def _decode_vector(
    words: Array[uint32],
    at: int32,
    channels: int32,
    kind: int32,
    packing: int32,
    scale: float32,
    like: Vec[N, float32],
) -> Vec[N, float32]:
    packed, value = packing & 3, like
    if (channels >> packed) <= 1 and channels == N:  # all of the texel is in one word
        bits = uint32(32 >> packed)
        low = words[at >> packed] >> (uint32(at & ((1 << packed) - 1)) * bits)
        for c in range(N):
            value[c] = _convert(low << (uint32(32) - bits * uint32(c + 1)), kind, packed, scale)
    else:
        for c in range(N):
            if c < channels:
                value[c] = _convert(_high(words, at + c, packed), kind, packed, scale)
    return value


@builtin(name="_texture_numbers_at")
def _numbers_at(tex: S, at: int32, like: float32) -> float32:
    """The numbers of the texel whose numbers begin at a place."""
    value = like
    if tex.kind == FLOAT:
        value = tex.texels[at]
    else:
        value = _decode(tex.words, at, tex.channels, tex.kind, tex.packing, tex.scale, like)
    return value


@builtin(name="_texture_numbers_at")
def _vector_at(tex: S, at: int32, like: Vec[N, float32]) -> Vec[N, float32]:
    value = like
    if tex.kind == FLOAT:
        for c in range(N):
            if c < tex.channels:
                value[c] = tex.texels[at + c]
    else:
        value = _decode(tex.words, at, tex.channels, tex.kind, tex.packing, tex.scale, like)
    return value


@builtin(name="_texture_texel")
def texel(tex: S, first: int32, place: int32, like: Texel) -> Texel:
    """The numbers of a texel as they are stored: 0 if it lies beyond the border, where `place` is negative.

    Args:
        tex: the texture.
        first: where the texels of the level begin among the numbers.
        place: of the texel in the level.
        like: a zero of the type of the result.
    """
    found = _numbers_at(tex, first + prim.max(place, 0) * tex.channels, like)
    return prim.select(place < 0, like, found)
