"""Arrays seen through index arrays: how they are written in annotations, and what they are to interpreted kernels.

In kernels an indexed array is a struct (array_struct_types.py). It has the array, and for each dimension an int32 array
with the places of the elements. A null array stands for a dimension that is used as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..arrays import Annotation, array_type
from ..generics import Pattern
from ..types import Array, Struct, Type
from ..values.scalars import int32
from ..values.structs import class_of
from ..values.type_registry import python_type, register_maker
from .array_struct_types import fabric_parts, indexed, indexed_array, is_fabric_piece
from .fabric_annotation import FabricCells

__all__ = ["IndexedAnnotation"]


class IndexedAnnotation(Annotation):
    """`wp.indexedarray[float]`, `wp.indexedarray2d[wp.vec3]`."""

    __slots__ = ()

    @property
    def __wc_type__(self) -> Type | Pattern:
        return indexed_pattern(self.dtype, self.ndim)

    def __repr__(self) -> str:
        return self._spelt("indexedarray")


def indexed_pattern(dtype: Any, ndim: Any) -> Type | Pattern:
    """The type of an indexed array; a pattern where `array_type` is one."""
    found = array_type(dtype, ndim)
    if isinstance(found, Pattern):
        return Pattern("Indexed", found.params)
    assert isinstance(found, Array)
    return indexed(found)


def indexed_name(ndim: int) -> str:
    """Return the public name of indexed arrays of that many dimensions."""
    return "indexedarray" if ndim == 1 else f"indexedarray{ndim}d"


class IndexedCells:
    """An indexed array in an interpreted kernel: elements are read and written through the indices.

    The members are cells as kernels see arrays; those of dimensions without indices are false.
    """

    __slots__ = ("data", "indices")
    __wc_type__: ClassVar[Struct]
    data: Any
    indices: list[Any]

    @classmethod
    def _from(cls, flat: Any) -> IndexedCells:
        self = object.__new__(cls)
        self.data, *self.indices = flat
        return self

    def _leaves(self) -> tuple[Any, ...]:
        return (self.data, *self.indices)

    @property
    def shape(self) -> tuple:
        """The extents."""
        return tuple(int32(len(i)) if i else n for i, n in zip(self.indices, self.data.shape))

    @property
    def ndim(self) -> Any:
        """The number of dimensions."""
        return self.data.ndim

    @property
    def size(self) -> Any:
        """The number of elements."""
        total = int32(1)
        for n in self.shape:
            total *= n
        return total

    @property
    def dtype(self) -> Any:
        """The Python class of an element."""
        return self.data.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def places(self, key: Any) -> tuple[Any, ...]:
        """The indices into the array behind this one."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(self.indices):
            raise IndexError(f"{len(keys)} indices into an indexed array of {len(self.indices)} dimensions")
        return tuple(i[k] if i else k for i, k in zip(self.indices, keys))

    def place(self, indices: tuple) -> tuple[Any, tuple]:
        """The array that an element is in, and its indices there."""
        return self.data, self.places(indices)

    def address(self, indices: tuple) -> int:
        """Address of the element, or of the first element of the row, at `indices`."""
        return self.data.address(self.places(indices))

    def __getitem__(self, key: Any) -> Any:
        places = self.places(key)
        found = self.data[places]
        if len(places) == len(self.indices):
            return found
        rest = self.indices[len(places) :]
        return python_type(indexed(found.__wc_type__))._from((found, *rest))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.places(key)] = value


def _make(t: Struct) -> Any:
    if is_fabric_piece(t):
        return class_of(t)
    cells = IndexedCells if indexed_array(t) else FabricCells if fabric_parts(t) else None
    if cells is None:
        raise TypeError(f"struct {t.name} has no Python class")
    return type(t.name, (cells,), {"__slots__": (), "__wc_type__": t})


register_maker(Struct, _make)
