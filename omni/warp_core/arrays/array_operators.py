"""Operators of arrays, element by element: `a + b`, `2.0 * a`, `-a`, `a += b`. Each is a mapping, see `map`.

`a @ b` is the product of matrices, see `matmul`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..late_bound import late

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
_UNARY = {"neg": "-", "pos": "+"}


@cache
def _mapping(name: str) -> Any:
    """The mapping of an operator. Most processes use none, so they do not load what writes kernels."""
    call = f"{{0}} {_SYMBOLS[name]} {{1}}" if name in _SYMBOLS else f"{_UNARY[name]}{{0}}"
    params = ("a", "b") if name in _SYMBOLS else ("a",)
    return late("array_operator")(name, call=call, params=params)


def _binary(name: str) -> Callable:
    return lambda self, other: _mapping(name).run((self, other))


def _reflected(name: str) -> Callable:
    return lambda self, other: _mapping(name).run((other, self))


def _in_place(name: str) -> Callable:
    return lambda self, other: _mapping(name).run((self, other), self)


def _unary(name: str) -> Callable:
    return lambda self: _mapping(name).run((self,))


def _matmul(self: Any, other: Any) -> Any:
    return late("matrix_product")(self, other)


class Arithmetic:
    """The operators. They mean what they mean in kernels, shapes are broadcast, and bare numbers adapt."""

    __add__, __radd__, __iadd__ = _binary("add"), _reflected("add"), _in_place("add")
    __sub__, __rsub__, __isub__ = _binary("sub"), _reflected("sub"), _in_place("sub")
    __mul__, __rmul__, __imul__ = _binary("mul"), _reflected("mul"), _in_place("mul")
    __truediv__, __rtruediv__, __itruediv__ = _binary("truediv"), _reflected("truediv"), _in_place("truediv")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floordiv"), _reflected("floordiv"), _in_place("floordiv")
    __mod__, __rmod__, __imod__ = _binary("mod"), _reflected("mod"), _in_place("mod")
    __pow__, __rpow__, __ipow__ = _binary("pow"), _reflected("pow"), _in_place("pow")
    __neg__, __pos__ = _unary("neg"), _unary("pos")
    __matmul__ = _matmul
