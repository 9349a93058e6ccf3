"""Samples of volumes whose values are in an array: in rows of leaves, or in the order of volume_lookup_index."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Int, M, N, S, Vec
from ...lang.registry import builtin, gradient
from ...lang.values.scalars import float32, int32, uint64
from ..scalar_functions import round
from ..vectors import isnan
from .volume_data import entry_of, known, place_of
from .volume_lookups import index_of, voxel
from .volume_samples import CLOSEST, LINEAR, NO_MODE, WHOLE, base_of, blend, blend_infinite, integer, slope_of
from .volume_values import is_coded


@builtin(name="_volume_constant")
def _constant(id: uint64, i: int32, j: int32, k: int32, like: S) -> S:
    """The value of a voxel that is in no row of the array."""
    return voxel(id, i, j, k, like)


@gradient
def _volume_constant_gradient(id: uint64, i: int32, j: int32, k: int32, like: S, value: S, g: S) -> S:
    return g - g


@builtin(name="_volume_row")
def row_of(id: uint64, i: int32, j: int32, k: int32, like: S) -> int32:
    """The row of a voxel in the array of values, or -1."""
    data, row = known(id), -1
    place = place_of(data, i, j, k)
    if place >= 0 and not is_coded(data, like):
        row = (place - data.first_leaf) // data.leaf_words
    return row


@builtin(name="_volume_element")
def element_of(id: uint64, i: int32, j: int32, k: int32, values: Array[S], background: S) -> S:
    """The element of an array that belongs to a voxel of a volume that `volume_at` found."""
    value, index = background, index_of(id, i, j, k)
    if index >= 0:
        value = values[index]
    return value


@builtin(name="_volume_element")
def _element_in_row(id: uint64, i: int32, j: int32, k: int32, values: Array[S, 2], like: S) -> S:
    value, row = like, row_of(id, i, j, k, like)
    if row >= 0:
        value = values[row, entry_of(i, j, k)]
    else:
        value = _constant(id, i, j, k, like)
    return value


@builtin(name="_volume_elements")
def _elements(
    id: uint64, i: int32, j: int32, k: int32, values: Array[S, M], background: S
) -> tuple[S, S, S, S, S, S, S, S]:
    """The elements that belong to a voxel and to the seven after it; z is fastest."""
    u, v, w = i + 1, j + 1, k + 1
    return (
        element_of(id, i, j, k, values, background),
        element_of(id, i, j, w, values, background),
        element_of(id, i, v, k, values, background),
        element_of(id, i, v, w, values, background),
        element_of(id, u, j, k, values, background),
        element_of(id, u, j, w, values, background),
        element_of(id, u, v, k, values, background),
        element_of(id, u, v, w, values, background),
    )


@builtin(name="_volume_linear_element")
def _linear_integers(id: uint64, uvw: Vec[3, float32], values: Array[Int, M], background: Int) -> Int:
    """The value at a place, interpolated."""
    prim.fail("argument", WHOLE, id)
    return background


@builtin(name="_volume_linear_element")
def _linear_vectors_of_integers(
    id: uint64, uvw: Vec[3, float32], values: Array[Vec[N, Int], M], background: Vec[N, Int]
) -> Vec[N, Int]:
    prim.fail("argument", WHOLE, id)
    return background


@builtin(name="_volume_linear_infinite_element", cold=True)
def _linear_infinite(id: uint64, uvw: Vec[3, float32], values: Array[S, M], background: S) -> S:
    """As `_volume_linear_element`, where an element is infinite or NaN."""
    low = base_of(uvw)
    a, b, c, d, e, f, g, h = _elements(id, integer(low[0]), integer(low[1]), integer(low[2]), values, background)
    return blend_infinite(a, b, c, d, e, f, g, h, uvw - low)


@builtin(name="_volume_linear_element")
def _linear(id: uint64, uvw: Vec[3, float32], values: Array[S, M], background: S) -> S:
    low = base_of(uvw)
    a, b, c, d, e, f, g, h = _elements(id, integer(low[0]), integer(low[1]), integer(low[2]), values, background)
    value = blend(a, b, c, d, e, f, g, h, uvw - low)
    if isnan(value):
        value = _linear_infinite(id, uvw, values, background)
    return value


@builtin(name="_volume_sampled_element")
def sampled(id: uint64, uvw: Vec[3, float32], mode: int32, values: Array[S, M], background: S) -> S:
    """The value at a place in a volume that `volume_at` found."""
    value = background
    if mode == LINEAR:
        value = _linear(id, uvw, values, background)
    elif mode == CLOSEST:
        i, j, k = integer(round(uvw[0])), integer(round(uvw[1])), integer(round(uvw[2]))
        value = element_of(id, i, j, k, values, background)
    else:
        prim.fail("argument", NO_MODE, mode)
    return value


@builtin(name="_volume_element_slopes")
def sampled_with_slopes(
    id: uint64, uvw: Vec[3, float32], mode: int32, values: Array[S, M], background: S, zero: S
) -> tuple[S, S, S, S]:
    """The value at a place, and its derivatives in x, y and z."""
    value, x, y, z = background, zero, zero, zero
    if mode == LINEAR:
        low = base_of(uvw)
        a, b, c, d, e, f, g, h = _elements(id, integer(low[0]), integer(low[1]), integer(low[2]), values, background)
        value = blend(a, b, c, d, e, f, g, h, uvw - low)
        if isnan(value):
            value = _linear_infinite(id, uvw, values, background)
        x, y, z = slope_of(a, b, c, d, e, f, g, h, uvw - low)
    else:
        value = sampled(id, uvw, mode, values, background)
    return value, x, y, z
