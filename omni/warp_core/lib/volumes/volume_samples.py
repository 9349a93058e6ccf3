"""Samples of sparse volumes between voxels, and their gradients with respect to the place."""

from __future__ import annotations

from typing import Any

from ...lang import prim
from ...lang.generics import Constant, F, Int, Mat, N, S, Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, int32, uint64
from ...lang.values.value_classes import vec3f
from ..scalar_functions import round
from ..vectors import isnan
from .volume_data import WORD, VolumeData, entry_of, known, place_of, volume_at, word_at
from .volume_lookups import voxel
from .volume_values import VoxelReal, VoxelValue, has_type, is_coded, read, size_of, value_at

CLOSEST, LINEAR = 0, 1
FAR = 1073741824.0  # voxels from the origin (2**30): beyond it, samples are of voxels at this distance
NO_MODE = "{0} is no way to sample a volume: pass wp.Volume.CLOSEST (0) or wp.Volume.LINEAR (1)"
WHOLE = "volume {0} has integers, which cannot be interpolated: sample it with wp.Volume.CLOSEST"


@builtin(name="_volume_integer")
def integer(x: float32) -> int32:
    """An integer number as an index of a voxel."""
    return int32(prim.max(prim.min(x, float32(FAR)), float32(-FAR)))


@builtin(name="_volume_mix")
def _mix(a: F, b: F, w: float32) -> F:
    """`a` where `w` is 0, `b` where it is 1."""
    return a + (b - a) * F(w)


@builtin(name="_volume_mix")
def _mix_vectors(a: Vec[N, F], b: Vec[N, F], w: float32) -> Vec[N, F]:
    return a + (b - a) * F(w)


@builtin(name="_volume_weigh")
def _weigh(a: F, b: F, w: float32) -> F:
    """As `_volume_mix`, also between infinite numbers: `b` does not matter where its weight is 0."""
    return a if w == 0.0 else a * F(1.0 - w) + b * F(w)


@builtin(name="_volume_weigh")
def _weigh_vectors(a: Vec[N, F], b: Vec[N, F], w: float32) -> Vec[N, F]:
    return a if w == 0.0 else a * F(1.0 - w) + b * F(w)


@builtin(name="_volume_blend_infinite")
def blend_infinite(a: S, b: S, c: S, d: S, e: S, f: S, g: S, h: S, w: Vec[3, float32]) -> S:
    """As `_volume_blend`, where that is NaN: differences of infinite corners are, and corners without a weight may be.

    Callers read the corners again: if they kept them for this, all other samples would take longer.
    """
    low = _weigh(_weigh(a, b, w[2]), _weigh(c, d, w[2]), w[1])
    high = _weigh(_weigh(e, f, w[2]), _weigh(g, h, w[2]), w[1])
    return _weigh(low, high, w[0])


@builtin(name="_volume_blend")
def blend(a: S, b: S, c: S, d: S, e: S, f: S, g: S, h: S, w: Vec[3, float32]) -> S:
    """The value at `w`, each component from 0 to 1, between eight corners of a cube; z is fastest."""
    low = _mix(_mix(a, b, w[2]), _mix(c, d, w[2]), w[1])
    high = _mix(_mix(e, f, w[2]), _mix(g, h, w[2]), w[1])
    return _mix(low, high, w[0])


@builtin(name="_volume_slope")
def slope_of(a: S, b: S, c: S, d: S, e: S, f: S, g: S, h: S, w: Vec[3, float32]) -> tuple[S, S, S]:
    """The derivatives of `_volume_blend` in x, y and z."""
    x = _mix(_mix(e - a, f - b, w[2]), _mix(g - c, h - d, w[2]), w[1])
    y = _mix(_mix(c - a, d - b, w[2]), _mix(g - e, h - f, w[2]), w[0])
    z = _mix(_mix(b - a, d - c, w[1]), _mix(f - e, h - g, w[1]), w[0])
    return x, y, z


