"""Kernels that the runtime itself needs on GPUs: copies between arrays with gaps."""

from __future__ import annotations

from typing import Any

from .. import tid
from ..lang.kernel import kernel
from .array import array1d, array2d, array3d, array4d
from .launch import launch


@kernel(enable_backward=False)
def _copy1(dest: array1d(dtype=Any), src: array1d(dtype=Any)):  # type: ignore[valid-type]
    i = tid()
    dest[i] = src[i]


@kernel(enable_backward=False)
def _copy2(dest: array2d(dtype=Any), src: array2d(dtype=Any)):  # type: ignore[valid-type]
    i, j = tid()
    dest[i, j] = src[i, j]


@kernel(enable_backward=False)
def _copy3(dest: array3d(dtype=Any), src: array3d(dtype=Any)):  # type: ignore[valid-type]
    i, j, k = tid()
    dest[i, j, k] = src[i, j, k]


@kernel(enable_backward=False)
def _copy4(dest: array4d(dtype=Any), src: array4d(dtype=Any)):  # type: ignore[valid-type]
    i, j, k, m = tid()
    dest[i, j, k, m] = src[i, j, k, m]


_COPY = (_copy1, _copy2, _copy3, _copy4)


def copy(dest: Any, src: Any) -> None:
    """Copy the elements of an array to one of the same shape on the same GPU."""
    if src._require_element().type is not dest._require_element().type:
        src = src.view(dest.dtype)
    launch(_COPY[dest.ndim - 1], dim=dest.shape, inputs=[dest, src], device=dest.device, record_tape=False)
