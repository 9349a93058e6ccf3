"""A check of what a play writes to meshes: points and faces must fit each other, or nothing can draw the mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_POINTS, _INDICES = "points", "faceVertexIndices"
NAMES = (_POINTS, _INDICES)


class TopologyCheck:
    """Warns once for each mesh whose faces use points that do not exist, or fewer than there are.

    `read` gives the value of an attribute of a prim at the current frame, None if it has none. `read_scene` gives the
    value without what this play has written: a mesh may have unused points from the beginning.
    """

    def __init__(
        self, read: Callable[[str, str], Any], read_scene: Callable[[str, str], Any], warn: Callable[[str, str], None]
    ):
        self._read, self._read_scene, self._warn = read, read_scene, warn
        self._told: set[str] = set()
        self._highest: dict[str, tuple[Any, int]] = {}  # path -> indices and the number of points they need

    def check(self, path: str) -> None:
        """Compare the number of points of the mesh at `path` with its highest index."""
        if path in self._told:
            return
        points, indices = self._read(path, _POINTS), self._read(path, _INDICES)
        if points is None or indices is None or not len(indices):
            return
        count, needed = len(points), self._needed(path, indices)
        if count < needed or (count > needed and count != self._count_in_scene(path)):
            self._told.add(path)
            use = f"use {needed}" if count < needed else f"use the first {needed} only"
            text = f"has {count} points, but its faces ({_INDICES}) {use}; write {needed} points, or the faces too"
            self._warn(f"{path}.{_POINTS}", text)

    def _needed(self, path: str, indices: Any) -> int:
        known = self._highest.get(path)
        if known is None or known[0] is not indices:
            known = self._highest[path] = indices, int(np.max(indices)) + 1
        return known[1]

    def _count_in_scene(self, path: str) -> int:
        points = self._read_scene(path, _POINTS)
        return -1 if points is None else len(points)
