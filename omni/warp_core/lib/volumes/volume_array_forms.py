"""Queries of volumes whose values are an array: `volume.values`, which has a row for each leaf.

Where derivatives with respect to values may be needed, kernels call these in place of the functions
that read and write the memory of the volume (autodiff/analysis/structure_arrays.py). Values of tiles, the background
and codes are not in the array. They are constants.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Vec
from ...lang.registry import array_form
from ...lang.values.scalars import float32, int32, uint64
from .volume_array_samples import element_of, row_of, sampled, sampled_with_slopes
from .volume_data import entry_of, volume_at
from .volume_values import CODES, VoxelReal, VoxelValue, has_type, is_coded


@array_form
def _volume_lookup_of_array(
    id: uint64, i: int32, j: int32, k: int32, like: VoxelValue, values: Array[VoxelValue, 2]
) -> VoxelValue:
    """The value of a voxel."""
    data, value = volume_at(id), like
    if has_type(data, like):
        value = element_of(id, i, j, k, values, like)
    return value


@array_form
def _volume_sample_of_array(
    id: uint64, uvw: Vec[3, float32], mode: int32, like: VoxelValue, values: Array[VoxelValue, 2]
) -> VoxelValue:
    """The value at a place."""
    data, value = volume_at(id), like
    if has_type(data, like):
        value = sampled(id, uvw, mode, values, like)
    return value


@array_form
def _volume_sample_grad_of_array(
    id: uint64, uvw: Vec[3, float32], mode: int32, like: VoxelReal, values: Array[VoxelReal, 2]
) -> tuple[VoxelReal, VoxelReal, VoxelReal, VoxelReal]:
    """The value at a place, and its derivatives in x, y and z."""
    data, value, x, y, z = volume_at(id), like, like, like, like
    if has_type(data, like):
        value, x, y, z = sampled_with_slopes(id, uvw, mode, values, like, like)
    return value, x, y, z


@array_form
def _volume_store_of_array(
    id: uint64, i: int32, j: int32, k: int32, value: VoxelValue, values: Array[VoxelValue, 2]
) -> None:
    """Store the value of a voxel."""
    data = volume_at(id)
    if has_type(data, value):
        row = row_of(id, i, j, k, value)
        if row >= 0:
            values[row, entry_of(i, j, k)] = value
        elif is_coded(data, value):
            prim.fail("argument", CODES, id)
