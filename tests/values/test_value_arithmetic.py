"""Operators of native values against lang/semantics.py, component by component, for every scalar type."""

from __future__ import annotations

import math
import random
import re
import struct

import pytest

import omni.warp_core as wp
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import F32, F64, SCALARS, Mat, Quat, Scalar, Transform, Vec
from omni.warp_core.lang.values.value_classes import from_leaves, python_type, to_leaves

OPERATORS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rem": lambda a, b: a % b,
}


def number(rng: random.Random, t: Scalar):
    """A number of type `t`: ordinary, extreme or special."""
    if t.kind == "bool":
        return rng.random() < 0.5
    if t.is_int:
        low, high = semantics.int_range(t)
        return rng.choice([rng.randint(low, high), rng.randint(max(low, -9), 9), low, high, 0, 1])
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, 6e-8, 65504.0, 3e38]
    return semantics.convert(rng.choice([rng.gauss(0, 1), rng.gauss(0, 1e4), rng.choice(special)]), t)


def same(got, want) -> bool:
    """Equal to the bit, all NaN being one."""
    bits = [struct.pack("d", x) if x == x else b"nan" for x in map(float, (got, want))]
    return bits[0] == bits[1] and (isinstance(got, float) or got == want)


def assert_same(value, want) -> None:
    leaves = value._leaves()
    assert len(leaves) == len(want) and all(map(same, leaves, want)), (value, want)


@pytest.mark.parametrize("s", SCALARS, ids=lambda s: s.key)
def test_componentwise_operators(s):
    rng = random.Random(s.key)
    for _ in range(300):
        t = Vec(rng.randint(1, 6), s)
        x, y = ([number(rng, s) for _ in range(t.count)] for _ in range(2))
        a, b, c = from_leaves(t, x), from_leaves(t, y), number(rng, s)
        scalar = python_type(s)(c)
        for name, operator in OPERATORS.items():
            rule = semantics.BINARY[name]
            if name in ("add", "sub", "rem"):
                assert_same(operator(a, b), [rule(s, m, n) for m, n in zip(x, y)])
            if name != "rem":
                for literal in (scalar, c):
                    assert_same(operator(a, literal), [rule(s, m, c) for m in x])
                    assert_same(operator(literal, a), [rule(s, c, m) for m in x])
        assert_same(-a, [semantics.UNARY["neg"](s, m) for m in x])
        assert_same(+a, x)
        assert (a == b) is all(m == n for m, n in zip(x, y))


def multiply_add(s, a, b, c):
    """a * b + c with the roundings of kernels: one in float32 and float64, two in the others."""
    if s in (F32, F64):
        return semantics.evaluate("fma", s, a, b, c)
    return semantics.BINARY["add"](s, semantics.BINARY["mul"](s, a, b), c)


def sum_of_products(s, x, y, subtracted=False):
    """From the left; of the first two products the first is fused, if the second one is not `subtracted`."""
    products = [semantics.BINARY["mul"](s, m, n) for m, n in zip(x, y)]
    if len(products) == 1:
        return products[0]
    rounded = semantics.BINARY["add"](s, *products[:2])
    total = rounded if subtracted else multiply_add(s, x[0], y[0], products[1])
    for m, n in zip(x[2:], y[2:]):
        total = multiply_add(s, m, n, total)
    return total


@pytest.mark.parametrize("s", SCALARS, ids=lambda s: s.key)
def test_products_of_matrices(s):
    rng = random.Random(s.key)

    def dot(x, y):
        return sum_of_products(s, x, y)

    for _ in range(100):
        rows, inner, cols = (rng.randint(1, 4) for _ in range(3))
        x, y = ([number(rng, s) for _ in range(n)] for n in (rows * inner, inner * cols))
        a, b = from_leaves(Mat(rows, inner, s), x), from_leaves(Mat(inner, cols, s), y)
        row = [x[r * inner : (r + 1) * inner] for r in range(rows)]
        assert_same(a * b, [dot(row[r], y[c::cols]) for r in range(rows) for c in range(cols)])
        assert type(a @ b) is python_type(Mat(rows, cols, s))
        v, w = from_leaves(Vec(inner, s), row[0]), from_leaves(Vec(inner, s), y[::cols])
        assert_same(a * w, [dot(row[r], y[::cols]) for r in range(rows)])
        assert_same(v * b, [dot(row[0], y[c::cols]) for c in range(cols)])


