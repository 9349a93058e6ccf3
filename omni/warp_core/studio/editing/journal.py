"""Unsaved edits on disk: after a crash of the server, the next start offers them.

A journal is a private file of JSON lines: the scene and the SHA-256 of its file, then one patch a line. It is removed
when the edits are saved or given up.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from ... import config
from ...files import make_private, read_private
from .document import Patch

_MOST_BYTES = 1 << 28


@dataclass
class Journal:
    """The journal of a scene. `digest` is that of the file that the edits belong to."""

    scene: str
    digest: str
    _lines: int = field(default=0, init=False)

    @property
    def _name(self) -> str:
        return hashlib.sha256(self.scene.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".jsonl"

    @property
    def _folder(self) -> str | None:
        return os.path.join(config.settings_dir, "studio") if config.settings_dir is not None else None

    def add(self, patch: Patch) -> None:
        """Note an edit. Where there is no place for it, the studio works without."""
        folder = self._folder
        if folder is None:
            return
        with contextlib.suppress(OSError):
            lines: list[dict[str, Any]] = [] if self._lines else [{"scene": self.scene, "digest": self.digest}]
            lines.append({"paths": patch.paths, "text": patch.text})
            make_private(os.path.dirname(folder))
            make_private(folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | (0 if self._lines else os.O_TRUNC)
            descriptor = os.open(os.path.join(folder, self._name), flags, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            self._lines += 1

    def found(self) -> list[Patch]:
        """Return the edits that a killed server left, if they belong to the file as it is."""
        if self._folder is None:
            return []
        try:
            head, *lines = read_private(self._folder, self._name, _MOST_BYTES).decode().splitlines()
            if json.loads(head) != {"scene": self.scene, "digest": self.digest}:
                return []
            return [_patch(line) for line in lines if line.endswith("}")]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def resume(self, count: int) -> None:
        """Go on behind edits that were found and taken."""
        self._lines = count

    def clear(self, digest: str) -> None:
        """Forget the edits: they are saved, or not wanted. `digest` is that of the file now."""
        self.digest, self._lines = digest, 0
        if self._folder is not None:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, self._name))


def _patch(line: str) -> Patch:
    read = json.loads(line)
    return Patch(tuple(map(str, read["paths"])), str(read["text"]))
