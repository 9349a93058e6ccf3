"""The products of vectors, matrices, quaternions and transforms at Python scope: `PRODUCTS`, by the operands' kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import semantics
from .classes import python_type
from .types import Mat, Quat, Scalar, Transform, Vec


def _dot(s: Scalar, a: Sequence[Any], b: Sequence[Any]) -> Any:
    add, mul = semantics.BINARY["add"], semantics.BINARY["mul"]
    total = mul(s, a[0], b[0])
    for x, y in zip(a[1:], b[1:]):
        total = add(s, total, mul(s, x, y))
    return total


def _multiply(a: Any, b: Any, rows: int, inner: int, cols: int) -> list[Any]:
    s, x, y = a.__wc_type__.scalar, a._leaves(), b._leaves()
    return [_dot(s, x[r * inner : (r + 1) * inner], y[c::cols]) for r in range(rows) for c in range(cols)]


def _check_inner(a: Any, b: Any, m: int, n: int) -> None:
    if m != n:
        raise TypeError(
            f"cannot multiply {type(a).__name__} by {type(b).__name__}: inner dimensions {m} and {n} differ"
        )


def _mat_mat(a: Any, b: Any) -> Any:
    (rows, inner), (other, cols) = a._shape_, b._shape_
    _check_inner(a, b, inner, other)
    return python_type(Mat(rows, cols, a.__wc_type__.scalar))._from(_multiply(a, b, rows, inner, cols))


def _mat_vec(a: Any, b: Any) -> Any:
    rows, inner = a._shape_
    _check_inner(a, b, inner, len(b))
    return python_type(Vec(rows, a.__wc_type__.scalar))._from(_multiply(a, b, rows, inner, 1))


def _vec_mat(a: Any, b: Any) -> Any:
    inner, cols = b._shape_
    _check_inner(a, b, len(a), inner)
    return python_type(Vec(cols, a.__wc_type__.scalar))._from(_multiply(a, b, 1, inner, cols))


def _quat_quat(a: Any, b: Any) -> Any:
    s = a.__wc_type__.scalar
    ax, ay, az, aw = a._leaves()
    bx, by, bz, bw = b._leaves()
    return a._from(
        [
            _dot(s, (aw, bw, ay, -by), (bx, ax, bz, az)),
            _dot(s, (aw, bw, az, -bz), (by, ay, bx, ax)),
            _dot(s, (aw, bw, ax, -bx), (bz, az, by, ay)),
            _dot(s, (aw, -ax, -ay, -az), (bw, bx, by, bz)),
        ]
    )


def _transform_transform(a: Any, b: Any) -> Any:
    v = python_type(Quat(a.__wc_type__.scalar))._from((*b.p._leaves(), 0))
    q = a.q
    conjugate = q._from((*(-q)._leaves()[:3], q._leaves()[3]))
    rotated = (q * v * conjugate)._leaves()[:3]
    p = a.p + a.p._from(rotated)
    return a._from((*p._leaves(), *(q * b.q)._leaves()))


PRODUCTS: dict[tuple, Callable] = {
    (Mat, Mat): _mat_mat,
    (Mat, Vec): _mat_vec,
    (Vec, Mat): _vec_mat,
    (Quat, Quat): _quat_quat,
    (Transform, Transform): _transform_transform,
}
