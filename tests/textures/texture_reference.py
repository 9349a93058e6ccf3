"""Samples of textures from the definition, one by one in float64: the judge of these tests."""

import itertools
import math

import numpy as np

WRAP, CLAMP, MIRROR, BORDER = range(4)
CLOSEST, LINEAR = range(2)
LARGEST = {"u1": 255, "u2": 65535, "i1": 127, "i2": 32767}


def decoded(data):
    """The numbers that stand for those of integers of 8 and 16 bits."""
    values, largest = data.astype(np.float64), LARGEST.get(data.dtype.str[1:])
    return values if largest is None else np.maximum(values / largest, -1.0)


def halved(data):
    """The next level of detail: means of two texels along each axis (the first ones), rounded to the type."""
    axes = range(data.ndim - 1)
    parts = [[slice(k, 2 * (n // 2), 2) for k in range(2)] if n > 1 else [slice(None)] for n in data.shape[:-1]]
    corners = [data[tuple(part)].astype(np.float64) for part in itertools.product(*parts)]
    mean = sum(corners) / len(corners)
    assert mean.ndim == len(axes) + 1
    return (np.rint(mean) if data.dtype.kind in "iu" else mean).astype(data.dtype)


def texel(values, index, modes):
    """The texel at an index of any size."""
    found = []
    for i, n, mode in zip(index, values.shape, modes):
        if mode == BORDER and not 0 <= i < n:
            return np.zeros(values.shape[-1])
        folded = i % (2 * n)
        found.append({WRAP: i % n, CLAMP: min(max(i, 0), n - 1), MIRROR: min(folded, 2 * n - 1 - folded)}.get(mode, i))
    return values[tuple(found)]


def in_level(values, place, modes, linear):
    """The value at a place that counts texels, both in the order of the array: u is last."""
    if not linear:
        return texel(values, [math.floor(x) for x in place], modes)
    low = [math.floor(x - 0.5) for x in place]
    total = np.zeros(values.shape[-1])
    for corner in itertools.product((0, 1), repeat=len(place)):
        weight = math.prod(x - 0.5 - i if c else 1.0 - (x - 0.5 - i) for x, i, c in zip(place, low, corner))
        total += weight * texel(values, [i + c for i, c in zip(low, corner)], modes)
    return total


def sampled(data, place, modes, linear=True, normalized=True, lod=0.0, levels=1, level_linear=True):
    """The value of a texture with data of shape (..., channels) at a place: u, v, w."""
    chain = [data]
    for _ in range(levels - 1):
        chain.append(halved(chain[-1]))
    detail = min(max(lod, 0.0), levels - 1.0)
    near = [math.floor(detail)] if level_linear else [math.floor(detail + 0.5)]
    weights = [1.0]
    if level_linear and detail > near[0]:
        near, weights = [near[0], near[0] + 1], [1.0 - (detail - near[0]), detail - near[0]]
    total = 0.0
    for level, weight in zip(near, weights):
        values = decoded(chain[level])
        scale = [m if normalized else m / n for m, n in zip(values.shape, data.shape)]
        there = [x * s for x, s in zip(place[::-1], scale)]
        total = total + weight * in_level(values, there, modes[::-1], linear)
    return total
