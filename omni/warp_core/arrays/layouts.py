"""The arithmetic of views: which shape, strides and byte offset an index, reshape or transpose gives.

And where arrays lie: the addresses from their first to their last elements, and which of them meet.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

from ..lang.types import MAX_NDIM


class Layout(NamedTuple):
    """Shape and byte strides of a view, and where it begins in bytes from its base."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


def identity(a: Any) -> bytes:
    """Return a key that two arrays share exactly if they are views of the same elements in the same layout."""
    found: bytes = a._identity
    return found


def check_shape(shape: Any, may_be_open: bool = False) -> tuple[int, ...]:
    """A `shape` argument (one extent or a sequence of 1 to 4) as a tuple. One extent is -1 if it `may_be_open`: data
    will tell it. Raises TypeError or ValueError.
    """
    if type(shape) is int and shape >= 0:
        return (shape,)
    if hasattr(shape, "__index__"):
        shape = (shape,)
    try:
        extents = tuple(n.__index__() for n in shape)
    except (TypeError, AttributeError):
        raise TypeError(f"shape: expected an integer or a sequence of integers, got {shape!r}") from None
    if not 1 <= len(extents) <= MAX_NDIM:
        raise ValueError(f"shape: arrays have 1 to {MAX_NDIM} dimensions, got {len(extents)}: {extents}")
    for i, n in enumerate(extents):
        if n < 0 and not (may_be_open and n == -1 and extents.count(-1) == 1):
            raise ValueError(f"shape: extents must not be negative, got {n} in dimension {i}")
    return extents


