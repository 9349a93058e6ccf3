"""Values of voxels as arrays: in the memory of a volume, copied from there, and put there from a dense array."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import tid
from ..arrays.array import array, array1d
from ..arrays.dtypes import element_of
from ..arrays.factories import empty
from ..arrays.layouts import Layout
from ..dispatch.observers import NotRecording
from ..lang.kernel import Kernel, kernel
from ..lang.types import Packed
from ..lang.values.scalars import uint64
from ..lang.values.type_registry import python_type
from ..lang.values.value_classes import vec3i
from ..launches.launch import launch
from ..lib.volumes.volume_lookups import volume_lookup, volume_store
from .allocation import dtype_of
from .grid_outline import Outline
from .layout import LEAF_SIDE, layout_of, offset_of


def values_in(memory: array, outline: Outline) -> array | None:
    """Return the values of voxels in leaves, an array of shape (leaves, 512) in the memory of a volume. None without
    values, and where those of several voxels share a word of memory.
    """
    value_type = outline.value_type
    if not value_type.is_whole:
        return None
    leaf, count = layout_of(value_type).leaf, outline.num_leaves
    start = outline.first_leaf + offset_of(leaf, "values") if count else 0
    layout = Layout((count, LEAF_SIDE**3), (leaf.itemsize, value_type.size), start)
    return memory._view_of(layout, element_of(dtype_of(value_type)))


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


@cache
def _put_values(value: Any, source: Any, ndim: int) -> Kernel:
    """Return the kernel that stores elements of a dense array of `source` in a volume of `value`."""
    t = value.__wc_type__
    if not isinstance(t, Packed):

        @kernel(module_options={"mode": "release"})
        def volume_put_scalars(id: uint64, dense: array(dtype=source, ndim=3)):  # type: ignore[valid-type]
            i, j, k = tid()
            volume_store(id, i, j, k, value(dense[i, j, k]))

        return volume_put_scalars
    count, scalar = t.count, python_type(t.scalar)
    if ndim == 4:

        @kernel(module_options={"mode": "release"})
        def volume_put_components(id: uint64, dense: array(dtype=source, ndim=4)):  # type: ignore[valid-type]
            i, j, k = tid()
            found = value()
            for c in range(count):
                found[c] = scalar(dense[i, j, k, c])
            volume_store(id, i, j, k, found)

        return volume_put_components

    @kernel(module_options={"mode": "release"})
    def volume_put_vectors(id: uint64, dense: array(dtype=source, ndim=3)):  # type: ignore[valid-type]
        i, j, k = tid()
        found = value()
        for c in range(count):
            found[c] = scalar(dense[i, j, k][c])
        volume_store(id, i, j, k, found)

    return volume_put_vectors


def put_dense(id: Any, dense: array, dtype: Any) -> None:
    """Store the elements of a dense array in a volume of `dtype`, so that a tape and forward mode see it."""
    kernel = _put_values(dtype, dense.dtype, dense.ndim)
    launch(kernel, dense.shape[:3], [id, dense], device=dense.device)
