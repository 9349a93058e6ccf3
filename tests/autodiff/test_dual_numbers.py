"""The rules of dual numbers against differences, and that a wrong gradient does not pass them."""

import math

import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import F64
from tests.autodiff import dual_numbers, reference_gradients

POINTS = {"acosh": [1.7], "log1p": [0.4], "rem": [7.3, -2.1], "fmod": [7.3, -2.1], "fma": [0.3, -1.2, 0.7]}


@pytest.mark.parametrize("name", sorted(dual_numbers._RULES))
def test_rules(name):
    plain, binary = (semantics.libm if name in semantics.LIBM else semantics.evaluate), {"div", "atan2", "pow"}
    point = POINTS.get(name, [0.6, 0.8] if name in binary else [0.6])
    value = plain(name, F64, *point)
    for i, found in enumerate(dual_numbers._RULES[name](value, *point)):
        ends = [plain(name, F64, *(x + s * (j == i) for j, x in enumerate(point))) for s in (1e-6, -1e-6)]
        assert math.isclose(found, (ends[0] - ends[1]) / 2e-6, rel_tol=1e-7, abs_tol=1e-9)


def test_every_function_of_the_c_library_has_a_rule():
    assert set(semantics.LIBM) <= set(dual_numbers._RULES)


def test_programs_carry_derivatives():
    @wp.kernel
    def program(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        v = wp.vec3d(x[i], wp.sin(x[i]), 2.0)
        for _ in range(3):
            if v[0] < 1.0:
                v[0] = v[0] * v[1] + 1.0 / v[2]
        wp.atomic_add(y, 0, wp.length(v) - abs(x[i]))

    x, y = [dual_numbers.Dual(0.3, 1.0), dual_numbers.Dual(-0.4, 0.5)], MemArray(F64, (1,), [0.0])
    dual_numbers.run_kernel(lower_kernel(program), [MemArray(F64, (2,), x), y], 2)

    def formula(a, b):
        total = 0.0
        for x in (a, b):
            u, v = x, math.sin(x)
            for _ in range(3):
                u = u * v + 0.5 if u < 1.0 else u
            total += math.sqrt(u * u + v * v + 4.0) - abs(x)
        return total

    (found,) = y.values()
    assert float(found) == pytest.approx(formula(0.3, -0.4), rel=1e-14)
    h = 1e-6
    assert found.slope == pytest.approx((formula(0.3 + h, -0.4 + h / 2) - formula(0.3 - h, -0.4 - h / 2)) / (2 * h))


def test_a_wrong_gradient_is_seen():
    text = "@wp.kernel\ndef program(x: F, n: int, y: F, z: F):\n    i = wp.tid()\n    z[i] = x[i] * x[i]\n"
    function = lower_kernel(reference_gradients.kernel_of(text, "<dual>"))
    values = reference_gradients.inputs(3)
    weights = {name: [1.0] * len(v) for name, v in values.items() if name != "x"}
    found = reference_gradients.backward(
        function, adjoint_kernel(function, library_gradient), reference_gradients.THREADS, values, weights
    )
    assert reference_gradients.by_duals(function, values, weights, found).kind == "right"
    found["x"][1] *= 1.0 + 1e-7  # which no differences would tell
    assert reference_gradients.by_duals(function, values, weights, found).kind == "wrong"
