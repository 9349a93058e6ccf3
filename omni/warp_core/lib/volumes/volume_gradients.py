"""Derivatives of samples and transforms of sparse volumes with respect to places.

Here values of volumes are constants. Where they have derivatives, volume_array_forms.py is differentiated instead.
"""

from __future__ import annotations

from ...lang.generics import F, N, S, Vec
from ...lang.registry import builtin, gradient
from ...lang.values.scalars import float32, int32, uint64
from ..matrices import transpose
from ..vectors import dot
from .volume_data import volume_at
from .volume_samples import sample_grad


@builtin(name="_volume_pull_back")
def _pull_back(x: F, y: F, z: F, g: F) -> Vec[3, float32]:
    """The adjoint of a place, of the derivatives of a value there and the value's adjoint."""
    return Vec[3, float32](float32(x * g), float32(y * g), float32(z * g))


@builtin(name="_volume_pull_back")
def _pull_back_vectors(x: Vec[N, F], y: Vec[N, F], z: Vec[N, F], g: Vec[N, F]) -> Vec[3, float32]:
    return Vec[3, float32](float32(dot(x, g)), float32(dot(y, g)), float32(dot(z, g)))


@gradient
def _volume_sample_gradient(
    id: uint64, uvw: Vec[3, float32], mode: int32, like: S, value: S, g: S
) -> tuple[Vec[3, float32], S]:
    """At a border between voxels, that of the side with the greater index."""
    value, x, y, z = sample_grad(id, uvw, mode, like)
    return _pull_back(x, y, z, g), g - g


@gradient
def _volume_lookup_gradient(id: uint64, i: int32, j: int32, k: int32, like: S, value: S, g: S) -> S:
    return g - g


@gradient
def volume_index_to_world_gradient(
    id: uint64, uvw: Vec[3, float32], place: Vec[3, float32], g: Vec[3, float32]
) -> Vec[3, float32]:
    """The matrix is constant."""
    return transpose(volume_at(id).to_world) * g


@gradient
def volume_index_to_world_dir_gradient(
    id: uint64, uvw: Vec[3, float32], direction: Vec[3, float32], g: Vec[3, float32]
) -> Vec[3, float32]:
    """The matrix is constant."""
    return transpose(volume_at(id).to_world) * g


@gradient
def volume_world_to_index_gradient(
    id: uint64, xyz: Vec[3, float32], place: Vec[3, float32], g: Vec[3, float32]
) -> Vec[3, float32]:
    """The matrix is constant."""
    return transpose(volume_at(id).to_index) * g


@gradient
def volume_world_to_index_dir_gradient(
    id: uint64, xyz: Vec[3, float32], direction: Vec[3, float32], g: Vec[3, float32]
) -> Vec[3, float32]:
    """The matrix is constant."""
    return transpose(volume_at(id).to_index) * g
