"""Kernels that read attributes of an object from outside: constants as other outer names are. Judge: plain Python."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front import content_hash

interpreted = pytest.mark.parametrize("interpret", [False, True])


class Lattice:
    d = 2


class Collision:
    def __init__(self, factor):
        @wp.func
        def functional(x: Any):
            return x * factor

        self.functional = functional


class Stepper:
    def __init__(self, n=3, scale=2.5, factor=2.0):
        self.lattice, self.collision = Lattice(), Collision(factor)
        self.n, self.scale, self.shift, self.dtype = n, scale, wp.vec3(1.0, 2.0, 3.0), wp.float32
        self.steps = (1, n)

        @wp.kernel
        def kernel(out: wp.array2d(dtype=float), x: float):
            i = wp.tid()
            for d in range(self.lattice.d):
                out[i, 0] += self.dtype(d + 1)
            for _ in range(self.n):
                out[i, 0] += 10.0
            out[i, 1] = self.scale * self.shift[1] + float(self.steps[1])
            out[i, 2] = self.collision.functional(x)

        self.kernel = kernel

    def result(self, **options):
        out = wp.zeros((2, 3), dtype=float)
        wp.launch(self.kernel, 2, inputs=[out, 4.0], **options)
        return out.numpy()

    def expected(self, factor=2.0):
        return np.tile([3.0 + 10.0 * self.n, self.scale * 2.0 + self.n, 4.0 * factor], (2, 1))


@interpreted
def test_kernels_read_numbers_types_and_functions_of_objects(interpret):
    for stepper, factor in ((Stepper(), 2.0), (Stepper(n=5), 2.0), (Stepper(scale=0.5, factor=3.0), 3.0)):
        np.testing.assert_array_equal(stepper.result(interpret=interpret), stepper.expected(factor))


def test_what_is_read_of_objects_counts_in_the_content_hash():
    made = [Stepper(), Stepper(n=4), Stepper(scale=1.0), Stepper(factor=7.0)]
    assert len({content_hash.digest(s.kernel) for s in made}) == len(made)
    assert content_hash.digest(Stepper().kernel) == content_hash.digest(made[0].kernel)
    made[0].unread = 5
    assert content_hash.digest(Stepper().kernel) == content_hash.digest(made[0].kernel)


def test_attributes_are_those_of_the_first_launch():
    stepper = Stepper()
    expected = stepper.expected()
    np.testing.assert_array_equal(stepper.result(), expected)
    stepper.n = 6
    np.testing.assert_array_equal(stepper.result(), expected)
    wide = wp.zeros((2, 6), dtype=float)[:, ::2]
    with pytest.raises(RuntimeError, match=r"`self\.n` has changed since the first launch"):
        wp.launch(stepper.kernel, 2, inputs=[wide, 4.0])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("out[0] = thing.data[0]", "an object of type array cannot be captured"),
        ("out[0] = thing.missing", "has no member `missing`"),
        ("other = thing", "an object of type SimpleNamespace cannot be captured"),
        ("out[0] = mesh.points[0].x", "an object of type Mesh cannot be captured"),
    ],
)
def test_what_could_change_between_launches_is_refused(line, told):
    points = wp.zeros(3, dtype=wp.vec3)
    namespace = {
        "thing": SimpleNamespace(data=wp.zeros(1, dtype=float)),
        "mesh": wp.Mesh(points, wp.array([0, 1, 2], dtype=int)),
    }
    text = f"""
import omni.warp_core as wp

@wp.kernel
def reads(out: wp.array(dtype=float)):
    {line}
"""
    with pytest.raises(wp.CompileError, match=told):
        wp.launch(wp.kernel_from_source(text, namespace=namespace), 1, inputs=[wp.zeros(1, dtype=float)])
