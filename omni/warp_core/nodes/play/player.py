"""Playing a scene: evaluate the frames of a session in order, and write the results.

`Player` is a session with a target; the command line (cli.py) is a thin layer over it.

    player = Player.open("scene.usda", Settings(frames=(0, 48)))
    player.run("out.usdc")
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ...usd.output_layer import OutputLayer
from ...usd.stage import READ_ERRORS, StageError, open_stage, reason
from ..graph.node_graph import Host, Log, Node
from ..live_session import Session, Settings, SettingsError, registry
from ..scene.graph_loader import Loaded, load

__all__ = ["Outcome", "Player", "Settings", "SettingsError", "load_graphs"]


@dataclass
class Outcome:
    """The results of a play."""

    frames: int
    seconds: float
    written: list[str]  # paths of attributes
    samples: int
    nodes: list[Node]
    failed: bool
    files: list[str] = field(default_factory=list)  # beside the result: volumes and textures
    is_written: bool = True  # whether there is a result; it may equal the scene

    @property
    def is_off(self) -> bool:
        """True if all nodes are switched off."""
        return not any(node.is_on for node in self.nodes)


class Player(Session):
    """One scene, ready to play."""

    @staticmethod
    def check(loaded: Loaded, path: str) -> None:
        """Raise StageError if a stage has no graphs."""
        if not loaded.graphs:
            raise StageError(f"{path}: has no OmniGraph prims with nodes, so there is nothing to play")

    def run(self, target: str, progress: Callable[[int], None] = lambda frame: None) -> Outcome:
        """Play all frames and write the results to `target`. The caller has the user's consent for `self.codes`.

        Raises OutputError when the target cannot be written. An exception, Ctrl-C included, leaves no file behind.
        """
        began = time.perf_counter()
        failed_before = len(self.host.log.errors)
        with OutputLayer(target, self.stage, self.start, self.end, self.fps) as output:
            self.begin()
            assert self.schedule is not None
            nodes = self.schedule.nodes()
            try:
                while self.next_frame <= self.end:
                    progress(self.step(output))
            finally:
                self.close()
            written = self.host.store.prims_written()
            is_written = bool(written or output.files or self.host.store.has_equal)
            if is_written:
                output.commit()
        return Outcome(
            frames=self.end - self.start + 1,
            seconds=time.perf_counter() - began,
            written=written,
            files=output.files,
            samples=output.samples,
            is_written=is_written,
            nodes=nodes,
            failed=bool(failed_before or self.host.log.errors),
        )


def load_graphs(path: str, log: Log) -> Loaded:
    """Return the graphs of a scene, with nothing run. Raises StageError."""
    stage = open_stage(path).stage
    try:
        loaded = load(stage, registry([], log), Host(log))
    except READ_ERRORS as error:
        raise StageError(f"{path}: cannot be read: {reason(error)}") from None
    if not loaded.graphs:
        raise StageError(f"{path}: has no OmniGraph prims with nodes, so there is nothing to draw")
    return loaded
