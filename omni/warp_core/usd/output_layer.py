"""The layer a play writes: time samples over the scene, in a new file that appears whole or not at all.

The samples go into a file in a private folder beside the target (`files.Unfinished`), with the temporary files that USD
makes there; `commit` renames it. So do files that belong to samples, such as volumes and textures. The new layer has
the scene as its sublayer and repeats the scene's stage metadata, which USD only reads from the root layer.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from pxr import Sdf, Tf, Usd, UsdUtils

from ..files import Unfinished
from .stage import layer_file, quiet, reason

FORMATS = (".usdc", ".usda", ".usd")
FLUSH_BYTES = 256 << 20  # samples are moved from memory to the unfinished file whenever this much has gathered
_NOT_COPIED = {"subLayers", "subLayerOffsets", "primChildren", "owner", "sessionOwner", "startTimeCode", "endTimeCode"}


class OutputError(Exception):
    """A result that cannot be written: where and why."""


def check_target(path: str, stage: Usd.Stage) -> None:
    """Refuse a target that cannot work, before anything is computed. Raises OutputError."""
    require_writable(path)
    require_apart(path, stage)


def require_apart(path: str, stage: Usd.Stage) -> None:
    """Raise OutputError for a file that the stage consists of."""
    real = os.path.realpath(path)
    for layer in stage.GetUsedLayers():
        if layer_file(layer) and os.path.realpath(layer_file(layer)) == real:
            raise OutputError(f"{path}: is part of the scene, which is never changed; choose another name")


def require_writable(path: str) -> None:
    """Raise OutputError for a file that USD cannot write: by its name, or by its folder."""
    if os.path.splitext(path)[1].lower() not in FORMATS:
        raise OutputError(f"{path}: the name of the result must end in .usdc, .usda or .usd")
    folder = require_folder(path)
    if not _is_utf8(folder):
        raise OutputError(f"{path}: USD writes only to folders whose path is text in UTF-8; choose another one")


def require_folder(path: str) -> str:
    """Return the folder of a file that is to be written. Raises OutputError where none can be written there."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise OutputError(f"{path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise OutputError(f"{path}: is a folder")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the folder {folder} cannot be written to")
    return folder


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def write_errors(path: str) -> Iterator[None]:
    """Turn errors of USD and the system into OutputError."""
    try:
        with quiet():  # USD warns where it writes a newer version of its format
            yield
    except (Tf.ErrorException, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else reason(error)
        where = getattr(error, "filename2", None) or path  # the place of a file that belongs to the result
        raise OutputError(f"{where}: cannot be written: {why}") from None


class FrameFile(NamedTuple):
    """A file that asset attributes name in one frame.

    Attributes:
        name: goes into the name of the file.
        places: the attributes, as (prim, attribute).
        frame: the frame.
        extension: of the file, with its dot.
        write: makes the file at a path.
    """

    name: str
    places: tuple[tuple[str, str], ...]
    frame: int
    extension: str
    write: Callable[[str], None]


class SampleLayer:
    """Prims and time samples of attributes in a layer; this one is in memory.

    `frame` is that of the changes which come next, `first` the first one of the play.
    """

    def __init__(self) -> None:
        self._layer = Sdf.Layer.CreateAnonymous(".usdc")
        self._attributes: set[Sdf.Path] = set()
        self._prims: dict[str, str] = {}
        self._relations: dict[tuple[str, str], Sequence[str]] = {}
        self._unapplied: dict[str, str] = {}
        self._files: list[FrameFile] = []
        self.samples = 0
        self.first: float | None = None
        self.frame = 0.0

    def at(self, frame: float) -> None:
        """Let the changes that come next belong to a frame."""
        self.frame = frame
        self.first = frame if self.first is None else self.first

    def define(self, prim: str, type_name: str) -> None:
        """Make a prim exist in the result, of a type."""
        spec = Sdf.CreatePrimInLayer(self._layer, prim)
        spec.specifier, spec.typeName = Sdf.SpecifierDef, type_name
        self._prims[prim] = type_name

    def declare(self, prim: str, name: str, type_name: str, uniform: bool = False, interpolation: str = "") -> Sdf.Path:
        """Make an attribute exist in the result; return its path."""
        path = Sdf.Path(prim).AppendProperty(name)
        if path not in self._attributes:
            spec = Sdf.CreatePrimInLayer(self._layer, path.GetPrimPath())
            variability = Sdf.VariabilityUniform if uniform else Sdf.VariabilityVarying
            if name not in spec.attributes:
                Sdf.AttributeSpec(spec, name, Sdf.ValueTypeNames.Find(type_name), variability)
            self._attributes.add(path)
        if interpolation:
            self._layer.GetAttributeAtPath(path).SetInfo("interpolation", interpolation)
        return path

    def show(self, prim: str, visible: bool) -> None:
        """Let a prim begin or end at the current frame: it is invisible before or after."""
        if self.first is None or self.frame <= self.first:
            return
        path = Sdf.Path(prim).AppendProperty("visibility")
        states = ("invisible", "inherited")
        if path not in self._attributes:
            self.set(prim, "visibility", "token", states[not visible], self.first)
        self.set(prim, "visibility", "token", states[visible], self.frame)

    def block(self, prim: str, name: str) -> None:
        """Let an attribute have no value from the current frame on."""
        path = Sdf.Path(prim).AppendProperty(name)
        if path in self._attributes:
            self._layer.SetTimeSample(path, self.frame, Sdf.ValueBlock())

    def set_uniform(self, prim: str, name: str, type_name: str, value: Any) -> None:
        """Store a value that cannot change with time."""
        self._layer.GetAttributeAtPath(self.declare(prim, name, type_name, uniform=True)).default = value

    def set(self, prim: str, name: str, type_name: str, value: Any, time: float, size: int = 64) -> None:
        """Store one time sample; `size` is about its bytes."""
        self._layer.SetTimeSample(self.declare(prim, name, type_name), time, value)
        self.samples += 1

    def derive(self, prim: str, name: str, type_name: str, value: Any, time: float) -> None:
        """Store a time sample that follows from another one, and so does not count as a result."""
        self.set(prim, name, type_name, value, time)
        self.samples -= 1

    def relate(self, prim: str, name: str, targets: Sequence[str]) -> None:
        """Store the targets of a relationship of a prim."""
        spec = Sdf.CreatePrimInLayer(self._layer, prim)
        if name not in spec.relationships:
            Sdf.RelationshipSpec(spec, name, False)
        spec.relationships[name].targetPathList.explicitItems = [Sdf.Path(target) for target in targets]
        self._relations[prim, name] = targets

    def unapply(self, prim: str, schema: str) -> None:
        """Take an API schema off a prim, at all times."""
        spec, removed = Sdf.CreatePrimInLayer(self._layer, prim), Sdf.TokenListOp()
        removed.deletedItems = [schema]
        spec.SetInfo("apiSchemas", removed)
        self._unapplied[prim] = schema

    def attach(self, file: FrameFile) -> None:
        """Store a file as the time sample of asset attributes. Layers that have a place for files write it."""
        self._files.append(file)

    def name_file(self, file: FrameFile, path: str) -> None:
        """Let the attributes of a file name the path where it is."""
        for prim, attribute in file.places:
            self.set(prim, attribute, "asset", Sdf.AssetPath(path), file.frame)

    def copy_to(self, other: SampleLayer) -> None:
        """Store all prims, values, samples, files and schemas taken off in another layer too."""
        for prim, type_name in self._prims.items():
            other.define(prim, type_name)
        for (prim, name), targets in self._relations.items():
            other.relate(prim, name, targets)
        for prim, schema in self._unapplied.items():
            other.unapply(prim, schema)
        for file in self._files:
            other.attach(file)
        for path in self._attributes:
            spec = self._layer.GetAttributeAtPath(path)
            place = (str(path.GetPrimPath()), path.name, str(spec.typeName))
            uniform = spec.variability == Sdf.VariabilityUniform
            other.declare(*place, uniform, spec.GetInfo("interpolation") if spec.HasInfo("interpolation") else "")
            if spec.HasDefaultValue():
                other.set_uniform(*place, spec.default)
            for time in self._layer.ListTimeSamplesForPath(path):
                other.set(*place, self._layer.QueryTimeSample(path, time), time)


class OutputLayer(SampleLayer):
    """Time samples in the making. A context manager: leaving it without `commit` leaves nothing behind."""

    _unfinished: Unfinished

    def __init__(self, path: str, stage: Usd.Stage, start: int, end: int, fps: float):
        super().__init__()
        check_target(path, stage)
        self.path = os.path.abspath(path)
        self.first = self.frame = start
        self._pending = 0
        self.files: list[str] = []  # beside the result
        self._owners: dict[str, tuple[tuple[str, str], ...]] = {}  # names in files, and the attributes that name these
        self._stage, self._range, self._fps = stage, (start, end), fps

    def _describe(self) -> None:
        source = self._stage.GetRootLayer()
        for key in source.pseudoRoot.ListInfoKeys():
            if key not in _NOT_COPIED:
                self._layer.pseudoRoot.SetInfo(key, source.pseudoRoot.GetInfo(key))
        scene = layer_file(source)
        if not scene:  # a stage in memory, which no sublayer can name
            self._layer.TransferContent(self._stage.Flatten())
        else:
            self._layer.subLayerPaths = [self._reference(scene)]
        self._layer.startTimeCode, self._layer.endTimeCode = self._range
        self._layer.timeCodesPerSecond = self._layer.framesPerSecond = self._fps

    def _reference(self, scene: str) -> str:
        folder = os.path.dirname(self.path)
        same_drive = os.path.splitdrive(scene)[0] == os.path.splitdrive(folder)[0]
        relative = os.path.relpath(scene, folder).replace(os.sep, "/") if same_drive else scene
        return relative if relative.startswith("..") or not same_drive else f"./{relative}"

    def __enter__(self) -> OutputLayer:
        with write_errors(self.path), contextlib.ExitStack() as undo:
            self._unfinished = undo.enter_context(Unfinished(self.path))
            self._layer = Sdf.Layer.CreateNew(self._unfinished.path)
            self._describe()
            undo.pop_all()
        return self

    def __exit__(self, *details: object) -> None:
        self._unfinished.discard()

    def attach(self, file: FrameFile) -> None:
        """Write a file beside the result, `<result>.<name>.<frame><extension>`, and name it. Raises OutputError."""
        stem = os.path.splitext(os.path.basename(self.path))[0]
        name = f"{stem}.{self._unique(file.name, file.places)}.{file.frame:04d}{file.extension}"
        target = os.path.join(os.path.dirname(self.path), name)
        with write_errors(target):
            file.write(self._unfinished.beside(name))
        if target not in self.files[-1:]:
            self.files.append(target)
        self.name_file(file, f"./{name}")

    def _unique(self, name: str, places: tuple[tuple[str, str], ...]) -> str:
        """Return a name for the files of some attributes: /A/B_C and /A_B/C have the same one."""
        number = 1
        while self._owners.setdefault(name if number == 1 else f"{name}_{number}", places) != places:
            number += 1
        return name if number == 1 else f"{name}_{number}"

    def set(self, prim: str, name: str, type_name: str, value: Any, time: float, size: int = 64) -> None:
        """Store one time sample; `size` is about its bytes. Raises OutputError when the disk does not take it."""
        super().set(prim, name, type_name, value, time, size)
        self._pending += size
        if self._pending > FLUSH_BYTES:
            self._save()

    def _save(self) -> None:
        self._pending = 0
        with write_errors(self.path):
            saved = self._layer.Save()
        if not saved:
            raise OutputError(f"{self.path}: cannot be written")

    def commit(self) -> None:
        """Put the result in its place. Raises OutputError."""
        self._save()
        self._require_outside_scene()
        with write_errors(self.path):
            self._unfinished.commit()

    def _require_outside_scene(self) -> None:
        """Raise OutputError if a file of the result would replace one that the scene names."""
        present = [file for file in self.files if os.path.exists(file)]
        scene = layer_file(self._stage.GetRootLayer())
        if not (present and scene):
            return
        with write_errors(self.path), quiet():
            _, assets, _ = UsdUtils.ComputeAllDependencies(scene)
        parts = {os.path.realpath(asset) for asset in assets}
        if part := next((file for file in present if os.path.realpath(file) in parts), None):
            raise OutputError(f"{part}: is part of the scene, which is never changed; give the result another name")
