"""`omni-warp presets`: the list of presets, one of them as a layer with a Kernel node, and a node as a preset."""

from __future__ import annotations

from pxr import Tf, Usd

from ...usd.stage import open_stage, prim_at
from ..scene import kernel_presets
from ..scene.graph_builder import GraphBuilder
from ..stock import node_registry


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
    node = Tf.MakeValidIdentifier(kernel_presets.load(name).name)
    GraphBuilder(stage, "/Graph").kernel(node, preset=name)
    text: str = stage.GetRootLayer().ExportToString()
    return text


def of_node(scene: str, path: str) -> str:
    """Return the text of a Kernel node of a scene as a preset, without running it.

    Raises:
        StageError: The scene cannot be read.
        ValueError: It has no Kernel node of that path, or the text of the node is in a file.
    """
    stage = open_stage(scene).stage
    prim = prim_at(stage, path)
    kind = prim.GetAttribute("node:type").Get() if prim is not None else None
    found = node_registry.standard().find(kind or "")
    if prim is None or found is None or found.spec.name != node_registry.KERNEL:
        raise ValueError(f"{scene} has no Kernel node {path}; the path of a node is like /Graph/lift")
    return kernel_presets.text_of(prim, found.spec)
