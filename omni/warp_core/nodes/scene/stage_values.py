"""The stage as nodes see it: what the scene holds, and over it what this play has written.

A write is seen by every later read of "now" (a simulation may so carry its state from frame to frame) and becomes a
time sample of the result. The scene itself is never changed. All writes are results, whatever `usdWriteBack` says:
without a renderer beside us there is no other place for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from pxr import Sdf, Tf, Usd, UsdGeom

from ...lang.errors import did_you_mean, nearest
from ...usd.numpy_conversion import to_numpy, to_usd
from ...usd.output_layer import SampleLayer
from ...usd.stage import READ_ERRORS, prim_at, reason, unraised_errors
from ..graph.node_graph import GraphError, Log
from ..values.attribute_types import AttributeType, from_sdf, parse
from ..values.attribute_values import Value, ValueTypeError, coerce, converter
from ..values.bundles import indices_of
from . import topology_check
from .absent_attributes import why_absent, why_empty
from .followers import Followers
from .interpolation_check import InterpolationCheck
from .posed_prims import POINTS, PosedPrims
from .stage_prims import StagePrims

Key = tuple[str, str]
_PRIMVAR, _INTS = "primvars:", parse("int[]")
_PLACE, _MATRIX, _TOKENS = "xformOp:transform", parse("matrixd[4]"), parse("token[]")


class _Written:
    """The last value written to one attribute, as USD and as NumPy have it, and the frames of its samples."""

    __slots__ = ("before", "frame", "held", "kind", "sdf", "uniform", "usd", "value", "version")

    def __init__(self, kind: AttributeType, sdf: str, usd: Any, value: Value, uniform: bool):
        self.kind, self.sdf, self.usd, self.value, self.uniform = kind, sdf, usd, value, uniform
        self.before: list[tuple[int, Any]] = []  # samples of the frames before the first write, as the scene has them
        self.frame: int | None = None
        self.held: Any = None
        self.version = 1


def value_at(source: Usd.Attribute, time: Usd.TimeCode) -> Any:
    """Return the value of an attribute as NumPy has it, None if it has none. Raises GraphError."""
    return to_numpy(_usd_value(source, time))


def _usd_value(source: Usd.Attribute, time: Usd.TimeCode) -> Any:
    """Return the value of an attribute as USD has it, None if it has none. Raises GraphError."""
    value = None
    with unraised_errors() as errors:
        try:
            value = source.Get(time)
        except READ_ERRORS as error:
            errors[:] = [error]
    if errors:
        raise GraphError(f"{source.GetPath()} cannot be read: {reason(errors[0])}")
    return value


class StageStore:
    """Reads and writes attribute values at the current frame.

    `scale` is time codes of the scene per frame, `start` the first frame of the play.
    """

    def __init__(self, stage: Usd.Stage, log: Log, scale: float = 1.0, start: int = 0):
        self.stage, self.log, self.scale, self.start = stage, log, scale, start
        self.frame = start
        self._written: dict[Key, _Written] = {}
        self._dirty: dict[Key, None] = {}
        self._static: dict[Key, tuple[AttributeType, Value]] = {}
        self._told: set[Key] = set()
        self._looped: set[Key] = set()
        self._topology = topology_check.TopologyCheck(self.now_or_none, self.scene_or_none, log.warning)
        self._interpolation = InterpolationCheck(self.now_or_none, self._interpolate, log.warning)
        self._followers = Followers(self)
        self.posed = PosedPrims(self)
        self._changes: Counter[str] = Counter()  # writes to each prim
        self.has_equal = False  # True once a node would have written what is there already
        self.switched: set[str] = set()  # prims that nodes have switched off, and perhaps on again
        self._left_over: dict[Key, int] = {}  # the frame that read what an earlier one had written
        self._read_now: dict[str, set[str]] = {}  # by graph: prims that its nodes read as they are now
        self.prims = StagePrims(stage)

    @property
    def now(self) -> Usd.TimeCode:
        """The time code of the scene for the current frame."""
        return Usd.TimeCode(self.frame * self.scale)

    def prim(self, path: str) -> Usd.Prim:
        """The prim at `path`. Raises GraphError with the names that are there instead."""
        found = prim_at(self.stage, path)
        if found is not None:
            return found
        parent = prim_at(self.stage, path.rpartition("/")[0] or "/")
        names = [str(p.GetPath()) for p in parent.GetAllChildren()] if parent is not None else []
        raise GraphError(f"there is no prim {path}" + did_you_mean(nearest(path, names)))

    def attribute(self, path: str, name: str, type_name: str = "") -> tuple[Usd.Attribute, AttributeType]:
        """The attribute `name` of a prim with its type. Raises GraphError, with the USD type that it should have."""
        prim = self.prim(path)
        found = prim.GetAttribute(name)
        if not found:
            raise GraphError(why_absent(prim, name, type_name))
        kind = from_sdf(str(found.GetTypeName()))
        if kind is None:
            raise GraphError(f"{path}.{name} is a {found.GetTypeName()}, for which OmniGraph has no type")
        return found, kind

    def read(self, path: str, name: str, timecode: float | None = None) -> tuple[AttributeType, Value]:
        """Type and value for a node that computes with it, as `look`. Raises GraphError."""
        if timecode is None:
            self.note_use(path, name)
        return self.look(path, name, timecode)

    def note_use(self, path: str, name: str) -> None:
        """Remember that a node computes with the value that an attribute has now, perhaps from an earlier frame."""
        key = (path, name)
        if key in self._written and key not in self._dirty:
            self._left_over[key] = self.frame

    def look(self, path: str, name: str, timecode: float | None = None) -> tuple[AttributeType, Value]:
        """Type and value now, or what the scene holds at `timecode`. Raises GraphError."""
        key = (path, name)
        if timecode is None and key in self._written:
            written = self._written[key]
            return written.kind, written.value
        if key in self._static:
            return self._static[key]
        source, kind = self.attribute(path, name)
        value = value_at(source, self.now if timecode is None else Usd.TimeCode(timecode))
        if value is None:
            raise GraphError(why_empty(source))
        result = (kind, coerce(value, kind))
        if not source.ValueMightBeTimeVarying():
            self._static[key] = result
        return result

    def source(self, path: str, timecode: float | None) -> tuple[Usd.Prim, Usd.TimeCode]:
        """Return the prim and the time that a read at `timecode`, None for now, looks at. Raises GraphError."""
        return self.prim(path), self.now if timecode is None else Usd.TimeCode(timecode)

    def write(self, path: str, name: str, kind: AttributeType, value: Value) -> None:
        """Set the value for this frame and later ones. Raises GraphError."""
        key = (path, name)
        known = self._written.get(key)
        uniform = False
        if known is None:
            source, held = self.attribute(path, name, kind.sdf)
            uniform = source.GetVariability() == Sdf.VariabilityUniform
            if source.GetPrim().IsInstanceProxy():
                raise GraphError(f"{path} is part of an instance, which cannot be written to; make it not instanceable")
            sdf = str(source.GetTypeName())
        else:
            held, sdf = known.kind, known.sdf
        convert = converter(kind, held)
        if convert is None:
            raise GraphError(f"{path}.{name} is {held} and cannot take a value of type {kind}")
        try:
            usd = to_usd(coerce(convert(value), held), sdf)
        except (ValueTypeError, ValueError, TypeError, Tf.ErrorException) as error:
            raise GraphError(f"{path}.{name}: {error}") from None
        has_other_count = kind.is_array and self._has_other_count(key, len(value))
        # Keeping USD's copy, not the node's buffer, makes a written value immune to the node's next run.
        seen = coerce(to_numpy(usd), held)
        self._warn_not_finite(key, seen)
        if known is None:
            self._written[key] = _Written(held, sdf, usd, seen, uniform)
            if not uniform and not self.prims.is_new(path):
                self._written[key].before = self.until_now(source)
        else:
            known.held = known.held if key in self._dirty else known.usd
            known.usd, known.value = usd, seen
            known.version += 1
        if self._left_over.get(key) == self.frame:
            self._warn_of_loop(key)
        self._dirty[key] = None
        self._changes[path] += 1
        if name.startswith("xformOp"):
            self.prims.hold(path, name, usd)
        if has_other_count:
            self.drop_indices(path, name, len(value))

    def _has_other_count(self, key: Key, count: int) -> bool:
        """True if a primvar whose indices this frame has not written had another number of values until now."""
        indices = (key[0], indices_of(key[1]))
        if not key[1].startswith(_PRIMVAR) or indices in self._dirty or not self.value_names(*indices):
            return False
        present = self.now_or_none(*key)
        return present is not None and len(present) != count

    def drop_indices(self, path: str, name: str, count: int) -> None:
        """Let each element of a primvar of `count` values have its own, where the prim has indices. Raises GraphError.

        Indices cannot be removed by a time sample, so these are 0, 1, 2 and so on.
        """
        indices = indices_of(name)
        if name.startswith(_PRIMVAR) and self.value_names(path, indices):
            own = np.arange(count, dtype=np.int32)
            if not np.array_equal(self.look(path, indices)[1], own):
                self.write(path, indices, _INTS, own)

    def until_now(self, source: Usd.Attribute) -> list[tuple[int, Any]]:
        """Return samples of what the scene has in the frames before this one.

        USD gives the first sample of an attribute to all times before it, so a first write in a later frame would
        otherwise reach back to the start.
        """
        frames: Sequence[int] = range(self.start, self.frame)
        if source.GetName() == POINTS and self.posed.is_read(path := str(source.GetPrim().GetPath())):
            return [(frame, self.posed.points(path, frame * self.scale)) for frame in frames]
        if not source.ValueMightBeTimeVarying():
            frames = sorted({*frames[:1], *frames[-1:]})  # USD interpolates: the value holds up to the frame before
        values = ((frame, _usd_value(source, Usd.TimeCode(frame * self.scale))) for frame in frames)
        return [(frame, Sdf.ValueBlock() if value is None else value) for frame, value in values]

    def _warn_of_loop(self, key: Key) -> None:
        if key not in self._looped:
            self._looped.add(key)
            self.log.warning(
                ".".join(key),
                "each frame reads what the frame before has written here, and writes it again, so that results add up. "
                "Set inputs:usdTimecode of the reading node to start from the scene in each frame. What a simulation "
                "carries along belongs into a state: attribute of a Kernel node",
            )

    def _warn_not_finite(self, key: Key, value: Value) -> None:
        if key in self._told or not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return
        bad = int(np.count_nonzero(~np.isfinite(value)))
        if bad:
            self._told.add(key)
            what = "numbers are" if bad > 1 else "number is"
            self.log.warning(".".join(key), f"{bad} of {value.size} {what} infinite or NaN at frame {self.frame}")

    def value_names(self, path: str, *only: str) -> list[str]:
        """The attributes of a prim that have a value and a type of OmniGraph, all or those named. Raises GraphError."""
        prim = self.prim(path)
        found = [prim.GetAttribute(name) for name in only] if only else prim.GetAttributes()
        names = ((a, a.GetName()) for a in found if a and from_sdf(str(a.GetTypeName())) is not None)
        return [name for a, name in names if (path, name) in self._written or a.HasValue()]

    def changes_of(self, path: str) -> int:
        """How often this play has written to a prim; the same number means the same values, but for varying ones."""
        return self._changes[path]

    def version(self, path: str, name: str) -> int:
        """How often this play has written to an attribute. Raises GraphError if there is no such one."""
        written = self._written.get((path, name))
        if written is None:
            self.attribute(path, name)
        return written.version if written is not None else 0

    def varying(self, path: str, names: Iterable[str]) -> list[str]:
        """Those of a prim's attributes whose values may change from frame to frame without being written."""
        prim = self.prim(path)
        return [name for name in names if prim.GetAttribute(name).ValueMightBeTimeVarying()]

    def interpolation(self, path: str, name: str) -> str:
        """How the values of a primvar go with the elements of the prim, "" where the prim does not say."""
        return self.prim(path).GetAttribute(name).GetMetadata("interpolation") or ""

    def ensure_attribute(self, path: str, name: str, kind: AttributeType, interpolation: str = "") -> bool:
        """Make an attribute where the prim has none; True if it was made. Raises GraphError."""
        if not Sdf.Path.IsValidNamespacedIdentifier(name):
            raise GraphError(f"{path}: {name!r} is not the name of an attribute")
        is_new = not self.prim(path).GetAttribute(name)
        if is_new or (interpolation and interpolation != self.interpolation(path, name)):
            self.prims.create_attribute(path, name, kind, interpolation)
            self._changes[path] += 1
        return is_new

    def relate(self, path: str, name: str, targets: Sequence[str]) -> None:
        """Let a relationship of a prim have these targets; makes it where the prim has none. Raises GraphError."""
        if not Sdf.Path.IsValidNamespacedIdentifier(name):
            raise GraphError(f"{path}: {name!r} is not the name of a relationship")
        if self.prim(path).GetAttribute(name):
            raise GraphError(f"{path}.{name} is an attribute and takes no targets; name a relationship")
        wrong = next((target for target in targets if not Sdf.Path.IsValidPathString(target)), None)
        if wrong is not None:
            raise GraphError(f"{path}.{name}: {wrong!r} is no path; write a target like /World/Mesh")
        self.prims.relate(path, name, targets)
        self._changes[path] += 1

    def remove_attribute(self, path: str, name: str) -> None:
        """Remove an attribute that this play made."""
        self._forget({(path, name)})
        self.prims.remove_attribute(path, name)

    def remove_prim(self, path: str) -> None:
        """Remove a prim that this play made, with all below it."""
        self._forget({key for key in self._written if key[0] == path or key[0].startswith(f"{path}/")})
        self.prims.remove(path)

    def _forget(self, keys: set[Key]) -> None:
        for key in keys:
            self._changes[key[0]] += 1
            self._written.pop(key, None)
            self._dirty.pop(key, None)
            self._static.pop(key, None)

    def note_read(self, graph: str, path: str) -> None:
        """Remember that a graph reads a prim as it is now."""
        self._read_now.setdefault(graph, set()).add(path)

    def require_no_loop(self, graph: str, target: str) -> None:
        """Raise GraphError for a target that is, or lies below, a prim that the same graph reads."""
        for path in self._read_now.get(graph, ()):
            if target == path or target.startswith(f"{path.rstrip('/')}/"):
                raise GraphError(
                    f"writing to {target} would change {path}, which the same graph reads; "
                    "write to another prim, or set usdTimecode of the reading node to read what the scene has"
                )

    def local_box(self, path: str, points: Value = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The lowest and highest corner of a prim and all below it, and the transform of that box to the prim.

        `points` are those of the prim where they are not as the stage has them.
        """
        if points is not None or self.value_names(path, "points"):
            points = np.asarray(self.look(path, "points")[1] if points is None else points, np.float64)
            reach = self.reach(path)
            low, high = (points.min(0) - reach, points.max(0) + reach) if len(points) else np.zeros((2, 3))
            return low, high, np.identity(4)
        cache = UsdGeom.BBoxCache(self.now, [UsdGeom.Tokens.default_, UsdGeom.Tokens.proxy, UsdGeom.Tokens.render])
        box = cache.ComputeUntransformedBound(self.prim(path))
        corners = box.GetRange()
        if corners.IsEmpty():
            return np.zeros(3), np.zeros(3), np.identity(4)
        return np.asarray(corners.GetMin()), np.asarray(corners.GetMax()), np.asarray(box.GetMatrix())

    def is_xformable(self, path: str) -> bool:
        """True if a prim can have a transform."""
        return self.prim(path).IsA(UsdGeom.Xformable)

    def local_to_world(self, path: str, timecode: float | None = None) -> np.ndarray:
        """Transform of a prim to the world, row vectors."""
        time = self.now if timecode is None else Usd.TimeCode(timecode)
        return np.asarray(UsdGeom.XformCache(time).GetLocalToWorldTransform(self.prim(path)))

    def move(self, path: str, local: np.ndarray) -> None:
        """Give a prim this transform to its parent, row vectors, in place of all that it has. Raises GraphError."""
        before = None if (path, _PLACE) in self._written else self._places_until_now(path)
        self.ensure_attribute(path, _PLACE, _MATRIX)
        self.write(path, _PLACE, _MATRIX, local)
        self.write(path, "xformOpOrder", _TOKENS, (_PLACE,))
        if before is not None:
            self._written[path, _PLACE].before = before

    def _places_until_now(self, path: str) -> list[tuple[int, Any]]:
        """Return samples of a prim's transform in the frames before this one: the new order of ops holds there, too."""
        prim = self.prim(path)
        if self.prims.is_new(path):
            return []
        place = UsdGeom.Xformable(prim)
        frames: Sequence[int] = range(self.start, self.frame)
        if not place.TransformMightBeTimeVarying():
            frames = sorted({*frames[:1], *frames[-1:]})
        return [(frame, place.GetLocalTransformation(Usd.TimeCode(frame * self.scale))) for frame in frames]

    def flush(self, output: SampleLayer) -> None:
        """Give what was written in this frame to the output."""
        for path, name in self._dirty:
            self._interpolation.check_written(self.stage.GetPrimAtPath(path), name)
        self.prims.flush(output, self.frame)
        for key in self._dirty:
            written = self._written[key]
            if written.uniform:
                output.set_uniform(*key, written.sdf, written.usd)
                continue
            for frame, value in written.before:
                self._sample(output, key, written, value, frame)
            if written.frame is not None and written.frame < self.frame - 1:
                # USD interpolates between samples: hold the old value up to the frame before this one
                self._sample(output, key, written, written.held, self.frame - 1)
            self._sample(output, key, written, written.usd, self.frame)
            written.before, written.frame = [], self.frame
        for path in dict.fromkeys(path for path, name in self._dirty if name in topology_check.NAMES):
            if self.stage.GetPrimAtPath(path).IsA(UsdGeom.Mesh):
                self._topology.check(path)
        self._followers.follow(output, self._dirty)
        self._dirty.clear()

    def _interpolate(self, path: str, name: str, interpolation: str) -> None:
        type_name = self.stage.GetPrimAtPath(path).GetAttribute(name).GetTypeName()
        self.prims.interpolate(path, name, str(type_name), interpolation)

    def now_or_none(self, path: str, name: str) -> Value:
        """Return the value of an attribute now, None if it has none."""
        try:
            return self.look(path, name)[1]
        except GraphError:
            return None

    def scene_or_none(self, path: str, name: str) -> Value:
        """Return the value without what this play has written, None if it has none."""
        try:
            return value_at(self.attribute(path, name)[0], self.now)
        except GraphError:
            return None

    def _sample(self, output: SampleLayer, key: Key, written: _Written, usd: Any, frame: int) -> None:
        size = written.value.nbytes if isinstance(written.value, np.ndarray) else 64
        output.set(key[0], key[1], written.sdf, usd, frame, size)

    def reach(self, path: str) -> float:
        """Return how far the points of a prim reach: half of the greatest width."""
        try:
            values = self.look(path, "widths")[1] if self.value_names(path, "widths") else ()
        except GraphError as error:
            self.log.error(path, str(error))
            return 0.0
        widths = np.asarray(values)
        return float(np.max(widths[np.isfinite(widths)], initial=0.0)) / 2

    def is_written(self, path: str, name: str) -> bool:
        """True if this play has written an attribute."""
        return (path, name) in self._written

    def is_created(self, path: str) -> bool:
        """True if this play made the prim."""
        return self.prims.is_created(path)

    def prims_written(self) -> list[str]:
        """The attributes and relationships that have results, as paths."""
        return [f"{path}.{name}" for path, name in (*self._written, *self.prims.relations)]