def c_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Byte strides of a C-ordered array."""
    if len(shape) == 1:
        return (itemsize,)
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= n
    return tuple(reversed(strides))


def span(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """The bytes an array covers, from the first (0 or less, with negative strides) to one past the last."""
    if 0 in shape:
        return 0, 0
    reach = [(n - 1) * s for n, s in zip(shape, strides)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize


def has_internal_overlap(a: Any) -> bool:
    """True if elements of an array share memory with each other, as with a stride of 0 or with sliding windows."""
    if a.is_contiguous or a.size < 2:
        return False
    reach = itemsize = a._require_element().type.size
    for stride, n in sorted((abs(s), n) for s, n in zip(a.strides, a.shape) if n > 1):
        if stride < reach:
            return _meet(a.shape, a.strides, itemsize)
        reach = stride * (n - 1) + reach
    return False


def _meet(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """`has_internal_overlap` for dimensions that interlace, element by element."""
    low, high = span(shape, strides, itemsize)
    if math.prod(shape) * itemsize > high - low:
        return True
    offsets = sorted(sum(map(operator.mul, at, strides)) for at in product(*map(range, shape)))
    return any(b - a < itemsize for a, b in pairwise(offsets))


def index(layout: Layout, key: Any) -> Layout:
    """The view that `array[key]` selects. Dimensions with an integer index disappear, `None` makes one.

    Raises:
        IndexError: If an index is out of range or there are too many, or the view has too many dimensions.
        TypeError: If an index is no integer, slice, Ellipsis or None.
    """
    if type(key) in (slice, int):
        return _index_first(layout, key)
    shape, strides, offset = [], [], layout.offset
    dimensions = enumerate(zip(layout.shape, layout.strides))
    for k in expand(key, len(layout.shape)):
        if k is None:
            shape.append(1)
            strides.append(layout.strides[-1])
            continue
        i, (extent, stride) = next(dimensions)
        at = select(k, extent, i)
        if isinstance(at, int):
            offset += at * stride
            continue
        shape.append(len(at))
        strides.append(stride * at.step)
        offset += at.start * stride if len(at) else 0
    if len(shape) > MAX_NDIM:
        raise IndexError(f"this index makes {len(shape)} dimensions; arrays have up to {MAX_NDIM}")
    return Layout(tuple(shape), tuple(strides), offset)


def _index_first(layout: Layout, key: slice | int) -> Layout:
    """`index` for a slice or an integer, which is for the first dimension."""
    (extent, *shape), (stride, *strides) = layout.shape, layout.strides
    at = select(key, extent, 0)
    if isinstance(at, int):
        return Layout(tuple(shape), tuple(strides), layout.offset + at * stride)
    offset = layout.offset + (at.start * stride if len(at) else 0)
    return Layout((len(at), *shape), (stride * at.step, *strides), offset)


def select(key: Any, extent: int, dimension: int) -> Any:
    """Return the index or range of indices that an integer or slice selects from a dimension. Raise as `index`."""
    try:
        found = None if isinstance(key, bool) else range(extent)[key]
    except IndexError:
        raise IndexError(f"index {key} is out of range for dimension {dimension} with {extent} elements") from None
    except TypeError:
        found = None
    if found is None:
        shown = f"{type(key).__name__}: {key!r}"
        raise TypeError(f"array indices are integers, slices, ... or int32 arrays, got {shown}")
    return found


def expand(key: Any, ndim: int) -> tuple[Any, ...]:
    """`key` as one index per dimension, with `None` where it makes one."""
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    taken = sum(k is not None and k is not Ellipsis for k in keys)
    if taken > ndim or len(dots) > 1:
        raise IndexError(f"{len(keys)} indices for an array of {ndim} dimensions")
    at = dots[0] if dots else len(keys)
    return (*keys[:at], *(slice(None),) * (ndim - taken), *keys[at + 1 :])


def filled(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """The shape with a single -1 replaced by the extent that `size` elements need; they may still not match."""
    rest = math.prod(n for n in shape if n != -1)
    extent = size // rest if rest else 0
    return tuple(extent if n == -1 else n for n in shape) if list(shape).count(-1) == 1 else tuple(shape)


def infer_shape(shape: Any, size: int) -> tuple[int, ...]:
    """A new shape for `size` elements, with a single -1 filled in. Raises ValueError if they do not match."""
    new = check_shape(filled([shape] if hasattr(shape, "__index__") else shape, size))
    if math.prod(new) != size:
        raise ValueError(f"cannot reshape {size} elements to {tuple(shape) if hasattr(shape, '__len__') else shape}")
    return new


def transpose(layout: Layout, axes: Any = None) -> Layout:
    """The view with dimensions in the order `axes`, reversed by default. Raises ValueError for no permutation."""
    ndim = len(layout.shape)
    order = tuple(reversed(range(ndim))) if axes is None else tuple(axes)
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"axes: expected a permutation of {tuple(range(ndim))}, got {order}")
    return Layout(tuple(layout.shape[i] for i in order), tuple(layout.strides[i] for i in order), layout.offset)


# -- where arrays lie -------------------------------------------------------------------------------------------------

Span = tuple[int, int]


def byte_range(a: Any) -> Span:
    """The addresses that the elements of an array cover, from the first to one past the last; (0, 0) without any."""
    found: Span = a._span
    return found


def ranges_overlap(a: Span, b: Span) -> bool:
    """True if two spans have addresses in common."""
    return a[0] < b[1] and b[0] < a[1]


def may_share_memory(a: Any, b: Any) -> bool:
    """True if the byte ranges of the two arrays, from first to last element, overlap."""
    return ranges_overlap(byte_range(a), byte_range(b))


def are_apart(arrays: Iterable[Any]) -> bool:
    """True if the byte ranges of no two of the arrays overlap."""
    return all(a[1] <= b[0] for a, b in pairwise(sorted(map(byte_range, arrays))))


def merge_ranges(spans: Sequence[Span]) -> list[Span]:
    """Spans with those that overlap made one."""
    out: list[Span] = []
    for low, high in sorted(s for s in spans if s[0] < s[1]):
        if out and low < out[-1][1]:
            out[-1] = out[-1][0], max(high, out[-1][1])
        else:
            out.append((low, high))
    return out


def groups(arrays: Sequence[Any]) -> list[tuple[Span, list[Any]]]:
    """Arrays that share memory together, with the span of each group; without those that have no elements."""
    if len(arrays) == 1 and arrays[0].size:
        return [(byte_range(arrays[0]), list(arrays))]
    out: list[tuple[Span, list[Any]]] = []
    for span, a in sorted(((byte_range(a), a) for a in arrays if a.size), key=lambda pair: pair[0]):
        if out and ranges_overlap(out[-1][0], span):
            (low, high), group = out[-1]
            out[-1] = (low, max(high, span[1])), [*group, a]
        else:
            out.append((span, [a]))
    return out
