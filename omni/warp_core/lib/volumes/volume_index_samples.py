"""Samples of sparse volumes whose values are in an array, which volume_lookup_index numbers."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, F, Int, Mat, N, S, Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import float32, int32, uint64
from ..scalar_functions import round
from .volume_data import volume_at
from .volume_lookups import index_of
from .volume_samples import CLOSEST, LINEAR, NO_MODE, WHOLE, base_of, blend, gradient_of, integer, slope_of


@builtin(name="_volume_element")
def _element(id: uint64, i: int32, j: int32, k: int32, values: Array[S], background: S) -> S:
    """The element of an array that belongs to a voxel."""
    value, index = background, index_of(id, i, j, k)
    if index >= 0:
        value = values[index]
    return value


@builtin(name="_volume_elements")
def _elements(
    id: uint64, i: int32, j: int32, k: int32, values: Array[S], background: S
) -> tuple[S, S, S, S, S, S, S, S]:
    """The elements that belong to a voxel and to the seven after it; z is fastest."""
    u, v, w = i + 1, j + 1, k + 1
    return (
        _element(id, i, j, k, values, background),
        _element(id, i, j, w, values, background),
        _element(id, i, v, k, values, background),
        _element(id, i, v, w, values, background),
        _element(id, u, j, k, values, background),
        _element(id, u, j, w, values, background),
        _element(id, u, v, k, values, background),
        _element(id, u, v, w, values, background),
    )


@builtin(name="_volume_linear_index")
def _linear_integers(id: uint64, uvw: Vec[3, float32], values: Array[Int], background: Int) -> Int:
    """The value at a place, interpolated."""
    prim.fail("argument", WHOLE, id)
    return background


@builtin(name="_volume_linear_index")
def _linear(id: uint64, uvw: Vec[3, float32], values: Array[S], background: S) -> S:
    low = base_of(uvw)
    a, b, c, d, e, f, g, h = _elements(id, integer(low[0]), integer(low[1]), integer(low[2]), values, background)
    return blend(a, b, c, d, e, f, g, h, uvw - low)


@builtin
def volume_sample_index(
    id: uint64, uvw: Vec[3, float32], sampling_mode: int32, voxel_data: Array[S], background: S
) -> S:
    """Value at a place between voxels of a volume whose values are in an array.

    Args:
        id: of the volume: `volume.id`, a uint64. Any volume will do, of indices or of values.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.
        voxel_data: the values, one for each voxel in the order of `volume.get_voxels()`; of a float type, or of vectors
            of floats.
        background: the value of voxels that are not counted.

    Returns:
        A value of the type of the elements. An id without a volume is a KernelError, and so is another mode.

    Error: as `wp.volume_sample`.
    Derivative: exact with respect to `voxel_data` and `background`, and to `uvw` where it exists, else of the side with
    the greater index.

    >>> voxels = wp.array([[0, 0, 0], [1, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=1.0, device="cpu")
    >>> values = wp.array([1.0, 3.0], dtype=float, device="cpu")
    >>> wp.volume_sample_index(volume.id, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR, values, -1.0)
    2.0
    """
    known_id, value = volume_at(id).id, background
    if sampling_mode == LINEAR:
        value = _linear(known_id, uvw, voxel_data, background)
    elif sampling_mode == CLOSEST:
        i, j, k = integer(round(uvw[0])), integer(round(uvw[1])), integer(round(uvw[2]))
        value = _element(known_id, i, j, k, voxel_data, background)
    else:
        prim.fail("argument", NO_MODE, sampling_mode)
    return value


@builtin(name="_volume_index_slopes")
def _slopes(
    id: uint64, uvw: Vec[3, float32], mode: int32, values: Array[S], background: S, zero: S
) -> tuple[S, S, S, S]:
    """The value at a place, and its derivatives in x, y and z."""
    known_id = volume_at(id).id
    value, x, y, z = background, zero, zero, zero
    if mode == LINEAR:
        low = base_of(uvw)
        i, j, k = integer(low[0]), integer(low[1]), integer(low[2])
        a, b, c, d, e, f, g, h = _elements(known_id, i, j, k, values, background)
        value = blend(a, b, c, d, e, f, g, h, uvw - low)
        x, y, z = slope_of(a, b, c, d, e, f, g, h, uvw - low)
    else:
        value = volume_sample_index(id, uvw, mode, values, background)
    return value, x, y, z


@builtin
def volume_sample_grad_index(
    id: uint64,
    uvw: Vec[3, float32],
    sampling_mode: int32,
    voxel_data: Array[F],
    background: F,
    grad: ref[Vec[3, F]],
) -> F:
    """Value at a place of a volume whose values are in an array, and its gradient with respect to the place.

    Args:
        id: of the volume: `volume.id`, a uint64. Any volume will do, of indices or of values.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR`, or `wp.Volume.CLOSEST`, whose gradient is zero.
        voxel_data: the values, one for each voxel in the order of `volume.get_voxels()`; floats or vectors of floats.
        background: the value of voxels that are not counted.
        grad: a local variable, which becomes the gradient, by voxel: a vector of 3 for values that are scalars, a
            matrix with a row for each component for vectors.

    Returns:
        The value, as `wp.volume_sample_index` gives it.

    Error: as `wp.volume_sample_grad`.
    Derivative: of both results, as `wp.volume_sample_index`. That of a gradient is of the cube where the place is.

    >>> @wp.kernel
    ... def slope(volume: wp.uint64, values: wp.array(dtype=float), grads: wp.array(dtype=wp.vec3)):
    ...     grad = wp.vec3()
    ...     value = wp.volume_sample_grad_index(volume, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR, values, 0.0, grad)
    ...     grads[0] = grad
    >>> voxels = wp.array([[0, 0, 0], [1, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=1.0, device="cpu")
    >>> values, grads = wp.array([1.0, 3.0], dtype=float, device="cpu"), wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(slope, dim=1, inputs=[volume.id, values, grads], device="cpu")
    >>> grads.list()
    [vec3f([2.0, -2.0, -2.0])]
    """
    value, x, y, z = _slopes(id, uvw, sampling_mode, voxel_data, background, F(0.0))
    grad = gradient_of(x, y, z)  # noqa: F841 - it is the caller's
    return value


@builtin(name="volume_sample_grad_index")
def _sample_jacobian_index(
    id: uint64,
    uvw: Vec[3, float32],
    sampling_mode: int32,
    voxel_data: Array[Vec[N, F]],
    background: Vec[N, F],
    grad: ref[Mat[N, 3, F]],
) -> Vec[N, F]:
    value, x, y, z = _slopes(id, uvw, sampling_mode, voxel_data, background, Vec[N, F]())
    grad = gradient_of(x, y, z)  # noqa: F841 - it is the caller's
    return value
