"""`omni-warp presets`: the list of presets, and one of them as a layer with a Kernel node."""

from __future__ import annotations

from pxr import Usd

from ..scene import kernel_presets
from ..scene.graph_builder import GraphBuilder


def all_of_them() -> str:
    """Return a line for each preset: its name, and what it does."""
    names = kernel_presets.names()
    width = max(map(len, names))
    return "".join(f"{name:<{width}}  {kernel_presets.load(name).about}\n" for name in names)


def one(name: str) -> str:
    """Return a layer in USD's text form with a graph that has a node with this preset.

    Raises:
        ValueError: No preset has that name.
    """
    stage = Usd.Stage.CreateInMemory()
    GraphBuilder(stage, "/Graph").kernel(name, preset=name)
    text: str = stage.GetRootLayer().ExportToString()
    return text
