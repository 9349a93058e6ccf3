"""Samples of sparse volumes whose values are in an array, which volume_lookup_index numbers."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, F, Mat, N, S, Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import float32, int32, uint64
from .volume_array_samples import sampled, sampled_with_slopes
from .volume_data import volume_at
from .volume_samples import gradient_of

_TOO_FEW = "voxel_data has {0} elements, but the volume has {1} voxels: make one for each voxel of volume.get_voxels()"


@builtin(name="_volume_with_data")
def _with_data(id: uint64, count: int32) -> uint64:
    """The id of a volume that has at most `count` voxels. Without one the launch raises, and an empty one follows."""
    data = volume_at(id)
    known = data.id
    if count < data.num_voxels:
        prim.fail("bounds", _TOO_FEW, count, data.num_voxels)
        known = uint64(0)
    return known


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
        A value of the type of the elements. An id without a volume is a KernelError, and so are another mode and an
        array with fewer elements than the volume has voxels.

    Error: as `wp.volume_sample`.
    Derivative: exact with respect to `voxel_data` and `background`, and to `uvw` where it exists, else of the side with
    the greater index.

    >>> voxels = wp.array([[0, 0, 0], [1, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=1.0, device="cpu")
    >>> values = wp.array([1.0, 3.0], dtype=float, device="cpu")
    >>> wp.volume_sample_index(volume.id, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR, values, -1.0)
    2.0
    """
    return sampled(_with_data(id, voxel_data.shape[0]), uvw, sampling_mode, voxel_data, background)


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
    ... def slope(volume: wp.uint64, values: wp.array[float], grads: wp.array[wp.vec3]):
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
    known = _with_data(id, voxel_data.shape[0])
    value, x, y, z = sampled_with_slopes(known, uvw, sampling_mode, voxel_data, background, F(0.0))
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
    known, zero = _with_data(id, voxel_data.shape[0]), Vec[N, F]()
    value, x, y, z = sampled_with_slopes(known, uvw, sampling_mode, voxel_data, background, zero)
    grad = gradient_of(x, y, z)  # noqa: F841 - it is the caller's
    return value
