"""A live session of a stage: its graphs stay loaded, and a caller evaluates the frames that it wants.

`play` and `wp.usd.play` are loops over a session, and the studio edits one while it runs. Start with `Session.open`,
`begin` and `step`.

    session = Session.open("scene.usda", Settings())
    session.begin()  # with the user's consent to run session.codes
    session.step(output)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pxr import Usd

from ..usd.numpy_conversion import from_caller
from ..usd.output_layer import SampleLayer
from ..usd.stage import (
    RATES,
    READ_ERRORS,
    StageError,
    frame_range,
    frame_rate,
    layer_file,
    open_stage,
    reason,
    time_code_rate,
    unraised_errors,
    unreadable,
)
from .extensions import node_folders
from .graph.node_graph import Attribute, Host, Log, Node, Observer, Timeline
from .graph.schedule import Schedule
from .graph.switches import is_switch, switched
from .kernel.diagnostics import entry
from .ogn.ogn_spec import OgnError
from .scene import collector, consent
from .scene.graph_loader import Loaded, load, take
from .scene.stage_values import StageStore
from .scene.user_values import tell_limits, type_for, why_absent
from .stock import node_registry
from .values.attribute_types import BOOL, AttributeType
from .values.attribute_values import ValueTypeError, coerce, from_text
from .values.literals import literal

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
    trusted: bool = False  # whether nodes may read files outside of the scene's folder
    observers: list[Observer] = field(default_factory=list)
    isolated: dict[str, tuple[int, str]] | None = None  # nodes that fail, from which frame on and why; none is replayed


@dataclass(frozen=True)
class NodeReport:
    """State of a node after a frame.

    `wall_ms` is the time that the last frame spent in it. `failed` says why it gave no result, "" if it did.
    `diagnostics` are the mistakes of its code as data, each with a place in the text. `status` is the text that a
    Kernel node writes about itself, as data. docs/nodes.md lists the keys of both.
    """

    path: str
    wall_ms: float
    failed: str
    diagnostics: list[dict[str, Any]]
    status: dict[str, Any]


class Session:
    """The graphs of one stage, ready to be evaluated at any frame.

    `frame` is the frame evaluated last, None before the first one. `is_exact` is true as long as every frame from the
    first one on was evaluated once, in order, and without an edit: results are then those of a play.
    """

    def __init__(self, path: str, stage: Usd.Stage, host: Host, loaded: Loaded, settings: Settings):
        self.path, self.stage, self.host, self.loaded, self.settings = path, stage, host, loaded, settings
        self.start, self.end, self.fps = _range(stage, settings)
        host.timeline = Timeline(self.fps, self.start, self.start)
        host.device = settings.device
        host.folder = "" if settings.trusted else os.path.dirname(layer_file(stage.GetRootLayer()))
        host.observers, host.replays = settings.observers, settings.isolated is None
        host.store = self._new_store()
        self.schedule: Schedule | None = None
        self.frame: int | None = None
        self._values: dict[str, tuple[Any, AttributeType]] = {}  # of `set`
        self._switches: dict[str, bool] = {}  # of `switch`
        self._texts: dict[str, str] = {}  # of `set_code`
        for name, text in settings.values:
            self._override(name, text)
        self.withheld: frozenset[str] = frozenset()  # nodes whose code must not run; `rewind` takes a change of it
        self.codes = consent.collect(loaded, stage)
        self.is_exact = True
        self._wall_before: dict[Node, float] = {}

    @classmethod
    def open(cls, path: str, settings: Settings, log: Log | None = None) -> Session:
        """Open a scene and load its graphs. Raises StageError, SettingsError."""
        opened = open_stage(path)
        log = log or Log()
        for text in opened.warnings:
            log.warning(Path(path).name, text)
        return cls.of(opened.stage, settings, log, path)

    @classmethod
    def of(cls, stage: Usd.Stage, settings: Settings, log: Log, path: str = "") -> Session:
        """Load the graphs of a stage. Raises StageError, SettingsError."""
        host = Host(log)
        path = path or stage.GetRootLayer().identifier
        try:
            loaded = load(stage, registry(settings.nodes, log), host)
            cls.check(loaded, path)
            return cls(path, stage, host, loaded, settings)
        except READ_ERRORS as error:
            raise StageError(f"{path}: cannot be read: {reason(error)}") from None

    @staticmethod
    def check(loaded: Loaded, path: str) -> None:
        """Raise StageError if the graphs of a stage cannot be used: a session may have none."""

    # Evaluating. The caller has the user's consent for `codes`.

    def begin(self) -> None:
        """Prepare all nodes for the first frame, with the code that the scene has."""
        self.take_code()
        if self.codes:  # code that runs can read every file
            self.host.folder = ""
        self.frame, self.is_exact = None, True
        with collector.paused():
            self.schedule = Schedule(self.loaded.graphs, self.host)
            self.schedule.start()

    def close(self) -> None:
        """Release the nodes. Values can be read further, frames cannot be evaluated."""
        if self.schedule is not None:
            self.schedule.stop()
        self.schedule = None

    @property
    def next_frame(self) -> int:
        """The frame that `step` evaluates."""
        return self.start if self.frame is None else self.frame + 1

    def step(self, output: SampleLayer) -> int:
        """Evaluate the next frame, give its results to `output`, and return its number. Raises StageError."""
        self.evaluate(self.next_frame, output)
        return self.host.timeline.frame

    def seek(self, frame: int, output: SampleLayer) -> None:
        """Evaluate up to `frame` as a play does: all frames on the way, from the first one if `frame` lies behind.

        Raises:
            StageError: The stage cannot be read.
        """
        if frame < self.next_frame:
            self.rewind()
        while self.next_frame <= frame:
            self.step(output)

    def again(self, output: SampleLayer) -> int:
        """Evaluate the current frame once more, after an edit, and return its number. Raises StageError."""
        self.evaluate(self.start if self.frame is None else self.frame, output)
        return self.host.timeline.frame

    def evaluate(self, frame: int, output: SampleLayer) -> None:
        """Evaluate all graphs at one frame, and give the results to `output`. Raises StageError."""
        schedule = self.open_schedule()
        self.is_exact = self.is_exact and frame == self.next_frame
        self.frame = self.host.timeline.frame = self.host.store.frame = frame
        for observer in self.host.observers:
            observer.frame(frame)
        for path, (first, why) in (self.settings.isolated or {}).items():
            if frame == max(first, self.start):
                _switch_off(schedule, path, why)
        self._wall_before = {node: node.timing.wall_ms for node in schedule.nodes()}
        for attribute, source in self.loaded.animated:
            if not attribute.sources:
                self._take(attribute, source)
                schedule.share(attribute)
        schedule.frame()
        self.host.store.flush(output)

    def open_schedule(self) -> Schedule:
        """The graphs as they are evaluated. Raises StageError after `close`."""
        if self.schedule is None:
            raise StageError(f"{self.path}: the player is closed")
        return self.schedule

    def _take(self, attribute: Attribute, source: Usd.Attribute) -> None:
        what = f"{attribute.path} at frame {self.host.timeline.frame}"
        with unraised_errors() as errors:
            try:
                take(attribute, source, self.host.store.now)
            except READ_ERRORS as error:
                raise unreadable(self.stage, what, error) from None
        if errors:
            raise unreadable(self.stage, what, errors[0])

    # Edits between frames.

    def take_code(self) -> None:
        """Let the nodes run their code, and read the files that belong to it. The caller has the user's consent."""
        self.host.code = {code.node: code.text for code in self.codes if code.node not in self.withheld}
        self.host.files = {(code.node, name): path for code in self.codes for name, path in code.files}

    def has_code(self, path: str) -> bool:
        """True if the node at `path` runs code."""
        return any(code.node == path for code in self.codes)

    def set_code(self, path: str, text: str) -> None:
        """Give the Kernel node at `path` another text. The caller consents to it.

        The node runs its last good text until the new one is compiled. Raises SettingsError if there is no such node.
        """
        if not self.has_code(path):
            raise SettingsError(f"{path} is no node that runs code")
        attribute = self.loaded.attribute(f"{path}.inputs:codeStr")
        assert attribute is not None
        attribute.set(text)
        self._texts[path] = text
        self.codes = self._with_texts(self.codes)
        self.host.code = {**self.host.code, path: text}  # a new one, so that replays of all copies of the node end
        self.is_exact = False

    def set(self, attribute: Attribute, value: Any) -> None:
        """Let an input keep a value that fits its type; its connections and animation no longer count.

        Raises:
            ValueTypeError: The value does not fit.
        """
        value = from_caller(value)
        kind = type_for(attribute, value)
        value = coerce(value, kind)
        attribute.set(value, kind)
        tell_limits(attribute)
        self.disconnect(attribute)
        if self.schedule is not None:
            self.schedule.share(attribute)
        self._values[attribute.path] = value, kind
        self.is_exact = False

    def has_switch(self, path: str) -> bool:
        """True if there is a node with `node:enabled`, or a graph with `graph:enabled`, at `path`."""
        return is_switch(path) and bool(switched(self.loaded.nodes(), path))

    def is_on(self, path: str) -> bool:
        """True if the switch at `path` is on."""
        return switched(self.loaded.nodes(), path)[0].enabled

    def switch(self, path: str, on: Any) -> None:
        """Switch a node or a graph on or off, by the path of its `node:enabled` or `graph:enabled`.

        Raises:
            ValueTypeError: The value is neither true nor false.
        """
        self._switches[path] = is_on = bool(coerce(on, BOOL))
        copies = self.schedule.nodes() if self.schedule is not None else []
        for each in switched([*self.loaded.nodes(), *copies], path):
            each.enabled = is_on
        self.is_exact = False

    def disconnect(self, attribute: Attribute) -> None:
        """Let an attribute keep its value: neither its connections nor its animation count any longer."""
        attribute.sources = []
        self.loaded.animated = [(a, source) for a, source in self.loaded.animated if a is not attribute]

    def rewind(self) -> None:
        """Go back before the first frame: nodes begin anew. Values that were `set`, and texts, stay.

        Raises:
            StageError: The stage has changed and cannot be used any more.
        """
        self.close()
        self.load_again()
        self.begin()

    def reload(self) -> None:
        """Take the graphs as the stage has them now. Nodes of the same path and type keep their state.

        What was `set` is forgotten, as the stage has it. The caller has the user's consent for `codes`.

        Raises:
            StageError: The stage has changed and cannot be used any more.
        """
        kept = {(node.path, node.type_name): node.shared_state for node in self.loaded.nodes()}
        frame, was_open = self.frame, self.schedule is not None
        self.close()
        self._values.clear()
        self._switches.clear()
        self._texts.clear()
        self.load_again()
        if was_open:
            self.begin()
            for node in self.loaded.nodes():
                node.shared_state = kept.get((node.path, node.type_name), node.shared_state)
            self.frame, self.is_exact = frame, False

    def load_again(self) -> None:
        """Read the graphs of the stage once more; what was `set` stays. Raises StageError."""
        try:
            self.host.store.prims.clear()
            self.loaded = load(self.stage, registry(self.settings.nodes, self.host.log), self.host)
            self.check(self.loaded, self.path)
        except READ_ERRORS as error:
            raise StageError(f"{self.path}: cannot be read: {reason(error)}") from None
        self.start, self.end, self.fps = _range(self.stage, self.settings)
        self.host.timeline = Timeline(self.fps, self.start, self.start)
        self.host.store = self._new_store()
        self.frame, self.is_exact = None, True
        self.codes = self._with_texts(consent.collect(self.loaded, self.stage))
        for node in self.loaded.nodes():
            if node.path in self.withheld:
                node.disabled = "its code waits for your consent"
        for path, (value, kind) in self._values.items():
            attribute = self.loaded.attribute(path)
            if attribute is not None:
                attribute.set(value, kind)
                self.disconnect(attribute)
        for path, is_on in self._switches.items():
            self.switch(path, is_on)

    def _with_texts(self, codes: list[consent.Code]) -> list[consent.Code]:
        return [replace(code, text=self._texts.get(code.node, code.text)) for code in codes]

    def _new_store(self) -> StageStore:
        return StageStore(self.stage, self.host.log, time_code_rate(self.stage) / self.fps, self.start)

    def _override(self, path: str, text: str) -> None:
        """Set an attribute or a switch from the command line. Raises SettingsError."""
        try:
            if self.has_switch(path):
                self.switch(path, from_text(text, BOOL))
            else:
                self._override_attribute(path, text)
        except ValueTypeError as error:
            raise SettingsError(f"--set {path}: {error}") from None

    def _override_attribute(self, path: str, text: str) -> None:
        attribute = self.loaded.attribute(path)
        if attribute is None:
            raise SettingsError(f"--set {path}: {why_absent(self.stage, self.loaded, path)}")
        if attribute.type.is_execution or attribute.port == "outputs":
            what = "an execution attribute" if attribute.type.is_execution else "an output, which its node sets"
            raise SettingsError(f"--set {path}: it is {what}; set an input, a state or a variable")
        kind = type_for(attribute, literal(text))
        attribute.set(from_text(text, kind), kind)
        tell_limits(attribute)
        self.disconnect(attribute)

    # Questions.

    def reports(self) -> Iterable[NodeReport]:
        """Yield the state of each node after the last frame."""
        for node in self.loaded.nodes():
            yield self._report(node)

    def _report(self, node: Node) -> NodeReport:
        failed = node.disabled or node.failed
        diagnostics = _json(node, "state:diagnostics", [])
        if failed and not diagnostics:
            diagnostics = [entry(failed, node.path)]
        wall_ms = node.timing.wall_ms - self._wall_before.get(node, 0.0)
        return NodeReport(node.path, wall_ms, failed, diagnostics, _json(node, "state:status", {}))


def _json(node: Node, name: str, default: Any) -> Any:
    """Return the value of an attribute that holds JSON; `default` if the node has none."""
    attribute = node.attributes.get(name)
    return json.loads(attribute.value) if attribute is not None and attribute.value else default


def _switch_off(schedule: Schedule, path: str, why: str) -> None:
    """Let the nodes at a path fail from now on."""
    for node in schedule.nodes():
        if node.path == path and not node.disabled:
            node.fail(why)
            node.disabled = why
            assert node.graph is not None
            node.graph.outermost.is_changed = True


def registry(folders: list[str], log: Log) -> node_registry.Registry:
    """Return the node types of this package and of `folders`. Raises SettingsError."""
    found = node_registry.standard()
    for folder in folders:
        try:
            node_folders.add_folder(found, Path(folder), log.warning)
        except OgnError as error:
            raise SettingsError(f"--nodes {folder}: {'; '.join(error.problems)}") from None
    return found


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
