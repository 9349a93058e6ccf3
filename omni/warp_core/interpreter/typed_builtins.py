"""Python's own functions as kernels mean them, on typed numbers: `REPLACED` maps the function to its stand-in.

What is not in the table (zip, any, all, sum, map, isinstance, …) serves as Python has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

from ..eager.intrinsics import same_type
from ..lang import semantics
from ..lang.registry import INTRINSICS
from ..lang.types import Scalar
from ..lang.values.scalars import ScalarValue, float32, int32
from ..lang.values.structs import StructValue
from ..lang.values.value_classes import Components


class TypedRange:
    """`range` whose numbers have the type of its bounds; a step of zero gives none."""

    def __init__(self, *bounds: Any):
        self.of = next((type(b) for b in bounds if isinstance(b, ScalarValue)), int32)
        numbers = [b.__index__() for b in bounds]
        self.numbers = range(0) if len(numbers) == 3 and numbers[2] == 0 else range(*numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        return map(self.of._make, self.numbers)

    def __reversed__(self) -> Iterator[Any]:
        return map(self.of._make, reversed(self.numbers))


def _enumerate(iterable: Iterable, start: Any = 0) -> Iterator[tuple]:
    return ((int32(i), x) for i, x in enumerate(iterable, int(start)))


def _extreme(name: str) -> Callable:
    python, rule = {"min": min, "max": max}[name], semantics.BINARY[f"{name}num"]

    def pick(a: Any, b: Any) -> Any:
        if isinstance(a, Components):
            s = a.__wc_type__.scalar
            return a._from([rule(s, x, y) for x, y in zip(a._leaves(), b._leaves())])
        a, b = same_type(a, b)
        return a._make(rule(a.__wc_type__, a.value, b.value))

    def extreme(*args: Any) -> Any:
        candidates = list(args[0]) if len(args) == 1 else args
        if all(isinstance(x, (int, float)) for x in candidates):
            return python(candidates)
        return reduce(pick, candidates)

    extreme.__name__ = name
    return extreme


def _abs(x: Any) -> Any:
    if isinstance(x, Components):
        return x._from([semantics.UNARY["abs"](x.__wc_type__.scalar, leaf) for leaf in x._leaves()])
    return abs(x)


def _round(x: Any) -> Any:
    if isinstance(x, ScalarValue) and x.__wc_type__.is_float:
        return int32(semantics.UNARY["rint"](x.__wc_type__, x.value))
    return x if isinstance(x, ScalarValue) else round(x)


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    quotient = a // b
    return quotient, a - quotient * b


def _text(x: Any) -> Any:
    """A value as compiled kernels print it: floats in the fewest digits of their type."""
    if isinstance(x, StructValue):
        return x._describe(_text)
    if isinstance(x, (tuple, list)):
        parts = [repr(i) if isinstance(i, str) else str(_text(i)) for i in x]
        text = ", ".join(parts)
        return f"[{text}]" if isinstance(x, list) else f"({text}{',' if len(parts) == 1 else ''})"
    if not isinstance(x, Components):
        return x
    parts = [_number(x.__wc_type__.scalar, leaf) for leaf in x._leaves()]
    if len(x._shape_) == 1:
        return f"[{', '.join(parts)}]"
    rows, columns = x._shape_
    return "[" + ",\n ".join(f"[{', '.join(parts[columns * i : columns * (i + 1)])}]" for i in range(rows)) + "]"


def _number(t: Scalar, value: Any) -> str:
    return semantics.shortest(value, t) if t.is_float else str(value)


def _print(*args: Any, **options: Any) -> None:
    print(*map(_text, args), **options)


REPLACED: dict[Any, Any] = {
    int: int32,
    float: float32,
    list: tuple,
    range: TypedRange,
    enumerate: _enumerate,
    len: INTRINSICS["len"].run,
    min: _extreme("min"),
    max: _extreme("max"),
    abs: _abs,
    round: _round,
    divmod: _divmod,
    print: _print,
}
