"""Runs kernels with tiles interpreted and compiled, in blocks of several sizes: the results are the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp.interp import MemArray, run_kernel
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import Array, Packed

BLOCK_DIMS = (1, 32, 64)
COMPILED = True


def shaped(array, t):
    """An array of numbers as the interpreter takes it."""
    if not isinstance(t.dtype, Packed):
        return MemArray(t.dtype, array.shape, array.ravel().tolist())
    shape = array.shape[: t.ndim]
    return MemArray(t.dtype, shape, [tuple(row) for row in array.reshape(-1, t.dtype.count).tolist()])


def interpreted(kernel, dim, inputs, block_dim):
    """The arrays among the inputs after a tiled launch in the IR interpreter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        function = lower_kernel(kernel, block_dim)
    verify(function)
    types = [t for _, t in kernel.params]
    given = [shaped(x, t) if isinstance(t, Array) else x for x, t in zip(inputs, types)]
    run_kernel(function, given, (*np.atleast_1d(dim), block_dim))
    found = []
    for x, t, values in zip(inputs, types, given):
        if isinstance(t, Array):
            found.append(np.array(values.values(), dtype=x.dtype).reshape(x.shape))
    return found


def launched(kernel, dim, inputs, block_dim):
    """The arrays among the inputs after a tiled launch."""
    types = [t for _, t in kernel.params]
    given = [wp.array(x, dtype=t.dtype, ndim=t.ndim) if isinstance(t, Array) else x for x, t in zip(inputs, types)]
    wp.launch_tiled(kernel, dim, given, block_dim=block_dim)
    return [a.numpy().reshape(x.shape) for a, x, t in zip(given, inputs, types) if isinstance(t, Array)]


def results(kernel, dim, *inputs, block_dims=BLOCK_DIMS):
    """The arrays after a tiled launch; they are the same for all sizes of blocks, interpreted and compiled."""
    first = None
    for block_dim in block_dims:
        for run in (interpreted, launched) if COMPILED else (interpreted,):
            found = run(kernel, dim, inputs, block_dim)
            first = found if first is None else first
            for a, b in zip(first, found):
                np.testing.assert_array_equal(a, b, err_msg=f"{run.__name__} with block_dim={block_dim}")
    return first if len(first) != 1 else first[0]


def total(x):
    """The sum of numbers in the order in which tiles are summed."""
    x = np.ravel(x)
    parts = [x[p].copy() for p in range(min(16, len(x)))]
    for k in range(16, len(x)):
        parts[k % 16] = parts[k % 16] + x[k]
    half = 8
    while half:
        for i, value in enumerate(parts[half:]):
            parts[i] = parts[i] + value
        del parts[half:]
        half //= 2
    return parts[0]


def refused(text, *fragments, error=wp.CompileError, under=None):
    """A kernel given as the text of its body is refused, once, with these words."""
    head = "import omni.warp_core as wp\n@wp.kernel\ndef k(x: wp.array[float], m: wp.array2d[float], n: int):\n"
    body = "".join(f"    {line}\n" for line in text.splitlines())
    kernel = wp.kernel_from_source(head + body, filename=f"<tile error {abs(hash(text))}>", name="k")
    with pytest.raises(error) as caught:
        lower_kernel(kernel, 32)
    report = str(caught.value)
    assert report.count("error[") == 1, report
    for fragment in fragments:
        assert fragment in report, report
    if under is not None:
        marked = caught.value.diagnostics[0].place
        assert marked.text.encode()[marked.span.col : marked.span.end_col].decode() == under, report
