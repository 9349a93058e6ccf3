"""Products of Hessians with vectors: against Hessians by hand, differences of gradients, and in random programs."""

from __future__ import annotations

import os
import random
from collections import Counter

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.jvp.tangent import tangent_kernel
from omni.warp_core.autodiff.jvp.tangent_values import carries
from omni.warp_core.autodiff.vjp.adjoint import BEFORE, adjoint_kernel
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir import verifier
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.types import F64
from omni.warp_core.passes.pipeline import run
from tests.autodiff import reference_gradients
from tests.autodiff.corpus import random_programs

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_PROGRAMS", "0:10").split(":"))
CHUNK = 10
D = wp.array(dtype=wp.float64)


@wp.kernel
def chain(x: D, y: D):
    i = wp.tid()
    wp.atomic_add(y, 0, x[i] * x[i] * x[i] * wp.sin(x[i + 1]))


def energy(x):
    y = wp.zeros(1, dtype=wp.float64)
    wp.launch(chain, x.size - 1, inputs=[x, y])
    return y


def chain_hessian(x):
    n = len(x)
    h = np.zeros((n, n))
    for i in range(n - 1):
        a, b = x[i], x[i + 1]
        h[i, i] += 6 * a * np.sin(b)
        h[i + 1, i + 1] -= a**3 * np.sin(b)
        h[i, i + 1] += 3 * a**2 * np.cos(b)
        h[i + 1, i] += 3 * a**2 * np.cos(b)
    return h


def test_hessian_by_hand():
    r = np.random.default_rng(0)
    x = r.normal(size=6)
    point = wp.array(x, dtype=wp.float64, requires_grad=True)
    rows = [wp.autograd.hvp(energy, point, wp.array(e, dtype=wp.float64)).numpy() for e in np.eye(6)]
    np.testing.assert_allclose(rows, chain_hessian(x), rtol=1e-12, atol=1e-12)
    assert not point.grad.numpy().any()


def test_gradients_before_and_after():
    """The array keeps its gradient, and tapes go on adding to it."""
    x = wp.array([1.0, 0.5], dtype=wp.float64, requires_grad=True)
    v = wp.ones(2, dtype=wp.float64)
    for times in (1, 2):
        found = wp.autograd.hvp(energy, x, v)
        np.testing.assert_allclose(found.numpy(), chain_hessian([1.0, 0.5]) @ [1.0, 1.0])
        y = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(chain, 1, inputs=[x, y])
        tape.backward(y)
        np.testing.assert_allclose(x.grad.numpy(), times * np.array([3 * np.sin(0.5), np.cos(0.5)]))


@wp.kernel
def stretch(x: wp.array(dtype=wp.vec3d), rest: D, energy: D):
    i = wp.tid()
    s = wp.length(x[i + 1] - x[i]) - rest[i]
    wp.atomic_add(energy, 0, 0.5 * s * s)


