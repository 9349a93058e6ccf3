"""Volumes of a stage as pictures need them: which grids are drawn, and where in them there is something to see.

A level set is drawn as a surface, other grids of float or double as fog, and those that are named like light as glow.
Start with `VolumeLoader.of`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

import omni.warp_core as wp

from ...volumes.float_grid import as_float, tiles_of
from ...volumes.grid_header import class_of, placement_in
from ...volumes.grid_tree import GridTree, read_grid, unpack_mask
from ...volumes.layout import LEAF_SIDE, LEAF_WIDTH, LOWER_WIDTH, UPPER_WIDTH
from ..prim_access import local_to_world, mean_scale
from ..stage import StageError
from ..volume_fields import VolumeField, read_volume

LEVEL_SET, FOG, GLOW = "level set", "fog", "glow"
GLOWING = ("emission", "flame", "flames", "fire", "incandescence")  # names of fields
MOST_BLOCKS = 128  # along an axis, of the table that says where there is something to see
MOST_ROOT_TILES = 1024  # a lookup outside of the table of cells goes through all of them
THICKNESS = 20.0  # optical depth of fog through a cube that would hold all of it at its mean density


@dataclass(frozen=True, eq=False)
class Grid:
    """What a picture needs to know of a grid, in index space.

    Attributes:
        volume: the volume, on the CPU.
        kind: LEVEL_SET, FOG or GLOW.
        low, high: the box of the voxels that there are to see.
        first, width: the lowest corner of `blocks`, and the width of a block in voxels.
        blocks: uint8, three dimensions: 1 where samples of a block may give something to see.
        extinction: of fog of density 1, for each voxel that a ray goes through.
        matrix: (4, 4) from index space to that of the grid's file.
    """

    volume: wp.Volume
    kind: str
    low: np.ndarray
    high: np.ndarray
    first: np.ndarray
    width: int
    blocks: np.ndarray
    extinction: float
    matrix: np.ndarray


@dataclass(frozen=True, eq=False)
class DrawnVolume:
    """A grid in a space, where `matrix` (4, 4) takes index space. `opacity` is a factor for the extinction of fog.

    `smoke` is the fog that absorbs the light of a glow, or None.
    """

    grid: Grid
    matrix: np.ndarray
    color: np.ndarray | None
    opacity: float
    smoke: DrawnVolume | None = None

    def placed(self, matrix: np.ndarray, color: np.ndarray | None = None) -> DrawnVolume:
        """Return the volume after a matrix for column vectors; `color` is for one without its own."""
        smoke = None if self.smoke is None else self.smoke.placed(matrix, color)
        color = color if self.color is None else self.color
        return replace(self, matrix=matrix @ self.matrix, color=color, smoke=smoke)

    @property
    def is_solid(self) -> bool:
        """True if voxels have a volume and are at finite places."""
        return bool(np.isfinite(self.matrix).all() and np.linalg.det(self.matrix[:3, :3]) != 0.0)

    @property
    def distance(self) -> float:
        """The least length in this space of a distance 1 in a level set."""
        scales = self.matrix[:3, :3] @ np.linalg.inv(self.grid.matrix[:3, :3])
        return float(np.linalg.svd(scales, compute_uv=False).min())

    @property
    def voxel(self) -> float:
        """The shortest edge of a voxel in this space."""
        return float(np.linalg.norm(self.matrix[:3, :3], axis=0).min())

    @property
    def extinction(self) -> float:
        """The extinction of fog of density 1, for each unit of length of this space."""
        return self.opacity * self.grid.extinction / max(mean_scale(self.matrix), 1e-30)

    @property
    def corners(self) -> np.ndarray:
        """The corners of the box of what there is to see, (8, 3)."""
        ends = np.stack([self.grid.low, self.grid.high])
        corners = np.stack(np.meshgrid(*ends.T, indexing="ij"), -1).reshape(-1, 3)
        return corners @ self.matrix[:3, :3].T + self.matrix[:3, 3]


class VolumeLoader:
    """Reads the volumes of a stage that pictures show. Grids that are not read again are kept from picture to picture.

    Args:
        warn: Called with a text about each field that cannot be drawn.
    """

    def __init__(self, warn: Callable[[str], None]):
        self._warn = warn
        self._grids: dict[tuple[str, str, int | None], Grid] = {}
        self._used: dict[tuple[str, str, int | None], Grid] = {}
        self._extinctions: dict[str, float] = {}  # by field, as of its first picture: fog that spreads becomes thinner

    def begin(self) -> None:
        """Begin a picture: grids that the last one did not use are forgotten."""
        self._grids, self._used = self._used, {}

    def of(self, prim: Usd.Prim, time: Usd.TimeCode, color: np.ndarray | None) -> list[DrawnVolume]:
        """Return the grids of a volume to draw, in the space of its prim: all level sets, one fog and one glow."""
        try:
            fields = read_volume(prim, time)
            to_prim = np.linalg.inv(local_to_world(prim, time))
        except (StageError, np.linalg.LinAlgError) as error:
            self._warn(f"{prim.GetPath()} is not drawn: {error}")
            return []
        found = [
            (field, grid) for name in sorted(fields, key=_preference) if (grid := self._grid(field := fields[name]))
        ]
        shown: list[tuple[VolumeField, Grid]] = []
        for field, grid in found:
            first = next((other for other, shown_grid in shown if shown_grid.kind == grid.kind != LEVEL_SET), None)
            if first is None:
                shown.append((field, grid))
            else:
                self._warn(f"{field.path} is not drawn: {first.path} is the {grid.kind} of the volume")
        drawn = [self._placed(field, grid, prim, time, to_prim, color) for field, grid in shown]
        smoke = next((volume for volume in drawn if volume.grid.kind == FOG), None)
        return [replace(volume, smoke=smoke) if volume.grid.kind == GLOW else volume for volume in drawn]

    def _placed(
        self,
        field: VolumeField,
        grid: Grid,
        prim: Usd.Prim,
        time: Usd.TimeCode,
        to_prim: np.ndarray,
        color: np.ndarray | None,
    ) -> DrawnVolume:
        extinction = self._extinctions.setdefault(field.path, grid.extinction)
        drawn = DrawnVolume(replace(grid, extinction=extinction), grid.matrix, color, _opacity(prim, time))
        return drawn.placed(to_prim @ np.array(field.transform, np.float64).reshape(4, 4))

    def _grid(self, field: VolumeField) -> Grid | None:
        """Return the grid of a field, None where there is nothing to draw."""
        key = (field.file, field.grid, field.index)
        grid = self._grids.get(key) or self._used.get(key)
        if grid is None:
            try:
                grid = summary(*_of_float(field.load("cpu")), field.grid_class)
                if grid.kind == FOG and field.name.lower() in GLOWING:
                    grid = replace(grid, kind=GLOW)
            except (StageError, ValueError) as error:
                self._warn(f"{field.path} is not drawn: {str(error).removeprefix(f'{field.path}: ')}")
                return None
        self._used[key] = grid
        return grid


def _of_float(volume: wp.Volume) -> tuple[wp.Volume, GridTree]:
    """Return a volume and its grid, as one of float if it is one of double."""
    grid = read_grid(volume.array().numpy())
    if volume.dtype is wp.float64:
        data: Any = wp.array(as_float(grid), dtype=wp.uint8, device="cpu")
        volume = wp.Volume(data)
        grid = read_grid(volume.array().numpy())
    return volume, grid


def _preference(name: str) -> tuple[bool, str]:
    return name != "density", name


def _opacity(prim: Usd.Prim, time: Usd.TimeCode) -> float:
    """Return a factor for the extinction of fog: the first number of the primvar displayOpacity, or 1."""
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance("displayOpacity")
    values = np.asarray(primvar.Get(time) if primvar and primvar.HasValue() else 1.0)
    is_number = values.dtype.kind == "f" and values.size > 0 and np.isfinite(values).all()
    return max(float(values.ravel()[0]), 0.0) if is_number else 1.0


# -- where there is something to see ----------------------------------------------------------------------------------


def summary(volume: wp.Volume, tree: GridTree, token: str = "") -> Grid:
    """Return what a picture needs to know of a volume.

    Args:
        volume: The volume, of float.
        tree: Its grid.
        token: The class that the prim states; "" or "unknown" leaves it to the grid.

    Raises:
        ValueError: The volume cannot be drawn, or has nothing to see.
    """
    if volume.dtype is not wp.float32:
        raise ValueError(f"its values are of type {tree.value_type.name}, and those of pictures are float")
    if len(tree.tiles) > MOST_ROOT_TILES:
        raise ValueError(
            f"its voxels lie in {len(tree.tiles)} tiles of the root, and at most {MOST_ROOT_TILES} are drawn"
        )
    values = volume.get_voxel_values().numpy().reshape(-1, LEAF_SIDE**3)
    kind = _kind(tree, values, token)
    with np.errstate(invalid="ignore"):
        seen = values < 0.0 if kind == LEVEL_SET else values > 0.0
    filled = seen.any(axis=1)
    boxes = _boxes(tree.leaf.origins[filled], seen[filled])
    # Rays must also be in the leaves around a surface, to see that the sign changes.
    near = unpack_mask(tree.leaf.reached["value_mask"]).any(axis=1) if kind == LEVEL_SET else filled
    marks = [(tree.leaf.origins[near], LEAF_WIDTH)]
    if kind == FOG:
        tiles = tiles_of(tree)
        for width in (UPPER_WIDTH, LOWER_WIDTH, LEAF_WIDTH):
            origins = tiles.origins[(tiles.extents == width) & (tiles.values > 0.0)]
            marks.append((origins, width))
            boxes.append(np.stack([origins, origins + width - 1], 1).reshape(-1, 2, 3))
    everything = np.concatenate(boxes).astype(np.int64)
    if not len(everything):
        raise ValueError("it has no voxels to draw")
    low, high = everything[:, 0].min(0), everything[:, 1].max(0)
    first, width, blocks = _blocks(low - 1, high + 1, marks)
    matrix, place = np.identity(4), placement_in(tree)
    matrix[:3, :3], matrix[:3, 3] = place.matrix, place.translation
    extinction = _extinction(values[filled], seen[filled]) if kind == FOG else 0.0
    return Grid(volume, kind, low - 1.0, high + 1.0, first, width, blocks, extinction, matrix)


def _kind(tree: GridTree, values: np.ndarray, token: str) -> str:
    """Return LEVEL_SET or FOG: what the prim says, else the grid; else a grid with both signs is a level set."""
    known = {"levelSet": LEVEL_SET, "fogVolume": FOG, "level set": LEVEL_SET, "fog": FOG}
    for name in (token, class_of(tree)):
        if name in known:
            return known[name]
    return LEVEL_SET if float(tree.root["background"]) > 0.0 and (values < 0.0).any() else FOG


def _boxes(origins: np.ndarray, seen: np.ndarray) -> list[np.ndarray]:
    """Return the lowest and highest voxel to see in each leaf, (n, 2, 3); no leaf may be without."""
    cubes = seen.reshape(-1, LEAF_SIDE, LEAF_SIDE, LEAF_SIDE)
    rows = [np.asarray(cubes.any(axis=across)) for across in ((2, 3), (1, 3), (1, 2))]
    low = np.stack([row.argmax(1) for row in rows], 1)
    high = np.stack([LEAF_SIDE - 1 - row[:, ::-1].argmax(1) for row in rows], 1)
    return [np.stack([origins + low, origins + high], 1)]


def _blocks(
    low: np.ndarray, high: np.ndarray, marks: list[tuple[np.ndarray, int]]
) -> tuple[np.ndarray, int, np.ndarray]:
    """Return the first voxel, the width and the table of blocks that hold a part of `marks`, cubes of a width."""
    width = LEAF_WIDTH
    while (high // width - low // width >= MOST_BLOCKS).any():
        width *= 2
    first, last = low // width, high // width
    blocks = np.zeros(last - first + 1, np.uint8)
    for origins, extent in marks:
        coarse = max(width, extent) // width
        start = first // coarse
        table = np.zeros(last // coarse - start + 1, np.uint8)
        places = origins // (coarse * width) - start
        table[tuple(places[((places >= 0) & (places < table.shape)).all(axis=1)].T)] = 1
        blocks |= table[np.ix_(*(np.arange(a, b + 1) // coarse - c for a, b, c in zip(first, last, start)))]
    for axis in range(3):  # a sample takes voxels of the next block, too
        ahead = np.moveaxis(blocks, axis, 0)
        ahead[:-1] |= ahead[1:]
    return first * float(width), width, blocks


def _extinction(values: np.ndarray, seen: np.ndarray) -> float:
    """Return the extinction for each voxel that gives fog THICKNESS; of tiles alone, as of densities of 1."""
    dense = values[seen].astype(np.float64)
    dense = dense[np.isfinite(dense)]
    if not len(dense):
        return 1.0
    mean = float(np.average(dense, weights=dense))
    voxels = float(dense.sum() / mean)
    return THICKNESS / (mean * max(voxels, 1.0) ** (1 / 3))
