"""Dual numbers in the interpreter: programs run on numbers that carry a derivative, by the rules of the textbook.

They know nothing of the transformations that make adjoints and tangents, and take no steps as differences do: what they
say holds to rounding, also beside kinks and where values are large. Start with `run_kernel`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from omni.warp_core.ir.interp import array_memory, interp
from omni.warp_core.ir.interp.transpile import transpile
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import F64


class Unsupported(Exception):
    """An operation that has no derivative, such as taking the bits of a number."""


class Dual(float):
    """A number and its derivative."""

    __slots__ = ("slope",)

    def __new__(cls, value: float, slope: float) -> Dual:
        made = super().__new__(cls, value)
        made.slope = slope
        return made

    def __add__(self, other):
        return Dual(float(self) + float(other), self.slope + slope(other))

    def __sub__(self, other):
        return Dual(float(self) - float(other), self.slope - slope(other))

    def __mul__(self, other):
        return Dual(float(self) * float(other), times(self.slope, other) + times(slope(other), self))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return Dual(float(other) - float(self), slope(other) - self.slope)

    def __neg__(self):
        return Dual(-float(self), -self.slope)


def slope(x: float) -> float:
    """The derivative that a number carries."""
    return x.slope if isinstance(x, Dual) else 0.0


def times(change: float, by: float) -> float:
    """A product, which is 0 where nothing changes, however large the derivative is."""
    return change * float(by) if change else 0.0


_FLAT = ("floor", "ceil", "trunc", "rint", "floordiv")
# By operation or function of the C library: the derivatives by each argument, given the arguments and the value.
_RULES: dict[str, Callable[..., Sequence[float]]] = {
    "abs": lambda v, a: (math.copysign(1.0, a) if a else 1.0,),
    "sqrt": lambda v, a: (0.5 / v if v else 0.0,),
    "div": lambda v, a, b: (1.0 / b, -a / (b * b)),
    "rem": lambda v, a, b: (1.0, -round((a - v) / b)),
    "fmod": lambda v, a, b: (1.0, -round((a - v) / b)),
    "fma": lambda v, a, b, c: (b, a, 1.0),
    "sin": lambda v, a: (math.cos(a),),
    "cos": lambda v, a: (-math.sin(a),),
    "tan": lambda v, a: (1.0 + v * v,),
    "asin": lambda v, a: (1.0 / math.sqrt(1.0 - a * a) if abs(a) < 1.0 else 0.0,),
    "acos": lambda v, a: (-1.0 / math.sqrt(1.0 - a * a) if abs(a) < 1.0 else 0.0,),
    "atan": lambda v, a: (1.0 / (1.0 + a * a),),
    "atan2": lambda v, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "sinh": lambda v, a: (math.cosh(a),),
    "cosh": lambda v, a: (math.sinh(a),),
    "tanh": lambda v, a: (1.0 - v * v,),
    "asinh": lambda v, a: (1.0 / math.sqrt(a * a + 1.0),),
    "acosh": lambda v, a: (1.0 / math.sqrt(a * a - 1.0),),
    "atanh": lambda v, a: (1.0 / (1.0 - a * a),),
    "exp": lambda v, a: (v,),
    "exp2": lambda v, a: (v * math.log(2.0),),
    "expm1": lambda v, a: (v + 1.0,),
    "log": lambda v, a: (1.0 / a,),
    "log2": lambda v, a: (1.0 / (a * math.log(2.0)),),
    "log10": lambda v, a: (1.0 / (a * math.log(10.0)),),
    "log1p": lambda v, a: (1.0 / (1.0 + a),),
    "cbrt": lambda v, a: (v / (3.0 * a) if a else 0.0,),
    "erf": lambda v, a: (2.0 / math.sqrt(math.pi) * math.exp(-a * a),),
    "erfc": lambda v, a: (-2.0 / math.sqrt(math.pi) * math.exp(-a * a),),
    "pow": lambda v, a, b: (b * semantics.libm("pow", F64, a, b - 1.0), v * math.log(a) if a > 0.0 else 0.0),
}


def _carried(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`plain(name, type, arguments…)` for numbers that carry derivatives."""

    def run(name: str, t: Any, *args: Any) -> Any:
        numbers = [float(a) if isinstance(a, Dual) else a for a in args]
        value = plain(name, t, *numbers)
        if name in _FLAT or not any(isinstance(a, Dual) for a in args):
            return value
        if name not in _RULES:
            raise Unsupported(name)
        try:
            partial = _RULES[name](value, *numbers)
        except (ZeroDivisionError, OverflowError, ValueError):
            partial = [math.nan] * len(args)
        return Dual(value, sum(times(slope(a), d) for a, d in zip(args, partial)))

    return run


def _bits(x: Any, t: Any) -> Any:
    if isinstance(x, Dual):
        raise Unsupported("the bits of a number")
    return semantics.bits_of(x, t)


def _atomic(kind: str, t: Any, array: Any, indices: Any, path: Any, *operands: Any) -> Any:
    if kind not in ("add", "sub", "min", "max"):
        return array_memory.atomic(kind, t, array, indices, path, *operands)
    old = array_memory.read(array, indices, path)
    parts = list(zip(old, *operands)) if isinstance(old, tuple) else [(old, *operands)]
    new = tuple(_COMBINED[kind](a, b) for a, b in parts)
    array_memory.write(array, indices, path, new if isinstance(old, tuple) else new[0])
    return old


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": lambda a, b: (a if a < b else b) if b == b else a,
    "max": lambda a, b: (a if a > b else b) if b == b else a,
}


def _rounding(plain: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: Dual(plain(float(x)), x.slope) if isinstance(x, Dual) else plain(x)


_INSTEAD: dict[str, Any] = {
    "_evaluate": _carried(semantics.evaluate),
    "_libm": _carried(semantics.libm),
    "_convert": lambda x, t: semantics.convert(float(x) if isinstance(x, Dual) else x, t),
    "_bits_of": _bits,
    "_atomic": _atomic,
    **{f"_round_{t.key}": _rounding(rounded) for t, rounded in semantics.ROUND.items()},
}
_compiled: WeakKeyDictionary[Function, Callable] = WeakKeyDictionary()


def compiled(function: Function) -> Callable[..., tuple]:
    """`function` for numbers that carry derivatives."""
    if function not in _compiled:
        _compiled[function] = transpile(function, compiled, interp.Failure, _INSTEAD)
    return _compiled[function]


def run_kernel(function: Function, args: Sequence[Any], threads: int) -> None:
    """Run a kernel over a grid of one dimension; arrays among the arguments may hold `Dual` numbers."""
    context = interp.Context((threads,))
    for thread in range(threads):
        context.index = (thread,)
        compiled(function)(context, *args)
