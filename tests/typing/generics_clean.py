"""Generic kernels, references, indexed and local arrays, maps: accepted by type checkers without a word."""

from __future__ import annotations

from typing import Any, TypeVar

import omni.warp_core as wp

T = TypeVar("T")


@wp.func
def scaled(x: Any, by: wp.Float) -> Any:
    return x * by


@wp.kernel
def open_types(x: wp.array[Any], by: Any, y: wp.array[wp.Float]):
    i = wp.tid()
    x[i] = scaled(x[i], by)
    y[i] = y[i] + x[i]


@wp.func
def reflect(position: wp.ref[float], velocity: wp.ref[float]):
    if position < 0.0:
        position = -position
        velocity = -velocity


@wp.kernel
def views(x: wp.array2d[float], chosen: wp.indexedarray[float], out: wp.array[float]):
    i = wp.tid()
    velocity = 1.0
    reflect(x[i, 0], velocity)
    near = x[i][1:3]
    chosen[i] = velocity + near[0] + float(len(near))
    best = wp.zeros(shape=4, dtype=float)
    for j in range(4):
        best[j] = float(j)
    total = 0.0
    for value in best:
        total += value
    out[i] = total


def host() -> None:
    a = wp.array([1.0, 2.0], dtype=float)
    b = wp.map(wp.sin, a)
    c = wp.map(lambda x, y: x * y + 1.0, a, 2.0)
    d = a + b * 2.0
    instance = wp.overload(open_types, [wp.array[float], float, wp.array[float]])
    wp.launch(instance, dim=2, inputs=[a, 2.0, c])
    picked = a[wp.array([1, 0], dtype=int)]
    print(b.numpy(), d.numpy(), picked.numpy(), wp.indexedarray(a, [wp.array([1], dtype=int)]).shape)
