"""The types of textures in kernels. textures/texture.py makes their values, texture_sample reads them.

A texture is a struct: its numbers, and how they are to be read. Numbers are in the order of texels, u fastest, with the
channels of a texel side by side. The levels of detail follow each other, the finest first.
"""

from __future__ import annotations

from ...lang.types import F32, I32, U32, Array
from ...lang.values.structs import struct

CLOSEST, LINEAR = 0, 1  # filters
WRAP, CLAMP, MIRROR, BORDER = 0, 1, 2, 3  # address modes
FLOAT, HALF, UNSIGNED, SIGNED = 0, 1, 2, 3  # kinds of numbers; those of FLOAT are in `texels`, others in `words`

# The members of all textures.
_FIELDS = {
    "texels": Array(F32, 1),  # the numbers of a texture of float32
    "words": Array(U32, 1),  # those of another type, packed into words of 32 bits
    "width": I32,  # texels along u
    "height": I32,
    "depth": I32,
    "channels": I32,  # numbers of a texel: 1, 2 or 4
    "levels": I32,  # levels of detail
    "kind": I32,  # of the numbers
    "packing": I32,  # the binary logarithm of how many numbers are in a word
    "scale": F32,  # the number that stands for 1
    "filter": I32,  # how texels of a level are blended
    "level_filter": I32,  # how levels are blended
    "mode_u": I32,  # the address mode along u
    "mode_v": I32,
    "mode_w": I32,
    "normalized": I32,  # 1 if coordinates count the whole texture as 1, 0 if they count texels
}


@struct
class Texture1D:
    """A texture of one dimension."""

    __annotations__ = _FIELDS


@struct
class Texture2D:
    """A texture of two dimensions."""

    __annotations__ = _FIELDS


@struct
class Texture3D:
    """A texture of three dimensions."""

    __annotations__ = _FIELDS
