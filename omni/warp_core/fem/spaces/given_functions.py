"""Functions that programs give for fields and spaces, and the values of their last parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...front import content_hash
from ...lang.kernel import Function
from ...lang.types import Type
from ...lang.values.type_registry import wc_type
from ..kernel_records import arguments_record

__all__: list[str] = []


class GivenFunctions:
    """Functions of the same parameters. They are equal to others that mean the same.

    Args:
        subject: What takes them, for messages.
        given: The functions by the names of what takes them. The first one is there, others may be None.
        first: What their first parameters are, for messages.
    """

    def __init__(self, subject: str, given: Mapping[str, Any], *first: str):
        self._subject, self.given = subject, given
        main = next(iter(given))
        for name, f in given.items():
            if not isinstance(f, Function) and (f is not None or name == main):
                raise TypeError(f"{subject}: {name}: expected a function with @wp.func, got {type(f).__name__}")
        self._func = given[main]
        self._first, self._params = first, self._func.params[len(first) :]
        self.digest = "_".join("none" if f is None else content_hash.digest(f)[:16] for f in given.values())

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenFunctions) and other.digest == self.digest

    def check(self, values: Mapping[str, Any], word: str) -> None:
        """Raise ValueError unless values are those of the last parameters. `word` is the parameter that takes them."""
        names = [name for name, _ in self._params]
        if set(names) != values.keys():
            raise ValueError(
                f"{self._subject}: {word}: `{self._func.name}` takes {names} after {' and '.join(self._first)}, got "
                f"{sorted(values)}"
            )

    def types(self, values: Mapping[str, Any]) -> tuple[Type, ...]:
        """The types of values, in the order of parameters."""
        return tuple(self._type_of(name, t, values[name]) for name, t in self._params)

    def arguments(self, values: Mapping[str, Any]) -> Any:
        """The values in one record, in the order of parameters."""
        return arguments_record(self.types(values))(*(values[name] for name, _ in self._params))

    def _type_of(self, name: str, t: Any, given: Any) -> Type:
        """The type of an argument: that of the parameter, or that of what is given."""
        if isinstance(t, Type):
            return t
        own = getattr(given, "__wc_type__", None) or (type(given) if isinstance(given, (int, float, bool)) else None)
        try:
            return own if isinstance(own, Type) else wc_type(own)
        except TypeError:
            got, function = type(given).__name__, self._func.name
            raise TypeError(
                f"{self._subject}: `{name}` of `{function}` cannot be {got}; annotate it with a type"
            ) from None
