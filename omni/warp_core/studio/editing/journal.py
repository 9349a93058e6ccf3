"""Unsaved edits on disk: after a crash of the server, the next start offers them.

A journal is a private file of JSON lines: the scene and the SHA-256 of its file, then one patch a line. It is emptied
when the edits are saved or given up. Each studio that has a scene open locks a journal of its own, so that none offers
or overwrites the edits of another one that runs. Start with `Journal.open`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from ... import config
from ...files import make_private, read_private
from .document import Patch

_MOST_BYTES = 1 << 28
_MOST = 16  # journals of one scene
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW


@dataclass
class Journal:
    """The journal of a scene. `digest` is that of the file that the edits belong to.

    `number` tells the journals of one scene apart. `others` is true if another studio had the scene open, and `is_old`
    if the file has changed since the edits that `found` returned.
    """

    scene: str
    digest: str
    number: int = 0
    others: bool = False
    is_old: bool = field(default=False, init=False)
    _file: int | None = None
    _lines: int = field(default=0, init=False)

    @classmethod
    def open(cls, scene: str, digest: str) -> Journal:
        """Lock a journal that no other studio holds: one with edits of a killed server if there is one.

        Where there is no place for it, the studio works without.
        """
        free: list[Journal] = []
        others = False
        with contextlib.suppress(OSError):
            for number in range(_MOST):
                journal = cls(scene, digest, number)
                if journal._lock():
                    free.append(journal)
                    if not os.path.exists(journal._path(number + 1)):
                        break
                else:
                    others = True
        chosen = next((journal for journal in free if journal.found()), free[0] if free else cls(scene, digest))
        for journal in free:
            if journal is not chosen:
                journal.close()
        chosen.others = others
        return chosen

    def _path(self, number: int) -> str:
        scene = hashlib.sha256(self.scene.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return os.path.join(_folder() or "", f"{scene}{f'.{number}' if number else ''}.jsonl")

    def _lock(self) -> bool:
        """Hold the file of the journal; False if another studio does. Raises OSError."""
        folder = _folder()
        if folder is None:
            return True
        make_private(os.path.dirname(folder))
        make_private(folder)
        path = self._path(self.number)
        while True:
            file = os.open(path, _FLAGS, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                return False
            if os.fstat(file).st_nlink:
                self._file = file
                return True
            os.close(file)  # the studio that held it has removed it in this moment

    def add(self, patch: Patch) -> None:
        """Note an edit."""
        if self._file is None:
            return
        lines: list[dict[str, Any]] = [] if self._lines else [{"scene": self.scene, "digest": self.digest}]
        lines.append({"paths": patch.paths, "text": patch.text})
        with contextlib.suppress(OSError):
            if not self._lines:
                os.ftruncate(self._file, 0)
            with open(self._file, "a", encoding="utf-8", closefd=False) as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            self._lines += 1

    def found(self) -> list[Patch]:
        """Return the edits that a killed server left."""
        folder = _folder()
        if folder is None or self._file is None:
            return []
        try:
            name = os.path.basename(self._path(self.number))
            head, *lines = read_private(folder, name, _MOST_BYTES).decode().splitlines()
            read = json.loads(head)
            if read["scene"] != self.scene:
                return []
            self.is_old = read["digest"] != self.digest
            return [_patch(line) for line in lines if line.endswith("}")]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def clear(self, digest: str) -> None:
        """Forget the edits: they are saved, or not wanted. `digest` is that of the file now."""
        self.digest, self._lines = digest, 0
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Release the journal. Its edits stay for the next start."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            if not os.fstat(self._file).st_size:
                os.unlink(self._path(self.number))
        os.close(self._file)
        self._file = None


def _folder() -> str | None:
    return os.path.join(config.settings_dir, "studio") if config.settings_dir is not None else None


def _patch(line: str) -> Patch:
    read = json.loads(line)
    return Patch(tuple(map(str, read["paths"])), str(read["text"]))
