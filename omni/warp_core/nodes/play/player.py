"""Playing a scene: open it, load its graphs, evaluate them frame by frame, write the results.

`Player` holds one scene ready to play; the command line (cli.py) is a thin layer over it.

    player = Player.open("scene.usda", Settings(frames=(0, 48)))
    player.run("out.usdc")
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pxr import Usd

from ...usd.output_layer import OutputLayer, SampleLayer
from ...usd.stage import (
    RATES,
    READ_ERRORS,
    StageError,
    frame_range,
    frame_rate,
    open_stage,
    reason,
    time_code_rate,
    unraised_errors,
    unreadable,
)
from ..extensions import node_folders
from ..graph.node_graph import Attribute, Host, Log, Node, Timeline
from ..graph.schedule import Schedule
from ..ogn.ogn_spec import OgnError
from ..scene import collector, consent
from ..scene.graph_loader import Loaded, load, take
from ..scene.stage_values import StageStore
from ..stock import node_registry
from ..values.attribute_values import ValueTypeError, from_text

MAX_FRAMES = 1_000_000


class SettingsError(Exception):
    """A request that cannot be followed: a bad frame range, an attribute that is not there."""


@dataclass
class Settings:
    """Choices of the user. None means: as in the scene."""

    frames: tuple[int, int] | None = None
    fps: float | None = None
    device: str = "cpu"
    values: list[tuple[str, str]] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)  # folders of node types, whose code runs


@dataclass
class Outcome:
    """The results of a play."""

    frames: int
    seconds: float
    written: list[str]
    samples: int
    nodes: list[Node]
    failed: bool


class Player:
    """One scene, ready to play."""

    def __init__(self, path: str, stage: Usd.Stage, host: Host, loaded: Loaded, settings: Settings):
        self.path, self.stage, self.host, self.loaded, self.settings = path, stage, host, loaded, settings
        self.start, self.end, self.fps = _range(stage, settings)
        host.timeline = Timeline(self.fps, self.start, self.start)
        host.store = StageStore(stage, host.log, time_code_rate(stage) / self.fps)
        host.device = settings.device
        for name, text in settings.values:
            self.disconnect(_override(loaded, name, text))
        self.codes = consent.collect(loaded, stage)

    @classmethod
    def open(cls, path: str, settings: Settings, log: Log | None = None) -> Player:
        """Open a scene and load its graphs. Raises StageError, SettingsError."""
        opened = open_stage(path)
        log = log or Log()
        for text in opened.warnings:
            log.warning(Path(path).name, text)
        return cls.of(opened.stage, settings, log, path)

    @classmethod
    def of(cls, stage: Usd.Stage, settings: Settings, log: Log, path: str = "") -> Player:
        """Load the graphs of a stage. Raises StageError, SettingsError."""
        host = Host(log)
        path = path or stage.GetRootLayer().identifier
        try:
            loaded = load(stage, _registry(settings.nodes, log), host)
            if not loaded.graphs:
                raise StageError(f"{path}: has no OmniGraph prims with nodes, so there is nothing to play")
            return cls(path, stage, host, loaded, settings)
        except READ_ERRORS as error:
            raise StageError(f"{path}: cannot be read: {reason(error)}") from None

    def run(self, target: str, progress: Callable[[int], None] = lambda frame: None) -> Outcome:
        """Play all frames and write the results to `target`. The caller has the user's consent for `self.codes`.

        Raises OutputError when the target cannot be written. An exception, Ctrl-C included, leaves no file behind.
        """
        began = time.perf_counter()
        self.take_code()
        with collector.paused():
            schedule = Schedule(self.loaded.graphs, self.host)
        failed_before = len(self.host.log.errors)
        with OutputLayer(target, self.stage, self.start, self.end, self.fps) as output:
            with collector.paused():
                schedule.start()
            try:
                for frame in range(self.start, self.end + 1):
                    self.play_frame(frame, schedule, output)
                    progress(frame)
            finally:
                schedule.stop()
            written = self.host.store.prims_written()
            if written:
                output.commit()
        return Outcome(
            frames=self.end - self.start + 1,
            seconds=time.perf_counter() - began,
            written=written,
            samples=output.samples,
            nodes=schedule.nodes(),
            failed=bool(failed_before or self.host.log.errors),
        )

    def take_code(self) -> None:
        """Let the nodes run their code, and read the files that belong to it. The caller has the user's consent."""
        self.host.code = {code.node: code.text for code in self.codes}
        self.host.files = {(code.node, name): path for code in self.codes for name, path in code.files}

    def has_code(self, path: str) -> bool:
        """True if the node at `path` runs code."""
        return any(code.node == path for code in self.codes)

    def set_code(self, path: str, text: str) -> None:
        """Give the Kernel node at `path` another text, also between frames of a play. The caller consents to it.

        The node runs its last good text until the new one is compiled. Raises SettingsError if there is no such node.
        """
        if not self.has_code(path):
            raise SettingsError(f"{path} is no node that runs code")
        attribute = self.loaded.attribute(f"{path}.inputs:codeStr")
        assert attribute is not None
        attribute.set(text)
        self.codes = [replace(code, text=text) if code.node == path else code for code in self.codes]
        self.host.code = {**self.host.code, path: text}  # a new one, so that replays of all copies of the node end

    def disconnect(self, attribute: Attribute) -> None:
        """Let an attribute keep its value: neither its connections nor its animation count any longer."""
        attribute.sources = []
        self.loaded.animated = [(a, source) for a, source in self.loaded.animated if a is not attribute]

    def play_frame(self, frame: int, schedule: Schedule, output: SampleLayer) -> None:
        """Evaluate all graphs at one frame, and give the results to `output`. Raises StageError."""
        self.host.timeline.frame = self.host.store.frame = frame
        for attribute, source in self.loaded.animated:
            if not attribute.sources:
                self._take(attribute, source)
                schedule.share(attribute)
        schedule.frame()
        self.host.store.flush(output)

    def _take(self, attribute: Attribute, source: Usd.Attribute) -> None:
        what = f"{attribute.path} at frame {self.host.timeline.frame}"
        with unraised_errors() as errors:
            try:
                take(attribute, source, self.host.store.now)
            except READ_ERRORS as error:
                raise unreadable(self.stage, what, error) from None
        if errors:
            raise unreadable(self.stage, what, errors[0])