@builtin(name="_volume_gradient")
def gradient_of(x: F, y: F, z: F) -> Vec[3, F]:
    """The derivatives of a value in x, y and z."""
    return Vec[3, F](x, y, z)


@builtin(name="_volume_gradient")
def _jacobian(x: Vec[N, F], y: Vec[N, F], z: Vec[N, F]) -> Mat[N, 3, F]:
    result = Mat[N, 3, F]()
    for c in range(N):
        result[c, 0], result[c, 1], result[c, 2] = x[c], y[c], z[c]
    return result


@builtin(name="_volume_base")
def base_of(uvw: Vec[3, float32]) -> Vec[3, float32]:
    """The lowest corner of the cube of voxels around a place."""
    return Vec[3, float32](prim.floor(uvw[0]), prim.floor(uvw[1]), prim.floor(uvw[2]))


# -- eight voxels around a place ---------------------------------------------------------------------------------------


@builtin(name="_volume_first_cell")
def _first_cell(data: VolumeData, i: int32, j: int32, k: int32) -> tuple[int32, int32, int32, int32]:
    """The cell of a voxel, and the steps in x, y and z to those of the voxels after it.

    The cell is -1 if one of the eight voxels is outside of the table.
    """
    low, dims = data.cell_min, data.cell_dims
    x, y, z = (i >> 3) - low[0], (j >> 3) - low[1], (k >> 3) - low[2]
    u, v, w = ((i + 1) >> 3) - low[0], ((j + 1) >> 3) - low[1], ((k + 1) >> 3) - low[2]
    first, row, plane = -1, dims[2] & WORD, (dims[1] * dims[2]) & WORD
    if prim.min(x, prim.min(y, z)) >= 0 and u < dims[0] and v < dims[1] and w < dims[2]:
        first = x * plane + y * row + z
    return first, prim.select(u != x, plane, 0), prim.select(v != y, row, 0), prim.select(w != z, 1, 0)


@builtin(name="_volume_corner_places")
def _corner_places(
    data: VolumeData, first: int32, x: int32, y: int32, z: int32
) -> tuple[int32, int32, int32, int32, int32, int32, int32, int32]:
    """The places of eight voxels, from the cell of the first and the steps to the others; z is fastest.

    Reads of the table of cells cost as much as those of values. Most eights lie in one leaf, and most others in two.
    """
    cells = prim.array_at(data.cells, data.cell_dims[0] * data.cell_dims[1] * data.cell_dims[2], int32)
    a = cells[first]
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    if x + y + z != 0:
        h = cells[first + x + y + z]
        b, c, e = prim.select(z != 0, h, a), prim.select(y != 0, h, a), prim.select(x != 0, h, a)
        d, f, g = prim.select(y + z != 0, h, a), prim.select(x + z != 0, h, a), prim.select(x + y != 0, h, a)
        if prim.max(prim.min(x, y), prim.min(prim.max(x, y), z)) != 0:
            b, c, e = cells[first + z], cells[first + y], cells[first + x]
            d = prim.select(y == 0, b, prim.select(z == 0, c, h))
            f = prim.select(x == 0, b, prim.select(z == 0, e, h))
            g = prim.select(x == 0, c, prim.select(y == 0, e, h))
            if prim.min(x, prim.min(y, z)) != 0:
                d, f, g = cells[first + y + z], cells[first + x + z], cells[first + x + y]
    return a, b, c, d, e, f, g, h


@builtin(name="_volume_corners_outside", cold=True)
def _corners_outside(
    id: uint64, i: int32, j: int32, k: int32
) -> tuple[int32, int32, int32, int32, int32, int32, int32, int32]:
    """The places of a voxel and of the seven after it, if one is outside of the table of cells."""
    data = known(id)
    u, v, w = i + 1, j + 1, k + 1
    a, b, c, d = place_of(data, i, j, k), place_of(data, i, j, w), place_of(data, i, v, k), place_of(data, i, v, w)
    e, f, g, h = place_of(data, u, j, k), place_of(data, u, j, w), place_of(data, u, v, k), place_of(data, u, v, w)
    return a, b, c, d, e, f, g, h


