"""The open stage of a Kit application for nodes that read and write prims. Start with `work_on_kit_stage`.

Results go to the session layer, as values without time. A read without a time code sees them; a read at a time code
sees the stage without its session layer, as in a play. Kit's Fabric has its own copy of the stage, of which these nodes
know nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from pxr import Sdf, Usd

from ...usd.output_layer import FrameFile, SampleLayer
from ...usd.stage import frame_rate, time_code_rate
from ..graph.node_graph import GraphError, Host, Log
from ..values.attribute_types import AttributeType
from ..values.attribute_values import Value, coerce
from .absent_attributes import why_empty
from .kit_database import KitDatabase, seconds_of_kit
from .stage_values import StageStore, value_at


class KitStore(StageStore):
    """A store that others may write beside: it remembers no value."""

    def __init__(self, stage: Usd.Stage, log: Log, scale: float):
        super().__init__(stage, log, scale)
        self._authored = Usd.Stage.Open(stage.GetRootLayer(), None, stage.GetPathResolverContext())
        self._looks = 0

    def look(self, path: str, name: str, timecode: float | None = None) -> tuple[AttributeType, Value]:
        """Type and value now, or of the stage without its session layer at `timecode`. Raises GraphError."""
        attribute, kind = self.attribute(path, name)
        source, time = attribute, self.now
        if timecode is not None:
            source, time = self._authored.GetAttributeAtPath(attribute.GetPath()), Usd.TimeCode(float(timecode))
        value = value_at(source, time) if source else None
        if value is None:
            raise GraphError(why_empty(attribute))
        return kind, coerce(value, kind)

    def source(self, path: str, timecode: float | None) -> tuple[Usd.Prim, Usd.TimeCode]:
        """Return the prim and the time that a read at `timecode`, None for now, looks at. Raises GraphError."""
        self.posed.look_again()
        present = self.prim(path)
        if timecode is None:
            return present, self.now
        return self._authored.GetPrimAtPath(present.GetPath()), Usd.TimeCode(float(timecode))

    def changes_of(self, path: str) -> int:
        """Return another number at each call, as others may have written to the prim."""
        self._looks += 1
        return self._looks


class SessionWriter(SampleLayer):
    """Writes results to the session layer of a stage, and files to a folder of their own."""

    def __init__(self, stage: Usd.Stage):
        super().__init__()
        self._stage = stage
        self._folder = ""

    def define(self, prim: str, type_name: str) -> None:
        """Do nothing: the store has made the prim."""

    def declare(self, prim: str, name: str, type_name: str, uniform: bool = False, interpolation: str = "") -> Sdf.Path:
        """Make an attribute exist; return its path."""
        path = Sdf.Path(prim).AppendProperty(name)
        with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
            attribute = self._stage.GetAttributeAtPath(path)
            if not attribute:
                owner = self._stage.GetPrimAtPath(prim)
                attribute = owner.CreateAttribute(name, Sdf.ValueTypeNames.Find(type_name), False)
            if interpolation:
                attribute.SetMetadata("interpolation", interpolation)
        return path

    def show(self, prim: str, visible: bool) -> None:
        """Do nothing: the store has removed a prim that goes."""

    def block(self, prim: str, name: str) -> None:
        """Do nothing: the store has removed the attribute."""

    def set_uniform(self, prim: str, name: str, type_name: str, value: Any) -> None:
        """Store a value."""
        self.set(prim, name, type_name, value, 0.0)

    def set(self, prim: str, name: str, type_name: str, value: Any, time: float, size: int = 64) -> None:
        """Store a value."""
        path = self.declare(prim, name, type_name)
        with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
            self._stage.GetAttributeAtPath(path).Set(value)

    def unapply(self, prim: str, schema: str) -> None:
        """Take an API schema off a prim."""
        with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
            self._stage.GetPrimAtPath(prim).RemoveAppliedSchema(schema)

    def relate(self, prim: str, name: str, targets: Sequence[str]) -> None:
        """Do nothing: the store has set the targets."""

    def attach(self, file: FrameFile) -> None:
        """Write a file for asset attributes, in a temporary folder."""
        self._folder = self._folder or tempfile.mkdtemp(prefix="omni_warp_core-")
        target = os.path.join(self._folder, f"{file.name}.{file.frame:04d}{file.extension}")
        file.write(target)
        self.name_file(file, target)


class _KitStage:
    """A stage that Kit has open, as a host for nodes."""

    def __init__(self, stage: Usd.Stage):
        self.stage, self.rate = stage, frame_rate(stage)
        self.host = Host(Log(lambda text: None))
        self.host.store = KitStore(stage, self.host.log, time_code_rate(stage) / self.rate)
        self.output = SessionWriter(stage)

    def begin(self, seconds: float) -> None:
        """Let the clock of the nodes be the timeline's."""
        self.host.store.frame = self.host.timeline.frame = round(seconds * self.rate)


_open: _KitStage | None = None


def work_on_kit_stage(db: Any, work: Callable[[Any], None]) -> None:
    """Do the work of a node on the stage that Kit has open. Raises GraphError if it has none."""
    global _open
    from omni.usd import get_context  # type: ignore[import-not-found, import-untyped]

    stage = get_context().get_stage()
    if stage is None:
        raise GraphError("no stage is open, and this node reads or writes prims")
    if _open is None or _open.stage != stage:
        _open = _KitStage(stage)
    _open.begin(seconds_of_kit())
    try:
        work(KitDatabase(db, _open.host))
    finally:
        _open.host.store.flush(_open.output)
