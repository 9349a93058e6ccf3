"""Adaptive sparse grids from fields that say how fine they are, and from grids of several sizes.

Cells are lower corners in voxels of the smallest size, and levels. Start with `adaptive_nanogrid_from_field`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import vec3i
from ..arrays.array import array
from ..arrays.factories import empty
from ..lang.values.scalars import uint8
from ..volumes.volume import Volume
from .domains.domains import Cells
from .field_operators import lookup
from .geometries.adaptive_grid import AdaptiveNanogrid
from .geometries.lattice_numbers import Lattice, Places
from .geometries.sparse_grid import placement_of, voxels_of
from .integrands import Domain, Field, Sample, integrand
from .interpolation import interpolate
from .kernel_records import matrix_type, vector_type
from .spaces.fields import GeometryField

__all__ = ["adaptive_nanogrid_from_field", "adaptive_nanogrid_from_hierarchy"]

_GRADINGS = (None, "face", "vertex")


def adaptive_nanogrid_from_hierarchy(
    grids: Sequence[Volume], grading: str | None = None, temporary_store: Any = None
) -> AdaptiveNanogrid:
    """Return the adaptive grid of grids of several voxel sizes.

    Args:
        grids: Volumes, the finest first; each has voxels of twice the width of the one before. A voxel that is filled
            by finer ones is left out.
        grading: "face" halves cells until those that share a side differ by one level at most, "vertex" until those
            that share a vertex do. None leaves cells as they are.
        temporary_store: Without effect.

    Raises:
        ValueError: There are no volumes, or finer voxels fill a part of a voxel.

    >>> fine = wp.Volume.allocate_by_voxels(wp.array([(0, 0, 0)], dtype=wp.vec3i), voxel_size=0.5)
    >>> coarse = wp.Volume.allocate_by_voxels(wp.array([(1, 0, 0), (2, 0, 0)], dtype=wp.vec3i), voxel_size=1.0)
    >>> wp.fem.adaptive_nanogrid_from_hierarchy([fine, coarse]).cell_count()
    3
    """
    grids = list(grids)
    if not grids or not all(isinstance(g, Volume) for g in grids):
        raise ValueError("adaptive_nanogrid_from_hierarchy: grids: expected a list of volumes, the finest first")
    _check_grading("adaptive_nanogrid_from_hierarchy", grading)
    parts = [voxels_of(grid).astype(np.int64) << level for level, grid in enumerate(grids)]
    corners, levels = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    corners, levels = _graded(*_without_filled(corners, levels), grading)
    return _grid(corners, levels, len(grids), *placement_of(grids[0]), grids[0].device)


def adaptive_nanogrid_from_field(
    coarse_grid: Volume,
    level_count: int,
    refinement_field: GeometryField,
    samples_per_voxel: int = 64,
    grading: str | None = None,
    temporary_store: Any = None,
) -> AdaptiveNanogrid:
    """Return an adaptive grid that is as fine as a field says.

    Args:
        coarse_grid: The volume whose voxels are the cells of the highest level. Nothing is added beyond them.
        level_count: Number of levels. Those of level 0 are `2**(level_count - 1)` times as fine as `coarse_grid`.
        refinement_field: A field of numbers, from 0 where cells are to be of level 0 to 1 where they may be of the
            highest one. A cell is halved if its level is above `level_count` times the least value in it. It is left
            out if all values in it are negative. Meshes need `build_bvh=True`.
        samples_per_voxel: At how many points of a cell the field is evaluated.
        grading: "face" halves cells until those that share a side differ by one level at most, "vertex" until those
            that share a vertex do. None leaves cells as they are.
        temporary_store: Without effect.

    Raises:
        ValueError: No cell is left.

    >>> import omni.warp_core.fem as fem
    >>> @wp.func
    ... def distance(x: wp.vec3):
    ...     return wp.abs(wp.length(x) - 2.0)
    >>> voxels = wp.array([(i, j, k) for i in range(4) for j in range(4) for k in range(4)], dtype=wp.vec3i)
    >>> coarse = wp.Volume.allocate_by_voxels(voxels, voxel_size=1.0)
    >>> field = fem.ImplicitField(fem.Cells(fem.Nanogrid(coarse)), distance)
    >>> fem.adaptive_nanogrid_from_field(coarse, 3, field).level_count
    3
    """
    name = "adaptive_nanogrid_from_field"
    if not isinstance(coarse_grid, Volume) or not isinstance(refinement_field, GeometryField):
        got = f"{type(coarse_grid).__name__} and {type(refinement_field).__name__}"
        raise TypeError(f"{name}: expected a volume and a field such as fem.ImplicitField, got {got}")
    if not 1 <= level_count <= 31:
        raise ValueError(f"{name}: level_count={level_count}: expected 1 or more levels, at most 31")
    _check_grading(name, grading)
    frame, middle = placement_of(coarse_grid)
    fine = frame / (1 << (level_count - 1))
    origin = middle - frame @ np.full(3, 0.5)  # the corner of voxel 0, of both sizes
    corners, done = voxels_of(coarse_grid).astype(np.int64) << (level_count - 1), []
    for level in reversed(range(level_count)):
        least = _least_values(refinement_field, corners, 1 << level, _points(samples_per_voxel), fine, origin)
        corners, least = corners[least >= 0.0], least[least >= 0.0]
        is_split = (np.floor(least * level_count) < level) & (level > 0)
        done.append((corners[~is_split], np.full((~is_split).sum(), level)))
        corners = _split(corners[is_split], level)
    parts = [np.concatenate(column) for column in zip(*done)]
    if not len(parts[0]):
        raise ValueError(f"{name}: no cell is left, as the field is negative everywhere")
    return _grid(
        *_graded(parts[0], parts[1], grading), level_count, fine, origin + fine @ np.full(3, 0.5), coarse_grid.device
    )


def _check_grading(name: str, grading: Any) -> None:
    if grading not in _GRADINGS:
        raise ValueError(f"{name}: grading={grading!r}: expected None, 'face' or 'vertex'")


def _grid(
    corners: np.ndarray, levels: np.ndarray, level_count: int, frame: np.ndarray, middle: np.ndarray, device: Any
) -> AdaptiveNanogrid:
    """The geometry of cells, given where voxels of the smallest size are."""
    points = array(corners.astype(np.int32), dtype=vec3i, device=device)
    volume = Volume.allocate_by_voxels(points, transform=frame, translation=middle, device=device)
    places = Places(Lattice.around(corners), corners).find(voxels_of(volume))
    return AdaptiveNanogrid(volume, array(levels[places], dtype=uint8, device=device), level_count)


# -- cells ----------------------------------------------------------------------------------------------------------


def _split(corners: np.ndarray, level: int) -> np.ndarray:
    """The eight halves of cells of a level."""
    offsets = np.array(list(itertools.product((0, 1), repeat=3))) << max(level - 1, 0)
    return (corners[:, None] + offsets).reshape(-1, 3)


def _without_filled(corners: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cells that smaller ones leave empty. Raises ValueError for a cell of which they fill a part."""
    kept, lattice = np.ones(len(corners), dtype=bool), Lattice.around(corners)
    for level in np.unique(levels):
        large, small = np.flatnonzero(levels == level), np.flatnonzero((levels < level) & kept)
        found = Places(lattice, corners[large]).find((corners[small] >> level) << level)
        volumes = np.bincount(found[found >= 0], 8.0 ** levels[small[found >= 0]], minlength=len(large))
        kept[large] = volumes == 0.0
        partly = large[(volumes > 0.0) & (volumes < 8.0**level)]
        if len(partly):
            voxel = (corners[partly[0]] >> level).tolist()
            raise ValueError(
                f"adaptive_nanogrid_from_hierarchy: finer voxels fill a part of voxel {voxel} of grids[{level}]; take "
                "this one out, and add the rest of it to the finer grid"
            )
    return corners[kept], levels[kept]