@builtin(name="_volume_decoded", cold=True)
def _decoded(
    id: uint64, i: int32, j: int32, k: int32,
    a: int32, b: int32, c: int32, d: int32, e: int32, f: int32, g: int32, h: int32, like: S,
) -> tuple[S, S, S, S, S, S, S, S]:  # fmt: skip
    """The values of eight voxels, which are at these places, of a volume of codes."""
    data, u, v, w = known(id), i + 1, j + 1, k + 1
    return (
        value_at(data, a, entry_of(i, j, k), like),
        value_at(data, b, entry_of(i, j, w), like),
        value_at(data, c, entry_of(i, v, k), like),
        value_at(data, d, entry_of(i, v, w), like),
        value_at(data, e, entry_of(u, j, k), like),
        value_at(data, f, entry_of(u, j, w), like),
        value_at(data, g, entry_of(u, v, k), like),
        value_at(data, h, entry_of(u, v, w), like),
    )


@builtin(name="_volume_corners")
def _corners(id: uint64, i: int32, j: int32, k: int32, like: S) -> tuple[S, S, S, S, S, S, S, S]:
    """The values of a voxel and of the seven after it."""
    data, size = known(id), size_of(like)
    a, b, c, d, e, f, g, h = 0, 0, 0, 0, 0, 0, 0, 0
    first, dx, dy, dz = _first_cell(data, i, j, k)
    if first >= 0:
        a, b, c, d, e, f, g, h = _corner_places(data, first, dx, dy, dz)
    else:
        a, b, c, d, e, f, g, h = _corners_outside(id, i, j, k)
    if is_coded(data, like):
        return _decoded(id, i, j, k, a, b, c, d, e, f, g, h, like)
    x, u = data.leaf_values + entry_of(i, 0, 0) * size, data.leaf_values + entry_of(i + 1, 0, 0) * size
    y, v = entry_of(0, j, 0) * size, entry_of(0, j + 1, 0) * size
    z, w = entry_of(0, 0, k) * size, entry_of(0, 0, k + 1) * size
    # First one of each line of memory, so that the processor waits for them together.
    low, far = read(data, word_at(a, x + y + z), like), read(data, word_at(e, u + y + z), like)
    wide, both = read(data, word_at(c, x + v + z), like), read(data, word_at(g, u + v + z), like)
    return (
        low,
        read(data, word_at(b, x + y + w), like),
        wide,
        read(data, word_at(d, x + v + w), like),
        far,
        read(data, word_at(f, u + y + w), like),
        both,
        read(data, word_at(h, u + v + w), like),
    )


# -- values of the volume ---------------------------------------------------------------------------------------------


@builtin(name="_volume_closest")
def _closest(id: uint64, uvw: Vec[3, float32], like: S) -> S:
    i, j, k = integer(round(uvw[0])), integer(round(uvw[1])), integer(round(uvw[2]))
    return voxel(id, i, j, k, like)


@builtin(name="_volume_linear")
def _linear_integers(id: uint64, uvw: Vec[3, float32], like: Int) -> Int:
    """The value of a volume at a place, interpolated."""
    prim.fail("argument", WHOLE, id)
    return like


@builtin(name="_volume_linear")
def _linear_vectors_of_integers(id: uint64, uvw: Vec[3, float32], like: Vec[N, Int]) -> Vec[N, Int]:
    prim.fail("argument", WHOLE, id)
    return like


@builtin(name="_volume_linear")
def _linear_bits(id: uint64, uvw: Vec[3, float32], like: boolean) -> boolean:
    prim.fail("argument", WHOLE, id)
    return like


