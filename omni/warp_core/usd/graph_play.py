"""`wp.usd.play`: the graphs of a stage, played frame by frame. The player itself stands above, in `nodes`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from pxr import Usd

from ..late_bound import late


def play(
    scene: str | os.PathLike[str] | Usd.Stage,
    *,
    frames: tuple[int, int] | range | None = None,
    fps: float | None = None,
    device: str = "cpu",
    nodes: Iterable[str] = (),
    trust: bool = False,
) -> Any:
    """Open a stage and prepare its graphs for playing, as `omni-warp play` does, but a frame at a time.

    Args:
        scene: Path of a USD file, or a stage. It is never changed.
        frames: First and last frame, such as (1, 48); or a `range`, which stops before its end: range(1, 49). None:
            the range of the stage.
        fps: Frames per second. None: the rate of the stage.
        device: Device of the kernels.
        nodes: Folders of node types, whose Python files run.
        trust: Run the code in the nodes of the stage. Otherwise only code that was agreed to with `--remember` runs.

    Returns:
        A `wp.nodes.GraphPlayer`. Use it in a `with` block, or call its `close()`, as nodes hold memory.

    Raises:
        StageError: The file cannot be read, or has no graph.
        SettingsError: The range, the rate or a folder of nodes cannot be used.
        ConsentError: The stage has code that needs `trust=True`.

    Example:
        >>> from pxr import Usd
        >>> stage = Usd.Stage.CreateInMemory()
        >>> graph = wp.nodes.GraphBuilder(stage, "/Graph")
        >>> clock = graph.node("clock", "omni.graph.nodes.ReadTime")
        >>> with wp.usd.play(stage, frames=(0, 48), fps=24) as player:
        ...     player.play(13)
        ...     player.get("/Graph/clock.outputs:time")
        0.5
    """
    return late("play_graphs")(scene, frames, fps, device, nodes, trust)
