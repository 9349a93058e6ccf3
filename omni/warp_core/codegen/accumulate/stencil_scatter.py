"""Arrays that a kernel adds to beside the thread's own indices, such as `out[i - 1, j] += x`. Start with `following`.

Elements then follow the threads: those that a range of threads adds to lie in one piece of memory, and only at its ends
other threads add, too. What lies between need not go through the log: the range adds to it in place, a register at a
time. Each number is added to in the one way or the other by all of a range, so sums stay those of the threads in order.
Where the ends are is found for each range (native/include/warp_core/accumulate.h).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...ir.analysis.affine_index import Affine, Forms, affine_values
from ...ir.analysis.alias import provenance
from ...ir.launch_facts import ArrayAt, StencilTarget
from ...ir.nodes import Function, Operation
from ...lang.types import Packed, Scalar

_WIDEST = 1 << 20  # constants beyond it are no neighbours


def following(
    function: Function, logged: Mapping[Operation, ArrayAt], arity: int, others: Collection[Operation]
) -> tuple[tuple[StencilTarget, ...], dict[Operation, int]]:
    """The followers among arrays that are added to through the log, and which of them each operation goes to.

    Args:
        function: the kernel.
        logged: the additions, each with its array.
        arity: how many indices a thread has.
        others: additions that are gathered first, whose arrays are no followers.
    """
    groups: dict[ArrayAt, list[Operation]] = {}
    for op, at in logged.items():
        groups.setdefault(at, []).append(op)
    forms = affine_values(function)
    followers: list[StencilTarget] = []
    numbers: dict[Operation, int] = {}
    for at, ops in groups.items():
        places = [_place(op, arity, forms) for op in ops if op not in others]
        shapes = {tuple(index for index, _ in place) for place in places if place is not None}
        if (
            len(shapes) == 1
            and None not in places
            and len(places) == len(ops)
            and _is_wide(shape := shapes.pop(), arity)
        ):
            offsets = dict.fromkeys(tuple(offset for _, offset in place) for place in places if place is not None)
            numbers |= dict.fromkeys(ops, len(followers))
            followers.append(StencilTarget(at, shape, tuple(offsets)))
    return tuple(followers), numbers


def _is_wide(shape: Sequence[int], arity: int) -> bool:
    """True if neighbouring threads add to neighbouring elements, or all threads of a row add to one element."""
    inner = [k for k, index in enumerate(shape) if index == arity - 1]
    return any(index >= 0 for index in shape) and inner in ([], [len(shape) - 1])


def _place(op: Operation, arity: int, forms: Forms) -> list[tuple[int, int]] | None:
    """Return for each index of an addition which of the thread's it is, and what is added to it."""
    array, path = op.args[0].type, op.attr[1]
    if -1 in path or not isinstance(array.dtype, (Scalar, Packed)) or provenance(op.args[0]).is_view:
        return None
    found = [_index(forms.get(index), arity) for index in op.args[1 : 1 + array.ndim]]
    return None if None in found else found  # type: ignore[return-value]


def _index(form: Affine | None, arity: int) -> tuple[int, int] | None:
    if form is None or form.has_parameters or abs(form.constant) >= _WIDEST:
        return None
    if form.dimension is None:
        return -1, form.constant
    return (form.dimension, form.constant) if (form.arity, form.coefficient) == (arity, 1) else None
