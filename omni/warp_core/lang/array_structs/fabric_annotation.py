"""Arrays of Omniverse Fabric: how they are written in annotations, and what they are to interpreted kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..annotations import open_type
from ..arrays import Annotation
from ..generics import Pattern
from ..types import Struct, Type
from ..values.scalars import int32
from ..values.type_registry import wc_type
from .array_struct_types import fabric, fabric_name

__all__ = ["FabricAnnotation"]


class FabricAnnotation(Annotation):
    """`wp.fabricarray[float]`, `wp.indexedfabricarray[wp.vec3]`; arrays of arrays have two dimensions."""

    __slots__ = ("is_indexed",)
    ndim: int

    def __init__(self, dtype: Any, ndim: Any = 1, is_indexed: bool = False):
        super().__init__(dtype, ndim)
        if self.ndim not in (1, 2):
            raise ValueError(f"a fabric array has 1 dimension, an array of arrays 2, got ndim={ndim!r}")
        self.is_indexed = is_indexed

    @property
    def __wc_type__(self) -> Type | Pattern:
        return fabric_pattern(self.dtype, self.ndim, self.is_indexed)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) is True and self.is_indexed == other.is_indexed  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.is_indexed))

    def __repr__(self) -> str:
        one = Annotation(self.dtype)
        return one._spelt(fabric_name(self.ndim, self.is_indexed))


def fabric_pattern(dtype: Any, ndim: int, is_indexed: bool) -> Type | Pattern:
    """The type of a fabric array; a pattern where the elements are left open."""
    element = open_type(dtype)
    if element is not None:
        return Pattern("Fabric", (element, ndim, is_indexed))
    return fabric(wc_type(dtype), ndim, is_indexed)


class FabricCells:
    """A fabric array in an interpreted kernel. The members are cells as kernels see arrays."""

    __slots__ = ("members",)
    __wc_type__: ClassVar[Struct]
    members: tuple[Any, ...]

    @classmethod
    def _from(cls, flat: Any) -> FabricCells:
        self = object.__new__(cls)
        self.members = tuple(flat)
        return self

    def _leaves(self) -> tuple[Any, ...]:
        return self.members

    def _member(self, name: str) -> Any:
        at = self.__wc_type__.index.get(name)
        return None if at is None else self.members[at]

    @property
    def size(self) -> Any:
        """The number of elements, or of arrays."""
        indices, starts = self._member("indices"), self._member("starts")
        if indices is not None:
            return int32(len(indices))
        return int32(len(self.members[0])) if starts is None else starts[len(starts) - 1]

    @property
    def shape(self) -> tuple:
        """The number of elements, in a tuple."""
        return (self.size,)

    @property
    def ndim(self) -> Any:
        """1, or 2 for an array of arrays."""
        return 1 if self._member("starts") is not None else 2

    def __len__(self) -> int:
        return int(self.size)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def place(self, key: Any) -> tuple[Any, Any]:
        """The array that an element is in, and its index there."""
        i, *rest = key if isinstance(key, tuple) else (key,)
        indices, starts = self._member("indices"), self._member("starts")
        i = int(i) + (len(self) if i < 0 else 0)
        i = i if indices is None else int(indices[i])
        if starts is None:
            return self.members[0][i].data, tuple(rest)
        before = [int(starts[k]) for k in range(len(starts) - 1)]
        bucket = max(k for k, start in enumerate(before) if start <= i)
        return self.members[0][bucket].data, (i - before[bucket],)

    def address(self, indices: tuple) -> int:
        """Address of the element at `indices`."""
        array, at = self.place(indices)
        return array.address(at)

    def __getitem__(self, key: Any) -> Any:
        array, at = self.place(key)
        return array[at] if at else array

    def __setitem__(self, key: Any, value: Any) -> None:
        array, at = self.place(key)
        array[at] = value
