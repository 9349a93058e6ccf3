"""Running sums and runs of equal values. The algorithms are in native/src/algo/scan.cpp and
native/src/algo/runlength.cpp, for GPUs in gpu/scan.py and gpu/runs.py.
"""

from __future__ import annotations

from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.factories import empty_like
from ..arrays.layouts import may_share_memory
from ..arrays.transfer import copy
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute
from ..lang.types import I32
from ..late_bound import late
from .argument_checks import (
    INTEGERS,
    NUMBERS,
    check_count,
    require_apart,
    require_arrays,
    require_contiguous,
    require_same_type,
    require_scalar,
    require_writable,
)
from .gpu.temporaries import temporary
from .vjp import scan_vjp

__all__ = ["array_scan", "runlength_encode"]

_MOST_RUNS = 2**31 - 1  # lengths are int32


def array_scan(in_array: array, out_array: array, inclusive: bool = True) -> None:
    """Write the running sums of an array, in C order and component by component.

    Args:
        in_array: Of int32, uint32, int64, uint64, float32, float64, or vectors or matrices of these.
        out_array: Gets the sums: as many elements of the same type. It may be `in_array`, but not overlap it otherwise.
        inclusive: Whether a sum includes the element at its own place; if not, the first is zero.

    Integer sums wrap. Float sums are computed in float64 and rounded once; they do not depend on the number of threads,
    and never decrease where no element is negative.

    Raises:
        TypeError: If an element type is not one of those, or the types differ.
        ValueError: If the sizes differ, or `out_array` is read-only or overlaps `in_array`.

    >>> x = wp.array([1, 2, 3, 4], dtype=wp.int32)
    >>> sums = wp.empty_like(x)
    >>> wp.utils.array_scan(x, sums, inclusive=False)
    >>> sums.list()
    [0, 1, 3, 6]
    """
    require_arrays(in_array=in_array, out_array=out_array)
    require_scalar("in_array", in_array, NUMBERS, packed=True)
    require_same_type("out_array", out_array, "in_array", in_array)
    if out_array.size != in_array.size:
        raise ValueError(f"out_array: expected {in_array.size} elements like in_array, got {out_array.size}")
    require_writable("out_array", out_array)
    with observers.NotRecording():
        source = in_array.contiguous()
    if out_array.is_contiguous and out_array._address != source._address:
        require_apart("out_array", out_array, "in_array", source)
    execute(
        Operation(
            "wp.utils.array_scan",
            writes={"out_array": Write(out_array)},
            reads={"in_array": in_array},
            run=lambda: _scan(source, out_array, bool(inclusive)),
            vjp=lambda: scan_vjp(in_array, out_array, lambda values, sums: array_scan(values, sums, inclusive)),
            jvp=[(in_array, lambda t, out: array_scan(t, out, inclusive))],
        )
    )


def _scan(source: array, out: array, inclusive: bool) -> None:
    sums = out if out.is_contiguous else empty_like(out, requires_grad=False)
    if out.device.is_cuda:
        late("scan_on_gpu")(source, sums, inclusive)
    else:
        capture.call(_native.scan, source, sums, inclusive, label=f"scan of {source.size}", writes=[sums])
    if sums is not out:
        copy(out, sums)


def runlength_encode(
    values: array,
    run_values: array,
    run_lengths: array,
    run_count: array | None = None,
    value_count: int | None = None,
) -> int | array:
    """Write the value and the length of each run of equal values.

    Args:
        values: Of int32, uint32, int64 or uint64.
        run_values: Gets the value of each run: the same type, contiguous, at least `value_count` elements.
        run_lengths: Gets the length of each run: int32, contiguous, at least `value_count` elements.
        run_count: Gets the number of runs in its first element: int32, at least one element.
        value_count: How many of the values to encode; all if left out.

    Returns:
        The number of runs, or `run_count` if that was given. Elements beyond the runs are left as they are.

    Raises:
        TypeError: If an element type is not one of those.
        ValueError: If `value_count` is negative or an array has fewer elements, if an output is not contiguous or
            read-only, or if outputs share memory.

    >>> x = wp.array([1, 1, 1, 2, 2, 3], dtype=wp.int32)
    >>> values, lengths = wp.empty_like(x), wp.empty_like(x)
    >>> n = wp.utils.runlength_encode(x, values, lengths)
    >>> n, values.list()[:n], lengths.list()[:n]
    (3, [1, 2, 3], [3, 2, 1])
    """
    require_arrays(values=values, run_values=run_values, run_lengths=run_lengths)
    require_scalar("values", values, INTEGERS)
    require_same_type("run_values", run_values, "values", values)
    require_scalar("run_lengths", run_lengths, (I32,))
    if run_count is not None:
        _check_run_count(run_count, values)
    count = _check_value_count(values, run_values, run_lengths, value_count)
    outputs = {"run_values": run_values, "run_lengths": run_lengths}
    for name, a in outputs.items():
        require_contiguous(name, a)
        require_writable(name, a)
    require_apart("run_lengths", run_lengths, "run_values", run_values)
    source = values.contiguous()
    if any(may_share_memory(source, a) for a in outputs.values()):
        source = source._copied()
    if run_count is None:
        capture.refuse("a number of runs (give run_count=)")
    counted = temporary(source, 1, I32) if run_count is None else run_count.flatten()[:1]
    written = {"run_values": run_values, "run_lengths": run_lengths, "run_count": counted}
    execute(
        Operation(
            "wp.utils.runlength_encode",
            writes={name: Write(a, overwrites_all=a is counted) for name, a in written.items()},
            reads={"values": values},
            run=lambda: _write_runs(source, count, *written.values()),
        )
    )
    return int(counted.numpy()[0]) if run_count is None else run_count


def _write_runs(source: array, count: int, run_values: array, run_lengths: array, run_count: array) -> None:
    written = [run_values, run_lengths, run_count]
    if source.device.is_cuda:
        late("runlength_encode_on_gpu")(source, count, *written)
    else:
        capture.call(_encode, source, count, *written, label=f"run lengths of {count}", writes=written)


def _encode(source: array, count: int, run_values: array, run_lengths: array, run_count: array) -> None:
    run_count.fill_(_native.runlength_encode(source, count, run_values, run_lengths))


def _check_run_count(run_count: Any, values: array) -> None:
    require_arrays(values=values, run_count=run_count)
    require_scalar("run_count", run_count, (I32,))
    require_contiguous("run_count", run_count)
    require_writable("run_count", run_count)
    if run_count.size < 1:
        raise ValueError("run_count: expected at least one element, got none")


def _check_value_count(values: array, run_values: array, run_lengths: array, value_count: Any) -> int:
    most = min(values.size, run_values.size, run_lengths.size, _MOST_RUNS)
    sizes = f"there are {values.size} values, {run_values.size} run_values and {run_lengths.size} run_lengths"
    return check_count("value_count", values.size if value_count is None else value_count, most, sizes)
