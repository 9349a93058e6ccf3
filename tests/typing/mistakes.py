"""Mistakes that type checkers report: on the lines that end in `# wrong`, and on no others.

Some only one of them sees.
"""

from __future__ import annotations

import omni.warp_core as wp


@wp.kernel
def in_kernels(x: wp.array[float], p: wp.array[wp.vec3], grid: wp.array2d[float], m: wp.mat33, w: wp.vec3d):
    i = wp.tid()
    p[i] = wp.vec2(1.0, 2.0)  # wrong
    p[i] = 1.0  # wrong
    x[i] = p[i]  # wrong
    x[i] = wp.normalise(p[i])  # wrong
    x[i] = wp.dot(p[i], wp.vec2(1.0, 2.0))  # wrong
    x[i] = wp.dot(p[i], w)  # wrong
    x[i] = wp.sin(p[i])  # wrong
    x[i] = wp.clamp(x[i], 0.0)  # wrong
    x[i] = p[i].u  # wrong
    p[i] = p[i] + w  # wrong
    p[i] = p[i] * p[i]  # wrong
    p[i] = m @ wp.vec4(1.0)  # wrong
    p[i] = wp.vec3(1.0, 2.0)  # wrong
    p[i] = wp.cross(p[i], wp.vec4(1.0))  # wrong
    p[i] = wp.quat_rotate(p[i], p[i])  # wrong
    p[i] = wp.normalize(wp.vec3i(1, 2, 3))  # wrong
    x[i] = grid[i]  # wrong
    x[i] = wp.int8(1) + wp.int16(2)  # wrong
    p[i].x = "one"  # wrong
    s = 0
    s = s + 0.5  # wrong (mypy)
    x[i] = wp.float64(1.0) * wp.float16(2.0)  # wrong


@wp.func
def scaled(v: wp.vec3, by: float) -> wp.vec3:
    return wp.length(v)  # wrong


@wp.kernel
def calls(p: wp.array[wp.vec3]):
    i = wp.tid()
    p[i] = scaled(p[i])  # wrong
    p[i] = scaled(p[i], p[i])  # wrong
    p[i] = scaled(by=1.0, v=p[i], extra=2.0)  # wrong


def on_the_host() -> None:
    a = wp.zeros(3, dtype=float)
    wp.launch(in_kernels, inputs=[a])  # wrong
    wp.launch(on_the_host, dim=1)  # wrong
    wp.launch(in_kernels, dim=3, input=[a])  # wrong
    wp.zeros(3, dtype=3)  # wrong
    a.nunpy()  # wrong
    a.fill_()  # wrong
    wp.config.mode = 3  # wrong (mypy)
    wp.vec3(1.0, 2.0, "3")  # wrong
    wp.ScopedTimer()  # wrong
    wp.utils.array_scn(a, a)  # wrong
