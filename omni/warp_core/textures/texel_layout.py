"""Numbers of textures: their types, the extents of data, and checks of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algo.argument_checks import integer
from ..arrays.array import array
from ..arrays.dtypes import dtype_from_numpy, element_of
from ..lang.types import F16, F32, I8, I16, I32, U8, U16, U32, Packed, Scalar
from ..lib.textures.texture_types import FLOAT, HALF, SIGNED, UNSIGNED

_LARGEST = 2**24  # texels along an axis: float32 tells apart no more
_MOST = 2**31 - 1  # numbers of a texture


class Numbers(NamedTuple):
    """The type of the numbers of a texture, as texture_types.py spells it."""

    kind: int
    packing: int
    scale: float


NUMBERS = {
    F32: Numbers(FLOAT, 0, 1.0),
    F16: Numbers(HALF, 1, 1.0),
    U8: Numbers(UNSIGNED, 2, 255.0),
    U16: Numbers(UNSIGNED, 1, 65535.0),
    U32: Numbers(UNSIGNED, 0, 1.0),
    I8: Numbers(SIGNED, 2, 127.0),
    I16: Numbers(SIGNED, 1, 32767.0),
    I32: Numbers(SIGNED, 0, 1.0),
}
WHOLE = (U32, I32)


def number_type(dtype: Any) -> Scalar:
    """The type of numbers that a dtype names.

    Raises:
        TypeError: If it names no type.
        ValueError: If textures have no such numbers.
    """
    element = element_of(dtype)
    if element.type not in NUMBERS:
        known = ", ".join(f"wp.{element_of(t).name}" for t in NUMBERS)
        raise ValueError(f"dtype: textures have numbers of {known}, not of {element.name}; convert the data")
    assert isinstance(element.type, Scalar)
    return element.type


def as_numbers(name: str, data: Any, copy: bool = True) -> array:
    """Data as an array of numbers; the components of vectors are its last dimension.

    Args:
        name: of the argument.
        data: an array of this package or of NumPy.
        copy: whether to copy an array of NumPy, which the program may change.

    Raises:
        TypeError: If it is no array.
    """
    if isinstance(data, np.ndarray):
        return array(data, dtype=dtype_from_numpy(data.dtype), device="cpu", copy=copy)
    if not isinstance(data, array):
        raise TypeError(f"{name}: expected an array of NumPy or wp.array, got {type(data).__name__}")
    t = data._require_element().type
    return data.view(t.scalar) if isinstance(t, Packed) else data


def shape_of_data(shape: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Depth, height, width and channels of data, which may have no dimension for channels.

    Raises:
        ValueError: If it has another number of dimensions.
    """
    axes = ("depth", "height", "width")[3 - ndim :]
    if len(shape) not in (ndim, ndim + 1):
        wanted = ", ".join(axes)
        raise ValueError(f"data: expected the shape ({wanted}) or ({wanted}, channels), got {tuple(shape)}")
    channels = shape[ndim] if len(shape) > ndim else 1
    return (*(1,) * (3 - ndim), *shape[:ndim], channels)


def check_shape(shape: Sequence[int], given: dict[str, Any]) -> None:
    """Raise TypeError, ValueError unless a texture can have such a shape, and it is as the arguments say."""
    for (name, value), extent in zip(given.items(), shape):
        if integer(name, value) not in (0, extent):
            raise ValueError(f"{name}: {value} was given, but the data have {extent}")
    for name, extent in zip(given, shape[:3]):
        if not 1 <= extent <= _LARGEST:
            raise ValueError(f"{name}: expected 1 to 2**24 texels, got {extent}")
    if shape[3] not in (1, 2, 4):
        raise ValueError(f"num_channels: texels have 1, 2 or 4 numbers, got {shape[3]}; add a channel to RGB data")


def level_shapes(shape: Sequence[int], count: Any) -> list[tuple[int, ...]]:
    """The shapes of levels of detail, the finest first. 0 makes all levels.

    Raises:
        TypeError, ValueError: If there cannot be so many, or they have too many numbers.
    """
    most = max(shape[:3]).bit_length()
    if not 0 <= integer("num_mip_levels", count) <= most:
        raise ValueError(f"num_mip_levels: expected 0 (all) to {most} for these extents, got {count}")
    levels = [(*(max(n >> level, 1) for n in shape[:3]), shape[3]) for level in range(count or most)]
    if sum(map(math.prod, levels)) > _MOST:
        raise ValueError(f"the texture would have {sum(map(math.prod, levels))} numbers, more than 2**31 - 1")
    return levels
