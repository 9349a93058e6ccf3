"""Sign analysis of integers, which avoids warnings."""

from __future__ import annotations

from collections.abc import Set

from ...lang.types import Scalar
from ..nodes import Value
from ..ops import COUNTS

_KEEPS_SIGN = frozenset(("rem", "div", "floordiv", "or", "add", "mul", "shr", "min", "max"))
_NEVER_NEGATIVE = COUNTS | {"tid", "popcount", "abs", "thread_index", "block_index", "block_tid"}


def is_non_negative(v: Value, counting: Set[Value], depth: int = 6) -> bool:
    """True if the value is provably non-negative (wrap-around aside). `counting` are indices of loops that count up."""
    if isinstance(v.type, Scalar) and v.type.kind == "uint":
        return True
    if v.op is None or depth == 0:
        return v in counting
    code = v.op.code
    if code == "const":
        return all(x >= 0 for x in (v.const if isinstance(v.const, tuple) else (v.const,)))
    if code in _NEVER_NEGATIVE or (code == "call" and v.op.attr.name.startswith("abs#")):
        return True
    if code == "and":
        return any(is_non_negative(a, counting, depth - 1) for a in v.op.args)
    if code in _KEEPS_SIGN:
        return all(is_non_negative(a, counting, depth - 1) for a in v.op.args)
    if code == "cast":
        source = v.op.args[0]
        return (
            isinstance(source.type, Scalar) and source.type.bits <= 32 and is_non_negative(source, counting, depth - 1)
        )
    return False
