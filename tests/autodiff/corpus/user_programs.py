"""Building blocks of programs in the style of users: see `test_user_programs`.

A program is a function of arrays that launches, copies and computes, and returns a loss of one element. `program` says
which arrays: their names, with shapes and types of elements. All is float64, so central differences are a sharp judge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import omni.warp_core as wp

real, vec2, vec3, mat33, quat = wp.float64, wp.vec2d, wp.vec3d, wp.mat33d, wp.quatd
transform, spatial = wp.transformd, wp.spatial_vectord
vec5 = wp.types.vector(length=5, dtype=real)
mat23 = wp.types.matrix(shape=(2, 3), dtype=real)
R, R2, V, M = wp.array(dtype=real), wp.array2d(dtype=real), wp.array(dtype=vec3), wp.array(dtype=mat33)

PROGRAMS: dict[str, tuple[Callable[..., wp.array], dict[str, Any]]] = {}


def program(**inputs):
    """Make a function a program; `inputs` are (shape, dtype) by name."""

    def add(function):
        PROGRAMS[function.__name__] = function, inputs
        return function

    return add


def zeros(shape, dtype=real):
    """An array that gradients flow through."""
    return wp.zeros(shape, dtype=dtype, requires_grad=True)


@wp.kernel
def total(x: R, loss: R):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i] * real(1.3) + wp.sin(x[i] * real(i + 1)))


@wp.kernel
def total_of_vectors(x: V, loss: R):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(x[i]) + x[i][0] * x[i].y - wp.sin(x[i].z))


def loss_of(x):
    """A number that depends on all elements, each in another way."""
    loss = zeros(1)
    wp.launch(total if x.dtype is real else total_of_vectors, dim=x.size, inputs=[x, loss])
    return loss


@wp.kernel
def sums(y: R, out: R):
    wp.atomic_add(out, 0, wp.sin(y[wp.tid()]))


@wp.kernel
def smooth(a: R, b: R):
    i = wp.tid()
    a[i] = a[i] * real(0.5) + real(0.1) * a[i] * a[i]
