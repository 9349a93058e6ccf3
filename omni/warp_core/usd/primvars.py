"""Primvars: values that a geometry carries along, read as arrays with one value for each element of what is drawn.

Start with `Primvar` for the value and `read_primvars` for all of a prim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from .element_types import to_array
from .prim_access import numbers, typed_value_of
from .stage import StageError

Change = Callable[[np.ndarray], np.ndarray]
NormalChange = Callable[[np.ndarray, str], "np.ndarray | None"]  # of normals with an interpolation; None ends them

UV_NAMES = ("st", "uv", "UVMap", "st0", "st_0", "map1")
_NORMALS = "normals"


@dataclass(frozen=True, eq=False)
class Primvar:
    """Values over a geometry, with the rule that says which element has which value.

    Attributes:
        values: A `wp.array`, or a tuple of str for texts. A primvar with several numbers for each element
            (`elementSize`) is an array of two dimensions.
        interpolation: "constant" (one value), "uniform" (one for each face, curve or triangle), "varying" and "vertex"
            (one for each point), "faceVarying" (one for each corner of a face or triangle).
        type_name: The USD type, such as "color3f[]"; "" lets `write_mesh` and the like choose the type.
    """

    values: Any
    interpolation: str
    type_name: str = ""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Elements:
    """The elements of a geometry: how many values each interpolation has, and how those of the result are made."""

    counts: dict[str, int]
    changes: dict[str, Change]  # by interpolation; values without a change stay as they are


def read_primvars(prim: Usd.Prim, time: Usd.TimeCode, elements: Elements, device: Any) -> dict[str, Primvar]:
    """Return the primvars of a prim and those that it inherits, by name, apart from normals. Raises StageError."""
    found = UsdGeom.PrimvarsAPI(prim).FindPrimvarsWithInheritance()
    named = ((primvar.GetPrimvarName(), primvar) for primvar in found if primvar.HasAuthoredValue())
    read = {name: _read(primvar, time, elements, device) for name, primvar in named if name != _NORMALS}
    return {name: primvar for name, primvar in read.items() if primvar is not None}


def read_normals(
    prim: Usd.Prim, attribute: Usd.Attribute, interpolation: str, time: Usd.TimeCode, elements: Elements,
    device: Any, change: NormalChange,
) -> Primvar | None:  # fmt: skip
    """Return the normals of a prim after a change, None if it has none. `primvars:normals` goes before `normals`."""
    primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar(_NORMALS)
    if primvar and primvar.HasAuthoredValue():
        return _read(primvar, time, elements, device, change, (3,))
    values = numbers(attribute, time, np.float32, 3)
    if not len(values):
        return None
    _require_size(attribute, values, interpolation, elements, 1)
    changed = change(values, interpolation)
    if changed is None:
        return None
    chosen = _chosen(changed, interpolation, elements)
    return Primvar(to_array(chosen, "normal3f[]", device), interpolation, "normal3f[]")


def why_unfit(primvar: UsdGeom.Primvar, time: Usd.TimeCode, elements: Elements) -> str:
    """Return what is wrong with a primvar of rows of three numbers, "" if its values fit the elements."""
    try:
        _values(primvar, time, elements, (3,))
    except StageError as error:
        return str(error)
    return ""


def _read(
    primvar: UsdGeom.Primvar, time: Usd.TimeCode, elements: Elements, device: Any,
    change: NormalChange | None = None, shape: tuple[int, ...] | None = None,
) -> Primvar | None:  # fmt: skip
    found = _values(primvar, time, elements, shape)
    if found is None:
        return None
    values, size, interpolation, type_name = found
    changed = values if change is None else change(values, interpolation)
    if changed is None:
        return None
    if size > 1:
        changed = changed.reshape(-1, size, *values.shape[1:])
    chosen = _chosen(changed, interpolation, elements)
    if values.dtype.kind == "O":
        return Primvar(tuple(chosen.tolist()), interpolation, type_name)
    return Primvar(_grouped(chosen, type_name, size, device), interpolation, type_name)


def _values(
    primvar: UsdGeom.Primvar, time: Usd.TimeCode, elements: Elements, shape: tuple[int, ...] | None
) -> tuple[np.ndarray, int, str, str] | None:
    """Return the values without indices, the elementSize, the interpolation and the type; None without a value."""
    attribute, interpolation = primvar.GetAttr(), str(primvar.GetInterpolation())
    value = typed_value_of(attribute, time)
    if value is None:
        return None
    type_name = str(attribute.GetTypeName())
    if not type_name.endswith("[]"):  # one value, whatever the interpolation says
        value, interpolation, type_name = (value,) if isinstance(value, str) else [value], "constant", f"{type_name}[]"
    values = np.array(value, object) if isinstance(value, tuple) else np.asarray(value)
    if values.dtype.kind not in "iufbO" or (
        shape is not None and (values.dtype.kind == "O" or values.shape[1:] != shape)
    ):
        raise StageError(f"{attribute.GetPath()} has the type {type_name}, which no array here can hold")
    size = primvar.GetElementSize()
    if size < 1:
        raise StageError(f"{attribute.GetPath()} has the elementSize {size}; it must be at least 1")
    values = _flattened(primvar, values, size, time)
    _require_size(attribute, values, interpolation, elements, size)
    return values, size, interpolation, type_name


def _grouped(values: np.ndarray, type_name: str, size: int, device: Any) -> Any:
    """Return an array of two dimensions where elements have several values."""
    if size == 1:
        return to_array(values, type_name, device)
    flat = np.ascontiguousarray(values).reshape(-1, *values.shape[2:])
    return to_array(flat, type_name, device).reshape((len(values), size))


def _flattened(primvar: UsdGeom.Primvar, values: np.ndarray, size: int, time: Usd.TimeCode) -> np.ndarray:
    """Return the values of a primvar without its indices. Raises StageError for an index beyond the values."""
    if not primvar.IsIndexed():
        return values
    attribute = primvar.GetIndicesAttr()
    indices = numbers(attribute, time, np.int32)
    rows = len(values) // size
    wrong = np.flatnonzero((indices < 0) | (indices >= rows))
    if len(wrong):
        raise StageError(
            f"{attribute.GetPath()}[{wrong[0]}] is {indices[wrong[0]]}, and {primvar.GetName()} has {rows} elements"
        )
    grouped = values[: rows * size].reshape(rows, size, *values.shape[1:])
    return grouped[indices].reshape(-1, *values.shape[1:])


def _require_size(
    attribute: Usd.Attribute, values: np.ndarray, interpolation: str, elements: Elements, size: int
) -> None:
    """Raise StageError where the count of values does not fit; constants may be arrays of any length."""
    if interpolation == "constant":
        wanted = -(-len(values) // size)
    elif interpolation in elements.counts:
        wanted = elements.counts[interpolation]
    else:
        raise StageError(f"{attribute.GetPath()} has the unknown interpolation {interpolation!r}")
    if len(values) != wanted * size:
        needed = f"{wanted} x {size}" if size > 1 else str(wanted)
        raise StageError(
            f"{attribute.GetPath()} has {len(values)} values, and its interpolation {interpolation!r} needs {needed}"
        )


def _chosen(values: np.ndarray, interpolation: str, elements: Elements) -> np.ndarray:
    change = elements.changes.get(interpolation)
    return values if change is None else change(values)


def uvs_of(primvars: dict[str, Primvar]) -> Primvar | None:
    """Return the texture coordinates among primvars: a usual name, or the first of type texCoord2."""
    usual: Iterator[Primvar] = (primvars[name] for name in UV_NAMES if name in primvars)
    typed = (p for p in primvars.values() if p.type_name.startswith("texCoord2"))
    return next(usual, None) or next(typed, None)
