"""The constants that kernels were launched with first, for code of theirs that is compiled later.

Code is compiled when it is needed, for strided arrays later than for others, say, and names may have other values by
then. Start with `Constants`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CellType, FunctionType
from typing import Any
from weakref import ref

from ..front.content_hash import names_of
from ..lang.kernel import Definition, Function

_PLAIN = (bool, int, float, complex, str, bytes, tuple, list, type(None))


class Constants:
    """The numbers, strings, vectors, functions and the like that outer names of definitions have when this is made."""

    def __init__(self, definitions: Sequence[Definition]):
        self._held = [(ref(d), _constants(d.func)) for d in definitions]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """A `with` block in which the definitions see these values again. The names themselves keep theirs."""
        alive = [(d, _alive(values)) for found, values in self._held if (d := found()) is not None]
        before = [(d, d.func) for d, _ in alive]
        try:
            for d, values in alive:
                d.func = _with(d.func, values)
            yield
        finally:
            for d, func in before:
                d.func = func


def _constants(func: Any) -> dict[str, Any]:
    found = {name: func.__globals__[name] for name in names_of(func.__code__) if name in func.__globals__}
    for name, cell in zip(func.__code__.co_freevars, func.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # nothing yet
            continue
    functions = {name: ref(x) for name, x in found.items() if isinstance(x, Function)}  # which may hold the kernel
    return functions | {name: _copied(x) for name, x in found.items() if isinstance(x, _PLAIN) or _is_number(x)}


def _copied(x: Any) -> Any:
    """A value that stays what it is when lists and vectors change in place. Kernels take lists as tuples."""
    if isinstance(x, (tuple, list)):
        return tuple(map(_copied, x))
    return copy.copy(x) if _is_number(x) else x


def _alive(values: dict[str, Any]) -> dict[str, Any]:
    """The values, without the functions that are gone."""
    held = {name: x() if isinstance(x, ref) else x for name, x in values.items()}
    return {name: x for name, x in held.items() if x is not None or values[name] is None}


def _is_number(x: Any) -> bool:
    """True if this is a vector, a matrix, or a NumPy number."""
    kind = type(x)  # asked rather than `x`: modules look far and wide for what they do not have
    return (hasattr(kind, "__wc_type__") and not hasattr(x, "ndim") and not isinstance(x, Definition)) or (
        hasattr(kind, "item") and getattr(x, "shape", None) == ()
    )


def _with(func: Any, values: dict[str, Any]) -> FunctionType:
    """A function like `func` in surroundings where names have these values."""
    code = func.__code__
    cells = tuple(
        CellType(values[name]) if name in values else cell
        for name, cell in zip(code.co_freevars, func.__closure__ or ())
    )
    made = FunctionType(code, {**func.__globals__, **values}, func.__name__, func.__defaults__, cells or None)
    made.__kwdefaults__, made.__annotations__ = func.__kwdefaults__, func.__annotations__
    made.__qualname__, made.__module__, made.__doc__ = func.__qualname__, func.__module__, func.__doc__
    return made