@builtin(name="_volume_linear_infinite", cold=True)
def _linear_infinite(id: uint64, uvw: Vec[3, float32], like: S) -> S:
    """As `_volume_linear`, where a corner is infinite or NaN."""
    low = base_of(uvw)
    a, b, c, d, e, f, g, h = _corners(id, integer(low[0]), integer(low[1]), integer(low[2]), like)
    return blend_infinite(a, b, c, d, e, f, g, h, uvw - low)


@builtin(name="_volume_linear")
def _linear(id: uint64, uvw: Vec[3, float32], like: S) -> S:
    low = base_of(uvw)
    a, b, c, d, e, f, g, h = _corners(id, integer(low[0]), integer(low[1]), integer(low[2]), like)
    value = blend(a, b, c, d, e, f, g, h, uvw - low)
    if isnan(value):
        value = _linear_infinite(id, uvw, like)
    return value


@builtin(name="_volume_sample")
def _sample(id: uint64, uvw: Vec[3, float32], mode: int32, like: VoxelValue) -> VoxelValue:
    data, value = volume_at(id), like
    if has_type(data, like):
        if mode == LINEAR:
            value = _linear(id, uvw, like)
        elif mode == CLOSEST:
            value = _closest(id, uvw, like)
        else:
            prim.fail("argument", NO_MODE, mode)
    return value


@builtin
def volume_sample(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, dtype: Constant) -> Any:
    """Value of a volume at a place between voxels.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3: voxels are at integers. `wp.volume_world_to_index` computes it.
        sampling_mode: `wp.Volume.LINEAR` interpolates eight voxels, `wp.Volume.CLOSEST` takes the nearest one, and of
            two that are as near the one farther from 0. Another mode is a KernelError, and so is LINEAR for integers.
        dtype: the type of the volume's values, known when the kernel compiles: `volume.dtype`.

    Returns:
        A value of that type. A volume with values of another type is a KernelError, as is an id without a volume.

    Error: 6 ulp of the largest of the eight values, for LINEAR; exact for CLOSEST.
    Derivative: exact with respect to `uvw` where it exists, else of the side with the greater index, and to the values
    in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_sample(volume.id, wp.vec3(0.5, 0.0, 0.25), wp.Volume.LINEAR, dtype=float)
    2.25
    """
    return _sample(id, uvw, sampling_mode, dtype())


@builtin
def volume_sample_f(id: uint64, uvw: Vec[3, float32], sampling_mode: int32) -> float32:
    """Value of a volume of float32 at a place between voxels. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample`.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_sample_f(volume.id, wp.vec3(0.5, 0.0, 0.25), wp.Volume.LINEAR)
    2.25
    """
    return _sample(id, uvw, sampling_mode, float32(0.0))


@builtin
def volume_sample_v(id: uint64, uvw: Vec[3, float32], sampling_mode: int32) -> Vec[3, float32]:
    """Value of a volume of vec3 at a place between voxels. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a vec3.

    Error: as `wp.volume_sample`.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.ones((2, 2, 2, 3)), bg_value=(0.0, 0.0, 0.0), device="cpu")
    >>> wp.volume_sample_v(volume.id, wp.vec3(1.5, 0.0, 0.0), wp.Volume.LINEAR)
    vec3f([0.5, 0.5, 0.5])
    """
    return _sample(id, uvw, sampling_mode, vec3f())


@builtin
def volume_sample_i(id: uint64, uvw: Vec[3, float32]) -> int32:
    """Value of the voxel of a volume of int32 that is nearest to a place. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.

    Returns:
        The value, an int32.

    Error: exact.
    Derivative: none.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8).reshape(2, 2, 2), bg_value=0, device="cpu")
    >>> wp.volume_sample_i(volume.id, wp.vec3(0.9, 0.0, 0.2))
    4
    """
    return _sample(id, uvw, CLOSEST, int32(0))


