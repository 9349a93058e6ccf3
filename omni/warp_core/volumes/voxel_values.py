"""Values of voxels as an array, which has gradients where the values of a volume have none."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import tid
from ..arrays.array import array, array1d
from ..arrays.factories import empty
from ..dispatch.observers import NotRecording
from ..lang.kernel import Kernel, kernel
from ..lang.values.scalars import uint64
from ..lang.values.value_classes import vec3i
from ..launches.launch import launch
from ..lib.volumes.volume_lookups import volume_lookup


@cache
def _read_values(value: Any) -> Kernel:
    """Return the kernel that reads values of a type."""

    @kernel(enable_backward=False, module_options={"mode": "release"})
    def volume_read_values(
        id: uint64,
        voxels: array1d(dtype=vec3i),  # type: ignore[valid-type]
        values: array1d(dtype=value),  # type: ignore[valid-type]
    ):
        i = tid()
        v = voxels[i]
        values[i] = volume_lookup(id, v[0], v[1], v[2], dtype=value)

    return volume_read_values


def values_of(id: Any, voxels: array, dtype: Any) -> array:
    """Return the values of voxels of a volume, which has values of `dtype`."""
    with NotRecording():
        values = empty(voxels.size, dtype=dtype, device=voxels.device)
        launch(_read_values(dtype), voxels.size, [id, voxels, values], device=voxels.device)
    return values
