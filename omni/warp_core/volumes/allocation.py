"""Checks of what users pass to volumes: values, places in the world, leaves around points, arrays for results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import config
from ..algo.argument_checks import element_type, require_arrays
from ..arrays.array import array
from ..devices.device import Device
from ..lang.types import F32, I32, Scalar, Type, Vec
from ..lang.values.scalars import bool as boolean
from ..lang.values.scalars import float32, float64, int16, int32, int64, uint8, uint32
from ..lang.values.value_classes import vec3d, vec3f, vec3i, vec3ub, vec3us, vec4d, vec4f, vec4ub
from .grid_builder import Leaves, Placement, leaf_origins, leaves_of_box, whole_masks
from .layout import INDEX, LEAF_SIDE, VALUE_TYPES, ValueType

_MOST = 2**30  # the farthest voxel from the origin
_LARGEST = float(np.finfo(np.float32).max)
_FAR = f"{{name}}: a point is not finite, or more than {_MOST} voxels from the origin"
_CLASSES: dict[int, Any] = {
    1: float32, 2: float64, 3: int16, 4: int32, 5: int64, 6: vec3f, 7: vec3d, 10: uint32, 11: boolean, 12: vec4ub,
    17: vec4f, 18: vec4d, 24: vec3ub, 25: vec3us, 26: uint8,
}  # fmt: skip
_NUMBERED = dict(_CLASSES)
_NUMBERS = {c.__wc_type__: number for number, c in _NUMBERED.items()}
# Those that are read, and not made of arrays.
_CLASSES |= {8: boolean, 9: float32, 13: float32, 14: float32, 15: float32, 21: boolean, 22: boolean}


def dtype_of(value_type: ValueType) -> Any:
    """Return the class of the values of a grid that lookups return, None for indices without a mask."""
    return _CLASSES.get(value_type.number)


def background_of(bg_value: Any, shape: tuple[int, ...] = ()) -> tuple[ValueType, Any]:
    """Return the type of values that a background stands for, and its components.

    Args:
        bg_value: the background; None for a grid of indices.
        shape: of a value, where an array says so; a scalar background stands for all components then.

    Raises:
        TypeError, ValueError: There is no grid of such values.
    """
    if bg_value is None:
        return VALUE_TYPES[INDEX], 0
    t = getattr(bg_value, "__wc_type__", None)
    components = np.asarray(bg_value.value if isinstance(t, Scalar) else bg_value)
    if components.dtype.kind not in "biuf" or components.ndim > 1:
        raise TypeError(f"bg_value: expected a number, a vector of 3 or 4, or None, got {type(bg_value).__name__}")
    if shape and not components.ndim:
        components = np.full(shape, components)
        t = None
    number = _NUMBERS.get(t) if t is not None else _plain(bg_value, components)
    if number is None or (shape or components.shape) != components.shape:
        values = f"of {shape[0]} components" if number is None and shape else f"like {bg_value!r}"
        others = ", ".join(c.__name__ for c in _NUMBERED.values())
        raise ValueError(f"bg_value: there is no volume of values {values}; those of arrays have {others}")
    return VALUE_TYPES[number], _converted(components, VALUE_TYPES[number])


def _converted(components: np.ndarray, value_type: ValueType) -> np.ndarray:
    """Return the components of a background in the type of the grid. Raises ValueError if it does not hold integers."""
    with np.errstate(over="ignore"):
        own = components.astype(value_type.base)
    if own.dtype.kind in "iu" and not np.array_equal(own, components):
        raise ValueError(
            f"bg_value: an int is a value of {value_type.name}, which does not hold {components}; "
            f"write bg_value=wp.int64({components})"
        )
    return own


def _plain(bg_value: Any, components: np.ndarray) -> int | None:
    """The type of a background without a type of its own."""
    if components.ndim:
        return {3: 6, 4: 17}.get(components.size) if components.dtype.kind != "b" else None
    return {"b": 11, "f": 1}.get(components.dtype.kind, 4)


def placement_of(voxel_size: Any, translation: Any, transform: Any = None) -> Placement:
    """Return where a grid is in the world. Raises TypeError, ValueError."""
    if (voxel_size is None) == (transform is None):
        raise ValueError("voxel_size, transform: expected one of the two")
    if transform is None:
        sizes = vector("voxel_size", [voxel_size] * 3 if np.ndim(voxel_size) == 0 else voxel_size)
        if not min(sizes.tolist()) > 0.0:
            raise ValueError(f"voxel_size: expected positive numbers, got {voxel_size}")
        inverse = _diagonal([1.0 / size for size in sizes.tolist()])
        return _in_range("voxel_size", Placement(_diagonal(sizes), vector("translation", translation), inverse))
    matrix = np.asarray(transform, float)
    if matrix.shape == (9,):  # of a wp.mat33
        matrix = matrix.reshape(3, 3)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all() or np.linalg.det(matrix) == 0.0:
        raise ValueError(f"transform: expected a matrix of 3x3 that has an inverse, got {transform}")
    return _in_range("transform", Placement(matrix, vector("translation", translation)))


def _in_range(name: str, placement: Placement) -> Placement:
    """Return a placement whose numbers are finite as float32, with which kernels compute. Raises ValueError."""
    parts = {name: (placement.matrix, placement.inverse), "translation": (placement.translation,)}
    for argument, numbers in parts.items():
        if any(max(map(abs, part.ravel().tolist())) > _LARGEST for part in numbers):
            raise ValueError(
                f"{argument}: too small or too large for kernels, which compute places and their inverse with float32; "
                "give lengths in another unit"
            )
    return placement


def _diagonal(numbers: Any) -> np.ndarray:
    matrix = np.zeros((3, 3))
    matrix.ravel()[::4] = numbers
    return matrix


def vector(name: str, value: Any) -> np.ndarray:
    """Return three finite numbers as float64. Raises TypeError, ValueError."""
    if np.asarray(value).dtype.kind in "US":
        raise TypeError(f"{name}: expected numbers, got {value!r}")
    found = np.asarray(value, float)
    if found.shape != (3,) or not all(map(math.isfinite, found.tolist())):
        raise ValueError(f"{name}: expected three finite numbers, got {value}")
    return found


class FarAway(ValueError):
    """A point that is not finite, or too far away for a voxel."""


def nearest_voxels(name: str, places: np.ndarray) -> np.ndarray:
    """Return the nearest voxels, int32, of places in index space. Raises ValueError if one is too far away."""
    rounded = np.floor(places + 0.5)
    if not (rounded.size == 0 or (rounded.min() >= -_MOST and rounded.max() <= _MOST)):  # false for NaN
        raise FarAway(_FAR.format(name=name))
    return rounded.astype(np.int32)


def points_as_voxels(name: str, points: array, placement: Placement, kept: np.ndarray | None) -> np.ndarray:
    """Return the voxels of the points that are `kept`, or of all, int32 (n, 3). Those of a float type are in the world.

    Raises:
        TypeError, ValueError: An array has another type or shape, or a point is too far away.
    """
    require_arrays(**{name: points})
    t: Type = element_type(points)
    is_vector = isinstance(t, Vec) and t.count == 3
    scalar = t.scalar if is_vector else t  # type: ignore[attr-defined]
    if scalar not in (I32, F32) or points.shape[1:] != (() if is_vector else (3,)):
        text = "expected an array of vec3i or vec3f, or of int32 or float32 with 3 columns"
        raise TypeError(f"{name}: {text}, got {points._require_element().name} of shape {points.shape}")
    rows = points._numbers().reshape(-1, 3)
    if kept is not None:
        rows = rows[kept]
    if scalar is F32:
        with np.errstate(invalid="ignore"):  # infinite places are FarAway
            return nearest_voxels(name, (rows - placement.translation) @ placement.inverse.T)
    if rows.size and (rows.min() < -_MOST or rows.max() > _MOST):
        raise FarAway(_FAR.format(name=name))
    return rows


def whole_leaves(voxels: np.ndarray) -> Leaves:
    """Return the leaves that hold voxels, with all their voxels active."""
    return _whole(leaf_origins(voxels)[0])


def _whole(origins: np.ndarray, dense: np.ndarray | None = None) -> Leaves:
    return Leaves(origins, whole_masks(len(origins)), dense=dense)


def leaves_around(low: np.ndarray, high: np.ndarray, placement: Placement, in_world: bool) -> Leaves:
    """Return all leaves of a box of voxels, with all their voxels active. Raises ValueError if the box is empty."""
    ends = np.array([low, high])
    if in_world:
        ends = (ends - placement.translation) @ placement.inverse.T
    first, last = nearest_voxels("min, max", ends).tolist()
    if any(a > b for a, b in zip(first, last)):
        raise ValueError(f"min, max: expected a box, got {low.tolist()} to {high.tolist()}")
    return _whole(leaves_of_box(first, last))


def dense_leaves(values: np.ndarray, value_type: ValueType, background: Any, is_whole: bool = True) -> Leaves:
    """Return the leaves of an array. Raises TypeError, ValueError.

    Their voxels are all active if `is_whole` is true, else only those of the array.
    """
    if values.dtype.kind not in "biuf":
        raise TypeError(f"ndarray: expected numbers, got {values.dtype}")
    if values.ndim not in (3, 4) or values.shape[3:] != np.shape(background):
        text = "expected three dimensions, and a fourth one of 3 or 4 components for vectors"
        raise ValueError(f"ndarray: {text}, got shape {values.shape} for values of {value_type.name}")
    with np.errstate(invalid="ignore", over="ignore"):
        own = values.astype(value_type.base, order="C", copy=False)
    if values.dtype.kind != "f" or own.dtype.kind != "f":  # doubles become floats as everywhere
        _require_equal(values, own, value_type)
    if not values.size:
        return whole_leaves(np.zeros((0, 3), np.int32))
    leaves = _whole(leaves_of_box([0, 0, 0], [n - 1 for n in values.shape[:3]]), own)
    return leaves if is_whole else leaves._replace(masks=_masks_of_box(leaves.origins, values.shape[:3]))


def _masks_of_box(origins: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return masks of leaves whose active voxels are those below `shape`."""
    x, y, z = (origins[:, axis, None] + np.arange(LEAF_SIDE) < shape[axis] for axis in range(3))
    inside = x[:, :, None, None] & y[:, None, :, None] & z[:, None, None, :]
    return np.packbits(inside.reshape(len(origins), -1), axis=1, bitorder="little")


