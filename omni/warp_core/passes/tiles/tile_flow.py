"""Flow of tiles: what loops carry, and what the ends of regions give. Start with `handed_on`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...ir.nodes import Operation, Value
from ...ir.ops import BREAKABLE, ELEMENT_OPS
from ...lang.types import Tile


def carried(op: Operation) -> list[Value]:
    """The parameters of a loop that it carries from one iteration to the next."""
    return op.regions[0].params[op.code == "for" :]


def initial(op: Operation) -> list[Value]:
    """The values of these parameters in the first iteration."""
    return op.args[3 * (op.code == "for") :]


def receiving(end: Operation, owner: Operation | None, frames: Sequence[Operation]) -> Sequence[Value]:
    """What gets the operands of the end of a region of `owner`. `frames` are the breakable operations around it."""
    if end.code not in ("yield", "break", "continue") or owner is None:
        return ()
    target = owner if end.code == "yield" else frames[-1 - (end.attr or 0)]
    goes_on = end.code == "continue" or (end.code == "yield" and target.code in ("for", "loop"))
    return carried(target) if goes_on else target.results


def nested(
    ops: Iterable[Operation], owner: Operation | None = None, frames: tuple[Operation, ...] = ()
) -> Iterator[tuple[Operation, Operation | None, tuple[Operation, ...]]]:
    """Yield each operation, those in regions of elements aside, with the one around it and the breakable ones."""
    for op in ops:
        yield op, owner, frames
        inside = (*frames, op) if op.code in BREAKABLE else frames
        for region in op.regions if op.code not in ELEMENT_OPS else ():
            yield from nested(region.ops, op, inside)


def handed_on(ops: Iterable[Operation]) -> Iterator[tuple[int, Value, Value]]:
    """Yield each tile that control flow hands on, with the value that receives it and the number of loops around."""
    for op, owner, frames in nested(ops):
        if op.code in ("for", "loop"):
            behind = op.results if op.code == "for" else ()  # a loop without count hands results on by its breaks
            pairs = [*zip(initial(op), carried(op)), *zip(carried(op), behind)]
        else:
            pairs = list(zip(op.args, receiving(op, owner, frames)))
        yield from ((len(frames), a, b) for a, b in pairs if isinstance(a.type, Tile))
