"""Voxels of several environments in one volume: each environment is moved to a place of its own there.

Positions stay where they are: only the volume, which finds the cell of a voxel, has packed voxels. Start with
`pack_voxels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays.array import array
from ...lang.types import I32, Vec
from ...lang.values.scalars import int32
from ...lang.values.type_registry import wc_type
from ...lang.values.value_classes import vec3i
from ...volumes.allocation import points_as_voxels
from ...volumes.grid_builder import Placement
from ...volumes.volume import Volume
from .environments import check_count, check_integers, check_numbers
from .lattice_numbers import Lattice, Places


class PackedVoxels(NamedTuple):
    """Voxels of environments, and where these are in a volume.

    Attributes:
        voxels: The voxels in the volume.
        environments: The environment of each.
        offsets: How far each environment is moved.
        is_kept: Which of the given points they are.
        is_valid: False if points were left out, as there is no such environment.
    """

    voxels: np.ndarray
    environments: np.ndarray
    offsets: np.ndarray
    is_kept: np.ndarray
    is_valid: bool

    def volume(self, placement: Placement, device: Any, **room: Any) -> Volume:
        """Return a volume of the voxels. `room` is what `wp.Volume.allocate_by_voxels` takes for it."""
        voxels, where = array(self.voxels.astype(np.int32), dtype=vec3i, device=device), placement.translation
        return Volume.allocate_by_voxels(voxels, transform=placement.matrix, translation=where, device=device, **room)

    def places_in(self, volume: Volume) -> np.ndarray:
        """Return which of the voxels each one of a volume is.

        Raises:
            ValueError: Two environments have a voxel at one place of the volume.
        """
        if not len(self.voxels):
            return np.empty(0, dtype=np.int64)
        places, there = Places(Lattice.around(self.voxels), self.voxels), volume.get_voxels().numpy().reshape(-1, 3)
        of_each = self.environments[places.find(self.voxels)]
        if (of_each != self.environments).any():
            raise ValueError("env_offsets: two environments have a voxel at one place; write offsets farther apart")
        return places.find(there.astype(np.int64))


def pack_voxels(
    name: str,
    points: array,
    point_envs: array,
    env_count: int,
    offsets: np.ndarray | None,
    placement: Placement,
    point_mask: array | None,
    guard: int,
    step: int = 1,
    drops_invalid: bool = False,
) -> PackedVoxels:
    """Move the voxels of each environment to a place of its own.

    Args:
        name: Of the function of the program, for messages.
        points: Voxels, or positions in the world.
        point_envs: The environment of each.
        env_count: Number of environments.
        offsets: How far each is moved, in voxels; they follow each other along x if None.
        placement: Where voxels are in the world.
        point_mask: An int32 for each point; those of 0 are left out.
        guard: How many voxels stay free between environments.
        step: What offsets are multiples of.
        drops_invalid: Whether points of environments that are not there are left out. Else they raise an error.

    Raises:
        TypeError, ValueError: An array has another type or size.
    """
    check_count(name, env_count)
    count = points.shape[0]
    is_kept = np.ones(count, dtype=bool)
    if point_mask is not None:
        is_kept = _numbers(f"{name}: point_mask", point_mask, count) != 0
    given = _numbers(f"{name}: point_envs", point_envs, count)
    is_there = (given >= 0) & (given < env_count)
    if not drops_invalid:
        check_numbers(f"{name}: point_envs", given[is_kept], env_count)
    is_valid, is_kept = bool(is_there[is_kept].all()), is_kept & is_there
    voxels, environments = points_as_voxels("points", points, placement, is_kept).astype(np.int64), given[is_kept]
    if offsets is None:
        offsets = _offsets_along_x(voxels, environments, env_count, guard, step)
    return PackedVoxels(voxels + offsets[environments], environments, offsets, is_kept, is_valid)


def _offsets_along_x(voxels: np.ndarray, environments: np.ndarray, env_count: int, guard: int, step: int) -> np.ndarray:
    """Offsets that put environments one after the other along x. The first one stays where it is."""
    lower, upper = np.full(env_count, np.iinfo(np.int64).max), np.full(env_count, np.iinfo(np.int64).min)
    np.minimum.at(lower, environments, voxels[:, 0])
    np.maximum.at(upper, environments, voxels[:, 0])
    offsets, free = np.zeros((env_count, 3), dtype=np.int64), None
    for e in np.flatnonzero(lower <= upper):
        if free is not None:
            offsets[e, 0] = -((lower[e] - free) // step) * step  # rounded up
        free = upper[e] + offsets[e, 0] + 1 + guard
    return offsets


def offsets_of(name: str, env_offsets: Any, env_count: int, step: int = 1) -> np.ndarray | None:
    """The offsets that a program gave, None for none. Raises TypeError, ValueError."""
    if env_offsets is None:
        return None
    if isinstance(env_offsets, array) and wc_type(env_offsets.dtype) is not Vec(3, I32):
        raise TypeError(f"{name}: env_offsets: expected an array of wp.vec3i, got one of {env_offsets.dtype.__name__}")
    found = np.asarray(env_offsets.numpy() if isinstance(env_offsets, array) else env_offsets, dtype=np.int64)
    if found.shape != (env_count, 3):
        raise ValueError(f"{name}: env_offsets: expected {env_count} offsets, one for each environment")
    if (found % step).any():
        raise ValueError(f"{name}: env_offsets: expected multiples of {step}, the width of the largest cells")
    return found


def _numbers(name: str, given: Any, count: int) -> np.ndarray:
    check_integers(name, given, count, "point")
    return given.numpy()


def environment_arrays(packed: PackedVoxels, volume: Volume) -> tuple[array, array]:
    """The environment of each voxel of a volume, and how far each is moved there."""
    environments = array(packed.environments[packed.places_in(volume)], dtype=int32, device=volume.device)
    return environments, array(packed.offsets.astype(np.int32), dtype=vec3i, device=volume.device)


def report_invalid(status: array | None, packed: PackedVoxels) -> None:
    """Add to a status that points were left out, as there are no such environments."""
    if status is not None and not packed.is_valid:
        status.fill_(int(status.numpy()[0]) | Volume.REBUILD_INVALID_INPUT)
