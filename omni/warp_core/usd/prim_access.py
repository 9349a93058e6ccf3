"""Prims and attributes that a caller names, checked: every refusal is a StageError that says prim, attribute and value.

Start with `schema_of` for prims and `numbers` for attributes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pxr import Gf, Usd, UsdGeom, Vt

from .numpy_conversion import to_numpy
from .stage import READ_ERRORS, StageError, unraised_errors, unreadable


def schema_of(prim: Any, schema: type) -> Any:
    """Return a prim as an object of `schema`. Raises StageError for a prim of another type, or that does not exist."""
    given = prim.GetPrim() if hasattr(prim, "GetPrim") else prim
    if not isinstance(given, Usd.Prim):
        raise TypeError(f"a prim of USD is needed, such as stage.GetPrimAtPath('/World'), not {type(prim).__name__}")
    if not given.IsValid():
        raise StageError(
            f"{given}: the prim does not exist, or its stage is gone; keep the stage in a variable while you use its "
            "prims"
        )
    if not given.IsA(schema):
        name = given.GetTypeName() or "a prim without a type"
        hint = "" if given.IsLoaded() else "; its payload is not loaded, load it with stage.Load()"
        raise StageError(f"{given.GetPath()} is {name}, and {schema.__name__} is needed{hint}")
    return schema(given)


def time_code(time: Any) -> Usd.TimeCode:
    """Return a time as USD has it; None is the earliest time, where values without samples are their defaults.

    Raises ValueError for no number, and for one that is not finite: USD takes NaN for its default time.
    """
    if time is None:
        return Usd.TimeCode.EarliestTime()
    if isinstance(time, Usd.TimeCode):
        return time
    try:
        number = float(time)
    except (TypeError, ValueError):
        raise ValueError(f"time is {time!r}, and a time code is a number; None stands for no time code") from None
    if not math.isfinite(number):
        raise ValueError(f"time is {number}, and a time code must be finite; None stands for no time code")
    return Usd.TimeCode(number)


def value_of(attribute: Usd.Attribute, time: Usd.TimeCode) -> Any:
    """Return an attribute's value as Python or NumPy has it, None for an attribute without a value. Raises StageError.

    Numeric arrays are read-only views of USD's memory.
    """
    try:
        with unraised_errors() as errors:
            value = attribute.Get(time) if attribute else None
            found = to_numpy(value)
    except READ_ERRORS as error:
        errors = [error]
    if errors:
        raise unreadable(attribute.GetStage(), str(attribute.GetPath()), errors[0])
    return found


def typed_value_of(attribute: Usd.Attribute, time: Usd.TimeCode) -> Any:
    """Return what `value_of` does, of the attribute's type. Raises StageError where a layer gives it another one."""
    value, kind = value_of(attribute, time), attribute.GetTypeName()
    if value is None:
        return None
    found = type(attribute.Get(time))
    fits = found is kind.type.pythonClass if kind.isArray else found.__module__ != Vt.__name__
    if not fits:
        raise StageError(f"{attribute.GetPath()} is of the type {kind}, and has a value of the type {found.__name__}")
    return value


def text_of(attribute: Usd.Attribute, time: Usd.TimeCode) -> str:
    """Return an attribute's text, "" for an attribute with another value or without one. Raises StageError."""
    value = value_of(attribute, time)
    return value if isinstance(value, str) else ""


def numbers(attribute: Usd.Attribute, time: Usd.TimeCode, dtype: type, *shape: int) -> np.ndarray:
    """Return an attribute's array of numbers, or of rows of `shape`; an empty array for an attribute without a value.

    Raises:
        StageError: The attribute has values of another kind or shape.
    """
    value = value_of(attribute, time)
    if value is None:
        return np.zeros((0, *shape), dtype)
    array = np.asarray(value)
    kinds = "iub" if np.dtype(dtype).kind == "i" else "iufb"
    if array.dtype.kind not in kinds or array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        whole = "whole numbers" if kinds == "iub" else "numbers"
        needed = f"rows of {shape[0]} {whole}" if shape else whole
        is_array = isinstance(value, np.ndarray)
        given = f"an array of {array.dtype} of shape {array.shape}" if is_array else repr(value)[:60]
        raise StageError(f"{attribute.GetPath()} is {given}, and an array of {needed} is needed")
    with np.errstate(all="ignore"):  # float64 beyond float32 becomes infinity
        found: np.ndarray = np.ascontiguousarray(array, dtype)
    if kinds == "iub" and not np.can_cast(array.dtype, dtype) and not np.array_equal(found, array):
        at = int(np.argmax(found != array))
        raise StageError(f"{attribute.GetPath()}[{at}] is {array[at]}, which {np.dtype(dtype)} cannot hold")
    return found


