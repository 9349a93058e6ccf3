"""Every way of making vectors, matrices and the like, and of taking them apart, for all scalar types. Kernels and
Python scope give values of one type, and NumPy says which. All numbers are exact in every type.
"""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lang.types import Mat

pytestmark = pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

# a, b are vectors of 3, m, n matrices of 2 x 2, w one of 2 x 3, all of scalar type T.
A, B = np.array([6, 4, 2]), np.array([3, 2, 1])
M, N = np.array([[8, 2], [4, 6]]), np.array([[1, 2], [2, 3]])
W = np.array([[1, 2, 3], [4, 5, 6]])

MAKING = {
    "V()": np.zeros(3),
    "V(T(2))": np.full(3, 2),
    "V(T(1), T(2), T(3))": [1, 2, 3],
    "V(1, 2, 3)": [1, 2, 3],
    "V((1, 2, 3))": [1, 2, 3],
    "V(a)": A,
    "wp.vector(T(1), T(2), T(3), T(4), T(5))": [1, 2, 3, 4, 5],
    "wp.vector(T(7), length=5)": np.full(5, 7),
    "wp.vector(length=4, dtype=T)": np.zeros(4),
    "wp.vector(1, 2, dtype=T)": [1, 2],
    "wp.vector(a)": A,
    "V5(T(1), T(2), T(3), T(4), T(5))": [1, 2, 3, 4, 5],
    "S()": np.zeros((2, 2)),
    "S(T(3))": np.full((2, 2), 3),
    "S(T(1), T(2), T(3), T(4))": [[1, 2], [3, 4]],
    "S(m)": M,
    "wp.matrix(T(1), T(2), T(3), T(4), T(5), T(6), shape=(3, 2))": [[1, 2], [3, 4], [5, 6]],
    "wp.matrix(T(2), shape=(2, 3))": np.full((2, 3), 2),
    "wp.matrix(shape=(3, 2), dtype=T)": np.zeros((3, 2)),
    "wp.matrix(m)": M,
    "wp.matrix_from_rows(a, b)": np.stack([A, B]),
    "wp.matrix_from_cols(a, b)": np.stack([A, B], axis=1),
    "wp.matrix_from_cols(a, b, a)": np.stack([A, B, A], axis=1),
    "wp.identity(n=3, dtype=T)": np.eye(3),
    "wp.identity(3, T)": np.eye(3),
    "wp.diag(a)": np.diag(A),
    "wp.get_diag(m)": np.diag(M),
    "wp.transpose(w)": W.T,
    "wp.outer(a, b)": np.outer(A, B),
}

TAKING = {
    "a[0]": 6,
    "a[-1]": 2,
    "a[1:]": A[1:],
    "a[:2]": A[:2],
    "a[::2]": A[::2],
    "a[::-1]": A[::-1],
    "a[-2:]": A[-2:],
    "a[0:1]": A[:1],
    "a.z": 2,
    "m[1]": M[1],
    "m[-1]": M[-1],
    "m[1, 0]": 4,
    "m[0][1]": 2,
    "m[-1, -2]": 4,
    "w[0:1]": W[:1],
    "w[:]": W,
    "w[:, 1]": W[:, 1],
    "w[1, :]": W[1],
    "w[1, 1:]": W[1, 1:],
    "w[::-1, 2]": W[::-1, 2],
    "w[0:2, 0:2]": W[:, :2],
    "w[:, ::2]": W[:, ::2],
    "w[::-1, ::-1]": W[::-1, ::-1],
    "w[1:, 1:]": W[1:, 1:],
    "w[0:2, 1:][1, 0]": 5,
}

ARITHMETIC = {
    "a + b": A + B,
    "a - b": A - B,
    "a * T(2)": A * 2,
    "T(2) * a": A * 2,
    "2 * a": A * 2,
    "a / T(2)": A / 2,
    "T(12) / a": 12 / A,
    "a % b": A % B,
    "+a": A,
    "m + n": M + N,
    "m - n": M - N,
    "m * T(2)": M * 2,
    "T(2) * m": M * 2,
    "m / T(2)": M / 2,
    "m * n": M @ N,
    "m @ n": M @ N,
    "w * a": W @ A,
    "w @ a": W @ A,
    "w[:, 0] * w": W[:, 0] @ W,
    "w * wp.transpose(w)": W @ W.T,
    "wp.dot(a, b)": A @ B,
    "wp.ddot(m, n)": (M * N).sum(),
    "wp.cw_mul(a, b)": A * B,
    "wp.cw_div(a, b)": A / B,
    "wp.trace(m)": 14,
    "wp.min(a, V(T(5)))": np.minimum(A, 5),
    "wp.max(a)": 6,
    "T(7) // T(2)": 3,
    "T(7) % T(4)": 3,
}

