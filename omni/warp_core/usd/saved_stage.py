"""Stages to files that appear whole or not at all. Start with `save`."""

from __future__ import annotations

import os

from pxr import Sdf, Usd, UsdUtils

from ..files import Unfinished
from .output_layer import OutputError, require_writable, write_errors


def save(stage: Usd.Stage, path: str | os.PathLike[str]) -> None:
    """Write the root layer of a stage to a file, which appears whole or not at all.

    Layers that it includes stay where they are. Relative paths of assets are changed to lead to the same files from the
    folder of the new file.

    Args:
        stage: The stage; one that was made in memory, too. It is not changed.
        path: Name of the file: `.usdc` (binary), `.usda` (text) or `.usd` (binary). An existing file is replaced.

    Raises:
        OutputError: The name or the folder does not fit, the stage includes a layer that is in no file, or the file
            cannot be written.
    """
    target = os.fspath(path)
    require_writable(target)
    _require_files(target, stage.GetRootLayer())
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.TransferContent(stage.GetRootLayer())
    _move_assets(layer, stage.GetRootLayer(), os.path.dirname(os.path.abspath(target)))
    with write_errors(target), Unfinished(target) as unfinished:
        if not layer.Export(unfinished.path):
            raise OutputError(f"{target}: cannot be written")
        unfinished.commit()


def _require_files(target: str, layer: Sdf.Layer) -> None:
    """Raise OutputError for a layer that includes one which only this process has."""
    for included in layer.GetCompositionAssetDependencies():
        if Sdf.Layer.IsAnonymousLayerIdentifier(included):
            raise OutputError(
                f"{target}: the stage includes {included}, which is only in memory, so the file would lack it. Save "
                "that layer to a file and include the file, or write all in one: stage.Flatten().Export(path)"
            )


def _move_assets(layer: Sdf.Layer, source: Sdf.Layer, folder: str) -> None:
    """Let the relative paths in a copy of `source` start at a folder."""

    def moved(path: str) -> str:
        absolute = source.ComputeAbsolutePath(path)  # stays a name where it is searched for, or is a URL
        if not os.path.isabs(absolute):
            return path
        if os.path.commonpath([absolute, folder]) == os.sep:
            return absolute
        relative = os.path.relpath(absolute, folder)
        return relative if relative.startswith("..") else f"./{relative}"

    UsdUtils.ModifyAssetPaths(layer, moved)
