"""Small kernels that tests of several rooms launch, where any kernel would do."""

import omni.warp_core as wp

F = wp.array(dtype=float)


@wp.kernel
def square(x: F, y: F):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def square_in_place(x: F):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def double(x: F):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.kernel
def total(x: F, out: F):
    wp.atomic_add(out, 0, x[wp.tid()])
