"""Kernels that the runtime itself needs on GPUs: copies between arrays with gaps, sums, comparisons."""

from __future__ import annotations

from typing import Any

from ... import tid
from ...arrays import dtypes
from ...arrays.accumulate import is_sum
from ...arrays.array import array, array1d, array2d
from ...arrays.layouts import Layout
from ...devices.cuda_memory import Allocation, fill, read
from ...devices.device import Device
from ...dispatch import capture, observers
from ...lang.kernel import Kernel, kernel
from ...lang.types import Struct, Type, element
from ...lang.values.scalars import uint8, uint32
from ...launches.overloads import instance_for
from ...launches.plans import options_for, plan_for


@kernel(enable_backward=False)
def _copy1(dest: Any, src: Any):
    i = tid()
    dest[i] = src[i]


@kernel(enable_backward=False)
def _copy2(dest: Any, src: Any):
    i, j = tid()
    dest[i, j] = src[i, j]


@kernel(enable_backward=False)
def _copy3(dest: Any, src: Any):
    i, j, k = tid()
    dest[i, j, k] = src[i, j, k]


@kernel(enable_backward=False)
def _copy4(dest: Any, src: Any):
    i, j, k, m = tid()
    dest[i, j, k, m] = src[i, j, k, m]


_COPY = (_copy1, _copy2, _copy3, _copy4)


def copy(dest: Any, src: Any) -> None:
    """Copy the elements of an array to one of the same shape on the same GPU; either may be an indexed one."""
    if src.dtype is not dest.dtype:
        src = src.view(dest.dtype)
    _run(_COPY[dest.ndim - 1], dest.shape, dest, src)


def _run(kernel: Kernel, dim: tuple[int, ...], *args: array) -> None:
    """Launch where the arrays are, beside all that records launches; who writes to arrays so tells of it."""
    instance = instance_for(kernel, args)
    plan = plan_for(instance, options_for(instance, args[0].device), args)
    capture.run(instance, plan, dim, args)


# -- sums -------------------------------------------------------------------------------------------------------------


@kernel(enable_backward=False)
def _add(sums: array2d(dtype=Any), more: array2d(dtype=Any)):  # type: ignore[valid-type]
    i, j = tid()
    sums[i, j] += sums.dtype(more[i, j])


def add(sums: array, more: array) -> None:
    """Add the elements of `more`, from anywhere, to those of an array on a GPU."""
    if not sums.size:
        return
    with observers.NotRecording():
        dense = sums.contiguous()
        given = more.to(sums.device, requires_grad=False).contiguous()
        _add_fields(dense, sums._require_element().type, 0, given, more._require_element().type, 0)
        if dense is not sums:
            sums.assign(dense)


@kernel(enable_backward=False)
def _add_product(sums: array2d(dtype=Any), factors: array1d(dtype=Any), more: array2d(dtype=Any)):  # type: ignore[valid-type]
    i, j = tid()
    sums[i, j] += factors[i] * more[i, j]


def add_product(sums: array, factors: array, more: array) -> None:
    """Add the elements of `more`, times the numbers `factors`, to those of an array on the same GPU."""
    if not sums.size:
        return
    with observers.NotRecording():
        dense = sums.contiguous()
        parts = [_parts(x, x._require_element().type, 0) for x in (dense, more.contiguous())]
        _run(_add_product, parts[0].shape, parts[0], factors.contiguous().flatten(), parts[1])
        if dense is not sums:
            sums.assign(dense)


def _add_fields(sums: array, t: Type, at: int, more: array, of: Type, from_: int) -> None:
    """Add those parts of elements that are of type `of` and lie at byte `from_` to those of type `t` at `at`."""
    if isinstance(t, Struct):
        assert isinstance(of, Struct)
        fields = zip(t.offsets, t.fields, of.offsets, of.fields)
        for offset, (_, field), other, (_, given) in fields:
            _add_fields(sums, field, at + offset, more, given, from_ + other)
    elif is_sum(t) and is_sum(of):
        parts = _parts(sums, t, at), _parts(more, of, from_)
        _run(_add, parts[0].shape, *parts)


def _parts(a: array, t: Type, at: int) -> array:
    """The components of a part of the elements of a dense array: a row for each element."""
    scalar = dtypes.element(element(t))
    layout = Layout((a.size, t.size // scalar.type.size), (a._require_element().type.size, scalar.type.size), at)
    return a._view_of(layout, scalar)


# -- comparisons ------------------------------------------------------------------------------------------------------


@kernel(enable_backward=False)
def _compare(a: array1d(dtype=Any), b: array1d(dtype=Any), differs: array1d(dtype=int)):  # type: ignore[valid-type]
    i = tid()
    if a[i] != b[i]:
        differs[0] = 1


def same(a: int, b: int, nbytes: int, device: Device) -> bool:
    """True if two places of a GPU hold the same bytes."""
    kind = uint8 if (a | b | nbytes) % 4 else uint32
    count = nbytes // kind.__wc_type__.size
    found = Allocation(device, 4)
    fill(device, found.ptr, 4, bytes(4))
    places = [array(ptr=at, shape=count, dtype=kind, device=device) for at in (a, b)]
    _run(_compare, (count,), *places, array(ptr=found.ptr, shape=1, dtype=int, device=device))
    return read(device, found.ptr, 4) == bytes(4)
