"""The scene as the user edits it: the root layer in memory, undo, saving, and the files it was read from.

Results of the graphs never enter it. A step of undo is the spec of each changed node or graph before and after; the
engine and the journal get the same specs, as text. Start with `Document.open` and `edit`.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pxr import Sdf, Tf, Usd

from ...files import require_replaceable
from ...nodes.stock import node_registry
from ...usd.stage import StageError, layer_file, open_stage, quiet, reason
from .editor import EditError, Editor
from .edits import changed_by, is_quiet, run
from .sample_scenes import free_name, new_layer

MOST_STEPS = 1000
MOST_DIFFERENCES = 2000  # lines


@dataclass(frozen=True)
class Patch:
    """New specs of nodes or graphs: their paths, and a layer that holds them as text. What is not in it is removed.

    `is_quiet` tells that nodes and connections are the same as before. `values` are what changed then.
    """

    paths: tuple[str, ...]
    text: str
    is_quiet: bool = False
    values: tuple[tuple[str, Any], ...] = ()


@dataclass
class _Step:
    """One step of undo. Steps with the same `key` that follow one another become one."""

    label: str
    key: str
    before: Sdf.Layer
    after: Sdf.Layer
    paths: tuple[str, ...]


@dataclass
class Document:
    """A scene that is being edited."""

    path: str
    stage: Usd.Stage
    registry: node_registry.Registry = field(default_factory=node_registry.standard)
    revision: int = 0
    is_new: bool = False  # there is no file yet
    _undo: list[_Step] = field(default_factory=list)
    _redo: list[_Step] = field(default_factory=list)
    _ground: object = field(default_factory=object)  # the state before all steps
    _saved: object = None  # the state that the file has
    _stamps: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _commented: tuple[tuple[int, int, int], bool] | None = None  # for the file with this stamp

    def __post_init__(self) -> None:
        self._saved = self._ground

    @classmethod
    def open(cls, path: str) -> Document:
        """Open a scene. Raises StageError."""
        document = cls(os.path.abspath(path), open_stage(path).stage)
        document.stage.SetEditTarget(document.layer)
        document.note_files()
        return document

    @classmethod
    def new(cls, folder: str) -> Document:
        """Make an empty scene for a folder. Its file appears with the first save."""
        path = free_name(folder, "untitled")
        document = cls(path, Usd.Stage.Open(new_layer(path)), is_new=True)
        document.stage.SetEditTarget(document.layer)
        document._stamps = {path: _stamp(path)}
        return document

    def become(self, path: str) -> None:
        """Take another scene in place of this one; undo begins anew. Raises StageError."""
        other = Document.open(path)
        self.path, self.stage, self._stamps, self.is_new = other.path, other.stage, other._stamps, False
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget the steps: the file has what is here."""
        self._undo.clear()
        self._redo.clear()
        self.revision += 1
        self._ground = self._saved = object()

    @property
    def layer(self) -> Sdf.Layer:
        """The layer that edits change."""
        return self.stage.GetRootLayer()

    @property
    def is_edited(self) -> bool:
        """True if there is something to save. Undo can lead back to what was saved."""
        return self.is_new or self._state is not self._saved

    @property
    def _state(self) -> object:
        """What tells the present state from those before and after other steps."""
        return self._undo[-1].after if self._undo else self._ground

    @property
    def undo_label(self) -> str:
        """The name of the step that `undo` takes back, "" at the beginning."""
        return self._undo[-1].label if self._undo else ""

    @property
    def redo_label(self) -> str:
        """The name of the step that `redo` does again, "" at the end."""
        return self._redo[-1].label if self._redo else ""

    # Edits.

    def edit(self, edits: list[dict[str, Any]], label: str, key: str = "") -> Patch:
        """Do some edits as one step. If one of them cannot be done, none is. Raises EditError.

        Steps with the same `key`, such as the letters of a text, are one step of undo.
        """
        found = dict.fromkeys(path for edit in edits for path in changed_by(self.stage, edit))
        paths = tuple(path for path in found if not any(path.startswith(f"{other}/") for other in found))
        before = _copied(self.layer, paths)
        editor = Editor(self.stage, self.registry)
        try:
            with quiet():
                for edit in edits:
                    run(editor, edit)
        except EditError:
            _put(before, self.layer, paths)
            raise
        after = _copied(self.layer, paths)
        last = self._undo[-1] if self._undo else None
        if key and last is not None and last.key == key and last.paths == paths and not self._redo:
            last.after = after
        else:
            self._undo.append(_Step(label, key, before, after, paths))
            if len(self._undo) > MOST_STEPS:
                self._ground = self._undo.pop(0).after
        self._redo.clear()
        self.revision += 1
        return _patch(after, paths, edits)

    def undo(self) -> Patch | None:
        """Take the last step back."""
        return self._move_step(self._undo, self._redo, lambda step: step.before)

    def redo(self) -> Patch | None:
        """Do the last step that was taken back again."""
        return self._move_step(self._redo, self._undo, lambda step: step.after)

    def _move_step(self, source: list[_Step], target: list[_Step], side: Any) -> Patch | None:
        if not source:
            return None
        step = source.pop()
        target.append(step)
        step.key = ""
        layer = side(step)
        _put(layer, self.layer, step.paths)
        self.revision += 1
        return _patch(layer, step.paths, None)

    def apply(self, patch: Patch) -> None:
        """Take specs, as from a journal, as one step. Raises EditError."""
        after = layer_of(patch.text)
        before = _copied(self.layer, patch.paths)
        _put(after, self.layer, patch.paths)
        self._undo.append(_Step("recover", "", before, after, patch.paths))
        self.revision += 1

    # Files.

    def save(self) -> None:
        """Write the root layer. The file appears whole or not at all.

        It keeps its rights, and a file that a link leads to stays where it is.

        Raises:
            EditError: The file cannot be written, or has changed on disk since it was read.
        """
        if self.changed_files():
            raise EditError("the file has changed on disk since it was read; take it or keep yours first")
        layer = Sdf.Layer.CreateAnonymous(Path(self.path).suffix)
        layer.TransferContent(self.layer)
        place = os.path.realpath(self.path)  # a link stays a link
        part = os.path.join(os.path.dirname(place), f".{os.path.basename(place)}.{os.getpid()}.part")
        part += Path(self.path).suffix
        try:
            require_replaceable(place)
            with quiet():
                if not layer.Export(part, args=_format_arguments(self.layer)):
                    raise EditError(f"{self.path} cannot be written")
            if os.path.exists(place):
                shutil.copymode(place, part)
            os.replace(part, place)
        except (Tf.ErrorException, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else reason(error)
            raise EditError(
                f"{self.path} cannot be written: {why}; nothing was lost, and your edits are still here"
            ) from None
        finally:
            Path(part).unlink(missing_ok=True)
        self._saved = self._state
        self.is_new = False
        self.note_files()

    def differences(self) -> list[str]:
        """Return how the edited scene differs from the file on disk: lines of a unified diff. Raises EditError."""
        try:
            with quiet():
                theirs = Sdf.Layer.OpenAsAnonymous(self.path)
        except Tf.ErrorException as error:
            raise EditError(f"the file on disk cannot be read: {reason(error)}") from None
        old, new = (layer.ExportToString().splitlines() for layer in (theirs, self.layer))
        lines = difflib.unified_diff(old, new, "on disk", "here", lineterm="")
        return list(itertools.islice(lines, MOST_DIFFERENCES))

    def has_comments(self) -> bool:
        """True if saving loses comments of the file, which USD does not keep."""
        stamp = self._stamps.get(self.path, (0, 0, 0))
        if self._commented is None or self._commented[0] != stamp:
            self._commented = (stamp, self._find_comments())
        return self._commented[1]

    def _find_comments(self) -> bool:
        if not self.path.endswith(".usda"):
            return False
        try:
            lines = Path(self.path).read_text("utf-8", "replace").splitlines()
        except OSError:
            return False
        is_text = False
        for line in lines[1:]:
            if not is_text and line.lstrip().startswith("#"):
                return True
            is_text ^= (line.count('"""') + line.count("'''")) % 2 == 1
        return False

    def reload(self) -> None:
        """Take the files as they are on disk now; undo begins anew. Raises StageError."""
        with quiet():
            try:
                for layer in self.stage.GetUsedLayers():
                    if not layer.anonymous:
                        layer.Reload(force=True)
            except Tf.ErrorException as error:
                raise StageError(f"{self.path}: not a USD stage that can be read: {reason(error)}") from None
        self._begin_anew()
        self.note_files()

    def note_files(self) -> None:
        """Remember how the files look like on disk."""
        self._stamps = {path: _stamp(path) for path in self._files()}

    def changed_files(self) -> list[str]:
        """Return the files that changed on disk since they were read."""
        return [path for path, stamp in self._stamps.items() if _stamp(path) != stamp]

    def _files(self) -> Iterable[str]:
        return [path for layer in self.stage.GetUsedLayers() if (path := layer_file(layer)) and os.path.isabs(path)]

    def digest(self) -> str:
        """Return the SHA-256 of the file as it is on disk, "" if it cannot be read."""
        try:
            return hashlib.sha256(Path(self.path).read_bytes()).hexdigest()
        except OSError:
            return ""


def layer_of(text: str) -> Sdf.Layer:
    """Return a layer in memory. Raises EditError for a text that USD cannot read."""
    layer = Sdf.Layer.CreateAnonymous(".usda")
    try:
        with quiet():
            if layer.ImportFromString(text):
                return layer
    except Tf.ErrorException:
        pass
    raise EditError("the text is no layer of USD")


def put(patch: Patch, layer: Sdf.Layer) -> None:
    """Give a layer the specs of a patch."""
    _put(layer_of(patch.text), layer, patch.paths)


def _copied(layer: Sdf.Layer, paths: Iterable[str]) -> Sdf.Layer:
    copy = Sdf.Layer.CreateAnonymous(".usda")
    _put(layer, copy, paths)
    return copy


def _put(source: Sdf.Layer, target: Sdf.Layer, paths: Iterable[str]) -> None:
    """Make the specs at some paths of a layer those of another one."""
    with Sdf.ChangeBlock():
        for path in paths:
            if source.GetPrimAtPath(path) is not None:
                present = Sdf.CreatePrimInLayer(target, path)
                for name in list(present.nameChildren.keys()):  # copies of children take the order of the source
                    del present.nameChildren[name]
                Sdf.CopySpec(source, path, target, path)
            elif (spec := target.GetPrimAtPath(path)) is not None:
                owner = spec.nameParent or target
                children = owner.nameChildren if spec.nameParent else target.rootPrims
                del children[spec.name]


def _patch(layer: Sdf.Layer, paths: tuple[str, ...], edits: list[dict[str, Any]] | None) -> Patch:
    if edits is None or not all(map(is_quiet, edits)):
        return Patch(paths, layer.ExportToString())
    values = tuple((e["path"], e["value"]) for e in edits if e["do"] == "set")
    return Patch(paths, layer.ExportToString(), True, values)


def _format_arguments(layer: Sdf.Layer) -> dict[str, str]:
    """Keep a `.usd` file text or binary, as it is."""
    if not layer.identifier.endswith(".usd"):
        return {}
    with open(layer_file(layer), "rb") as file:
        return {"format": "usdc" if file.read(8) == b"PXR-USDC" else "usda"}


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return status.st_mtime_ns, status.st_size, status.st_ino
