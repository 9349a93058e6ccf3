"""Matrices at Python scope: rows, columns and blocks by index and slice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from .classes import python_type
from .components import Components, is_number
from .scalars import component
from .types import Mat, Vec


class Matrix(Components):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""

    __slots__ = ()
    _shape_: ClassVar[tuple[int, int]]

    @classmethod
    def _split(cls, value: Any) -> tuple[Any, ...]:
        rows = super()._split(value)
        shape = getattr(value, "_shape_", None)
        if shape is not None and shape not in (cls._shape_, (cls._length_,)):
            raise ValueError(f"{cls.__name__}() has shape {cls._shape_}, got a {type(value).__name__} of shape {shape}")
        return rows

    def __len__(self) -> int:
        return self._shape_[0]

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._shape_[0])])

    def _locate(self, key: Any) -> tuple[list[list[int]], bool, bool]:
        """Flat indices that `key` selects by rows, and whether rows and columns were single."""
        key = key if isinstance(key, tuple) else (key, slice(None))
        if len(key) != 2:
            raise IndexError(f"a {type(self).__name__} has two dimensions, got {len(key)} indices")
        picked = []
        for k, extent, what in zip(key, self._shape_, ("row", "column")):
            try:
                at = range(extent)[k]
            except IndexError:
                raise IndexError(f"{what} {k} is out of range for {type(self).__name__} with {extent}") from None
            picked.append(at if isinstance(k, slice) else (at,))
        flat = [[r * self._shape_[1] + c for c in picked[1]] for r in picked[0]]
        return flat, not isinstance(key[0], slice), not isinstance(key[1], slice)

    def __getitem__(self, key: Any) -> Any:
        s = self.__wc_type__.scalar
        places, one_row, one_col = self._locate(key)
        found = [[self._load(i) for i in row] for row in places]
        if one_row and one_col:
            return component(s, found[0][0])
        if one_row or one_col:
            flat = [x for row in found for x in row]
            return python_type(Vec(len(flat), s))._from(flat)
        if not found or not found[0]:
            raise IndexError(f"empty slice of a {type(self).__name__}")
        return python_type(Mat(len(found), len(found[0]), s))._from([x for row in found for x in row])

    def __setitem__(self, key: Any, value: Any) -> None:
        places = [i for row in self._locate(key)[0] for i in row]
        values = [value] * len(places) if is_number(value) else _flatten(value)
        if len(values) != len(places):
            raise ValueError(f"cannot assign {len(values)} components to {len(places)} of a {type(self).__name__}")
        for i, x in zip(places, values):
            self._save(i, self._convert(i, x))

    def __str__(self) -> str:
        cols = self._shape_[1]
        leaves = self._leaves()
        rows = (leaves[i : i + cols] for i in range(0, len(leaves), cols or 1))
        return "[" + ",\n ".join(f"[{', '.join(str(x) for x in row)}]" for row in rows) + "]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _flatten(value: Any) -> list[Any]:
    if isinstance(value, Components):
        return list(value._leaves())
    return [x for row in value for x in (_flatten(row) if hasattr(row, "__len__") else (row,))]