INTEGER = {
    "a & b": A & B,
    "a | b": A | B,
    "a ^ b": A ^ B,
    "a << b": A << B,
    "a >> b": A >> B,
}

SIGNED = {
    "-a": -A,
    "-m": -M,
    "b - a": B - A,
    "wp.abs(b - a)": A - B,
    "wp.skew(b)": [[0, -1, 2], [1, 0, -3], [-2, 3, 0]],
}

RIGID = {
    "Q()": np.zeros(4),
    "Q(T(1), T(2), T(3), T(4))": [1, 2, 3, 4],
    "Q(a, T(1))": [6, 4, 2, 1],
    "wp.quaternion(T(1), T(2), T(3), T(4))": [1, 2, 3, 4],
    "wp.quaternion(a, T(5))": [6, 4, 2, 5],
    "wp.quaternion(1.0, 2.0, 3.0, 4.0, dtype=T)": [1, 2, 3, 4],
    "wp.quaternion(dtype=T)": np.zeros(4),
    "wp.quat_identity(dtype=T)": [0, 0, 0, 1],
    "q[0:2]": [0, 1],
    "q[-1]": 0,
    "q.y": 1,
    "q + q": [0, 2, 0, 0],
    "q * T(3)": [0, 3, 0, 0],
    "q * q": [0, 0, 0, -1],
    "wp.quat_rotate(q, a)": [-6, 4, -2],
    "X(a, q)": [6, 4, 2, 0, 1, 0, 0],
    "X(p=a, q=q)": [6, 4, 2, 0, 1, 0, 0],
    "X(a)": [6, 4, 2, 0, 0, 0, 1],
    "X(T(1), T(2), T(3), T(0), T(0), T(0), T(1))": [1, 2, 3, 0, 0, 0, 1],
    "wp.transformation(a, q)": [6, 4, 2, 0, 1, 0, 0],
    "wp.transformation(a, q, dtype=T)": [6, 4, 2, 0, 1, 0, 0],
    "wp.transform_identity(dtype=T)": [0, 0, 0, 0, 0, 0, 1],
    "wp.quat_from_axis_angle(T(0), T(1), T(0), T(2)) - wp.quat_from_axis_angle(V(0, 1, 0), T(2))": [0, 0, 0, 0],
    "x.p": A,
    "x.q": [0, 1, 0, 0],
    "x[1]": 4,
    "x[1:4]": [4, 2, 0],
    "wp.transform_get_translation(x)": A,
    "wp.transform_get_rotation(x)": [0, 1, 0, 0],
    "wp.transform_point(x, b)": [3, 6, 1],
    "wp.transform_vector(x, b)": [-3, 2, -1],
    "V6(a, b)": [6, 4, 2, 3, 2, 1],
    "T(7.5) // T(2)": 3,
    "T(7.5) % T(2)": 1.5,
    "T(2) ** T(3)": 8,
    "T(6) / m": 6 / np.array([[8, 2], [4, 6]]),
}

ROW_OF_A_MATRIX = "s[1][0] = T(3)"  # in kernels; at Python scope s[1] is a copy, as observed in warp-lang 1.19
CHANGES = {
    "v[0] = T(9)": ("v", [9, 4, 2]),
    "v[-1] += T(1)": ("v", [6, 4, 3]),
    "v[0:2] = b[1:]": ("v", [2, 1, 2]),
    "v[::-1] = b": ("v", [1, 2, 3]),
    "v += b": ("v", A + B),
    "v -= b": ("v", A - B),
    "v *= T(2)": ("v", A * 2),
    "v /= T(2)": ("v", A / 2),
    "v %= b": ("v", A % B),
    "v.x, v.y = v.y, v.x": ("v", [4, 6, 2]),
    "s[0, 1] = T(5)": ("s", [[8, 5], [4, 6]]),
    "s[1] = n[0]": ("s", [[8, 2], [1, 2]]),
    "s[:, 1] = n[0]": ("s", [[8, 1], [4, 2]]),
    "s[0, :] = n[1]": ("s", [[2, 3], [4, 6]]),
    "s[0:2, 0:2] = n": ("s", N),
    "s[0:1, 1:2] = wp.matrix(T(7), shape=(1, 1))": ("s", [[8, 7], [4, 6]]),
    ROW_OF_A_MATRIX: ("s", [[8, 2], [3, 6]]),
    "s += n": ("s", M + N),
    "s -= n": ("s", M - N),
    "s *= T(2)": ("s", M * 2),
    "r[:, ::2] = m": ("r", [[8, 2, 2], [4, 5, 6]]),
    "r[1, 1:] = n[0]": ("r", [[1, 2, 3], [4, 1, 2]]),
}

