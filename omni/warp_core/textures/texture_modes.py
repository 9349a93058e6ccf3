"""Address modes and filters of textures: their enumerations, and checks of arguments."""

from __future__ import annotations

import enum
from typing import Any

from ..lib.textures import texture_types

__all__ = ["TextureAddressMode", "TextureFilterMode", "TextureResourceFlags"]

_AXES = "uvw"


class TextureAddressMode(enum.IntEnum):
    """What a texture has beyond its texels, along an axis.

    >>> tex = wp.Texture1D(np.array([1.0, 2.0, 4.0], np.float32), address_mode=wp.TextureAddressMode.WRAP, device="cpu")
    >>> wp.texture_sample(tex, 1.5, dtype=float)  # as at 0.5
    2.0
    """

    WRAP = texture_types.WRAP
    CLAMP = texture_types.CLAMP
    MIRROR = texture_types.MIRROR
    BORDER = texture_types.BORDER


class TextureFilterMode(enum.IntEnum):
    """How a sample of a texture follows from the texels around it, or from levels of detail.

    >>> tex = wp.Texture1D(np.array([1.0, 2.0], np.float32), filter_mode=wp.TextureFilterMode.CLOSEST, device="cpu")
    >>> wp.texture_sample(tex, 0.4, dtype=float)
    1.0
    """

    CLOSEST = texture_types.CLOSEST
    LINEAR = texture_types.LINEAR


class TextureResourceFlags(enum.IntEnum):
    """What a program does with a texture of OpenGL, in programs for warp-lang. Nothing here takes them.

    >>> wp.TextureResourceFlags.READ_ONLY.value
    1
    """

    NONE = 0
    READ_ONLY = 1
    WRITE_DISCARD = 2
    SURFACE_LDST = 4
    TEXTURE_GATHER = 8


def address_modes(given: Any, single: tuple[Any, ...]) -> list[TextureAddressMode]:
    """The address modes of three axes, from one for all or a sequence, and from those of single axes.

    Raises:
        TypeError, ValueError: If one is no address mode.
    """
    listed = list(given) if isinstance(given, (tuple, list)) else [given] * len(_AXES)
    listed += [TextureAddressMode.CLAMP] * (len(_AXES) - len(listed))
    chosen = [one if other is None else other for one, other in zip(listed, single)]
    return [_member(f"address_mode_{axis}", mode, TextureAddressMode) for axis, mode in zip(_AXES, chosen)]


def filter_mode(name: str, given: Any, is_whole: bool) -> TextureFilterMode:
    """A filter; None is LINEAR, or CLOSEST for numbers that stay whole.

    Raises:
        TypeError, ValueError: If it is something else, or blends numbers that stay whole.
    """
    if given is None:
        return TextureFilterMode.CLOSEST if is_whole else TextureFilterMode.LINEAR
    mode = _member(name, given, TextureFilterMode)
    if is_whole and mode is TextureFilterMode.LINEAR:
        raise ValueError(
            f"{name}: integers of 32 bits cannot be blended, as float32 does not hold them all; write "
            f"{name}=wp.TextureFilterMode.CLOSEST, or make the texture of float32"
        )
    return mode


def _member(name: str, given: Any, kind: Any) -> Any:
    if type(given) is kind:
        return given
    choices = " or ".join(f"wp.{kind.__name__}.{mode.name}" for mode in kind)
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{name}: expected {choices}, got {type(given).__name__}")
    if given not in list(kind):
        raise ValueError(f"{name}: expected {choices}, got {given}")
    return kind(given)
