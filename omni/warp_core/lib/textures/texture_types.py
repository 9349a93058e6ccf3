"""The types of textures in kernels. textures/texture.py makes their values, texture_sample reads them.

A texture is a struct: its numbers, and how they are to be read. Numbers are in the order of texels, u fastest, with the
channels of a texel side by side. The levels of detail follow each other, the finest first.
"""

from __future__ import annotations

from ...lang.types import F32, U32, Array
from ...lang.values.scalars import float32, int32
from ...lang.values.structs import struct

CLOSEST, LINEAR = 0, 1  # filters
WRAP, CLAMP, MIRROR, BORDER = 0, 1, 2, 3  # address modes
FLOAT, HALF, UNSIGNED, SIGNED = 0, 1, 2, 3  # kinds of numbers; those of FLOAT are in `texels`, others in `words`
_TEXELS, _WORDS = Array(F32, 1), Array(U32, 1)


class _Fields:
    """The members of all textures.

    Attributes:
        texels: the numbers of a texture of float32.
        words: those of another type, packed into words of 32 bits.
        width: texels along u.
        height: texels along v.
        depth: texels along w.
        channels: numbers of a texel: 1, 2 or 4.
        levels: levels of detail.
        kind: of the numbers.
        packing: the binary logarithm of how many numbers are in a word.
        scale: the number that stands for 1.
        filter: how texels of a level are blended.
        level_filter: how levels are blended.
        mode_u: what is beyond the texels along u, and likewise v and w.
        normalized: 1 if coordinates count the whole texture as 1, 0 if they count texels.
    """

    texels: _TEXELS  # type: ignore[valid-type]
    words: _WORDS  # type: ignore[valid-type]
    width: int32
    height: int32
    depth: int32
    channels: int32
    levels: int32
    kind: int32
    packing: int32
    scale: float32
    filter: int32
    level_filter: int32
    mode_u: int32
    mode_v: int32
    mode_w: int32
    normalized: int32


def _texture_type(name: str) -> type:
    return struct(type(name, (), {"__annotations__": dict(_Fields.__annotations__)}))


Texture1D, Texture2D, Texture3D = map(_texture_type, ("Texture1D", "Texture2D", "Texture3D"))