CONDITIONS = {
    "a == a": True,
    "a == b": False,
    "a != b": True,
    "m == m": True,
    "m != n": True,
    "a == V(6, 4, 2)": True,
    "len(a) == 3 and len(m) == 2 and len(w) == 2": True,
    "sum(a) == T(12)": True,
    "max(a) == T(6) and min(a) == T(2)": True,
    "[y for y in b][1] == T(2)": True,
}


def names(t):
    scalar = getattr(wp, t)
    vector, square = wp.types.vector(3, scalar), wp.types.matrix((2, 2), scalar)
    wide = wp.types.matrix((2, 3), scalar)
    space = {"wp": wp, "T": scalar, "V": vector, "S": square, "W": wide}
    space |= {"V5": wp.types.vector(5, scalar), "V6": wp.types.vector(6, scalar)}
    space |= {"a": vector(A), "b": vector(B), "m": square(M), "n": square(N), "w": wide(W)}
    if t in FLOATS:
        quat, transform = wp.types.quaternion(scalar), wp.types.transformation(scalar)
        q = quat(0.0, 1.0, 0.0, 0.0)
        space |= {"Q": quat, "X": transform, "q": q, "x": transform(space["a"], q)}
    return space


def in_kernel(space, body, results):
    """Run the statements in a kernel; `results` are (expression, class of its value)."""
    given = [name for name in "abmnwqx" if name in space]
    params = [f"{name}: R{name}" for name in given]
    params += [f"o{i}: wp.array(dtype=R{i})" for i in range(len(results))]
    lines = [*body, *(f"o{i}[0] = {expression}" for i, (expression, _) in enumerate(results))]
    text = f"@wp.kernel\ndef k({', '.join(params)}):\n" + "".join(f"    {line}\n" for line in lines)
    space = space | {f"R{name}": type(space[name]) for name in given} | {f"R{i}": c for i, (_, c) in enumerate(results)}
    out = [wp.zeros(1, dtype=c) for _, c in results]
    kernel = wp.kernel_from_source(text, filename=f"<forms {hash(text)}>", namespace=dict(space))
    wp.launch(kernel, dim=1, inputs=[*(space[name] for name in given), *out])
    return [o.list()[0] for o in out]


def numbers(value):
    t = getattr(value, "__wc_type__", None)
    return np.array(value, dtype=np.float64).reshape((t.rows, t.cols) if isinstance(t, Mat) else np.shape(value))


def check(t, table):
    space = names(t)
    python = {expression: eval(expression, dict(space)) for expression in table}
    typed = {e: space["T"](x) if type(x) in (int, float) else x for e, x in python.items()}
    compiled = in_kernel(space, [], [(e, type(x)) for e, x in typed.items()])
    for (expression, expected), ours, theirs in zip(table.items(), python.values(), compiled):
        expected = numbers(expected)
        if expression == "T(6) / m":  # thirds are inexact
            expected = expected.astype({"float16": np.float16, "float64": np.float64}.get(t, np.float32))
        for scope, found in (("python", ours), ("kernel", theirs)):
            got = numbers(found)
            tolerance = 0.01 if expression == "T(6) / m" and t == "bfloat16" else 1e-12
            assert got.shape == expected.shape, (scope, expression, found)
            np.testing.assert_allclose(got, expected, rtol=tolerance, err_msg=f"{scope}: {expression}")


@pytest.mark.parametrize("t", FLOATS + INTS)
def test_making(t):
    check(t, MAKING)


@pytest.mark.parametrize("t", FLOATS + INTS)
def test_taking_apart(t):
    check(t, TAKING)


@pytest.mark.parametrize("t", FLOATS + INTS)
def test_arithmetic(t):
    check(t, ARITHMETIC)


@pytest.mark.parametrize("t", FLOATS + INTS[:4])
def test_arithmetic_with_signs(t):
    check(t, SIGNED)


@pytest.mark.parametrize("t", INTS)
def test_bits_of_integer_vectors(t):
    space = names(t)
    found = in_kernel(space, [], [(e, space["V"]) for e in INTEGER])
    for value, (expression, expected) in zip(found, INTEGER.items()):
        assert list(value) == list(expected), expression


