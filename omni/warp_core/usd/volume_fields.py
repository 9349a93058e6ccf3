"""Volumes of a stage: which files and grids their fields name. Start with `read_volume`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pxr import Sdf, Usd, UsdVol

from .mesh_reader import to_transform
from .prim_access import local_to_world, schema_of, text_of, time_code, value_of
from .stage import READ_ERRORS, StageError, prim_at, resolve_beside, unreadable

# Newer releases of USD have both names, older ones the second alone.
_ASSETS = tuple(getattr(UsdVol, name) for name in ("VolumeFieldAsset", "FieldAsset") if hasattr(UsdVol, name))


@dataclass(frozen=True, eq=False)
class VolumeField:
    """A field of a volume as `read_volume` returns it: a grid of a file.

    Attributes:
        name: Name of the field in the volume, such as "density".
        path: Path of the field's prim.
        file: The file with the grid (`.vdb`, `.nvdb`), resolved: an absolute path.
        grid: Name of the grid in the file; "" where the prim names none.
        index: Tells grids of the same name apart; None where the prim has no index.
        data_type: Type of the values as the prim states it, such as "float" or "float3"; "" without a statement.
        grid_class: "levelSet", "fogVolume", "staggered" or "unknown"; "" without a statement.
        transform: Matrix that takes the space of the grid's own transform to world space, `wp.mat44` for columns.
    """

    name: str
    path: str
    file: str
    grid: str
    index: int | None
    data_type: str
    grid_class: str
    transform: Any


def read_volume(prim: Any, time: Any = None) -> dict[str, VolumeField]:
    """Read which files and grids the fields of a volume are in. The files are not opened.

    Args:
        prim: A `Usd.Prim` of type Volume, or a `UsdVol.Volume`.
        time: The time code to read; None for the earliest.

    Returns:
        A `VolumeField` for each name of a field.

    Raises:
        StageError: The prim is no volume, a field has no prim or no file, or its file does not exist.
    """
    volume, at = schema_of(prim, UsdVol.Volume), time_code(time)
    try:
        paths = volume.GetFieldPaths()
    except READ_ERRORS as error:
        raise unreadable(volume.GetPrim().GetStage(), str(volume.GetPath()), error) from None
    return {name: _field(volume.GetPrim(), name, str(path), at) for name, path in sorted(paths.items())}


def _field(volume: Usd.Prim, name: str, path: str, time: Usd.TimeCode) -> VolumeField:
    prim = prim_at(volume.GetStage(), path)
    if prim is None:
        raise StageError(f"{volume.GetPath()}: the field {name!r} is at {path}, where the stage has no prim")
    if not any(prim.IsA(asset) for asset in _ASSETS):
        raise StageError(
            f"{path} is {prim.GetTypeName() or 'a prim without a type'}, and a field with a file is needed"
        )
    index = value_of(prim.GetAttribute("fieldIndex"), time)
    return VolumeField(
        name=name,
        path=path,
        file=_file(prim, time),
        grid=text_of(prim.GetAttribute("fieldName"), time),
        index=index if isinstance(index, int) else None,
        data_type=text_of(prim.GetAttribute("fieldDataType"), time),
        grid_class=text_of(prim.GetAttribute("fieldClass"), time),
        transform=to_transform(local_to_world(prim, time)),
    )


def _file(prim: Usd.Prim, time: Usd.TimeCode) -> str:
    """Return the file of a field. Raises StageError where it does not exist."""
    attribute = prim.GetAttribute("filePath")
    name = value_of(attribute, time)
    asset = attribute.Get(time)
    if not isinstance(asset, Sdf.AssetPath) or not name:
        raise StageError(f"{prim.GetPath()}.filePath names no file")
    stack = attribute.GetPropertyStack(time)
    path = asset.resolvedPath or resolve_beside(stack[0].layer, name)
    if not asset.resolvedPath and not os.path.isfile(path):
        raise StageError(f"{attribute.GetPath()} is @{name}@, and the file {path} does not exist")
    return path
