"""Basis curves of a stage as polylines. Every point of a polyline is a weighted sum of four control points.

Start with `read_curves`; `_Sampling` has the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

import omni.warp_core as wp

from .element_types import to_array
from .mesh_reader import to_extent, to_transform
from .prim_access import (
    bounds,
    local_to_world,
    mean_scale,
    numbers,
    quietly,
    schema_of,
    text_of,
    time_code,
    transformed,
)
from .primvars import Elements, Primvar, read_primvars
from .stage import StageError

# Rows of a basis give the weights of four control points as polynomials of t, the constant first.
_BASES = {
    "bezier": np.array([[1, -3, 3, -1], [0, 3, -6, 3], [0, 0, 3, -3], [0, 0, 0, 1]], float),
    "bspline": np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]], float) / 6.0,
    "catmullRom": np.array([[0, -1, 2, -1], [2, 0, -5, 3], [0, 1, 4, -3], [0, 0, -1, 1]], float) / 2.0,
    "linear": np.array([[1, -1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], float),
}


@dataclass(frozen=True, eq=False)
class CurvesData:
    """Polylines as `read_curves` returns them: n points in c curves.

    Attributes:
        path: Path of the prim.
        points: Points of all polylines, curve after curve, `wp.array` of `wp.vec3`, n. A closed curve ends with its
            first point.
        starts: The first point of each curve and n at the end, `wp.array` of int, c + 1.
        widths: Diameters, `wp.array` of float: n, or 1 for all points; None without them.
        primvars: All primvars by name, `wp.usd.Primvar`. Values for points of the curves become values for points of
            the polylines.
        transform: Matrix that takes these points to world space, `wp.mat44` for column vectors.
        extent: Lowest and highest corner of the points that are finite, two `wp.vec3`.
    """

    path: str
    points: wp.array
    starts: wp.array
    widths: wp.array | None
    primvars: dict[str, Primvar]
    transform: Any
    extent: tuple[Any, Any]


def read_curves(
    prim: Any, time: Any = None, device: Any = None, *, world: bool = False, segments: int = 8
) -> CurvesData:
    """Read basis curves of a stage as polylines.

    Args:
        prim: A `Usd.Prim` of type BasisCurves, or a `UsdGeom.BasisCurves`.
        time: The time code to read; None for the earliest.
        device: Device of the arrays; None for the default device.
        world: Return points in world space.
        segments: Straight pieces for each segment of a cubic curve (bezier, bspline, catmullRom).

    Returns:
        The polylines as a `CurvesData`.

    Raises:
        StageError: The prim is another one, or counts do not fit together.

    >>> from pxr import Usd, UsdGeom
    >>> stage = Usd.Stage.CreateInMemory()
    >>> hair = UsdGeom.BasisCurves.Define(stage, "/Hair")
    >>> _ = hair.CreateTypeAttr("linear"), hair.CreateCurveVertexCountsAttr([2, 3])
    >>> _ = hair.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 1, 0), (0, 2, 0)])
    >>> read_curves(hair).starts.list()
    [0, 2, 5]
    """
    if segments < 1:
        raise ValueError(f"read_curves: segments is {segments}; it must be at least 1")
    curves, at = schema_of(prim, UsdGeom.BasisCurves), time_code(time)
    matrix = local_to_world(curves.GetPrim(), at)
    applied = matrix if world else np.identity(4)
    points = numbers(curves.GetPointsAttr(), at, np.float32, 3)
    sampling = _sampling(curves, at, len(points), segments)
    elements = sampling.elements(len(points))
    placed = transformed(sampling.of_points(points), applied)
    widths = _widths(curves, at, elements, mean_scale(applied))
    return CurvesData(
        path=str(curves.GetPath()),
        points=to_array(placed, "point3f[]", device),
        starts=to_array(sampling.starts, "int[]", device),
        widths=None if widths is None else to_array(widths, "float[]", device),
        primvars=read_primvars(curves.GetPrim(), at, elements, device),
        transform=to_transform(np.identity(4) if world else matrix),
        extent=to_extent(*bounds(placed)),
    )


@dataclass(frozen=True)
class _Sampling:
    """Points of polylines: `rows` and `weights` (n, 4) of control points; `varying_rows`, `varying_weights` (n, 2) of
    values at the ends of segments; `starts` (c + 1), the first point of each curve.
    """

    starts: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    varying_rows: np.ndarray
    varying_weights: np.ndarray
    varying_count: int

    def of_points(self, values: np.ndarray) -> np.ndarray:
        return _weighted(values, self.rows, self.weights)

    def of_ends(self, values: np.ndarray) -> np.ndarray:
        return _weighted(values, self.varying_rows, self.varying_weights)

    def elements(self, points: int) -> Elements:
        counts = {"uniform": len(self.starts) - 1, "vertex": points}
        ends = {"varying": self.varying_count, "faceVarying": self.varying_count}
        return Elements(
            {**counts, **ends}, {"vertex": self.of_points, "varying": self.of_ends, "faceVarying": self.of_ends}
        )


@quietly
def _weighted(values: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weighted sums of values; where values are no floats, the values with the largest weights."""
    if values.dtype.kind != "f":
        return values[rows[np.arange(len(rows)), np.argmax(np.abs(weights), 1)]] if len(rows) else values[:0]
    factors = weights.reshape(*weights.shape, *(1,) * (values.ndim - 1))
    return (values[rows] * factors).sum(1).astype(values.dtype)