@pytest.mark.parametrize("t", FLOATS)
def test_quaternions_and_transforms(t):
    check(t, RIGID)


@pytest.mark.parametrize("t", FLOATS + INTS)
def test_changes(t):
    space = names(t)
    start = ["v = V(a)", "s = S(m)", "r = W(w)"]
    for change, (changed, expected) in CHANGES.items():
        local = dict(space)
        exec("\n".join([*start, change]), local)
        if change == ROW_OF_A_MATRIX:
            expected = M
        assert np.array_equal(numbers(local[changed]), expected), ("python", change, local[changed])
    body, results = [], []
    for i, (change, (changed, _)) in enumerate(CHANGES.items()):
        body += [*start, change, f"keep{i} = {changed}"]
        results.append((f"keep{i}", type(space[{"v": "a", "s": "m", "r": "w"}[changed]])))
    for found, (change, (_, expected)) in zip(in_kernel(space, body, results), CHANGES.items()):
        assert np.array_equal(numbers(found), expected), ("kernel", change, found)


@pytest.mark.parametrize("t", FLOATS + INTS)
def test_conditions(t):
    space = names(t)
    for condition, expected in CONDITIONS.items():
        assert eval(condition, dict(space)) == expected, condition
    assert in_kernel(space, [], [(c, bool) for c in CONDITIONS]) == list(CONDITIONS.values())


def test_spatial_vectors():
    parts = wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0)

    @wp.kernel
    def k(a: wp.vec3, b: wp.vec3, out: wp.array(dtype=wp.spatial_vector), wide: wp.array(dtype=wp.spatial_vectord)):
        out[0] = wp.spatial_vector(a, b)
        out[1] = wp.spatial_vector(a[0], 2.0, 3.0, 4.0, 5.0, 6.0)
        wide[0] = wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, dtype=wp.float64)

    out, wide = wp.zeros(2, dtype=wp.spatial_vector), wp.zeros(1, dtype=wp.spatial_vectord)
    wp.launch(k, dim=1, inputs=[*parts, out, wide])
    for found in (*out.numpy(), *wide.numpy(), wp.spatial_vector(*parts)):
        assert list(found) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


TYPED = {
    "V6": {
        "wp.spatial_vector(a, b, T)": [6, 4, 2, 3, 2, 1],
        "wp.spatial_vector(T(1), a[1], a[2], a[0], b[1], b[2], T)": [1, 4, 2, 6, 2, 1],
    },
    "Q": {"wp.quaternion(a, T(5), T)": [6, 4, 2, 5], "wp.quaternion(q, T)": [0, 1, 0, 0]},
    "X": {"wp.transformation(a, q, T)": [6, 4, 2, 0, 1, 0, 0]},
    "wp.quatf": {"wp.quat(1.0, 2.0, 3.0, 4.0, wp.float32)": [1, 2, 3, 4]},
    "wp.transformf": {"wp.transform(wp.vec3(2.0), wp.quat(0.0, 0.0, 0.0, 1.0), wp.float32)": [2, 2, 2, 0, 0, 0, 1]},
}


@pytest.mark.parametrize("t", ("float32", "float64"))
def test_the_scalar_type_may_come_last_in_kernels(t):
    space = names(t)
    for made, table in TYPED.items():
        for value, (expression, expected) in zip(
            in_kernel(space, [], [(e, eval(made, space)) for e in table]), table.items()
        ):
            assert list(value) == expected, expression


def test_blocks_of_matrices_in_arrays():
    @wp.kernel
    def k(a: wp.array(dtype=wp.mat33), i: int):
        a[0][0:2, 1:] = wp.mat22(1.0, 2.0, 3.0, 4.0)
        a[0][2, ::2] = wp.vec2(5.0, 6.0)
        a[0][i, 0] = a[0][1:, i + 1][1]
        a[1][:, 0:2][:, 1] = a[0][i, 0:3]
        a[1][2:, 2:] = wp.matrix(7.0, shape=(1, 1))
        a[1][0, 0:1] = a[0][0, 1:2]

    a = wp.zeros(2, dtype=wp.mat33)
    wp.launch(k, dim=1, inputs=[a, 1])
    judge = np.zeros((2, 3, 3))
    judge[0, 0:2, 1:] = [[1, 2], [3, 4]]
    judge[0, 2, ::2] = [5, 6]
    judge[0, 1, 0] = judge[0, 2, 2]
    judge[1, :, 1] = judge[0, 1]
    judge[1, 2, 2] = 7
    judge[1, 0, 0] = judge[0, 0, 1]
    assert np.array_equal(a.numpy(), judge)