def load_graphs(path: str, log: Log) -> Loaded:
    """Return the graphs of a scene, with nothing run. Raises StageError."""
    stage = open_stage(path).stage
    try:
        loaded = load(stage, _registry([], log), Host(log))
    except READ_ERRORS as error:
        raise StageError(f"{path}: cannot be read: {reason(error)}") from None
    if not loaded.graphs:
        raise StageError(f"{path}: has no OmniGraph prims with nodes, so there is nothing to draw")
    return loaded


def _registry(folders: list[str], log: Log) -> node_registry.Registry:
    """Return the node types of this package and of `folders`. Raises SettingsError."""
    registry = node_registry.standard()
    for folder in folders:
        try:
            node_folders.add_folder(registry, Path(folder), log.warning)
        except OgnError as error:
            raise SettingsError(f"--nodes {folder}: {'; '.join(error.problems)}") from None
    return registry


def _range(stage: Usd.Stage, settings: Settings) -> tuple[int, int, float]:
    """Return the first and last frame and the frames per second."""
    fps = frame_rate(stage) if settings.fps is None else settings.fps
    if not RATES[0] <= fps <= RATES[1]:
        raise SettingsError(f"the frame rate must be above 0 and below a million, not {fps:g}")
    frames = settings.frames or frame_range(stage, fps)
    if frames is None:
        raise SettingsError("the scene has no startTimeCode and endTimeCode; say which frames to play: --frames A:B")
    start, end = frames
    if not 0 < end - start + 1 <= MAX_FRAMES:
        raise SettingsError(f"the frame range {start}:{end} must hold 1 to {MAX_FRAMES} frames")
    return start, end, float(fps)


def _override(loaded: Loaded, path: str, text: str) -> Attribute:
    """Set an attribute from the command line, and return it."""
    attribute = loaded.attribute(path)
    if attribute is None:
        raise SettingsError(f"--set {path}: {loaded.missing(path, lambda a: not a.type.is_execution)}")
    kind = attribute.resolved
    if kind.is_execution or kind.is_any:
        raise SettingsError(f"--set {path}: an attribute of type {kind} cannot be set")
    try:
        attribute.set(from_text(text, kind))
    except ValueTypeError as error:
        raise SettingsError(f"--set {path}: {error}") from None
    return attribute
