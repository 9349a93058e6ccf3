"""Volumes of a stage, whose grids are in files beside its layer. Start with `write_volume`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdVol

import omni.warp_core as wp

from ..volumes.grid_header import class_of, relabeled
from ..volumes.grid_tree import GridTree, read_grid
from ..volumes.vdb.vdb_conversion import write_volume_file
from .authoring import authored, set_value, write_time
from .output_layer import OutputError, write_errors
from .stage import layer_file

# Classes of fields in USD -> in grid buffers.
_CLASSES = {"levelSet": "level set", "fogVolume": "fog", "staggered": "staggered", "unknown": "unknown"}
_TOKENS = {name: token for token, name in _CLASSES.items()}
# Types of values in grid buffers -> of fields in USD, which has none for the others.
_DATA_TYPES = {"float": "float", "double": "double", "int32": "int", "uint32": "uint", "int64": "int64"}
_DATA_TYPES |= {"vec3f": "float3", "vec3d": "double3", "mask": "mask", "half": "half", "bool": "bool"}


def write_volume(
    stage: Usd.Stage,
    path: str,
    fields: Mapping[str, wp.Volume | tuple[str, str]],
    time: Any = None,
    *,
    file: str | os.PathLike[str] | None = None,
    grid_class: str | None = None,
    codec: str = "blosc",
) -> Usd.Prim:
    """Write a volume whose fields are grids of files, or one time sample of it.

    The `wp.Volume`s among the fields go to one `.nvdb` or `.vdb` file, as grids with the names of the fields. An
    existing file is replaced; the new one appears whole or not at all. The prim names it relative to its layer, but for
    an absolute path outside of the folder of the layer.

    Args:
        stage: The stage; `wp.usd.save` writes it to a file.
        path: Path of the prim, which is made where the stage has none.
        fields: For each name of a field a `wp.Volume`, or a file (`.vdb`, `.nvdb`) with the name of a grid there.
        time: The time code; None for the default value. Each time code has a file of its own: that of 7 is
            `smoke.0007.nvdb` if `file` is `smoke.nvdb`.
        file: Name of the file for volumes, `.nvdb` or `.vdb`, seen from the folder of the layer that is written to. A
            layer in memory has no folder: the current one counts. None is the name of the prim, with `.nvdb`.
        grid_class: What the volumes are: "levelSet", "fogVolume", "staggered" or "unknown". None leaves what their
            grids say.
        codec: Compression of the file: "blosc", "zip" or "none".

    Returns:
        The prim.

    Raises:
        StageError: The path or the prim there does not fit.
        OutputError: The file cannot be written.
        ValueError: `grid_class` or `codec` is unknown, or a `.vdb` file cannot have the values of a volume.

    >>> from pxr import Usd
    >>> stage = Usd.Stage.CreateInMemory()
    >>> write_volume(stage, "/Smoke", {"density": ("./smoke.nvdb", "density")}).GetRelationship("field:density")
    Usd.Prim(</Smoke>).GetRelationship('field:density')
    """
    if grid_class is not None and grid_class not in _CLASSES:
        raise ValueError(f"grid_class is {grid_class!r}; it must be one of {', '.join(map(repr, _CLASSES))}")
    at = write_time(time)
    with authored(stage, path, UsdVol.Volume) as volume:
        volumes = {name: given for name, given in fields.items() if isinstance(given, wp.Volume)}
        grids = _grids(volumes, None if grid_class is None else _CLASSES[grid_class])
        written = _write_file(stage, file or f"{volume.GetPrim().GetName()}.nvdb", at, grids, codec) if grids else ""
        for name, given in fields.items():
            asset_file, grid_name = (written, name) if name in grids else given  # type: ignore[misc]
            with authored(stage, f"{path}/{name}", UsdVol.OpenVDBAsset) as asset:
                asset.CreateFilePathAttr().Set(Sdf.AssetPath(os.fspath(asset_file)), at)
                asset.CreateFieldNameAttr().Set(grid_name, at)
                if name in grids:
                    _describe(asset, grids[name])
            volume.CreateFieldRelationship(name, asset.GetPath())
        if grids:
            set_value(volume.CreateExtentAttr(), _extent(list(grids.values())), at)
    return volume.GetPrim()


def _grids(volumes: Mapping[str, wp.Volume], grid_class: str | None) -> dict[str, GridTree]:
    """Return the grids of volumes under the names of their fields, as a file has them."""
    return {name: read_grid(relabeled(volume.array().numpy(), name, grid_class)) for name, volume in volumes.items()}


def _write_file(
    stage: Usd.Stage, file: str | os.PathLike[str], time: Usd.TimeCode, grids: Mapping[str, GridTree], codec: str
) -> str:
    """Write grids to the file of a time code. Returns its path as the layer names it."""
    base, extension = os.path.splitext(os.fspath(file))
    if extension.lower() not in (".nvdb", ".vdb"):
        raise OutputError(f"{os.fspath(file)}: the name of the file for volumes must end in .nvdb or .vdb")
    layer = layer_file(stage.GetEditTarget().GetLayer())
    folder = os.path.dirname(layer) or os.getcwd()
    name = f"{base}{_suffix(time)}{extension}"
    target = os.path.join(folder, name)
    with write_errors(target):
        write_volume_file(target, [grid.data for grid in grids.values()], codec)
    inside = _below(folder, target)
    if not layer or (os.path.isabs(name) and not inside):
        return target
    return f"./{inside}" if inside else os.path.normpath(name)


def _below(folder: str, file: str) -> str:
    """Return the path of a file from a folder that it lies in; "" if it lies elsewhere."""
    folder, file = os.path.abspath(folder), os.path.abspath(file)
    is_below = os.path.splitdrive(folder)[0] == os.path.splitdrive(file)[0] and os.path.commonpath([folder, file])
    return os.path.relpath(file, folder) if is_below == folder else ""


def _suffix(time: Usd.TimeCode) -> str:
    """Return what the name of the file of a time code has before its extension."""
    if time.IsDefault():
        return ""
    code = time.GetValue()
    if code.is_integer():
        return f".{int(code):04d}"
    rounded = f"{code:08.3f}"
    # Codes that are near each other have files of their own.
    return f".{rounded}" if float(rounded) == code else f".{code}"


def _describe(asset: UsdVol.OpenVDBAsset, grid: GridTree) -> None:
    """Write what a field says about the values of its grid."""
    kind, token = _DATA_TYPES.get(grid.value_type.name), _TOKENS.get(class_of(grid))
    if kind is not None:
        asset.CreateFieldDataTypeAttr(kind)
    if token is not None:
        asset.CreateFieldClassAttr(token)


def _extent(grids: list[GridTree]) -> np.ndarray:
    """Return the lowest and the highest corner of the active voxels of grids."""
    boxes = [grid.header["world_bbox"] for grid in grids if (grid.root["bbox"][0] <= grid.root["bbox"][1]).all()]
    if not boxes:
        return np.zeros((2, 3), np.float32)
    return np.stack([np.min([low for low, _ in boxes], 0), np.max([high for _, high in boxes], 0)]).astype(np.float32)
