"""Queries of volumes whose values are an array: `volume.values`, which has a row for each leaf.

Where derivatives with respect to values may be needed, kernels call these in place of the functions
that read and write the memory of the volume (autodiff/analysis/structure_arrays.py). Values of tiles, the background
and codes are not in the array. They are constants.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, F, Int, N, S, Vec
from ...lang.registry import array_form, builtin, gradient
from ...lang.values.scalars import float32, int32, uint64
from ..scalar_functions import round
from .volume_data import entry_of, known, place_of, volume_at
from .volume_lookups import voxel
from .volume_samples import CLOSEST, LINEAR, NO_MODE, WHOLE, base_of, blend, integer, slope_of
from .volume_values import CODES, VoxelReal, VoxelValue, has_type, is_coded


@builtin(name="_volume_constant")
def _constant(id: uint64, i: int32, j: int32, k: int32, like: S) -> S:
    """The value of a voxel that is in no row of the array."""
    return voxel(id, i, j, k, like)


@gradient
def _volume_constant_gradient(id: uint64, i: int32, j: int32, k: int32, like: S, value: S, g: S) -> S:
    return g - g


@builtin(name="_volume_row")
def _row(id: uint64, i: int32, j: int32, k: int32, like: S) -> int32:
    """The row of a voxel in the array of values, or -1."""
    data, row = known(id), -1
    place = place_of(data, i, j, k)
    if place >= 0 and not is_coded(data, like):
        row = (place - data.first_leaf) // data.leaf_words
    return row


@builtin(name="_volume_value_of_array")
def _value(id: uint64, i: int32, j: int32, k: int32, like: S, values: Array[S, 2]) -> S:
    """The value of a voxel of a volume that `volume_at` found."""
    value, row = like, _row(id, i, j, k, like)
    if row >= 0:
        value = values[row, entry_of(i, j, k)]
    else:
        value = _constant(id, i, j, k, like)
    return value


@builtin(name="_volume_corners_of_array")
def _corners(id: uint64, i: int32, j: int32, k: int32, like: S, values: Array[S, 2]) -> tuple[S, S, S, S, S, S, S, S]:
    """The values of a voxel and of the seven after it; z is fastest."""
    u, v, w = i + 1, j + 1, k + 1
    return (
        _value(id, i, j, k, like, values),
        _value(id, i, j, w, like, values),
        _value(id, i, v, k, like, values),
        _value(id, i, v, w, like, values),
        _value(id, u, j, k, like, values),
        _value(id, u, j, w, like, values),
        _value(id, u, v, k, like, values),
        _value(id, u, v, w, like, values),
    )


@builtin(name="_volume_linear_of_array")
def _linear(id: uint64, uvw: Vec[3, float32], like: F, values: Array[F, 2]) -> F:
    """The value of a volume at a place, interpolated."""
    low = base_of(uvw)
    a, b, c, d, e, f, g, h = _corners(id, integer(low[0]), integer(low[1]), integer(low[2]), like, values)
    return blend(a, b, c, d, e, f, g, h, uvw - low)


@builtin(name="_volume_linear_of_array")
def _linear_vectors(id: uint64, uvw: Vec[3, float32], like: Vec[N, F], values: Array[Vec[N, F], 2]) -> Vec[N, F]:
    low = base_of(uvw)
    a, b, c, d, e, f, g, h = _corners(id, integer(low[0]), integer(low[1]), integer(low[2]), like, values)
    return blend(a, b, c, d, e, f, g, h, uvw - low)


@builtin(name="_volume_linear_of_array")
def _linear_integers(id: uint64, uvw: Vec[3, float32], like: Int, values: Array[Int, 2]) -> Int:
    prim.fail("argument", WHOLE, id)
    return like


@builtin(name="_volume_linear_of_array")
def _linear_vectors_of_integers(
    id: uint64, uvw: Vec[3, float32], like: Vec[N, Int], values: Array[Vec[N, Int], 2]
) -> Vec[N, Int]:
    prim.fail("argument", WHOLE, id)
    return like


@builtin(name="_volume_closest_of_array")
def _closest(id: uint64, uvw: Vec[3, float32], like: S, values: Array[S, 2]) -> S:
    i, j, k = integer(round(uvw[0])), integer(round(uvw[1])), integer(round(uvw[2]))
    return _value(id, i, j, k, like, values)


@array_form
def _volume_lookup_of_array(
    id: uint64, i: int32, j: int32, k: int32, like: VoxelValue, values: Array[VoxelValue, 2]
) -> VoxelValue:
    """The value of a voxel."""
    data, value = volume_at(id), like
    if has_type(data, like):
        value = _value(id, i, j, k, like, values)
    return value


@array_form
def _volume_sample_of_array(
    id: uint64, uvw: Vec[3, float32], mode: int32, like: VoxelValue, values: Array[VoxelValue, 2]
) -> VoxelValue:
    """The value at a place."""
    data, value = volume_at(id), like
    if has_type(data, like):
        if mode == LINEAR:
            value = _linear(id, uvw, like, values)
        elif mode == CLOSEST:
            value = _closest(id, uvw, like, values)
        else:
            prim.fail("argument", NO_MODE, mode)
    return value


@array_form
def _volume_sample_grad_of_array(
    id: uint64, uvw: Vec[3, float32], mode: int32, like: VoxelReal, values: Array[VoxelReal, 2]
) -> tuple[VoxelReal, VoxelReal, VoxelReal, VoxelReal]:
    """The value at a place, and its derivatives in x, y and z."""
    data, value, x, y, z = volume_at(id), like, like, like, like
    if has_type(data, like):
        if mode == LINEAR:
            low = base_of(uvw)
            a, b, c, d, e, f, g, h = _corners(id, integer(low[0]), integer(low[1]), integer(low[2]), like, values)
            value = blend(a, b, c, d, e, f, g, h, uvw - low)
            x, y, z = slope_of(a, b, c, d, e, f, g, h, uvw - low)
        elif mode == CLOSEST:
            value = _closest(id, uvw, like, values)
        else:
            prim.fail("argument", NO_MODE, mode)
    return value, x, y, z


@array_form
def _volume_store_of_array(
    id: uint64, i: int32, j: int32, k: int32, value: VoxelValue, values: Array[VoxelValue, 2]
) -> None:
    """Store the value of a voxel."""
    data = volume_at(id)
    if has_type(data, value):
        row = _row(id, i, j, k, value)
        if row >= 0:
            values[row, entry_of(i, j, k)] = value
        elif is_coded(data, value):
            prim.fail("argument", CODES, id)
