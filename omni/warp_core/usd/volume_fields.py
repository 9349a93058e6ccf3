"""Volumes of a stage: which files and grids their fields name, and these grids as volumes. Start with `read_volume`.

A stage can name any file: a pipe that never begins, one that promises more than there is. So only regular files are
read, and the sizes in them are checked against their bytes; see `volumes/file_cursor.py`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Ar, Sdf, Tf, Usd, UsdVol

import omni.warp_core as wp

from ..volumes.file_cursor import Source
from ..volumes.grid_header import relabeled
from ..volumes.vdb.vdb_conversion import grids_of
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

    def load(self, device: Any = None, *, world: bool = False) -> wp.Volume:
        """Read the grid of the field from its file, `.vdb` or `.nvdb`.

        Args:
            device: Where to put the volume; None is the current device.
            world: Whether to place the volume in world space. Otherwise `transform` takes the places of its voxels
                there. Values stay as they are: distances in level sets are in the unit of the file.

        Returns:
            The volume, with the transform of the grid.

        Raises:
            StageError: The file or the grid cannot be read, or the file has no such grid. The message names them.

        >>> import os, tempfile
        >>> from pxr import Usd
        >>> stage = Usd.Stage.CreateInMemory()
        >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = os.path.join(folder, "smoke.nvdb")
        ...     prim = wp.usd.write_volume(stage, "/Smoke", {"density": volume}, file=file)
        ...     loaded = wp.usd.read_volume(prim)["density"].load(device="cpu")
        >>> wp.volume_lookup_f(loaded.id, 1, 1, 1)
        7.0
        """
        matrix = np.array(self.transform, np.float64).reshape(4, 4) if world else None
        try:
            data = self.read()
            moved = data if matrix is None else relabeled(data, matrix=matrix)
            bytes_of_grid: Any = wp.array(moved, dtype=wp.uint8, device=device)
            return wp.Volume(bytes_of_grid)
        except (ValueError, MemoryError) as error:
            raise self._unreadable(error) from None

    def read(self) -> np.ndarray:
        """Return the grid buffer of the field, uint8. Raises StageError as `load` does."""
        try:
            names, read = grids_of(self._source())
            found = [number for number, name in enumerate(names) if self.grid in ("", name)]
            place = self.index or 0
            if not 0 <= place < len(found):
                listed = ", ".join(map(repr, names[:20])) or "none"
                raise ValueError(
                    f"{self.file} has {len(found)} grids named {self.grid!r}, so none at {place}; its grids: {listed}"
                )
            return read(found[place])
        except (OSError, ValueError, MemoryError) as error:
            raise self._unreadable(error) from None

    def _source(self) -> Source:
        """Return the path of the file, or its bytes where it lies in a package (`.usdz`)."""
        if not Ar.IsPackageRelativePath(self.file):
            return self.file
        asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(self.file))
        if not asset:
            raise FileNotFoundError(2, os.strerror(2), self.file)
        with asset:
            return bytes(asset.GetBuffer())

    def _unreadable(self, error: Exception) -> StageError:
        if isinstance(error, MemoryError):
            return StageError(f"{self.path}: {self.file} cannot be read: it does not fit into memory")
        if isinstance(error, OSError):
            return StageError(f"{self.path}: {self.file} cannot be read: {error.strerror or error}")
        return StageError(f"{self.path}: {'' if self.file in str(error) else f'{self.file}: '}{error}")


def read_volume(prim: Any, time: Any = None) -> dict[str, VolumeField]:
    """Read which files and grids the fields of a volume are in. `VolumeField.load` opens them.

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


def stage_of_volumes(file: str) -> Usd.Stage:
    """Return a stage in memory with a volume whose fields are the grids of a file. Raises StageError."""
    try:
        names, _ = grids_of(file)
    except OSError as error:
        raise StageError(f"{file}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise StageError(str(error)) from None
    stage = Usd.Stage.CreateInMemory()
    volume = UsdVol.Volume.Define(stage, "/Volume")
    for number, (name, shown) in enumerate(zip(names, _field_names(names), strict=True)):
        field = UsdVol.OpenVDBAsset.Define(stage, f"/Volume/{shown}")
        field.CreateFilePathAttr(Sdf.AssetPath(os.path.abspath(file)))
        field.CreateFieldNameAttr(name)
        field.CreateFieldIndexAttr(names[:number].count(name))
        volume.CreateFieldRelationship(shown, field.GetPath())
    return stage


def _field_names(grids: Sequence[str]) -> list[str]:
    """Return a name for each grid that USD accepts: that of the grid, with a number where another grid has it."""
    numbers: Counter[str] = Counter()
    names: dict[str, None] = {}
    for grid in grids:
        name = base = grid if Sdf.Path.IsValidIdentifier(grid) else Tf.MakeValidIdentifier(grid or "grid")
        while name in names:
            numbers[base] += 1
            name = f"{base}_{numbers[base]}"
        names[name] = None
    return list(names)


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