def _graded(corners: np.ndarray, levels: np.ndarray, grading: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Cells of which neighbours differ by one level at most."""
    if grading is None:
        return corners, levels
    ways = [np.array(d) for d in itertools.product((-1, 0, 1), repeat=3) if any(d)]
    if grading == "face":
        ways = [d for d in ways if np.abs(d).sum() == 1]
    while True:
        is_split = np.zeros(len(corners), dtype=bool)
        lattice = Lattice.around(corners)
        for level in np.unique(levels):
            large, small = np.flatnonzero(levels == level), np.flatnonzero(levels < level - 1)
            places = Places(lattice, corners[large])
            for way in ways:
                beside = corners[small] + np.where(way > 0, (1 << levels[small])[:, None], way)
                found = places.find((beside >> level) << level)
                is_split[large[found[found >= 0]]] = True
        if not is_split.any():
            return corners, levels
        halves = [_split(c[None], n) for c, n in zip(corners[is_split], levels[is_split])]
        corners = np.concatenate([corners[~is_split], *halves])
        levels = np.concatenate([levels[~is_split], np.repeat(levels[is_split] - 1, 8)])


# -- values ---------------------------------------------------------------------------------------------------------


def _points(count: int) -> np.ndarray:
    """Points that fill a cell evenly: multiples of powers of the root of x**4 = x + 1, modulo 1."""
    root = 1.2207440846057596
    steps = root ** -np.arange(1.0, 4.0)
    return (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0


@integrand
def least_of_cell(
    s: Sample,
    domain: Domain,
    field: Field,
    corners: array(dtype=vec3i),
    points: array(dtype=Any),
    frame: Any,
    origin: Any,
    least: array(dtype=Any),
):
    """Store the least value of a field in a cell that is not negative, -1 if all are."""
    found = least.dtype(-1.0)
    for q in range(points.shape[0]):
        corner = corners[s.qp_index]
        at = points[q] + type(origin)(origin.dtype(corner[0]), origin.dtype(corner[1]), origin.dtype(corner[2]))
        value = field(lookup(domain, origin + frame * at))  # type: ignore[operator]
        if value >= least.dtype(0.0) and (found < least.dtype(0.0) or value < found):
            found = value
    least[s.qp_index] = found


def _least_values(
    field: GeometryField, corners: np.ndarray, size: int, points: np.ndarray, frame: np.ndarray, origin: np.ndarray
) -> np.ndarray:
    """The least value of a field in each cell of a size that is not negative, -1 if all are."""
    g: Any = field.geometry
    point, matrix = vector_type(3, g.scalar), matrix_type(3, 3, g.scalar)
    least = empty(len(corners), dtype=g.scalar_type, device=g.device)
    values = {
        "corners": array(corners.astype(np.int32), dtype=vec3i, device=g.device),
        "points": array(points * size, dtype=point, device=g.device),
        "frame": matrix(*frame.ravel()),
        "origin": point(*origin),
        "least": least,
    }
    interpolate(least_of_cell, at=Cells(g), dim=len(corners), fields={"field": field}, values=values)
    return least.numpy()
