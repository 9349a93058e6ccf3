"""The types of structs that kernels index like arrays: indexed arrays (`indexed`) and arrays of Fabric (`fabric`).

An indexed array has the array, and for each dimension an int32 array of places, which may be null.

Fabric keeps an attribute of many prims in *buckets*, pieces of memory. A fabric array has an array of the buckets, and
one of the number of elements before each bucket, with the total at its end. Where the attribute is an array itself, a
*row* for each prim stands in place of the buckets, and nothing has to be searched. Indices may come last.

No class can have the names of these structs.
"""

from __future__ import annotations

from ..types import I32, Array, Struct, Type

_PIECE = "fabricpiece"


def indexed(array: Array) -> Struct:
    """The type of an array that is seen through index arrays: see indexed_annotation.py."""
    fields = [("data", array), *((f"indices{d}", Array(I32)) for d in range(array.ndim))]
    return Struct(f"indexedarray{array.ndim}d[{_name(array.dtype)}]", tuple(fields))


def indexed_array(t: object) -> Array | None:
    """The type of the array behind an indexed array, None for every other type."""
    if isinstance(t, Struct) and t.name.startswith("indexedarray") and t.name.endswith("]"):
        array = t.fields[0][1]
        return array if isinstance(array, Array) else None
    return None


def fabric(dtype: Type, ndim: int = 1, is_indexed: bool = False) -> Struct:
    """The type of a fabric array: see fabric_annotation.py. Of two dimensions, it is an array of arrays."""
    pieces = Array(Struct(f"{_PIECE}[{_name(dtype)}]", (("data", Array(dtype)),)))
    fields = [("buckets", pieces), ("starts", Array(I32))] if ndim == 1 else [("rows", pieces)]
    fields += [("indices", Array(I32))] * is_indexed
    return Struct(f"{fabric_name(ndim, is_indexed)}[{_name(dtype)}]", tuple(fields))


def is_fabric_piece(t: object) -> bool:
    """True for the type of a bucket or a row."""
    return isinstance(t, Struct) and t.name.startswith(f"{_PIECE}[")


def fabric_name(ndim: int, is_indexed: bool) -> str:
    """Return the public name of fabric arrays of that kind."""
    return "indexed" * is_indexed + ("fabricarray" if ndim == 1 else "fabricarrayarray")


def fabric_parts(t: object) -> tuple[Type, int, bool] | None:
    """The arguments of `fabric` that give this type; None for every other type."""
    if not isinstance(t, Struct) or not t.name.endswith("]") or "fabricarray" not in t.name.partition("[")[0]:
        return None
    pieces = t.fields[0][1]
    assert isinstance(pieces, Array) and isinstance(pieces.dtype, Struct)
    row = pieces.dtype.fields[0][1]
    assert isinstance(row, Array)
    return row.dtype, 1 if "starts" in t.index else 2, "indices" in t.index


def is_array_struct(t: object) -> bool:
    """True for the types of this module that stand for an array: each field of them is one."""
    return indexed_array(t) is not None or fabric_parts(t) is not None


def _name(dtype: Type) -> str:
    return dtype.name if isinstance(dtype, Struct) else dtype.key