def _sampling(curves: UsdGeom.BasisCurves, time: Usd.TimeCode, points: int, segments: int) -> _Sampling:
    attribute = curves.GetCurveVertexCountsAttr()
    counts = numbers(attribute, time, np.int32).astype(np.int64)
    kind, basis, wrap = _kind(curves, time)
    if len(counts) and counts.min() < 0:
        raise StageError(f"{attribute.GetPath()}[{np.argmax(counts < 0)}] is {counts.min()}; it must be at least 0")
    if counts.sum() != points:
        raise StageError(f"{attribute.GetPath()} counts {counts.sum()} points, and the curves have {points}")
    name = basis if kind == "cubic" else "linear"
    step = 3 if name == "bezier" else 1
    pieces = _segments(name, wrap, counts)
    wrong = np.flatnonzero(pieces < 0)
    if len(wrong):
        raise StageError(
            f"{attribute.GetPath()}[{wrong[0]}] is {counts[wrong[0]]}, which no {wrap} {name} curve can have"
        )
    fine = segments if kind == "cubic" else 1
    lengths = np.where(counts > 0, pieces * fine + 1, 0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    curve = np.repeat(np.arange(len(counts)), lengths)
    local = np.arange(starts[-1]) - starts[curve]
    segment = np.minimum(local // fine, np.maximum(pieces[curve] - 1, 0))
    t = (local - segment * fine) / fine
    weights = np.stack([t**0, t, t**2, t**3], 1) @ _BASES[name].T
    rows = segment[:, None] * step + np.arange(4)
    if name in ("bspline", "catmullRom") and wrap == "pinned":
        rows, weights = _pinned(rows - 1, weights, counts[curve][:, None])
    first = np.cumsum(counts) - counts
    size = np.maximum(counts[curve], 1)[:, None]
    rows = first[curve][:, None] + (rows % size if wrap == "periodic" else np.minimum(rows, size - 1))
    ends = pieces + (wrap != "periodic")
    ends = np.where(counts > 0, ends, 0)
    at_ends = (segment[:, None] + np.arange(2)) % np.maximum(ends[curve], 1)[:, None]
    ends_first = (np.cumsum(ends) - ends)[curve][:, None]
    return _Sampling(
        starts.astype(np.int32), rows, weights, ends_first + at_ends, np.stack([1 - t, t], 1), int(ends.sum())
    )


def _kind(curves: UsdGeom.BasisCurves, time: Usd.TimeCode) -> tuple[str, str, str]:
    """Return type, basis and wrap of curves. Raises StageError for words that USD does not have."""
    words = {
        curves.GetTypeAttr(): ("cubic", "linear"),
        curves.GetBasisAttr(): ("bezier", "bspline", "catmullRom"),
        curves.GetWrapAttr(): ("nonperiodic", "periodic", "pinned"),
    }
    found = []
    for attribute, known in words.items():
        value = text_of(attribute, time)
        if value not in known:
            raise StageError(f"{attribute.GetPath()} is {value!r}; it must be one of {', '.join(known)}")
        found.append(value)
    return found[0], found[1], found[2]


def _segments(name: str, wrap: str, counts: np.ndarray) -> np.ndarray:
    """Return the number of segments of each curve, -1 where its count of points does not fit."""
    if name == "linear":
        return np.where(counts < 2, 0, counts - (wrap != "periodic"))
    if name == "bezier":
        whole = counts % 3 == 0 if wrap == "periodic" else counts % 3 == 1
        return np.where(counts == 0, 0, np.where(whole & (counts >= 3), counts // 3, -1))
    least, fewer = {"nonperiodic": (4, 3), "periodic": (3, 0), "pinned": (2, 1)}[wrap]
    return np.where(counts == 0, 0, np.where(counts >= least, counts - fewer, -1))


def _pinned(rows: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace the points beyond both ends, which mirror the second point in the first, by weights of real ones."""
    weights = weights.copy()
    low, high = rows[:, 0] < 0, rows[:, 3] >= counts[:, 0]
    weights[low, 2] -= weights[low, 0]
    weights[high, 1] -= weights[high, 3]
    weights[low, 0] *= 2.0
    weights[high, 3] *= 2.0
    return np.clip(rows, 0, counts - 1), weights


def _widths(curves: UsdGeom.BasisCurves, time: Usd.TimeCode, elements: Elements, scale: float) -> np.ndarray | None:
    """Return the diameters of the points of polylines, or one for all. Raises StageError where counts do not fit."""
    attribute = curves.GetWidthsAttr()
    widths = numbers(attribute, time, np.float32) * np.float32(scale)
    if len(widths) < 2:
        return widths if len(widths) else None
    interpolation = str(curves.GetWidthsInterpolation())
    counts = {**elements.counts, "constant": 1}
    if len(widths) != counts.get(interpolation):
        raise StageError(
            f"{attribute.GetPath()} has {len(widths)} values, and its interpolation {interpolation!r} needs "
            f"{counts.get(interpolation)}"
        )
    return elements.changes[interpolation](widths)
