"""A check of how values that a play writes go with the elements of their prim: all, points, corners or faces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pxr import Usd

from ..values.bundles import indices_of

_FALLBACKS = {"normals": "vertex", "widths": "vertex"}  # what USD takes where the scene does not say; else constant
_SHOWN = ("primvars:displayColor", "primvars:displayOpacity")  # others may hold one array for the whole prim
_COUNTED = {  # by prim type: the interpolations with the attribute that has one value for each element
    "Mesh": {"vertex": "points", "faceVarying": "faceVertexIndices", "uniform": "faceVertexCounts"},
    "Points": {"vertex": "points"},
    "BasisCurves": {"vertex": "points", "uniform": "curveVertexCounts"},
}


class InterpolationCheck:
    """Gives an interpolation to primvars without one, and warns once for each whose number of values does not fit.

    `read` gives the value of an attribute of a prim at the current frame, None if it has none. `settle` gives an
    interpolation to an attribute of the result.
    """

    def __init__(
        self,
        read: Callable[[str, str], Any],
        settle: Callable[[str, str, str], None],
        warn: Callable[[str, str], None],
    ):
        self._read, self._settle, self._warn = read, settle, warn
        self._seen: dict[tuple[str, str], tuple[int, dict[str, int]]] = {}
        self._told: set[tuple[str, str]] = set()
        self._elements: dict[tuple[str, str], int] = {}  # how many points, corners or faces there were last

    def check_written(self, prim: Usd.Prim, name: str) -> None:
        """Check a written attribute, and where it changes the number of elements, all that go with elements."""
        if self.concerns(name):
            self.check(prim, name)
        path = prim.GetPath().pathString
        if name not in _COUNTED.get(prim.GetTypeName(), {}).values():
            return
        count = self._length(path, name)
        if self._elements.get((path, name)) != count:
            self._elements[path, name] = count
            for attribute in prim.GetAuthoredAttributes():
                if self.concerns(attribute.GetName()):
                    self.check(prim, attribute.GetName())

    @staticmethod
    def concerns(name: str) -> bool:
        """True if the values of an attribute of this name go with elements of the prim."""
        return name in _FALLBACKS or (name.startswith("primvars:") and name.count(":") == 1)

    def check(self, prim: Usd.Prim, name: str) -> None:
        """Compare the number of values of an attribute with the elements of its prim."""
        path, counted = prim.GetPath().pathString, _COUNTED.get(prim.GetTypeName())
        values = self._read(path, name)
        if counted is None or (not isinstance(values, tuple) and not getattr(values, "shape", ())):
            return
        indices = self._read(path, indices_of(name))
        size = len(values) if indices is None else len(indices)
        counts = {"constant": 1} | {key: self._length(path, source) for key, source in counted.items()}
        if size and self._seen.get((path, name)) != (size, counts):
            self._seen[path, name] = size, counts
            self._compare(prim.GetAttribute(name), size, counts)

    def _length(self, path: str, name: str) -> int:
        values = self._read(path, name)
        return 0 if values is None else len(values)

    def _compare(self, attribute: Usd.Attribute, size: int, counts: dict[str, int]) -> None:
        path, name = attribute.GetPrim().GetPath().pathString, attribute.GetName()
        said = attribute.GetMetadata("interpolation")
        assumed = said or _FALLBACKS.get(name, "constant")
        expected = counts.get("vertex" if assumed == "varying" else assumed)
        if attribute.GetMetadata("elementSize") not in (None, 1) or expected is None or size == expected:
            return
        meant = next((key for key, count in counts.items() if count == size), None)
        if not said and meant:
            self._settle(path, name, meant)
        elif (path, name) not in self._told and (meant or assumed != "constant" or name in _SHOWN):
            self._told.add((path, name))
            hint = f'; {size} values are interpolation = "{meant}"' if meant else ""
            text = f"has {size} values, but its interpolation {assumed} goes with {expected}{hint}"
            self._warn(f"{path}.{name}", text)
