"""Nests of constant loops: what is unrolled, how large the code becomes, and that the numbers stay the same."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.passes import pipeline

pytestmark = pytest.mark.cpu

LARGEST = 1200  # operations of a finished kernel that has one nest of loops


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    for row in range(16):
        for column in range(16):
            for k in range(16):
                c[row, column] += a[row, k] * b[k, column]


@wp.kernel
def small_product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    for row in range(4):
        for column in range(4):
            for k in range(4):
                c[row, column] += a[row, k] * b[k, column]


@wp.func
def entry(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), row: int, column: int):
    total = 0.0
    for k in range(16):
        total += a[row, k] * b[k, column]
    return total


@wp.kernel
def product_by_function(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    for row in range(wp.static(16)):
        for column in range(16):
            c[row, column] += entry(a, b, row, column)


@wp.kernel
def four_levels(x: wp.array(dtype=int)):
    for a in range(8):
        for b in range(8):
            for c in range(8):
                for d in range(8):
                    x[a + b] += a * b * c + d


@wp.kernel
def thirteen_levels(x: wp.array(dtype=int)):
    for a in range(2):
        for b in range(2):
            for c in range(2):
                for d in range(2):
                    for e in range(2):
                        for f in range(2):
                            for g in range(2):
                                for h in range(2):
                                    for i in range(2):
                                        for j in range(2):
                                            for k in range(2):
                                                for m in range(2):
                                                    for n in range(2):
                                                        x[a + b + c + d + e + f + g] += h + i + j + k + m * n


@wp.kernel
def unused_indices(x: wp.array(dtype=int)):
    s = 1
    for _a in range(4):
        for _b in range(4):
            for _c in range(4):
                for _d in range(4):
                    for _e in range(4):
                        s = s * 3 + x[1]
    x[0] = s


@wp.kernel
def triangles(x: wp.array(dtype=int)):
    for a in range(14):
        for b in range(a):
            for c in range(b, 14):
                for d in range(c):
                    x[a] += b * c - d


@wp.kernel
def folded(x: wp.array(dtype=int)):
    s = 0
    for a in range(16):
        for b in range(16):
            for c in range(16):
                for d in range(16):
                    s = a * b - c * d
    x[0] = s


@wp.kernel
def inside_of_tuples(x: wp.array(dtype=int)):
    for a in (1, 2, 3, 4, 5, 6, 7, 8, 9):
        for b in (1, 2, 3, 4, 5, 6, 7, 8, 9):
            for c in range(16):
                for d in range(16):
                    x[c] += a * d - b


@wp.kernel
def constant_indices(x: wp.array(dtype=int)):
    numbers = (1, 2.0, 3, 4.0, 5, 6.0, 7, 8.0)
    for a in range(8):
        for b in range(8):
            for c in range(8):
                x[c] += int(numbers[a]) * b + int(numbers[b]) * c


@wp.kernel
def known_branches(x: wp.array(dtype=int)):
    for a in range(9):
        for b in range(9):
            for c in range(9):
                if a == 0 and b == 0 and c == 0:
                    first = x[3]
                x[c] += first * a - b


NESTS = [
    four_levels,
    thirteen_levels,
    unused_indices,
    triangles,
    folded,
    inside_of_tuples,
    constant_indices,
    known_branches,
]


def operations(kernel):
    body = pipeline.run(lower_kernel(kernel)).body
    return [op for op in body.walk() if op.code != "const"]


def loops(kernel):
    return sum(op.code == "for" for op in operations(kernel))


@pytest.mark.parametrize("kernel", [product, product_by_function, *NESTS], ids=lambda k: k.name)
def test_a_nest_has_one_budget(kernel):
    assert len(operations(kernel)) <= LARGEST


def test_inner_loops_are_unrolled_first():
    assert loops(small_product) == 0
    assert loops(product) == 2


@pytest.mark.parametrize("kernel", NESTS, ids=lambda k: k.name)
def test_numbers_are_those_of_python(kernel):
    start = np.arange(1, 17, dtype=np.int32)
    expected = [int(n) for n in start]
    kernel.func(expected)
    x = wp.array(start)
    wp.launch(kernel, 1, [x])
    assert x.list() == [(n + 2**31) % 2**32 - 2**31 for n in expected]


@pytest.mark.parametrize("kernel", [product, product_by_function], ids=lambda k: k.name)
def test_products_and_their_gradients(kernel):
    rng = np.random.default_rng(3)
    left, right, seed = (rng.random((16, 16)) for _ in range(3))
    a, b = (wp.array(m.astype(np.float32), requires_grad=True) for m in (left, right))
    c = wp.zeros((16, 16), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 1, [a, b, c])
    tape.backward(grads={c: wp.array(seed.astype(np.float32))})
    np.testing.assert_allclose(c.numpy(), left @ right, rtol=1e-5)
    np.testing.assert_allclose(a.grad.numpy(), seed @ right.T, rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), left.T @ seed, rtol=1e-5)


def test_a_mistake_in_a_large_nest_is_told_once():
    @wp.kernel
    def wrong(x: wp.array(dtype=float)):
        for a in range(16):
            for b in range(16):
                for c in range(16):
                    x[a] += x[b] * c

    with pytest.raises(wp.CompileError) as found:
        lower_kernel(wrong)
    assert [d.code for d in found.value.diagnostics] == ["type-mismatch"]


def test_elements_of_a_local_array_are_read_when_their_turn_comes():
    @wp.kernel
    def shifted(out: wp.array(dtype=int)):
        a = wp.zeros(shape=4, dtype=int)
        for i, x in enumerate(a):
            out[i] = x
            if i < 3:
                a[i + 1] = 10 * (i + 1)

    out = wp.zeros(4, dtype=int)
    wp.launch(shifted, 1, [out])
    assert out.list() == [0, 10, 20, 30]


SIZE = 9
square = wp.types.matrix(shape=(SIZE, SIZE), dtype=float)


@wp.kernel
def product_in_registers(a: wp.array(dtype=square), b: wp.array(dtype=square), c: wp.array(dtype=square)):
    left, right, result = a[0], b[0], square()
    for row in range(SIZE):
        for column in range(SIZE):
            for k in range(SIZE):
                result[row, column] += left[row, k] * right[k, column]
    c[0] = result


@wp.kernel
def eliminated(a: wp.array(dtype=square), c: wp.array(dtype=square)):
    m = a[0]
    for pivot in range(SIZE):
        for row in range(pivot + 1, SIZE):
            factor = m[row, pivot] / m[pivot, pivot]
            for column in range(pivot, SIZE):
                m[row, column] -= factor * m[pivot, column]
    c[0] = m


def searches(kernel):
    return sum(op.code in ("extract_dyn", "insert_dyn") for op in operations(kernel))


@pytest.mark.parametrize("kernel", [product_in_registers, eliminated], ids=lambda k: k.name)
def test_components_are_selected_by_constants(kernel):
    assert loops(kernel) == searches(kernel) == 0


def test_matrices_in_registers():
    left, right = np.random.default_rng(5).random((2, SIZE, SIZE)) + SIZE * np.eye(SIZE)
    a, b = (wp.array([m.astype(np.float32)], dtype=square) for m in (left, right))
    c = wp.zeros(1, dtype=square)
    wp.launch(product_in_registers, 1, [a, b, c])
    np.testing.assert_allclose(c.numpy()[0], left @ right, rtol=1e-5)
    wp.launch(eliminated, 1, [a, c])
    np.testing.assert_allclose(np.tril(c.numpy()[0], -1), 0, atol=1e-5)
    np.testing.assert_allclose(np.prod(np.diag(c.numpy()[0])), np.linalg.det(left), rtol=1e-4)


vec16 = wp.types.vector(length=16, dtype=float)


@wp.kernel
def components_and_arrays(v: wp.array(dtype=vec16), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    u = v[0]
    for row in range(12):
        for column in range(12):
            for k in range(12):
                c[row, column] += u[k] * b[k, column]


@wp.kernel
def components_and_branches(v: wp.array(dtype=vec16)):
    u = v[0]
    for a in range(16):
        for b in range(16):
            if u[a] > u[b]:
                u[a] -= u[b]
    v[0] = u


@wp.kernel
def five_levels_of_components(v: wp.array(dtype=vec16)):
    u, total = v[0], 0.0
    for a in range(12):
        for b in range(12):
            for c in range(12):
                for d in range(12):
                    for e in range(12):
                        total = total * 0.5 + u[a] * u[b] * u[c] * u[d] * u[e]
    u[0] = total
    v[0] = u


@pytest.mark.parametrize(
    "kernel", [components_and_arrays, components_and_branches, five_levels_of_components], ids=lambda k: k.name
)
def test_a_large_nest_runs_though_it_selects_components(kernel):
    assert len(operations(kernel)) <= 4 * LARGEST


@wp.func
def left_at_once(v: wp.vec3):  # what follows the first return is not reached
    for i in range(1, 3):
        return 1
        best, at = v[i], i
    return 2


def test_a_return_ends_a_loop_that_is_unrolled():
    @wp.kernel
    def k(v: wp.vec3, out: wp.array[int]):
        out[0] = left_at_once(v)

    out = wp.zeros(1, dtype=int)
    wp.launch(k, 1, [wp.vec3(1.0), out])
    assert out.list() == [1]
