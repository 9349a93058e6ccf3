"""Prims and attributes that a play adds to its stage, and their way into the result.

The session layer of the stage holds them, with types but without values: it lies over the scene in memory, so that USD
itself answers questions about them. Values are in stage_values.py.

Prims of a USD file exist at all times. A prim that begins or ends during a play is invisible before or after. An
attribute that ends has a blocked value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pxr import Sdf, Tf, Usd, UsdGeom

from ...usd.output_layer import FrameFile, SampleLayer
from ...usd.stage import prim_at, reason
from ..graph.attribute import GraphError
from ..values.attribute_types import AttributeType

GROUPS = ("", "Xform", "Scope")  # types of prims that may become another type, as they have no data of their own
MOST_PRIMS = 100_000

Change = Callable[[SampleLayer], None]


@contextmanager
def _usd_errors(where: str) -> Iterator[None]:
    """Turn errors of USD into a GraphError that names a place."""
    try:
        yield
    except Tf.ErrorException as error:
        raise GraphError(f"{where} cannot be made: {reason(error)}") from None


class StagePrims:
    """The prims of a stage, and changes of them in this play."""

    def __init__(self, stage: Usd.Stage):
        self.stage = stage
        self._created: set[str] = set()
        self._new: set[str] = set()  # those of this frame
        self._pending: list[Change] = []
        self.relations: dict[tuple[str, str], None] = {}  # that this play has written
        self._before = Sdf.Layer.CreateAnonymous()
        self._before.TransferContent(stage.GetSessionLayer())

    def exists(self, path: str) -> bool:
        """True if there is a prim."""
        return prim_at(self.stage, path) is not None

    def define(self, path: str, type_name: str) -> None:
        """Make a prim of a type unless it exists, with Xform prims above it. Raises GraphError."""
        self._require_place(path)
        present = prim_at(self.stage, path)
        if present is not None:
            if not type_name or present.GetTypeName() == type_name:
                return
            if present.GetTypeName() not in GROUPS:
                raise GraphError(f"{path} is {present.GetTypeName()} and cannot become {type_name}; name another prim")
        else:
            parent = str(Sdf.Path(path).GetParentPath())
            if not self.exists(parent):
                self.define(parent, "Xform")
            if len(self._created) >= MOST_PRIMS:
                raise GraphError(f"{path}: this play has added {MOST_PRIMS} prims already; it cannot add more")
            self._created.add(path)
            self._new.add(path)
        with Usd.EditContext(self.stage, self.stage.GetSessionLayer()), _usd_errors(path):
            self.stage.DefinePrim(path, type_name)
        self._later(lambda output: output.define(path, type_name))
        if path in self._created:
            self._later(lambda output: output.show(path, True))

    def _require_place(self, path: str) -> None:
        if not Sdf.Path.IsValidPathString(path) or not Sdf.Path(path).IsPrimPath() or not path.startswith("/"):
            raise GraphError(f"{path!r} is no path of a prim; write it like /World/Mesh")
        for above in Sdf.Path(path).GetPrefixes():
            prim = self.stage.GetPrimAtPath(above)
            if prim and ((prim.IsInstance() and above != Sdf.Path(path)) or prim.IsInstanceProxy()):
                raise GraphError(f"{path} is part of an instance, which cannot be written to; make it not instanceable")

    def remove(self, path: str) -> None:
        """Remove a prim that this play made, with all below it; others stay."""
        if path not in self._created:
            return
        self._created -= {p for p in self._created if p == path or p.startswith(f"{path}/")}
        with Usd.EditContext(self.stage, self.stage.GetSessionLayer()):
            self.stage.RemovePrim(path)
        self._later(lambda output: output.show(path, False))

    def clear(self) -> None:
        """Remove everything that this play has added to the stage in memory."""
        session = self.stage.GetSessionLayer()
        session.TransferContent(self._before)
        self._created.clear()
        self._new.clear()
        self._pending.clear()
        self.relations.clear()

    def is_created(self, path: str) -> bool:
        """True if this play made the prim."""
        return path in self._created

    def is_new(self, path: str) -> bool:
        """True if this play made the prim in this frame."""
        return path in self._new

    def create_attribute(self, path: str, name: str, kind: AttributeType, interpolation: str) -> None:
        """Make an attribute of a prim. Raises GraphError."""
        with Usd.EditContext(self.stage, self.stage.GetSessionLayer()), _usd_errors(f"{path}.{name}"):
            prim = self.stage.GetPrimAtPath(path)
            attribute = prim.CreateAttribute(name, Sdf.ValueTypeNames.Find(kind.sdf), custom=False)
            if interpolation:
                attribute.SetMetadata("interpolation", interpolation)
        self._later(lambda output: output.declare(path, name, kind.sdf, False, interpolation))

    def interpolate(self, path: str, name: str, sdf: str, interpolation: str) -> None:
        """Say how the values of an attribute go with the elements of its prim. Raises GraphError."""
        with Usd.EditContext(self.stage, self.stage.GetSessionLayer()), _usd_errors(f"{path}.{name}"):
            self.stage.GetPrimAtPath(path).GetAttribute(name).SetMetadata("interpolation", interpolation)
        self._later(lambda output: output.declare(path, name, sdf, False, interpolation))

    def relate(self, path: str, name: str, targets: Sequence[str]) -> None:
        """Let a relationship of a prim have these targets. Raises GraphError."""
        self._require_place(path)
        with Usd.EditContext(self.stage, self.stage.GetSessionLayer()), _usd_errors(f"{path}.{name}"):
            relation = self.stage.GetPrimAtPath(path).CreateRelationship(name, False)
            paths = [Sdf.Path(target) for target in targets]
            if list(relation.GetTargets()) == paths:
                return
            relation.SetTargets(paths)
        self.relations[path, name] = None
        self._later(lambda output: output.relate(path, name, tuple(targets)))

    def attach(self, file: FrameFile) -> None:
        """Let asset attributes name a file at its frame."""
        self._later(lambda output: output.attach(file))

    def remove_attribute(self, path: str, name: str) -> None:
        """Remove an attribute that this play made."""
        with Usd.EditContext(self.stage, self.stage.GetSessionLayer()):
            self.stage.GetPrimAtPath(path).RemoveProperty(name)
        self._later(lambda output: output.block(path, name))

    def hold(self, path: str, name: str, usd: object) -> None:
        """Give an attribute a value that USD computes with: of transforms."""
        with Usd.EditContext(self.stage, self.stage.GetSessionLayer()), _usd_errors(f"{path}.{name}"):
            self.stage.GetPrimAtPath(path).GetAttribute(name).Set(usd)

    def _later(self, change: Change) -> None:
        self._pending.append(change)

    def flush(self, output: SampleLayer, frame: int) -> None:
        """Give the changes of this frame to the output."""
        output.at(frame)
        for change in self._pending:
            change(output)
        self._pending.clear()
        self._new.clear()

    # Questions.

    def below(self, path: str, recursive: bool = True) -> Iterator[Usd.Prim]:
        """Yield the prims below a path, parents first; all of the stage below "/"."""
        top = prim_at(self.stage, path)
        if top is None:
            return
        found = Usd.PrimRange(top) if recursive else top.GetChildren()
        yield from (prim for prim in found if prim != top)

    def first_camera(self) -> str | None:
        """Return the path of the first camera of the stage."""
        return next((str(p.GetPath()) for p in self.stage.Traverse() if p.IsA(UsdGeom.Camera)), None)
