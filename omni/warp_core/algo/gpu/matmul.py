"""Products of matrices on GPUs, by a kernel of one thread for each element of the result.

That is far from what a GPU can do, and depends on nothing: neither on cuBLAS, which would have to be found and cannot
be tested without a GPU, nor on the order of threads, so results are the same in every run.
"""

from __future__ import annotations

from typing import Any

from ... import tid
from ...arrays.array import array, array3d
from ...arrays.layouts import Layout
from ...lang.kernel import kernel
from ...lang.types import BF16, F16, F32
from ...lang.values.scalars import SCALAR_CLASSES
from ...launches.launch import launch


@kernel(enable_backward=False)
def _product(
    a: array3d(dtype=Any),  # type: ignore[valid-type]
    b: array3d(dtype=Any),  # type: ignore[valid-type]
    c: array3d(dtype=Any),  # type: ignore[valid-type]
    d: array3d(dtype=Any),  # type: ignore[valid-type]
    alpha: Any,
    beta: Any,
):
    n, i, j = tid()
    total = type(alpha)(0)
    for k in range(a.shape[2]):
        total += type(alpha)(a[n, i, k]) * type(alpha)(b[n, k, j])
    total *= alpha
    if beta != type(alpha)(0):
        total += beta * type(alpha)(c[n, i, j])
    d[n, i, j] = d.dtype(total)


@kernel(enable_backward=False)
def _scaled(sums: array3d(dtype=Any), more: array3d(dtype=Any), factor: Any):  # type: ignore[valid-type]
    n, i, j = tid()
    sums[n, i, j] = sums.dtype(type(factor)(sums[n, i, j]) + factor * type(factor)(more[n, i, j]))


def multiply(a: array, b: array, c: array, d: array, alpha: float, beta: float) -> None:
    """Write `alpha * (a @ b) + beta * c` to `d`; all are matrices, or batches of them."""
    kind = _kind(d)
    _run(_product, d, [*map(_batch, (a, b, c, d)), kind(alpha), kind(beta)])


def add_scaled(sums: array, more: array, factor: float) -> None:
    """Add `factor * more` to `sums`; both are matrices, or batches of them."""
    _run(_scaled, sums, [_batch(sums), _batch(more), _kind(sums)(factor)])


def _run(kernel: Any, written: array, args: list[Any]) -> None:
    launch(kernel, dim=_batch(written).shape, inputs=args, device=written.device)


def _batch(x: array) -> array:
    """A matrix as a batch of one."""
    return x if x.ndim == 3 else x._view_of(Layout((1, *x.shape), (x.strides[0], *x.strides)))


def _kind(x: array) -> Any:
    """The class of the numbers that are summed up."""
    t = x._require_element().type
    return SCALAR_CLASSES[F32 if t in (F16, BF16) else t]  # type: ignore[index]
