"""Judges gradients of kernels with tiles by central differences in float64: the adjoint in the IR interpreter by
differences of the interpreted kernel, and a tape by differences of launches.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.autodiff.vjp.read_time import BEFORE
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp.interp import run_kernel
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import Array
from tests.tiles.tile_runs import shaped

STEP = 1e-6
CLOSE = 1e-6


def normal(*shape, seed=0):
    """Random numbers."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def judge(kernel, dim, *inputs, block_dims=(1, 4)):
    """Compare gradients of a weighted sum of all floats that a tiled launch leaves with differences."""
    types = [t for _, t in kernel.params]
    active = [isinstance(t, Array) and t.dtype.is_differentiable for t in types]
    weights = [normal(*x.shape, seed=k + 1) if on else None for k, (x, on) in enumerate(zip(inputs, active))]
    grid = tuple(np.atleast_1d(dim))
    _compare(_Interpreted(kernel, types, (*grid, block_dims[-1])), inputs, weights)
    for block_dim in block_dims:
        _compare(_Launched(kernel, types, (*grid, block_dim)), inputs, weights)


def _compare(run, inputs, weights):
    def loss(moved):
        return sum(float((x * w).sum()) for x, w in zip(run.forward(moved), weights) if w is not None)

    found = run.backward(inputs, weights)
    for k, (x, gradient) in enumerate(zip(inputs, found)):
        for at in np.ndindex(*x.shape) if gradient is not None else ():
            sides = []
            for step in (STEP, -STEP):
                moved = [np.array(v) if isinstance(v, np.ndarray) else v for v in inputs]
                moved[k][at] += step
                sides.append(loss(moved))
            slope = (sides[0] - sides[1]) / (2 * STEP)
            what = f"{type(run).__name__[1:]} in blocks of {run.dim[-1]}: gradient of argument {k} at {at}"
            assert abs(slope - gradient[at]) <= CLOSE * (1 + abs(slope)), f"{what}: {gradient[at]}, slope {slope}"


class _Interpreted:
    def __init__(self, kernel, types, dim):
        self.types, self.dim = types, dim
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wp.KernelWarning)
            self.function = lower_kernel(kernel, int(dim[-1]), len(dim))
        self.adjoint = adjoint_kernel(self.function, library_gradient)
        verify(self.adjoint.function)

    def arguments(self, inputs):
        return [shaped(x, t) if isinstance(t, Array) else x for x, t in zip(inputs, self.types)]

    def forward(self, inputs):
        given = self.arguments(inputs)
        run_kernel(self.function, given, self.dim)
        return [_numbers(a, x) for a, x in zip(given, inputs)]

    def backward(self, inputs, weights):
        before, after = self.arguments(inputs), self.arguments(inputs)
        run_kernel(self.function, after, self.dim)
        given = [b if time == BEFORE else a for a, b, time in zip(after, before, self.adjoint.reads)]
        for a, w, t in zip(given, weights, self.types):
            if w is not None:
                a.grad = shaped(w, t)
        run_kernel(self.adjoint.function, given, self.dim)
        return [None if w is None else _numbers(a.grad, w) for a, w in zip(given, weights)]


def _numbers(a, like):
    return np.array(a.values(), dtype=like.dtype).reshape(like.shape) if isinstance(like, np.ndarray) else None


class _Launched:
    def __init__(self, kernel, types, dim):
        self.kernel, self.types, self.dim = kernel, types, dim

    def arguments(self, inputs):
        return [
            wp.array(x, dtype=t.dtype, ndim=t.ndim, requires_grad=t.dtype.is_differentiable)
            if isinstance(t, Array)
            else x
            for x, t in zip(inputs, self.types)
        ]

    def launch(self, given):
        *dim, block_dim = map(int, self.dim)
        wp.launch_tiled(self.kernel, dim, given, block_dim=block_dim)

    def forward(self, inputs):
        given = self.arguments(inputs)
        self.launch(given)
        return [a.numpy().reshape(x.shape) if isinstance(x, np.ndarray) else None for a, x in zip(given, inputs)]

    def backward(self, inputs, weights):
        given = self.arguments(inputs)
        with wp.Tape() as tape:
            self.launch(given)
        seeds = {a: wp.array(w, dtype=a.dtype, ndim=a.ndim) for a, w in zip(given, weights) if w is not None}
        tape.backward(grads=seeds)
        return [None if w is None else a.grad.numpy().reshape(w.shape) for a, w in zip(given, weights)]


def refused(kernel, *fragments, block_dim=4):
    """The gradient of a kernel is refused, with these words, before anything is launched."""
    types = [t for _, t in kernel.params]
    given = [
        wp.zeros((8,) * t.ndim, dtype=t.dtype, requires_grad=t.dtype.is_differentiable) if isinstance(t, Array) else 2
        for t in types
    ]
    with pytest.raises(wp.CompileError) as caught, wp.Tape():
        wp.launch_tiled(kernel, 1, given, block_dim=block_dim)
    report = str(caught.value)
    for fragment in (*fragments, "the gradient of", ".py:"):
        assert fragment in report, report
