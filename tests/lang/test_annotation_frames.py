"""Annotations written as strings, and the frames in which their names are found."""

from __future__ import annotations

import weakref

import omni.warp_core as wp


def test_a_launched_kernel_lets_the_frames_around_it_go():
    """Annotations are strings in this file, and a kernel looks for their names in the function around it."""

    class Large:
        pass

    def define():
        number = float

        @wp.kernel
        def fill(x: wp.array(dtype=number)):
            x[wp.tid()] = 1.0

        wp.launch(fill, 2, [wp.zeros(2, dtype=float)])
        return fill

    def call():
        large = Large()
        return define(), weakref.ref(large)

    kernel, large = call()
    assert large() is None
    wp.launch(kernel, 2, [x := wp.zeros(2, dtype=float)])
    assert x.list() == [1.0, 1.0]
