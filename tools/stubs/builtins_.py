"""Signatures of the library's functions in terms that type checkers know.

A pattern such as `Vec[N, T]` has no counterpart in Python's typing. So each overload is written out for all the types
that have names (`rows`), and the rows are put together again (`merged`). Rows in which everything that varies is one
type become one signature with a type variable, the others stay overloads.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from omni.warp_core.lang import generics
from omni.warp_core.lang.annotations import type_or_none
from omni.warp_core.lang.generics import Pattern, TypeVar
from omni.warp_core.lang.registry import Builtin, Overload
from omni.warp_core.lang.types import Scalar, Type

from .names import SCALARS, accepted, kind, order, spell

LENGTHS = (2, 3, 4, 6)


@dataclass(frozen=True)
class Row:
    """One signature without variables: parameter names, which of them may be left out, their types, result types."""

    params: tuple[str, ...]
    optional: tuple[bool, ...]
    types: tuple[Type | None, ...]  # None: anything
    results: tuple[Type, ...]


@dataclass
class Variables:
    """The type variables that signatures use, by the types that they stand for."""

    names: dict[tuple[Type, ...], str] = field(default_factory=dict)

    def of(self, types: Iterable[Type]) -> str:
        """The variable for exactly these types."""
        key = tuple(sorted(set(types), key=order))
        if key not in self.names:
            base = "_" + "Or".join(sorted({kind(t) for t in key}))
            taken = sum(name.rstrip("0123456789") == base for name in self.names.values())
            self.names[key] = f"{base}{taken + 1}"
        return self.names[key]

    def definitions(self) -> Iterator[str]:
        """The lines that define them."""
        for types, name in self.names.items():
            yield f'{name} = TypeVar("{name}", {", ".join(str(spell(t)) for t in types)})'


# -- writing out -------------------------------------------------------------------------------------------------------


def _variables(pattern: object) -> set[TypeVar]:
    if isinstance(pattern, TypeVar):
        return {pattern} if pattern.kind not in ("type", "constant") else set()
    if isinstance(pattern, Pattern):
        return set().union(*(_variables(p) for p in pattern.params))
    return set()


def _bindings(variables: Iterable[TypeVar]) -> Iterator[dict[str, object]]:
    """All that the variables may stand for, among scalars and the lengths of named types."""
    ordered = sorted(variables, key=lambda v: v.name)
    domains = [[x for x in (*LENGTHS, *SCALARS) if generics.admits(v, x)] for v in ordered]
    return (dict(zip((v.name for v in ordered), values)) for values in itertools.product(*domains))


def result_patterns(overload: Overload, updates: bool) -> tuple:
    """The types and patterns of what an overload returns. One that updates an argument returns that last."""
    annotation = overload.func.__annotations__.get("return")
    if isinstance(annotation, str):
        annotation = eval(annotation, overload.func.__globals__)
    results = getattr(annotation, "__args__", None) or (annotation,)
    found = tuple(type_or_none(r) for r in results if r is not None)
    return found[:-1] if updates else found


def rows(overload: Overload, updates: bool) -> Iterator[Row]:
    """The signature for all types that have names."""
    patterns = [pattern for _, pattern, _ in overload.params]
    results = result_patterns(overload, updates)
    variables = set().union(*(_variables(p) for p in (*patterns, *results)))
    for bound in _bindings(variables):
        types = [generics.substitute(p, bound) for p in patterns]
        out = [generics.substitute(p, bound) for p in results]
        if any(isinstance(t, Type) and spell(t) is None for t in (*types, *out)):
            continue
        yield Row(
            tuple(name for name, _, _ in overload.params),
            tuple(default is not inspect.Parameter.empty for _, _, default in overload.params),
            tuple(t if isinstance(t, Type) else None for t in types),
            tuple(out),
        )


# -- putting together --------------------------------------------------------------------------------------------------


def _columns(row: Row) -> tuple[Type | None, ...]:
    return (*row.types, *row.results)


def _varying(group: list[Row]) -> list[int]:
    return [i for i, column in enumerate(zip(*map(_columns, group))) if len(set(column)) > 1]


def _is_one_variable(group: list[Row]) -> bool:
    varying = _varying(group)
    return all(len({_columns(row)[i] for i in varying}) <= 1 for row in group)


def merged(group: list[Row]) -> list[list[Row]]:
    """The rows in groups of which each is one signature: as few as grouping by the type of one place gives."""
    if _is_one_variable(group):
        return [group]
    best = [[row] for row in group]
    for place in _varying(group):
        parts: dict[Type | None, list[Row]] = {}
        for row in group:
            parts.setdefault(_columns(row)[place], []).append(row)
        if len(parts) < len(best) and all(map(_is_one_variable, parts.values())):
            best = list(parts.values())
    return best


def signatures(builtin: Builtin, variables: Variables) -> list[str]:
    """The parameter lists and results of a builtin's stub: `(a: float) -> float`."""
    groups: dict[tuple, dict[tuple, Row]] = {}
    for overload in builtin.overloads:
        for row in rows(overload, builtin.updates):
            # Of overloads that take the same types the first is called.
            groups.setdefault((len(row.params), row.params), {}).setdefault(row.types, row)
    out: list[str] = []
    for by_types in groups.values():
        ordered = sorted(by_types.values(), key=lambda row: [order(t) if t else (-1, "") for t in row.types])
        for part in merged(ordered):
            out += _texts(part, variables)
    return list(dict.fromkeys(out))


def _texts(group: list[Row], variables: Variables) -> list[str]:
    row, varying = group[0], set(_varying(group))
    count = len(row.params)
    variable = ""
    if len(varying) == 1 and max(varying) < count:
        variable = " | ".join(str(spell(_columns(r)[max(varying)])) for r in group)  # type: ignore[arg-type]
    elif varying:
        variable = variables.of(_columns(r)[i] for r in group for i in varying)  # type: ignore[misc]
    takes = [variable if i in varying else (accepted(t) if t else "Any") for i, t in enumerate(row.types)]
    names = [str(spell(t)) if isinstance(t, Type) else "Any" for t in row.results]
    gives = [variable if count + i in varying else name for i, name in enumerate(names)]
    result = "None" if not gives else gives[0] if len(gives) == 1 else f"tuple[{', '.join(gives)}]"

    def text(types: list) -> str:
        parts = [f"{n}: {t}{' = ...' if o else ''}" for n, t, o in zip(row.params, types, row.optional)]
        return f"({', '.join(parts)}) -> {result}"

    places = [i for i in varying if i < count]
    scalars = all(isinstance(row.types[i], Scalar) for i in places)
    out = [text(takes)]
    if scalars and len(places) > 1:  # one number with a type of its own, and literals beside it
        for typed in (min(places), max(places)):
            mixed = [f"{t} | float" if i in places and i != typed else t for i, t in enumerate(takes)]
            out.append(text(mixed))
    return out
