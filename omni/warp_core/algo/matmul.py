"""Products of matrices that are arrays: `wp.matmul`, `wp.batched_matmul` and `a @ b`.

On the CPU, the BLAS of NumPy computes them. It takes rows and columns at any distance as long as one of the two is
dense, so transposed views cost no copy. On a GPU, gpu/matmul.py does it. Start with `_multiply`, the host operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from ..arrays import layouts
from ..arrays.accumulate import accumulate, taken
from ..arrays.array import array
from ..arrays.dtypes import bfloat16_bits, bfloat16_numbers
from ..arrays.factories import clone
from ..arrays.interchange import Memory
from ..arrays.layouts import Layout, byte_range
from ..devices.device import Device, get_device
from ..dispatch import capture
from ..dispatch.operation import Backward, Operation, Term, Write, execute
from ..lang.types import BF16, BOOL, F16, F32, F64, Scalar
from ..tape.saved import SavedArrays
from .argument_checks import number
from .gpu import matmul as gpu_products

__all__ = ["batched_matmul", "matmul"]

_FLOATS = (F16, BF16, F32, F64)
_HALVES = (F16, BF16)  # multiplied in float32


def matmul(
    a: array,
    b: array,
    c: array,
    d: array,
    alpha: float = 1.0,
    beta: float = 0.0,
    allow_tf32x3_arith: bool = False,
    device: Device | str | None = None,
) -> None:
    """Write `alpha * (a @ b) + beta * c` to `d`, and record it on a tape.

    Args:
        a: A matrix of float16, bfloat16, float32 or float64: an array of shape (m, k). Views, transposed ones too, are
            fine.
        b: Shape (k, n), of the same type.
        c: Shape (m, n), of the same type; not read where `beta` is 0.
        d: Shape (m, n), of the same type. Operands that share its memory are copied first, unless `c` is `d`.
        alpha: The factor of the product.
        beta: The factor of `c`.
        allow_tf32x3_arith: Accepted; float32 is multiplied as such.
        device: Where the arrays are; they tell by themselves.

    Products of float16 and bfloat16 are summed up in float32 and rounded once.

    Raises:
        TypeError: If an argument is no array of these types, or the types differ.
        ValueError: If shapes do not fit, arrays are on different devices, or `d` is read-only.

    >>> a = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float)
    >>> c, d = wp.ones((2, 2)), wp.empty((2, 2))
    >>> wp.matmul(a, a, c, d, beta=0.5)
    >>> d.numpy().tolist()
    [[7.5, 10.5], [15.5, 22.5]]
    """
    _checked_product(a, b, c, d, alpha, beta, device, 2, "wp.matmul")


def batched_matmul(
    a: array,
    b: array,
    c: array,
    d: array,
    alpha: float = 1.0,
    beta: float = 0.0,
    allow_tf32x3_arith: bool = False,
    device: Device | str | None = None,
) -> None:
    """`matmul` of as many matrices as the first dimension of the arrays says, and record it on a tape.

    Args:
        a: Shape (batch, m, k), of float16, bfloat16, float32 or float64.
        b: Shape (batch, k, n), of the same type.
        c: Shape (batch, m, n), of the same type; not read where `beta` is 0.
        d: Shape (batch, m, n), of the same type. Operands that share its memory are copied first, unless `c` is `d`.
        alpha: The factor of the products.
        beta: The factor of `c`.
        allow_tf32x3_arith: Accepted; float32 is multiplied as such.
        device: Where the arrays are; they tell by themselves.

    Raises:
        TypeError, ValueError: As for `matmul`.

    >>> a = wp.array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype=float)
    >>> b = wp.array([[[1.0], [1.0]], [[2.0], [2.0]]], dtype=float)
    >>> d = wp.empty((2, 1, 1))
    >>> wp.batched_matmul(a, b, d, d)
    >>> d.numpy().ravel().tolist()
    [3.0, 14.0]
    """
    _checked_product(a, b, c, d, alpha, beta, device, 3, "wp.batched_matmul")


def product(a: Any, b: Any) -> Any:
    """`a @ b`: the product of two matrices, or of a matrix and a vector, of scalars of one type, as a new array."""
    if not isinstance(a, array) or not isinstance(b, array):
        return NotImplemented
    t, u = a._require_element(), b._require_element()
    if t.type is not u.type or not isinstance(t.type, Scalar):
        raise TypeError(f"`@` multiplies arrays of scalars of one type, got {t.name} and {u.name}")
    if a.ndim > 2 or b.ndim > 2 or a.ndim + b.ndim < 3 or a.shape[-1] != b.shape[0]:
        more = "; use wp.batched_matmul" if a.ndim == b.ndim == 3 else ""
        raise ValueError(f"`@` cannot multiply shapes {a.shape} and {b.shape}{more}")
    if a.device is not b.device:
        raise ValueError(f"`@` cannot multiply arrays on different devices, {a.device} and {b.device}")
    shape = (*a.shape[:-1], *b.shape[1:])
    if t.type is BOOL or (t.type not in _FLOATS and a.device.is_cpu):
        capture.refuse("a product of matrices of integers")
        return array(a._numbers() @ b._numbers(), dtype=t.dtype, device=a.device)
    d = array._empty(t, shape, a.device)
    d.requires_grad = a.requires_grad or b.requires_grad
    size = t.type.size
    left = a if a.ndim == 2 else a._view_of(Layout((1, *a.shape), (size, *a.strides)))
    right = b if b.ndim == 2 else b._view_of(Layout((*b.shape, 1), (*b.strides, size)))
    out = d._view_of(Layout((left.shape[0], right.shape[1]), (right.shape[1] * size, size)))
    _multiply(left, right, out, out, 1.0, 0.0)
    return d


# -- checks -----------------------------------------------------------------------------------------------------------


def _checked_product(a: Any, b: Any, c: Any, d: Any, alpha: Any, beta: Any, device: Any, ndim: int, name: str) -> None:
    factors = number("alpha", alpha), number("beta", beta)
    arrays = {"a": a, "b": b, "c": c, "d": d}
    for which, x in arrays.items():
        _check_array(which, x, ndim, name)
    where = a.device if device is None else get_device(device)
    for which, x in arrays.items():
        if x.device is not where:
            raise ValueError(
                f"{which}: is on {x.device}, and the product is computed on {where}; use .to({str(where)!r})"
            )
    kind = a._require_element()
    for which, x in list(arrays.items())[1:]:
        if x._require_element().type is not kind.type:
            raise TypeError(
                f"{which}: expected {kind.name} elements like a, got {x._require_element().name}; "
                "convert with wp.utils.array_cast"
            )
    *batch, m, k = a.shape
    _check_shape("b", b, (*batch, k, b.shape[-1]), f"since a has shape {a.shape}")
    why = f"since a has shape {a.shape} and b {b.shape}"
    for which, x in (("c", c), ("d", d)):
        _check_shape(which, x, (*batch, m, b.shape[-1]), why)
    d._check_writable()
    if _share(c, d) and not _same(c, d) and factors[1] != 0.0:
        c = clone(c)
    _multiply(_apart(a, d), _apart(b, d), c, d, *factors)


def _check_array(which: str, x: Any, ndim: int, name: str) -> None:
    if not isinstance(x, array):
        hint = f"pass {which}.contiguous()" if hasattr(x, "_copied_from") else "make one with wp.array(...)"
        raise TypeError(f"{which}: expected an array, got {type(x).__name__}; {hint}")
    kind = x._require_element()
    if kind.type not in _FLOATS:
        hint = f"; the elements of a matrix are scalars, in {ndim} dimensions" if kind.inner else ""
        raise TypeError(f"{which}: {name} multiplies float16, bfloat16, float32 and float64, got {kind.name}{hint}")
    if x.ndim != ndim:
        other = {("wp.matmul", 3): "; use wp.batched_matmul", ("wp.batched_matmul", 2): "; use wp.matmul"}
        raise ValueError(f"{which}: expected {ndim} dimensions, got shape {x.shape}{other.get((name, x.ndim), '')}")


def _check_shape(which: str, x: array, shape: tuple[int, ...], why: str) -> None:
    if x.shape == shape:
        return
    turned = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    fits = turned[:-1] == shape[:-1] and (which == "b" or turned == shape)
    axes = "" if x.ndim == 2 else "[0, 2, 1]"
    hint = f"; {which}.transpose({axes}) would fit" if fits else ""
    raise ValueError(f"{which}: expected shape {shape}, {why}; got {x.shape}{hint}")


def _share(x: array, y: array) -> bool:
    """True if two arrays share memory, or if that is too expensive to rule out."""
    if not x.size or not y.size:
        return False
    shown, other = (np.asarray(Memory(a._interface(), None)) for a in (x, y))  # nothing is read
    return np.may_share_memory(shown, other, max_work=10_000)  # type: ignore[arg-type]


def _apart(x: array, d: array) -> array:
    """An operand, or a copy of it if it shares memory with `d`, which is written while the operand is read."""
    return clone(x) if _share(x, d) else x


def _same(x: array, y: array) -> bool:
    return (x._address, x.strides) == (y._address, y.strides)


# -- the product and its gradient -------------------------------------------------------------------------------------


def _multiply(a: array, b: array, c: array, d: array, alpha: float, beta: float) -> None:
    terms: list[Term] = [
        (a, lambda t, out: _multiply(t, b, out, out, alpha, 0.0)),
        (b, lambda t, out: _multiply(a, t, out, out, alpha, 0.0)),
    ]
    if beta != 0.0:
        terms.append((c, lambda t, out: out.assign(beta * t)))
    execute(
        Operation(
            "a product of matrices",
            writes={"d": Write(d)},
            reads={"a": a, "b": b, "c": c},
            run=lambda: _run(a, b, c, d, alpha, beta),
            vjp=lambda: _product_vjp(a, b, c, d, alpha, beta),
            jvp=terms,
        )
    )


def _run(a: array, b: array, c: array, d: array, alpha: float, beta: float) -> None:
    if d.device.is_cuda:
        gpu_products.multiply(a, b, c, d, alpha, beta)
    else:
        capture.call(_compute, a, b, c, d, alpha, beta, label=f"product of {a.shape} and {b.shape}", writes=[d])


def _compute(a: array, b: array, c: array, d: array, alpha: float, beta: float) -> None:
    out, t = d._to_write(), a._require_element().type
    with np.errstate(over="ignore", invalid="ignore"):
        if alpha == 1.0 and beta == 0.0 and t not in _HALVES:
            np.matmul(a._numbers(), b._numbers(), out=out)
            return
        total = _times(a, b, alpha)
        if beta != 0.0:
            total += beta * _wide(c)
        out[...] = bfloat16_bits(total) if t is BF16 else total


def _wide(x: array) -> np.ndarray:
    """Numbers as they are multiplied: float16 and bfloat16 as float32."""
    numbers, t = x._numbers(), x._require_element().type
    return bfloat16_numbers(numbers) if t is BF16 else numbers.astype(np.float32) if t is F16 else numbers


def _times(x: array, y: array, alpha: float) -> np.ndarray:
    made = np.matmul(_wide(x), _wide(y))
    if alpha != 1.0:
        made *= alpha
    return made


def _product_vjp(a: array, b: array, c: array, d: array, alpha: float, beta: float) -> Backward:
    """Return the VJP of a product. It saves the operands that a gradient needs."""
    kept = SavedArrays([x for x, other in ((a, b), (b, a)) if other.grad is not None])

    def backward() -> None:
        given = taken(d)  # first: c may be d
        if a.grad is not None:
            _add_product(a.grad, given, _turned(kept.view(b)), alpha)
        if b.grad is not None:
            _add_product(b.grad, _turned(kept.view(a)), given, alpha)
        if c.grad is not None and beta != 0.0:
            _add_scaled(c.grad, given, beta)

    return backward


def _turned(x: array) -> array:
    return x._view_of(layouts.transpose(x._layout(), (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)))


def _add_product(gradient: array, x: array, y: array, alpha: float) -> None:
    if gradient.device.is_cuda:
        gpu_products.multiply(x, y, gradient, gradient, alpha, 1.0)
        return
    what = f"add product of {x.shape} and {y.shape}"
    capture.call(_compute_sum, gradient, x, y, alpha, label=what, writes=[gradient])


def _compute_sum(gradient: array, x: array, y: array, alpha: float) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        _add_numbers(gradient, _times(x, y, alpha))


def _add_scaled(gradient: array, x: array, factor: float) -> None:
    if gradient.device.is_cuda:
        gpu_products.add_scaled(gradient, x, factor)
        return
    capture.call(_compute_scaled, gradient, x, factor, label=f"add {x.size}", writes=[gradient])


def _compute_scaled(gradient: array, x: array, factor: float) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        _add_numbers(gradient, factor * _wide(x))


def _add_numbers(gradient: array, more: np.ndarray) -> None:
    with _native.Reservation(*byte_range(gradient)):
        accumulate(gradient._to_write(), gradient._require_element().type, more, F32)