@wp.kernel
def step(x: wp.array(dtype=wp.vec3d), rest: D, v: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    d = x[i + 1] - x[i]
    wp.atomic_add(v, i, 0.1 * (wp.length(d) - rest[i]) * wp.normalize(d))


def net(x, rest):
    v = wp.zeros_like(x)
    for _ in range(3):
        wp.launch(step, rest.size, inputs=[x, rest, v])
        x = x + 0.5 * v
    out = wp.empty(1, dtype=wp.float64)
    out.zero_()
    wp.launch(stretch, rest.size, inputs=[x, rest, out])
    return out


def test_several_arrays_against_differences_of_gradients():
    r = np.random.default_rng(1)
    x, rest = r.normal(size=(5, 3)), r.uniform(0.5, 1.0, 4)
    dx, drest = r.normal(size=(5, 3)), r.normal(size=4)

    def gradient(h):
        arrays = [
            wp.array(x + h * dx, dtype=wp.vec3d, requires_grad=True),
            wp.array(rest + h * drest, dtype=wp.float64, requires_grad=True),
        ]
        tape = wp.Tape()
        with tape:
            v = wp.zeros_like(arrays[0])
            moved = arrays[0]
            for _ in range(3):
                wp.launch(step, 4, inputs=[moved, arrays[1], v])
                moved = moved + 0.5 * v
            out = wp.zeros(1, dtype=wp.float64, requires_grad=True)
            wp.launch(stretch, 4, inputs=[moved, arrays[1], out])
        tape.backward(out)
        return [a.grad.numpy().copy() for a in arrays]

    found = wp.autograd.hvp(
        net,
        [wp.array(x, dtype=wp.vec3d), wp.array(rest, dtype=wp.float64)],
        [wp.array(dx, dtype=wp.vec3d), wp.array(drest, dtype=wp.float64)],
    )
    for product, up, down in zip(found, gradient(1e-5), gradient(-1e-5)):
        np.testing.assert_allclose(product.numpy(), (up - down) / 2e-5, rtol=1e-6, atol=1e-7)


def test_products_of_matrices_and_sums():
    """x^T A x has the Hessian A + A^T."""
    r = np.random.default_rng(2)
    a, x, v = r.normal(size=(4, 4)), r.normal(size=4), r.normal(size=4)
    matrix = wp.array(a, dtype=wp.float64)

    def quadratic(x):
        out = wp.zeros(1, dtype=wp.float64)
        wp.utils.array_inner(x, matrix @ x, out=out)
        return out

    found = wp.autograd.hvp(quadratic, *(wp.array(p, dtype=wp.float64) for p in (x, v)))
    np.testing.assert_allclose(found.numpy(), (a + a.T) @ v, rtol=1e-12)


def test_symmetric():
    r = np.random.default_rng(3)
    x, u, v = (wp.array(r.normal(size=8), dtype=wp.float64) for _ in range(3))
    one, other = (wp.autograd.hvp(energy, x, w).numpy() for w in (u, v))
    assert np.isclose(one @ v.numpy(), other @ u.numpy(), rtol=1e-12)


def test_mistakes():
    x = wp.ones(3, dtype=wp.float64)
    with pytest.raises(ValueError, match="one element"):
        wp.autograd.hvp(lambda x: x * x, x, x)
    outside = wp.zeros(1, dtype=wp.float64)

    def writes_outside(x):
        wp.launch(chain, 2, inputs=[x, outside])
        return outside

    with pytest.raises(ValueError, match="no gradient; make it inside"):
        wp.autograd.hvp(writes_outside, x, wp.ones(3, dtype=wp.float64))
    with pytest.raises(TypeError, match="expected an array"):
        wp.autograd.hvp(energy, 1.0, 1.0)


# -- random programs --------------------------------------------------------------------------------------------------


def second(seed: int) -> reference_gradients.Verdict:
    """The gradient of tangents, times a direction, against differences of the tangents in that direction."""
    function = lower_kernel(reference_gradients.kernel_of(random_programs.text(seed), f"<second {seed}>"))
    try:
        tangent = tangent_kernel(function, tuple(carries(p.type) for p in function.params), library_gradient)
        adjoint = adjoint_kernel(tangent, library_gradient)
    except NotDifferentiable as why:
        return reference_gradients.Verdict("refused", why.reason)
    verifier.verify(adjoint.function)
    tangent = run(tangent)
    values, r = reference_gradients.inputs(seed), random.Random(-seed)
    along, across, weights = ({n: [r.uniform(-1.0, 1.0) for _ in v] for n, v in values.items()} for _ in range(3))

    def arrays(h: float) -> list:
        moved = {n: [x + h * d for x, d in zip(v, across[n])] for n, v in values.items()}
        return [*reference_gradients.arguments(moved), *(MemArray(F64, (len(v),), list(v)) for v in along.values())]

    def changes(h: float) -> float:
        args = arrays(h)
        interp.run_kernel(tangent, args, reference_gradients.THREADS)
        return sum(np.dot(weights[n], args[i].values()) for n, i in (("y", 5), ("z", 6)))

    before, after = arrays(0.0), arrays(0.0)
    interp.run_kernel(tangent, after, reference_gradients.THREADS)
    args = [b if time == BEFORE else a for a, b, time in zip(after, before, adjoint.reads)]
    for i, (n, seeds) in {0: ("x", 0), 2: ("y", 0), 3: ("z", 0), 4: ("x", 0), 5: ("y", 1), 6: ("z", 1)}.items():
        args[i].grad = MemArray(F64, args[i].shape, list(weights[n]) if seeds else [0.0] * len(weights[n]))
    interp.run_kernel(run(adjoint.function), args, reference_gradients.THREADS)
    found = sum(np.dot(across[n], args[i].grad.values()) for n, i in (("x", 0), ("y", 2), ("z", 3)))
    slopes = [(changes(h) - changes(-h)) / (2.0 * h) for h in (1e-5, 5e-6, 2.5e-6)]
    allowed = 1e-4 * (1.0 + abs(found) + abs(slopes[0])) + 1e-9 * abs(changes(0.0)) / 1e-5
    if abs(found - slopes[0]) <= allowed:
        return reference_gradients.Verdict("right")
    shaky = max(abs(found), *map(abs, slopes)) > reference_gradients.LARGE or any(
        abs(s - slopes[0]) > allowed for s in slopes
    )
    return (
        reference_gradients.Verdict("unclear")
        if shaky
        else reference_gradients.Verdict("wrong", f"{found} instead of {slopes}")
    )


@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_programs(first, record_property):
    verdicts = {seed: second(seed) for seed in range(first, min(first + CHUNK, HIGH))}
    counts = Counter(v.kind for v in verdicts.values())
    record_property("second derivatives", dict(counts))
    print(dict(counts))
    assert not {seed: v.detail for seed, v in verdicts.items() if v.kind == "wrong"}
    assert counts["right"] >= 0.8 * len(verdicts)
