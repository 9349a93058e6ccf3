"""Turn exits in tail position into plain ends: `if c { break } rest` becomes `if c { } else { rest }`.

`close` works on the region of one breakable operation, in place. In: any region of a verified `block`, `for` or `loop`
and the kind of exit that equals reaching its end (`break` for a block, `continue` for loops). Out: the same meaning;
such exits remain only where rest would have to be duplicated. Structured code is cheaper than exits wherever lanes are
masked, so inlined early returns and `continue` all come through here.
"""

from __future__ import annotations

from ..ir.nodes import Operation, Region, Value
from ..ir.ops import BREAKABLE


def close(region: Region, code: str) -> None:
    """Make exits `code` 0 of `region` fall through to its end where structure permits."""
    while True:
        last = region.terminator
        if _is_exit(last, code):
            last.code, last.attr = "yield", None
        at = next((i for i, op in enumerate(region.ops) if op.code == "if" and _exits_here(op, code)), None)
        if at is None or not _nest(region, at, code):
            return
        # The `if` is now followed by its yield alone; its regions are tails themselves.
        first, second = region.ops[at].regions
        close(first, code)
        region = second


def _is_exit(op: Operation, code: str) -> bool:
    return op.code == code and not op.attr


def _exits_here(op: Operation, code: str) -> bool:
    """True if `op` contains an exit of the region it is in, without exits inside other breakable operations."""
    return any(
        _is_exit(inner, code) or (inner.code == "if" and _exits_here(inner, code))
        for region in op.regions
        for inner in region.ops
    )


def _nest(region: Region, at: int, code: str) -> bool:
    """Move what follows the `if` at `at` into the branch that falls through; False if both do."""
    branch = region.ops[at]
    rest = region.ops[at + 1 :]
    through = [r for r in branch.regions if r.terminator.code == "yield"]
    if len(through) == 2:
        return False
    types = _end_types(region, branch, code)
    if types is None:
        return False
    if through:
        (target,) = through
        values = dict(zip(branch.results, target.terminator.args))
        target.ops[-1:] = rest
        _substitute(rest, values)
    new = Operation("if", branch.args, None, branch.loc)
    new.regions = branch.regions
    new.results = tuple(Value(t, new, i) for i, t in enumerate(types))
    end = Operation("yield", list(new.results), None, branch.loc)
    region.ops[at:] = [new, end]
    return True


def _end_types(region: Region, branch: Operation, code: str) -> list | None:
    """Types carried by the end of `region`: those of any exit in `branch`."""
    for r in branch.regions:
        for op in r.ops:
            if _is_exit(op, code):
                return [a.type for a in op.args]
            found = _end_types(r, op, code) if op.code == "if" else None
            if found is not None:
                return found
    return None


def _substitute(ops: list[Operation], values: dict[Value, Value]) -> None:
    if not values:
        return
    for op in ops:
        op.args = [values.get(a, a) for a in op.args]
        for region in op.regions:
            _substitute(region.ops, values)


def outdent(region: Region, depth: int = 0) -> None:
    """Renumber the exits of `region` for the removal of the breakable operation around it."""
    for op in region.ops:
        if op.code in ("break", "continue") and (op.attr or 0) > depth:
            op.attr -= 1
        for r in op.regions:
            outdent(r, depth + (op.code in BREAKABLE))