@pytest.mark.parametrize("s", [s for s in SCALARS if s.is_float], ids=lambda s: s.key)
def test_products_of_quaternions_and_transforms(s):
    rng = random.Random(s.key)
    add, mul = semantics.BINARY["add"], semantics.BINARY["mul"]

    def hamilton(p, q):
        (ax, ay, az, aw), (bx, by, bz, bw) = p, q
        rows = [((aw, bx), (ax, bw), (ay, bz), (-az, by)), ((aw, by), (ay, bw), (az, bx), (-ax, bz)),
                ((aw, bz), (az, bw), (ax, by), (-ay, bx)), ((aw, bw), (-ax, bx), (-ay, by), (-az, bz))]  # fmt: skip
        return [sum_of_products(s, *zip(*row), subtracted=row is rows[3]) for row in rows]

    def rotated(q, v):
        (x, y, z, w), twice = q, mul(s, 2.0, q[3])
        scale, along = multiply_add(s, twice, w, -1.0), mul(s, 2.0, sum_of_products(s, (x, y, z), v))
        out = []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            turned = add(s, mul(s, q[j], v[k]), -mul(s, q[k], v[j]))
            out.append(multiply_add(s, q[i], along, multiply_add(s, v[i], scale, mul(s, turned, twice))))
        return out

    for _ in range(200):
        p, q = ([number(rng, s) for _ in range(4)] for _ in range(2))
        assert_same(from_leaves(Quat(s), p) * from_leaves(Quat(s), q), hamilton(p, q))
        a, b = ([number(rng, s) for _ in range(3)] for _ in range(2))
        moved = rotated(p, b)
        want = [add(s, m, n) for m, n in zip(a, moved)] + hamilton(p, q)
        assert_same(from_leaves(Transform(s), [*a, *p]) * from_leaves(Transform(s), [*b, *q]), want)


@pytest.mark.parametrize("s", SCALARS, ids=lambda s: s.key)
def test_components_convert_as_the_cast_does(s):
    rng = random.Random(s.key)
    cls = python_type(Vec(2, s))
    integers = [0, 1, -1, 255, 256, 2049, 2**24 + 1, 2**53 + 1, 2**60 + 2**36 + 1, 2**63 - 1, -(2**63), 2**64, 2**200]
    for x in [*integers, *(rng.getrandbits(rng.randint(1, 70)) for _ in range(200))]:
        for build in (lambda: cls(x, 0)[0], lambda: cls([x, 0])[0], lambda: cls(x)[1], lambda: cls((x, x)).y):
            got = to_leaves([build()], Vec(1, s))[0]
            assert same(got, semantics.convert(x, s)), x
    floats = [0.1, 1e300, -1e-300, 65519.999, 65520.0, 3.4028235677973366e38, 5e-324, 1 + 2**-8 + 2**-30]
    for x in [*floats, *(rng.gauss(0, 10.0 ** rng.randint(-45, 39)) for _ in range(200))]:
        if s.is_int:
            with pytest.raises(TypeError, match="the float"):
                cls(x, 0)
        else:
            assert same(cls(x, 0)._leaves()[0], semantics.convert(x, s)), x


def test_values_of_one_type_make_values_of_another():
    rng = random.Random(8)
    for s in SCALARS:
        for t in SCALARS:
            x = [number(rng, s) for _ in range(3)]
            made = python_type(Vec(3, t))(from_leaves(Vec(3, s), x))
            assert_same(made, [semantics.convert(m, t) for m in x])


@pytest.mark.parametrize("s", SCALARS, ids=lambda s: s.key)
def test_bits_of_vectors_and_matrices(s):
    rng = random.Random(s.key)
    symbols = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
    for t in (Vec(3, s), Mat(2, 3, s), Quat(F32)):
        x, y = ([number(rng, t.scalar) for _ in range(t.count)] for _ in range(2))
        a, b = from_leaves(t, x), from_leaves(t, y)
        for name, symbol in symbols.items():
            works = t.scalar.is_int or (t.scalar.kind == "bool" and name in ("and", "or", "xor"))
            if works:
                want = [semantics.BINARY[name](s, m, n) for m, n in zip(x, y)]
                assert_same(eval(f"a {symbol} b", {"a": a, "b": b}), want)
            else:
                with pytest.raises(TypeError, match=rf"`{re.escape(symbol)}` cannot combine \S.* and \S.*$"):
                    eval(f"a {symbol} b", {"a": a, "b": b})
        if t.scalar.is_int:
            assert_same(~a, [semantics.UNARY["not"](s, m) for m in x])
        else:
            with pytest.raises(TypeError, match=r"`~` works on integers, not on \S.*$"):
                ~a
    with pytest.raises(TypeError, match="unsupported operand"):
        from_leaves(Vec(3, s), [0, 0, 0]) & 1


def test_spatial_vectors_have_two_parts():
    w, v = wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0)
    for made in (wp.spatial_vector(w, v), wp.spatial_vector(w=w, v=v), wp.spatial_vector(w, v=v, dtype=wp.float32)):
        assert made == wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert wp.spatial_vectord() == wp.spatial_vectord(0.0)
    with pytest.raises(TypeError, match="needs both of its parts, by position or by name"):
        wp.spatial_vector(w=w)
    with pytest.raises(TypeError, match="cannot have components of type"):
        wp.spatial_vector(dtype=wp.float64)


def test_subclasses_keep_their_class():
    class Point(wp.vec3):
        def __init__(self, *args, name=""):
            super().__init__(*args)
            self.name = name

        def manhattan(self):
            return sum(map(abs, self))

    p = Point(1.0, -2.0, 3.0, name="p")
    assert p.manhattan() == 6.0 and p.name == "p" and isinstance(p, wp.vec3) and p == wp.vec3(1, -2, 3)
    assert type(p + p) is Point and (p + p).manhattan() == 12.0 and type(p[0:2]) is wp.vec2
    with pytest.raises(TypeError):
        p.__class__ = wp.vec2
