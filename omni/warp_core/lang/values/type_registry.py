"""Which Python class stands for which type; filled by `scalars`, `value_classes` and `structs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..annotations import describe, type_of
from ..types import Type
from .scalars import SCALAR_CLASSES

_classes: dict[Any, Any] = {**SCALAR_CLASSES}
_makers: dict[type[Type], Callable[[Any], Any]] = {}


def register(t: Type, cls: Any) -> Any:
    """Make `cls` the Python class of type `t`; returns it."""
    _classes[t] = cls
    return cls


def register_maker(kind: type[Type], make: Callable[[Any], Any]) -> None:
    """Let `make(t)` build the class of a type of this kind when it is first asked for."""
    _makers[kind] = make


def python_type(t: Type) -> Any:
    """The Python class of values of type `t`."""
    cls = _classes.get(t)
    if cls is None:
        make = _makers.get(type(t))
        if make is None:
            raise TypeError(f"type {t} has no Python class")
        cls = _classes.setdefault(t, make(t))
    return cls


def wc_type(dtype: Any) -> Type:
    """The type that a dtype names; unlike an annotation of a parameter it must be the type of a value.

    Raises:
        TypeError: If `dtype` names no type of the language.
    """
    t = type_of(dtype)
    if not isinstance(t, Type):
        raise TypeError(f"{describe(dtype)} is not a type that a value can have")
    return t
