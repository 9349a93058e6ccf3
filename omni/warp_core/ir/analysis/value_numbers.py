"""Value numbering: values that are computed twice in the same way are equal."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from ..nodes import Value
from ..ops import PURE

NOTHING: Mapping[Value, Value] = {}


class ValueNumbers:
    """Numbers values: equal ones that are computed twice have one number. `follows` tells of which values the operands
    say what they are.
    """

    def __init__(self, follows: Callable[[Value], bool] | None = None) -> None:
        self._follows = follows or is_plain
        self._numbers: dict[Hashable, int] = {}

    def of(self, value: Value, given: Mapping[Value, Value] = NOTHING) -> int:
        """Return the number of a value. Others may be `given` for it and for those that it is computed of."""
        return self._number(value, given, {})

    def _number(self, value: Value, given: Mapping[Value, Value], known: dict[Value, int]) -> int:
        value = given.get(value, value)
        if value not in known:
            key: Hashable = value
            if self._follows(value):
                assert value.op is not None
                operands = [self._number(a, given, known) for a in value.op.args]
                key = (value.op.code, value.op.attr, value.type, *operands)
            known[value] = self._numbers.setdefault(key, len(self._numbers))
        return known[value]


def is_plain(value: Value) -> bool:
    """True if a value follows from operands alone."""
    return value.op is not None and value.op.code in PURE and not value.op.regions
