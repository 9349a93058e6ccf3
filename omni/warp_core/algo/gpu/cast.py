"""Conversion of arrays on GPUs: one thread for each number, by the conversions of the kernel language."""

from __future__ import annotations

from functools import cache

from ...arrays.array import array
from ...arrays.factories import empty_like
from ...arrays.layouts import may_share_memory
from ...arrays.transfer import copy
from ...lang.types import Type
from ...lang.values.value_classes import python_type
from ..argument_checks import scalar_of
from ..map import Mapping
from .temporaries import numbers


def convert(source: array, out: array, count: int) -> None:
    """Convert the first `count` numbers of a contiguous array to those of `out`."""
    whole = out.is_contiguous and not may_share_memory(source, out)
    made = out if whole else empty_like(out, requires_grad=False)
    if not whole:
        copy(made, out)
    if count:
        _conversion(scalar_of(out)).run((numbers(source, count),), numbers(made, count))
    if not whole:
        copy(out, made)


@cache
def _conversion(to: Type) -> Mapping:
    return Mapping("array_cast", python_type(to), params=("x",))
