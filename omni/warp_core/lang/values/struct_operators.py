"""Struct operators: functions that the type of their first argument supplies.

A struct supplies them in its class, by name. So one function can take values of many struct types, and each type says
what the operator means for it:

    area = StructOperator("area")

    @wp.struct
    class Square:
        side: float
        supplies = {"area": square_area}  # a @wp.func

A kernel then writes `area(shape)`. Calling a value itself, `shape(x)`, runs the operator `call`. A struct may supply a
type of numbers in place of a function, such as `wp.float64`. Then the call is this type. Start with `StructOperator`;
`front/calls/struct_calls.py` lowers the calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..kernel import Function
from ..types import Struct, Type
from .type_registry import python_type

CALL = "call"  # the operator of `value(...)`
_NONE: Mapping[str, Function | type] = {}


class StructOperator:
    """A function of kernels whose meaning the struct type of its first argument gives.

    Args:
        name: Under which structs supply it.
        shown: How programs write it, for messages.
        doc: What it computes.
    """

    def __init__(self, name: str, shown: str = "", doc: str = ""):
        self.name, self.shown, self.__doc__ = name, shown or name, doc

    def __call__(self, *args: Any) -> Any:
        """Run the function in Python, where kernels run as Python. Raises TypeError if the struct supplies none."""
        given = getattr(type(args[0]), "supplies", _NONE) if args else _NONE
        if self.name not in given:
            got = f"{type(args[0]).__name__} has none" if args else "got no argument"
            raise TypeError(f"`{self.shown}` is called with a struct that supplies it, in kernels: {got}")
        found = given[self.name]
        return found if isinstance(found, type) else found(*args)

    def __repr__(self) -> str:
        return f"<operator {self.shown}>"


def supplied(t: Type) -> Mapping[str, Function | type]:
    """The operators that a type supplies, by name."""
    return getattr(python_type(t), "supplies", _NONE) if isinstance(t, Struct) else _NONE


def refusals(t: Type) -> Mapping[str, str]:
    """Why a struct type lacks operators, by name: sentences for messages."""
    return getattr(python_type(t), "refuses", {}) if isinstance(t, Struct) else {}


def read_only(t: Type) -> str:
    """Why kernels must not assign to fields of a struct type: a sentence, "" for types whose fields can be assigned."""
    return getattr(python_type(t), "read_only", "") if isinstance(t, Struct) else ""


def all_supplied(t: Type) -> Iterator[tuple[str, Function | type]]:
    """The operators that a type and the types of its fields supply."""
    yield from supplied(t).items()
    if isinstance(t, Struct):
        for _, field in t.fields:
            yield from all_supplied(field)