@builtin(name="_volume_sample_grad")
def sample_grad(
    id: uint64, uvw: Vec[3, float32], mode: int32, like: VoxelReal
) -> tuple[VoxelReal, VoxelReal, VoxelReal, VoxelReal]:
    """The value at a place, and its derivatives in x, y and z."""
    data, value, x, y, z = volume_at(id), like, like, like, like
    if has_type(data, like):
        if mode == LINEAR:
            low = base_of(uvw)
            a, b, c, d, e, f, g, h = _corners(id, integer(low[0]), integer(low[1]), integer(low[2]), like)
            value = blend(a, b, c, d, e, f, g, h, uvw - low)
            if isnan(value):
                value = _linear_infinite(id, uvw, like)
            x, y, z = slope_of(a, b, c, d, e, f, g, h, uvw - low)
        elif mode == CLOSEST:
            value = _closest(id, uvw, like)
        else:
            prim.fail("argument", NO_MODE, mode)
    return value, x, y, z


@builtin
def volume_sample_grad(
    id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Vec[3, F]], dtype: Constant
) -> Any:
    """Value of a volume at a place between voxels, and its gradient with respect to the place.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR`, or `wp.Volume.CLOSEST`, whose gradient is zero.
        grad: a local variable, which becomes the gradient, by voxel: a vector of 3 for a volume of scalars, a matrix
            with a row for each component for one of vectors.
        dtype: the type of the volume's values, known when the kernel compiles: `volume.dtype`.

    Returns:
        The value, as `wp.volume_sample` gives it.

    Error: 12 ulp of the largest of the eight values.
    Derivative: of both results, with respect to `uvw` and to values, as of `wp.volume_sample`.

    >>> @wp.kernel
    ... def slope(volume: wp.uint64, grads: wp.array[wp.vec3]):
    ...     grad = wp.vec3()
    ...     value = wp.volume_sample_grad(volume, wp.vec3(0.5, 0.5, 0.5), wp.Volume.LINEAR, grad, dtype=float)
    ...     grads[0] = grad
    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> grads = wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(slope, dim=1, inputs=[volume.id, grads], device="cpu")
    >>> grads.list()
    [vec3f([4.0, 2.0, 1.0])]
    """
    value, x, y, z = sample_grad(id, uvw, sampling_mode, dtype())
    grad = gradient_of(x, y, z)  # noqa: F841 - it is the caller's
    return value


@builtin(name="volume_sample_grad")
def _volume_sample_jacobian(
    id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Mat[N, 3, F]], dtype: Constant
) -> Any:
    value, x, y, z = sample_grad(id, uvw, sampling_mode, dtype())
    grad = gradient_of(x, y, z)  # noqa: F841 - it is the caller's
    return value


@builtin
def volume_sample_grad_f(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Vec[3, float32]]) -> float32:
    """Value of a volume of float32 at a place, and its gradient with respect to the place. See `wp.volume_sample_grad`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR`, or `wp.Volume.CLOSEST`, whose gradient is zero.
        grad: a local vec3, which becomes the gradient, by voxel.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample_grad`.
    Derivative: as `wp.volume_sample_grad`.

    >>> @wp.kernel
    ... def slope(volume: wp.uint64, grads: wp.array[wp.vec3]):
    ...     grad = wp.vec3()
    ...     value = wp.volume_sample_grad_f(volume, wp.vec3(0.5, 0.5, 0.5), wp.Volume.LINEAR, grad)
    ...     grads[0] = grad
    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> grads = wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(slope, dim=1, inputs=[volume.id, grads], device="cpu")
    >>> grads.list()
    [vec3f([4.0, 2.0, 1.0])]
    """
    value, x, y, z = sample_grad(id, uvw, sampling_mode, float32(0.0))
    grad = gradient_of(x, y, z)  # noqa: F841 - it is the caller's
    return value
