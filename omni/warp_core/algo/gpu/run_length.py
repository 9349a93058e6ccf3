"""Runs of equal values on GPUs: where runs begin, counted by running sums, is where they go."""

# Annotations are values here: the types of kernels that functions make.
# mypy: disable-error-code="valid-type"

from functools import cache
from typing import Any

from ... import tid
from ...arrays.array import array
from ...lang.kernel import kernel
from ...lang.types import I32, Type
from ...lang.values.scalars import int32
from ...lang.values.value_classes import python_type
from ..argument_checks import element_type
from .scan import scan_numbers
from .temporaries import OPTIONS, each, numbers, temporary


def runlength_encode(values: array, count: int, run_values: array, run_lengths: array, run_count: array) -> None:
    """Write the value and length of each run of the first `count` values, and how many there are."""
    if count == 0:
        run_count.zero_()
        return
    source = numbers(values, count)
    number, starts = temporary(values, count, I32), temporary(values, count + 1, I32)
    kernels = _kernels(element_type(values))
    each(kernels["begin"], count, [source, number], values)
    scan_numbers(number, number, count, 1, True)
    each(kernels["write"], count, [source, number, numbers(run_values), starts, run_count], values)
    each(kernels["length"], count, [number, starts, numbers(run_lengths)], values)


@cache
def _kernels(t: Type) -> dict[str, Any]:
    T = python_type(t)

    @kernel(**OPTIONS)
    def runs_begin(values: array(dtype=T), begins: array(dtype=int32)):
        i = tid()
        begins[i] = 1
        if i > 0 and values[i] == values[i - 1]:
            begins[i] = 0

    @kernel(**OPTIONS)
    def runs_write(
        values: array(dtype=T),
        number: array(dtype=int32),
        run_values: array(dtype=T),
        starts: array(dtype=int32),
        run_count: array(dtype=int32),
    ):
        """`number` has how many runs begin up to here."""
        i = tid()
        if i == 0 or number[i] != number[i - 1]:
            run_values[number[i] - 1] = values[i]
            starts[number[i] - 1] = i
        if i == number.shape[0] - 1:
            run_count[0] = number[i]
            starts[number[i]] = i + 1

    @kernel(**OPTIONS)
    def runs_length(number: array(dtype=int32), starts: array(dtype=int32), run_lengths: array(dtype=int32)):
        i = tid()
        if i < number[number.shape[0] - 1]:
            run_lengths[i] = starts[i + 1] - starts[i]

    return {"begin": runs_begin, "write": runs_write, "length": runs_length}
