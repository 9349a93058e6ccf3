"""Prims and values that callers write: paths, times and arrays, checked before USD gets them.

Start with `authored` for prims, `set_value` and `set_held` for attributes, `set_primvars` for primvars.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom

import omni.warp_core as wp

from .element_types import usd_type
from .numpy_conversion import to_usd
from .prim_access import time_code
from .primvars import Primvar
from .stage import StageError, reason

QUATERNIONS = (wp.quath, wp.quatf, wp.quatd)
# What vectors of primvars with these names stand for, as renderers expect it.
_ROLES = {"displayColor": "color", "st": "texCoord", "normals": "normal"}
_FLOAT32 = (*_ROLES, "displayOpacity")


@contextlib.contextmanager
def authored(stage: Usd.Stage, path: str, schema: Any) -> Iterator[Any]:
    """Give the prim at a path as an object of `schema`, made where the stage has none.

    Bounds that models above it have as a hint end, so that viewers compute them, and so do those of point instancers.

    Raises:
        StageError: The path or the prim there does not fit, or USD refuses what the block writes.
    """
    if not isinstance(stage, Usd.Stage):
        raise TypeError(f"a Usd.Stage is needed, such as Usd.Stage.CreateInMemory(), not {type(stage).__name__}")
    if not Sdf.Path.IsValidPathString(str(path)) or not (Sdf.Path(str(path)).IsAbsolutePath()):
        raise StageError(f"{path!r} is no absolute path of a prim; write it like '/World/Mesh'")
    place = Sdf.Path(str(path))
    if not place.IsPrimPath():
        raise StageError(f"{path} is no path of a prim; write it like '/World/Mesh'")
    present = stage.GetPrimAtPath(place)
    if present and present.GetTypeName() and not present.IsA(schema):
        raise StageError(f"{path} is {present.GetTypeName()} already, and {schema.__name__} was to be written there")
    try:
        yield schema(present) if present and present.IsA(schema) else schema.Define(stage, place)
        _end_bounds(stage, place)
    except Tf.ErrorException as error:
        raise StageError(f"{path} cannot be written: {reason(error)}") from None


def _end_bounds(stage: Usd.Stage, path: Sdf.Path) -> None:
    """End the bounds of the models and point instancers that a prim is in. Those of meshes and points are written."""
    for place in path.GetPrefixes():
        prim = stage.GetPrimAtPath(place)
        hint, extent = (prim.GetAttribute(name) for name in (UsdGeom.Tokens.extentsHint, UsdGeom.Tokens.extent))
        if hint and hint.HasAuthoredValue():
            hint.Block()
        if prim.IsA(UsdGeom.PointInstancer) and extent.HasAuthoredValue() and not _has_own_samples(stage, extent):
            extent.Block()


def _has_own_samples(stage: Usd.Stage, attribute: Usd.Attribute) -> bool:
    """True if the layer that is written to has samples of an attribute: the caller writes it frame by frame."""
    target = stage.GetEditTarget()
    return target.GetLayer().GetNumTimeSamplesForPath(target.MapToSpecPath(attribute.GetPath())) > 0


def write_time(time: Any) -> Usd.TimeCode:
    """Return the time code of a written value; None is the default value, which holds where there are no samples."""
    return Usd.TimeCode.Default() if time is None else time_code(time)


def host_values(values: Any, name: str, dtype: type | None = None, width: int = 0) -> np.ndarray:
    """Return values of an argument as NumPy has them.

    Args:
        values: A `wp.array`, a NumPy array, or a list, whose numbers are float32 or int32.
        name: Name of the argument, for errors.
        dtype: Convert to this type; None keeps the type of arrays.
        width: Numbers in each row; 0 for any shape.

    Raises:
        ValueError: The values have another shape, or are no numbers.
    """
    array = values.numpy() if isinstance(values, wp.array) else np.asarray(values)
    if dtype is None and not hasattr(values, "dtype"):
        dtype = {"f": np.float32, "i": np.int32}.get(array.dtype.kind)
    if width and array.ndim == 1 and not len(array):
        array = array.reshape(0, width)
    if array.dtype.kind not in "iufb" or (width and array.shape[1:] != (width,)):
        wanted = f"rows of {width} numbers" if width else "an array of numbers"
        raise ValueError(f"{name} has the shape {array.shape} and the type {array.dtype}; {wanted} are needed")
    if dtype is not None and np.dtype(dtype).kind == "i":
        return _whole_numbers(array, name, np.dtype(dtype))
    return np.ascontiguousarray(array, dtype)


def _whole_numbers(array: np.ndarray, name: str, dtype: np.dtype) -> np.ndarray:
    """Return numbers as integers of a type. Raises ValueError for a fraction, and for a number beyond the type."""
    with np.errstate(invalid="ignore"):
        found: np.ndarray = np.ascontiguousarray(array, dtype)
    wrong = np.argwhere(found != array)
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        raise ValueError(f"{name}[{place}] is {array[tuple(wrong[0])]}, which {dtype} cannot hold")
    return found


def set_value(attribute: Usd.Attribute, values: Any, time: Usd.TimeCode) -> None:
    """Write an array or a value of an attribute, as `to_numpy` would give it."""
    attribute.Set(to_usd(values, str(attribute.GetTypeName())), time)


def set_held(attribute: Usd.Attribute, values: np.ndarray, time: Usd.TimeCode, driver: Usd.Attribute) -> None:
    """Write a value that mostly stays the same over time, only where it changes.

    Samples of `driver` at later times go with the value that held until now; it is written at the first of them. The
    sample of `driver` at this time is written before, as it hides those of weaker layers.
    """
    if time.IsDefault():
        set_value(attribute, values, time)
        return
    held, before = attribute.Get(time), attribute.GetBracketingTimeSamples(time.GetValue())
    if before and before[0] <= time.GetValue() and held is not None and np.array_equal(np.asarray(held), values):
        return
    if held is not None and not before:  # a default, which held at the samples of earlier times
        earlier = driver.GetTimeSamplesInInterval(Gf.Interval(float("-inf"), time.GetValue(), False, False))
        if earlier:
            attribute.Set(held, earlier[0])
    later = driver.GetTimeSamplesInInterval(Gf.Interval(time.GetValue(), float("inf"), False, False))
    if held is not None and later and later[0] not in attribute.GetTimeSamples():
        attribute.Set(held, later[0])
    set_value(attribute, values, time)


def set_primvars(
    geometry: UsdGeom.Imageable, primvars: Mapping[str, Any], counts: Mapping[str, int], time: Usd.TimeCode
) -> None:
    """Write primvars by name, each a `Primvar` or values; None is left out.

    Args:
        geometry: The geometry that has them.
        primvars: Values by name.
        counts: How many values each interpolation has. The first that fits is that of values without one.
        time: The time code.

    Raises:
        StageError: The primvar is there with another type or interpolation, or USD has no such type.
        ValueError: The count of values does not fit.
    """
    for name, given in primvars.items():
        if given is not None:
            _set_primvar(geometry, name, given if isinstance(given, Primvar) else Primvar(given, ""), counts, time)


def _set_primvar(
    geometry: UsdGeom.Imageable, name: str, given: Primvar, counts: Mapping[str, int], time: Usd.TimeCode
) -> None:
    values, type_name, size = _authored(name, given)
    api = UsdGeom.PrimvarsAPI(geometry)
    present = api.GetPrimvar(name)
    before = str(present.GetInterpolation()) if present and present.HasAuthoredValue() else ""
    count = len(values) // size
    if before and count == 1 and not given.interpolation and not isinstance(values, (tuple, list)):
        values = np.repeat(values.reshape(1, size, *values.shape[1:]), counts.get(before, 1), 0)
        values, count = values.reshape(-1, *values.shape[2:]), counts.get(before, 1)
    interpolation = given.interpolation or _fitting(name, count, counts, before)
    if given.interpolation and len(values) != size * counts.get(interpolation, len(values) // size):
        raise ValueError(
            f"{name} has {len(values) // size} values, and {interpolation!r} needs {counts[interpolation]}"
        )
    path = f"{geometry.GetPath()}.primvars:{name}"
    if before and (before, str(present.GetTypeName())) != (interpolation, type_name):
        raise StageError(
            f"{path} is there as {present.GetTypeName()} with interpolation {before!r}, and cannot become {type_name} "
            f"with {interpolation!r}"
        )
    primvar = api.CreatePrimvar(name, Sdf.ValueTypeNames.Find(type_name), interpolation)
    if size > 1:
        primvar.SetElementSize(size)
    if primvar.IsIndexed():
        primvar.BlockIndices()
    primvar.Set(to_usd(values, type_name), time)


def _authored(name: str, given: Primvar) -> tuple[Any, str, int]:
    """Return the values of a primvar as USD stores them, their type, and how many an element has."""
    values = given.values
    if isinstance(values, (tuple, list)) and values and all(isinstance(v, str) for v in values):
        return values, given.type_name or "string[]", 1
    size = values.shape[1] if isinstance(values, wp.array) and values.ndim == 2 else 1
    array = host_values(values, name, np.float32 if name in _FLOAT32 and not given.type_name else None)
    if size > 1:
        array = array.reshape(-1, *array.shape[2:])
    quaternions = isinstance(values, wp.array) and values.dtype in QUATERNIONS
    return array, given.type_name or usd_type(array, _ROLES.get(name, ""), quaternions), size


def _fitting(name: str, count: int, counts: Mapping[str, int], before: str) -> str:
    """Return the interpolation of so many values: the one that the primvar has, or the first that fits."""
    known = {**counts, "constant": 1}
    if before and count == known[before]:
        return before
    if count == 1 and counts.get("vertex") != 1:
        return "constant"
    for interpolation, wanted in known.items():
        if count == wanted:
            return interpolation
    needed = ", ".join(f"{wanted} ({interpolation})" for interpolation, wanted in known.items())
    raise ValueError(f"{name} has {count} values; the counts that fit are {needed}")