def _require_equal(values: np.ndarray, own: np.ndarray, value_type: ValueType) -> None:
    if values.dtype != own.dtype and not np.array_equal(values, own):
        raise ValueError(
            f"ndarray: not all its {values.dtype} numbers are values of {value_type.name}, the type of bg_value; "
            "give a background of another type, such as bg_value=wp.int64(0) or wp.float64(0.0), or convert the array"
        )


def rows_as_array(rows: np.ndarray, out: array | None, device: Device, copy: bool = True) -> array:
    """Return rows of three as an array, or in the first elements of `out`. Raises TypeError, ValueError.

    The array is one of vec3i. Kernels for warp-lang take two dimensions of int32, which it is in that dialect. It may
    share the memory of the rows unless `copy` is true.
    """
    if out is None:
        return array(rows, dtype=int32 if config.dialect == "warp-lang" else vec3i, device=device, copy=copy)
    require_arrays(out=out)
    if out.dtype not in (vec3i, int32):
        raise TypeError(f"out: expected elements of vec3i or int32, got {out.dtype.__name__}")
    needed = (len(rows),) if out.dtype is vec3i else rows.shape
    if out.ndim != len(needed) or out.shape[0] < len(rows) or out.shape[1:] != needed[1:]:
        raise ValueError(f"out: expected shape {needed}, or more rows, got {out.shape}")
    out[: len(rows)].assign(rows)
    return out
