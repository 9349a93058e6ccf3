"""The gradients of `wp.utils` on a tape. Each function is called before the algorithm runs, and records its adjoint.

An adjoint takes over the gradient of what the algorithm wrote and adds to that of what it read. Results go first to
zero, so that an array may be read and written by one call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lang.types import Scalar
from ..runtime import recording
from ..runtime.array import array
from ..runtime.kept import Kept
from ..runtime.memory import overlap
from ..runtime.sums import accumulate
from .arguments import components, element_type, scalar_of


def reduces(values: array, other: array | None, out: Any, count: int, axis: int | None) -> None:
    """Record the sum of `values`, or of their products with `other`: of `count` elements, or `count` along `axis`.

    Raises:
        RuntimeError: The result would be a number, which a tape cannot follow.
    """
    inputs = [values] if other is None else [values, other]
    if recording.tape() is None:
        return
    if out is None:
        for x in inputs:
            if _is_float(x) and x.grad is not None:
                raise RuntimeError(
                    "without out= the result is a number that a tape cannot follow, and an input requires a gradient; "
                    "give out=, an array with requires_grad=True"
                )
        return
    if not recording.follows(out, *inputs):
        return
    part = _part(values, count, axis)
    kept = Kept([] if other is None else [x for x, y in ((values, other), (other, values)) if y.grad is not None])

    def backward() -> None:
        given = _taken(out)
        if axis is None:
            given = given[0]
        if other is None:
            _add(values, part, given)
            return
        given = given.reshape(given.shape + (1,) * len(values._require_element().inner))
        for x, y in ((values, other), (other, values)):
            if x.grad is not None:
                _add(x, part, given * kept.view(y)._numbers()[part])

    recording.tape().record_func(backward, [*inputs, out], [out])


def casts(source: array, out: array, numbers: int) -> None:
    """Record the conversion of the first `numbers` components of `source`.

    Raises:
        ValueError: Both share memory, whose gradient would be of two types.
    """
    if not recording.follows(out, source):
        return
    if source.grad is not None and overlap(source, out) and element_type(source) is not element_type(out):
        raise ValueError(
            "out_array: shares memory with in_array, so a tape cannot follow the gradient; copy one of them"
        )

    def backward() -> None:
        assert out.grad is not None
        flat = out.grad._to_write().flat
        given = flat[:numbers]
        flat[:numbers] = np.zeros_like(given)
        if source.grad is not None and _is_float(source) and _is_float(out):
            target = source.grad._to_write().flat
            sums = target[:numbers]
            accumulate(sums, scalar_of(source), given, scalar_of(out))
            target[:numbers] = sums

    recording.tape().record_func(backward, [source, out], [out])


def scans(source: array, out: array, inclusive: bool) -> None:
    """Record running sums. The adjoint of a scan is a scan from the end."""
    if not recording.follows(out, source):
        return

    def backward() -> None:
        given = _taken(out).reshape(out.size, components(out))
        if source.grad is None or not _is_float(source):
            return
        sums = np.cumsum(given[::-1], axis=0, dtype=np.float64)[::-1]
        if not inclusive:
            sums = np.concatenate([sums[1:], np.zeros_like(sums[:1])])
        _add(source, ..., sums.reshape(source.grad._numbers().shape))

    recording.tape().record_func(backward, [source, out], [out])


def _part(values: array, count: int, axis: int | None) -> Any:
    """An index of the elements that take part."""
    if axis is not None:
        return (*(slice(None),) * axis, slice(count))
    return ... if count == values.size else np.arange(values.size).reshape(values.shape) < count


def _taken(out: array) -> np.ndarray:
    """The gradient of a result, which is zero from now on."""
    assert out.grad is not None
    given = out.grad._numbers().copy()
    out.grad.zero_()
    return given


def _add(x: array, part: Any, more: np.ndarray) -> None:
    if x.grad is None or not _is_float(x):
        return
    sums = x.grad._to_write()
    sums[part] = np.add(sums[part], more, dtype=np.float64)


def _is_float(a: array) -> bool:
    t = scalar_of(a)
    return isinstance(t, Scalar) and t.is_float