def require_length(attribute: Usd.Attribute, values: np.ndarray, count: int, what: str) -> None:
    """Raise StageError if an attribute has not one value for each of `count` elements."""
    if len(values) != count:
        raise StageError(f"{attribute.GetPath()} has {len(values)} values for {count} {what}")


def local_to_world(prim: Usd.Prim, time: Usd.TimeCode) -> np.ndarray:
    """Return the matrix of a prim, float64 of shape (4, 4), for column vectors. Raises StageError."""
    try:
        return np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(prim), np.float64).T
    except READ_ERRORS as error:
        raise unreadable(prim.GetStage(), str(prim.GetPath()), error) from None


# Matrices and points of damaged files may be NaN or huge; the results are, too.
quietly = np.errstate(all="ignore")


@quietly
def bounds(points: np.ndarray, reach: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest corner of points with a `reach` around each; of no points, zeros.

    Points and reaches that are infinite or NaN do not count: one of them would leave viewers without a box to look at.
    """
    if not len(points):
        return np.zeros(3, np.float32), np.zeros(3, np.float32)
    columns = np.ascontiguousarray(points.T)  # NumPy reduces along rows much faster than across them
    low, high = (columns - reach).min(1), (columns + reach).max(1)
    if np.isfinite(low).all() and np.isfinite(high).all():
        return low, high
    kept = np.isfinite(columns - reach).all(0) & np.isfinite(columns + reach).all(0)
    return bounds(points[kept], np.broadcast_to(reach, len(points))[kept])


@quietly
def transformed(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return points after a matrix for column vectors, in float32 computed in float64."""
    if np.array_equal(matrix, np.identity(4)):
        return points
    return (points @ matrix[:3, :3].T + matrix[:3, 3]).astype(np.float32)


@quietly
def transformed_vectors(vectors: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return directions after a matrix for column vectors."""
    return (vectors @ matrix[:3, :3].T).astype(np.float32)


@quietly
def transformed_normals(normals: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return normals after a matrix for column vectors, of length 1. Zero normals stay zero."""
    a, b, c = matrix[:3, :3]
    cofactors = np.stack(
        [np.cross(b, c), np.cross(c, a), np.cross(a, b)]
    )  # the inverse transpose times the determinant
    turned = normals @ cofactors.T * (-1.0 if is_mirrored(matrix) else 1.0)
    lengths = np.linalg.norm(turned, axis=1, keepdims=True)
    return (turned / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)


@quietly
def is_mirrored(matrix: np.ndarray) -> bool:
    """True if a matrix turns right hands into left ones."""
    return bool(np.linalg.det(matrix[:3, :3]) < 0.0)


@quietly
def mean_scale(matrix: np.ndarray) -> float:
    """Return by how much a matrix scales lengths on average."""
    return float(abs(np.linalg.det(matrix[:3, :3])) ** (1 / 3))


@quietly
def inverse_transposes(matrices: np.ndarray) -> np.ndarray:
    """Return the inverse transposes of the turns of matrices, (k, 3, 3); zero where there is no inverse."""
    rows = matrices[:, :3, :3]
    a, b, c = rows[:, 0], rows[:, 1], rows[:, 2]
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], 1)
    determinants = np.einsum("ki,ki->k", a, cofactors[:, 0])
    found: np.ndarray = cofactors / np.where(determinants == 0.0, np.inf, determinants)[:, None, None]
    return found


def row_matrix(matrix: np.ndarray) -> Gf.Matrix4d:
    """Return a matrix for column vectors as USD has it."""
    return Gf.Matrix4d(np.asarray(matrix, np.float64).T.tolist())
