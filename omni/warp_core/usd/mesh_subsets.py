"""Subsets of meshes: the `GeomSubset` prims below a mesh, which give parts of it a name and a material.

Start with `read_subsets` and `write_subsets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdShade

import omni.warp_core as wp

from ..logger import warn
from .authoring import host_values, set_held
from .element_types import to_array
from .prim_access import numbers, text_of
from .stage import StageError

_FACE, _POINT, _EDGE = "face", "point", "edge"
_FOR_MATERIALS = "materialBind"


@dataclass(frozen=True, eq=False)
class MeshSubset:
    """A part of a mesh as `read_mesh` returns it.

    Attributes:
        elements: What the part consists of: "face", "point" or "edge".
        indices: `wp.array` of int: for "face" the triangles of the faces, in their order; for "point" the points; for
            "edge" two points for each edge.
        family: The family of subsets that it belongs to, such as "materialBind"; "" for none.
        material: Path of the material that is bound to the subset itself, "" without one.
    """

    elements: str
    indices: wp.array
    family: str
    material: str


def read_subsets(
    mesh: UsdGeom.Mesh, time: Usd.TimeCode, points: int, faces: int, triangles: np.ndarray, device: Any
) -> dict[str, MeshSubset]:
    """Return the subsets of a mesh by the names of their prims, and warn about those that do not fit the mesh.

    Args:
        mesh: The mesh, with so many `points` and `faces`.
        time: The time code to read.
        points: How many points the mesh has.
        faces: How many faces the mesh has.
        triangles: The face of each triangle.
        device: Device of the arrays.
    """
    found = {}
    for prim in mesh.GetPrim().GetFilteredChildren(Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Subset):
            continue
        try:
            found[prim.GetName()] = _read(UsdGeom.Subset(prim), time, points, faces, triangles, device)
        except StageError as error:
            warn(f"{error}; the mesh is read without this subset", stacklevel=3)
    return found


def _read(
    subset: UsdGeom.Subset, time: Usd.TimeCode, points: int, faces: int, triangles: np.ndarray, device: Any
) -> MeshSubset:
    attribute, elements = subset.GetIndicesAttr(), text_of(subset.GetElementTypeAttr(), time)
    sizes = {_FACE: (faces, "faces"), _POINT: (points, "points"), _EDGE: (points, "points")}
    if elements not in sizes:
        raise StageError(f"{subset.GetPath()} is a subset of elements {elements!r}, which meshes do not have")
    size, what = sizes[elements]
    indices = numbers(attribute, time, np.int32)
    wrong = np.flatnonzero((indices < 0) | (indices >= size))
    if len(wrong):
        raise StageError(f"{attribute.GetPath()}[{wrong[0]}] is {indices[wrong[0]]}, and the mesh has {size} {what}")
    if elements == _EDGE and len(indices) % 2:
        raise StageError(f"{attribute.GetPath()} has {len(indices)} points, and edges have two each")
    if elements == _FACE:
        is_chosen = np.zeros(faces, bool)
        is_chosen[indices] = True
        indices = np.flatnonzero(is_chosen[triangles]).astype(np.int32)
    bound = UsdShade.MaterialBindingAPI(subset.GetPrim()).GetDirectBinding().GetMaterialPath()
    family = str(subset.GetFamilyNameAttr().Get() or "")
    return MeshSubset(elements, to_array(indices, "int[]", device), family, str(bound) if bound else "")


def checked_subsets(subsets: Mapping[str, Any] | None, faces: int, points: int) -> dict[str, tuple[MeshSubset, Any]]:
    """Return subsets that a caller gave for a mesh, each with its indices as NumPy has them.

    Raises:
        ValueError: A name cannot be one of a prim, or an index has no element.
    """
    found = {}
    for name, given in (subsets or {}).items():
        if not Sdf.Path.IsValidIdentifier(name):
            raise ValueError(f"subsets: {name!r} is not a name for a prim: letters, digits and _ only")
        subset = given if isinstance(given, MeshSubset) else MeshSubset(_FACE, given, _FOR_MATERIALS, "")
        indices = host_values(subset.indices, f"subsets[{name!r}]", np.int32).reshape(-1)
        size, what = (faces, "faces") if subset.elements == _FACE else (points, "points")
        wrong = np.flatnonzero((indices < 0) | (indices >= size))
        if len(wrong):
            raise ValueError(f"subsets[{name!r}][{wrong[0]}] is {indices[wrong[0]]}, and there are {size} {what}")
        found[name] = subset, indices
    return found


def write_subsets(mesh: UsdGeom.Mesh, subsets: Mapping[str, tuple[MeshSubset, Any]], time: Usd.TimeCode) -> None:
    """Write checked subsets of a mesh, where they differ from those of the time before."""
    for name, (subset, indices) in subsets.items():
        prim = UsdGeom.Subset.Define(mesh.GetPrim().GetStage(), mesh.GetPath().AppendChild(name))
        prim.CreateElementTypeAttr(subset.elements)
        if subset.family:
            prim.CreateFamilyNameAttr(subset.family)
        set_held(prim.CreateIndicesAttr(), indices, time, mesh.GetPointsAttr())
        if subset.material:
            binding = UsdShade.MaterialBindingAPI.Apply(prim.GetPrim())
            binding.GetDirectBindingRel().SetTargets([Sdf.Path(subset.material)])
