"""Textures: grids of texels that kernels sample at any coordinates.

A texture is a value of a struct of the kernel language (lib/textures/texture_types.py), whose arrays have the numbers.
So it is an argument, a member of a struct or an element of an array like any struct, and derivatives flow to its
numbers as to all arrays. Start with `Texture`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..arrays.array import array
from ..arrays.dtypes import element, element_of
from ..arrays.factories import empty, zeros
from ..arrays.layouts import Layout, c_strides
from ..arrays.transfer import copy
from ..devices.device import Device, get_device
from ..dispatch import capture
from ..lang.types import F32, Type
from ..lang.values.scalars import float32, uint32
from ..lang.values.type_registry import wc_type
from ..lib.textures import texture_types
from .mip_levels import fill_levels
from .texel_layout import NUMBERS, WHOLE, Numbers, as_numbers, check_shape, level_shapes, number_type, shape_of_data
from .texture_modes import TextureAddressMode, TextureFilterMode, address_modes, filter_mode

__all__ = ["Texture", "Texture1D", "Texture2D", "Texture3D"]

_TYPES = {number: t for t, number in NUMBERS.items()}
_CLAMP = TextureAddressMode.CLAMP


class Texture:
    """What textures of one, two and three dimensions have in common: wp.Texture1D, wp.Texture2D and wp.Texture3D.

    Args:
        data: The numbers, which are copied: a wp.array or an array of NumPy. The last dimension may be channels, as
            vectors of 2 or 4 are. None makes a texture of zeros. If an array requires gradients, so does the texture,
            and a tape that records this leads gradients of texels to the array.
        width: Texels along u, and likewise height and depth along v and w; 0 for those of the data.
        num_channels: Numbers of a texel: 1, 2 or 4. 0 for those of the data.
        dtype: The type of numbers: wp.float32, float16, or integers of 8, 16 or 32 bits. None for that of the data.
        filter_mode: How texels of a level are blended. None is LINEAR, or CLOSEST for integers of 32 bits, which cannot
            be blended.
        address_mode: What is beyond the texels: for all axes, or a tuple with one for each.
        address_mode_u: What is beyond them along u, where it is something else, and likewise v and w.
        normalized_coords: Whether coordinates count the whole texture as 1. Otherwise they count texels.
        num_mip_levels: Levels of detail, each with the means of the one before; 0 for all down to one texel.
        mip_filter_mode: How levels of detail are blended. None does as `filter_mode` does by default.
        device: Where to put it. None is the device of an array, otherwise the current one.
        surface_access: Taken, without effect.
        cuda_array: Must be 0: textures of other programs are not taken.

    Raises:
        TypeError: If an argument has another type.
        ValueError: If data, extents and type do not fit each other, there is no such texture, or an array with
            gradients is not of float32.

    Attributes:
        ndim: The number of dimensions.
        width: Texels along u.
        height: Texels along v; 1 if there is no such axis.
        depth: Texels along w; 1 if there is no such axis.
        texels: All numbers of a texture of float32, level by level. Gradients of texels are in `texels.grad`.
    """

    ndim: ClassVar[int]
    width: int
    height: int
    depth: int
    texels: array
    words: array
    channels: int
    levels: int
    kind: int
    packing: int
    scale: float
    filter: int
    level_filter: int
    mode_u: int
    mode_v: int
    mode_w: int
    normalized: int
    _values: list[Any]

    __hash__ = object.__hash__
    __eq__ = object.__eq__  # structs compare all fields

    def __init__(self, *_: Any, **__: Any):
        raise TypeError("wp.Texture is of no dimension: write wp.Texture1D, wp.Texture2D or wp.Texture3D")

    def _make(
        self,
        data: Any,
        extents: dict[str, Any],
        dtype: Any,
        filters: tuple[Any, Any],
        modes: list[TextureAddressMode],
        normalized: bool,
        num_levels: Any,
        device: Any,
    ) -> None:
        """Become a texture of these arguments of the constructor."""
        where = get_device(device) if device is not None or not isinstance(data, array) else data.device
        source = None if data is None else as_numbers("data", data, where.is_cuda or capture.active())
        shape = tuple(extents.values()) if source is None else shape_of_data(source.shape, self.ndim)
        check_shape(shape, extents)
        t = number_type(_dtype_of(source, dtype))
        shapes = level_shapes(shape, num_levels)
        numbers = NUMBERS[t]
        given = (filter_mode(name, f, t in WHOLE) for name, f in zip(("filter_mode", "mip_filter_mode"), filters))
        count = sum(map(math.prod, shapes))
        # All values have the types of the fields, in their order: setting fields one by one takes three times as long.
        depth, height, width, channels = shape
        has_gaps = source is None or count % (1 << numbers.packing) != 0  # in the last word
        self._values = [
            _memory(count if t is F32 else 0, float32, where, source is None),
            _no_words(where) if t is F32 else _memory(-(-count >> numbers.packing), uint32, where, has_gaps),
            *(width, height, depth, channels, len(shapes), *numbers),
            *map(int, (*given, *modes, bool(normalized))),
        ]
        if source is not None:
            self._fill(source)

    def _numbers(self) -> array:
        """All numbers, in their own type."""
        if self.kind == texture_types.FLOAT:
            return self.texels
        made = element(self._number_type())
        size = made.numpy.itemsize
        return self.words._view_of(Layout((self.words.size << self.packing,), (size,)), made)

    def _number_type(self) -> Type:
        return _TYPES[Numbers(self.kind, self.packing, self.scale)]

    def _shapes(self) -> list[tuple[int, ...]]:
        return level_shapes((self.depth, self.height, self.width, self.num_channels), self.num_mip_levels)

    def _levels(self) -> list[array]:
        """The numbers of each level of detail: plane, row, column, channel."""
        shapes = self._shapes()
        ends = itertools.accumulate(map(math.prod, shapes))
        return [self._part(s, end - math.prod(s)) for end, s in zip(ends, shapes)]

    def _part(self, shape: tuple[int, ...], first: int = 0) -> array:
        """The numbers from `first` on, in a shape."""
        numbers = self._numbers()
        size = numbers._require_element().type.size
        return numbers._view_of(Layout(shape, c_strides(shape, size), first * size))

    def _fill(self, source: array) -> None:
        if _needs_gradient(source):
            self.texels.requires_grad = True
        copy(self._part(source.shape), source)
        if self.levels > 1:
            fill_levels(self._levels())

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def num_channels(self) -> int:
        """Numbers of a texel: 1, 2 or 4."""
        return self.channels

    @property
    def dtype(self) -> Any:
        """The type of the numbers, such as wp.uint8."""
        return element(self._number_type()).dtype

    @property
    def device(self) -> Device:
        """Where it is."""
        return self.texels.device

    @property
    def id(self) -> int:
        """A number that no other texture has while this one exists: the address of its numbers."""
        return int((self.texels if self.kind == texture_types.FLOAT else self.words).ptr)

    @property
    def requires_grad(self) -> bool:
        """True if tapes compute gradients of the numbers. The data decide it, which must be a wp.array of float32."""
        return self.texels.requires_grad

    @property
    def filter_mode(self) -> TextureFilterMode:
        """How texels of a level are blended."""
        return TextureFilterMode(self.filter)

    @property
    def mip_filter_mode(self) -> TextureFilterMode:
        """How levels of detail are blended."""
        return TextureFilterMode(self.level_filter)

    @property
    def address_mode_u(self) -> TextureAddressMode:
        """What is beyond the texels along u."""
        return TextureAddressMode(self.mode_u)

    @property
    def address_mode_v(self) -> TextureAddressMode:
        """What is beyond the texels along v."""
        return TextureAddressMode(self.mode_v)

    @property
    def address_mode_w(self) -> TextureAddressMode:
        """What is beyond the texels along w."""
        return TextureAddressMode(self.mode_w)

    @property
    def normalized_coords(self) -> bool:
        """True if coordinates count the whole texture as 1, False if they count texels."""
        return self.normalized != 0

    @property
    def num_mip_levels(self) -> int:
        """Levels of detail."""
        return self.levels

    @property
    def is_mipmapped(self) -> bool:
        """True if there are several levels of detail."""
        return self.num_mip_levels > 1

    def __repr__(self) -> str:
        extents = "x".join(str(n) for n in (self.width, self.height, self.depth)[: self.ndim])
        kind = f"{self.num_channels} {element_of(self.dtype).name}"
        return f"{type(self).__name__}({extents}, {kind}, {self.filter_mode.name}, device={self.device})"

    __str__ = __repr__

    # -- copies --------------------------------------------------------------------------------------------------------

    def copy_from(self, src: Any) -> None:
        """Take over numbers. Coarser levels of detail are computed anew. Tapes and graphs record it.

        Args:
            src: A wp.array, an array of NumPy, or another texture, with the extents, channels and type of this one.

        Raises:
            TypeError, ValueError: If it is something else.

        >>> tex = wp.Texture1D(width=2, num_channels=1, dtype=float, device="cpu")
        >>> tex.copy_from(np.array([1.0, 3.0], np.float32))
        >>> wp.texture_sample(tex, 0.5, dtype=float)
        2.0
        """
        self._fill(self._fitting("src", src))

    def copy_to(self, dst: Any) -> None:
        """Copy the numbers of the finest level of detail to an array or a texture. Tapes and graphs record it.

        Args:
            dst: A wp.array, an array of NumPy, or another texture, with the extents, channels and type of this one.

        Raises:
            TypeError, ValueError: If it is something else.

        >>> tex = wp.Texture1D(np.array([1.0, 3.0], np.float32), device="cpu")
        >>> found = wp.zeros(2, dtype=float, device="cpu")
        >>> tex.copy_to(found)
        >>> found.list()
        [1.0, 3.0]
        """
        if isinstance(dst, Texture):
            dst.copy_from(self)
        elif isinstance(dst, np.ndarray):
            capture.refuse("copying a texture to an array of NumPy", self.device)
            self._fitting("dst", dst)
            dst[...] = self._levels()[0].numpy().reshape(dst.shape)
        else:
            target = self._fitting("dst", dst)
            copy(target, self._levels()[0].reshape(target.shape))

    def assign(self, other: Any) -> None:
        """Do the same as `copy_from`.

        >>> tex = wp.Texture1D(width=1, num_channels=1, dtype=float, device="cpu")
        >>> tex.assign(np.ones(1, np.float32))
        """
        self.copy_from(other)

    def _fitting(self, name: str, given: Any) -> array:
        """An array or the numbers of a texture, as an array of the shape of this one. Raises TypeError, ValueError."""
        found = given._levels()[0] if isinstance(given, Texture) else as_numbers(name, given)
        ours = (self.depth, self.height, self.width, self.num_channels)
        theirs = found.shape if isinstance(given, Texture) else shape_of_data(found.shape, self.ndim)
        if theirs != ours or element_of(found.dtype).type is not element_of(self.dtype).type:
            mine, given = self._described(self.dtype, ours), self._described(found.dtype, theirs)
            raise ValueError(f"{name}: the texture has {mine}, but {name} has {given}")
        return found

    def _described(self, dtype: Any, shape: Sequence[int]) -> str:
        return f"{element_of(dtype).name} of shape {tuple(shape[3 - self.ndim :])}"


class Texture1D(Texture, texture_types.Texture1D):
    """A row of texels, which kernels sample at any coordinate. It annotates parameters of kernels, too.

    The arguments are those of wp.Texture. Data have the shape (width,) or (width, channels).

    >>> tex = wp.Texture1D(np.array([1.0, 3.0], np.float32), device="cpu")
    >>> wp.texture_sample(tex, 0.5, dtype=float)
    2.0
    """

    ndim = 1
    __wc_type__ = wc_type(texture_types.Texture1D)

    def __init__(
        self,
        data: Any = None,
        width: int = 0,
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: Any = None,
        address_mode: Any = _CLAMP,
        address_mode_u: Any = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: Any = None,
        device: Any = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ):
        _refuse_cuda_array(cuda_array)
        extents = {"depth": 1, "height": 1, "width": width, "num_channels": num_channels}
        filters = filter_mode, mip_filter_mode
        modes = address_modes(address_mode, (address_mode_u, None, None))
        self._make(data, extents, dtype, filters, modes, normalized_coords, num_mip_levels, device)


class Texture2D(Texture, texture_types.Texture2D):
    """A picture of texels, which kernels sample at any coordinates. It annotates parameters of kernels, too.

    The arguments are those of wp.Texture. Data have the shape (height, width) or (height, width, channels).

    >>> @wp.kernel
    ... def enlarge(tex: wp.Texture2D, out: wp.array2d[float]):
    ...     i, j = wp.tid()
    ...     u = (float(j) + 0.5) / float(out.shape[1])
    ...     v = (float(i) + 0.5) / float(out.shape[0])
    ...     out[i, j] = wp.texture_sample(tex, u, v, dtype=float)
    >>> tex = wp.Texture2D(np.array([[0.0, 8.0], [16.0, 24.0]], np.float32), device="cpu")
    >>> out = wp.zeros((2, 4), dtype=float, device="cpu")
    >>> wp.launch(enlarge, dim=(2, 4), inputs=[tex, out], device="cpu")
    >>> out.numpy().tolist()
    [[0.0, 2.0, 6.0, 8.0], [16.0, 18.0, 22.0, 24.0]]
    """

    ndim = 2
    __wc_type__ = wc_type(texture_types.Texture2D)

    def __init__(
        self,
        data: Any = None,
        width: int = 0,
        height: int = 0,
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: Any = None,
        address_mode: Any = _CLAMP,
        address_mode_u: Any = None,
        address_mode_v: Any = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: Any = None,
        device: Any = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ):
        _refuse_cuda_array(cuda_array)
        extents = {"depth": 1, "height": height, "width": width, "num_channels": num_channels}
        filters = filter_mode, mip_filter_mode
        modes = address_modes(address_mode, (address_mode_u, address_mode_v, None))
        self._make(data, extents, dtype, filters, modes, normalized_coords, num_mip_levels, device)


class Texture3D(Texture, texture_types.Texture3D):
    """A block of texels, which kernels sample at any coordinates. It annotates parameters of kernels, too.

    The arguments are those of wp.Texture. Data have the shape (depth, height, width), or a dimension
    more for channels.

    >>> tex = wp.Texture3D(np.arange(8, dtype=np.float32).reshape(2, 2, 2), normalized_coords=False, device="cpu")
    >>> wp.texture_sample(tex, 1.0, 1.0, 1.5, dtype=float)
    5.5
    """

    ndim = 3
    __wc_type__ = wc_type(texture_types.Texture3D)

    def __init__(
        self,
        data: Any = None,
        width: int = 0,
        height: int = 0,
        depth: int = 0,
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: Any = None,
        address_mode: Any = _CLAMP,
        address_mode_u: Any = None,
        address_mode_v: Any = None,
        address_mode_w: Any = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: Any = None,
        device: Any = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ):
        _refuse_cuda_array(cuda_array)
        extents = {"depth": depth, "height": height, "width": width, "num_channels": num_channels}
        filters = filter_mode, mip_filter_mode
        modes = address_modes(address_mode, (address_mode_u, address_mode_v, address_mode_w))
        self._make(data, extents, dtype, filters, modes, normalized_coords, num_mip_levels, device)


def _dtype_of(source: array | None, dtype: Any) -> Any:
    """The type of numbers. Raises ValueError if the argument names another one than data have."""
    if source is None:
        return float32 if dtype is None else dtype
    if dtype is not None and element_of(dtype).type is not element_of(source.dtype).type:
        given, found = element_of(dtype).name, element_of(source.dtype).name
        raise ValueError(f"dtype: {given} was given, but the data are of {found}; convert the data")
    return source.dtype


def _needs_gradient(source: array) -> bool:
    """True if gradients flow to the data. Raises ValueError if they cannot."""
    element = source._require_element()
    if source.requires_grad and element.type is not F32:
        name = element.name
        raise ValueError(f"texels of {name} have no gradients, and the data require them; make them of float32")
    return source.requires_grad


def _memory(count: int, dtype: Any, device: Device, has_gaps: bool) -> array:
    """Memory for numbers; zero if data will not fill all of it."""
    return (zeros if has_gaps else empty)(count, dtype=dtype, device=device)


@cache
def _no_words(device: Device) -> array:
    """The words of all textures of float32, which have none."""
    return empty(0, dtype=uint32, device=device)


def _refuse_cuda_array(cuda_array: Any) -> None:
    if cuda_array:
        raise ValueError("cuda_array: textures of other programs are not taken; copy the data to a wp.array")
