"""IR as text: stable, readable, and read back exactly by `parser.parse`.

    func @lerp(%a: f32, %b: f32, %t: f32) -> (f32) {
      %0: f32 = sub %b, %a
      %1: f32 = fma %0, %t, %a
      return %1
    }

A line is `results = code[attribute] operands`, then the parameters and body of each region. Values print by their name
hint or number; a repeated name gets a `.N`. Structs are named by `struct` lines at the top, functions that are called
come before their callers. Start with `print_function`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence

from ..lang.types import VOID, Array, Struct, Tile, Type
from .attrs import FORM, Atom, encode
from .nodes import Function, Loc, Operation, Region, Value

_WORD = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_NUMBER_WORDS = frozenset(("true", "false", "inf", "nan"))


def print_function(function: Function, locs: bool = False) -> str:
    """The text of `function` and of everything it calls, callees first. `locs` adds source positions."""
    return print_module([function], locs)


def print_module(functions: Sequence[Function], locs: bool = False) -> str:
    """The text of `functions` and of everything they call, each once, callees first."""
    ordered = list(reachable(functions))
    return _Printer(ordered, locs).text()


def reachable(functions: Sequence[Function]) -> Iterator[Function]:
    """`functions` and the functions they call, each once, callees before callers."""
    seen: set[Function] = set()

    def visit(function: Function) -> Iterator[Function]:
        if function in seen:
            return
        seen.add(function)
        for op in function.body.walk():
            if op.code == "call":
                yield from visit(op.attr)
        yield function

    for function in functions:
        yield from visit(function)


class _Unique:
    """Gives each distinct object a distinct spelling of the name it asks for."""

    def __init__(self, separator: str):
        self._separator = separator
        self._used: dict[str, int] = {}

    def __call__(self, base: str) -> str:
        count = self._used.get(base, 0)
        self._used[base] = count + 1
        return f"{base}{self._separator}{count}" if count else base


class _Printer:
    def __init__(self, functions: list[Function], locs: bool):
        self._locs = locs
        self._functions = functions
        self._structs: dict[Type, str] = {}
        self._struct_names = _Unique(".")
        self._struct_lines: list[str] = []
        unique = _Unique("#")
        self._symbols = {f: "@" + unique(_symbol(f.name)) for f in functions}
        self._lines: list[str] = []
        self._names: dict[Value, str] = {}

    def text(self) -> str:
        for function in self._functions:
            self._function(function)
        return "\n".join(self._struct_lines + self._lines).lstrip("\n") + "\n"

    def _function(self, function: Function) -> None:
        self._names, self._unique, self._count = {}, _Unique("."), 0
        kind = "kernel" if function.is_kernel else "func"
        prefix = "cold " * function.is_cold + "library " * function.is_library
        results = f" -> ({', '.join(map(self._type, function.results))})" if function.results else ""
        blocks = f" blocks {function.block_dim}" if function.block_dim else ""
        head = f"{prefix}{kind} {self._symbols[function]}({self._define(function.params)}){results}{blocks}"
        self._lines += ["", head + " {" + self._loc(function.loc)]
        self._region(function.body, "  ")
        self._lines.append("}")

    def _region(self, region: Region, indent: str) -> None:
        for op in region.ops:
            self._operation(op, indent)

    def _operation(self, op: Operation, indent: str) -> None:
        operands = ", ".join(map(self._use, op.args))
        results = [v for v in op.results if v.type is not VOID]
        head = f"{op.code}{self._attribute(op)}" + (f" {operands}" if operands else "")
        if results:
            head = f"{self._define(results)} = {head}"
        if not op.regions:
            self._lines.append(indent + head + self._loc(op.loc))
        for i, region in enumerate(op.regions):
            params = f" ({self._define(region.params)})" if region.params else ""
            start, loc = (head, self._loc(op.loc)) if i == 0 else ("} else", "")
            self._lines.append(f"{indent}{start}{params} {{{loc}")
            self._region(region, indent + "  ")
        if op.regions:
            self._lines.append(indent + "}")

    def _define(self, values: Sequence[Value]) -> str:
        return ", ".join(f"{self._name(v)}: {self._type(v.type)}" for v in values)

    def _name(self, value: Value) -> str:
        hint = re.sub(r"\W", "_", value.name, flags=re.ASCII)
        if not hint:
            name, self._count = str(self._count), self._count + 1
        else:
            name = self._unique("_" + hint if hint[0].isdigit() else hint)
        self._names[value] = "%" + name
        return self._names[value]

    def _use(self, value: Value) -> str:
        return self._names.get(value, "%<undefined>")

    def _attribute(self, op: Operation) -> str:
        if FORM.get(op.code) == "type":
            return ""
        atoms = encode(op)
        if not atoms or (op.code in ("break", "continue") and op.attr == 0):
            return ""
        return f"[{', '.join(map(self._atom, atoms))}]"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Function):
            return self._symbols[atom]
        if isinstance(atom, bool):
            return "true" if atom else "false"
        if isinstance(atom, str):
            return atom if _WORD.match(atom) and atom not in _NUMBER_WORDS else json.dumps(atom)
        if isinstance(atom, float) and math.isnan(atom):
            return "nan"
        return repr(atom)

    def _type(self, t: Type) -> str:
        if isinstance(t, Struct):
            return self._structs.get(t) or self._struct(t)
        if isinstance(t, (Array, Tile)):
            return f"{t.head}<{self._type(t.dtype)}>"
        return t.key

    def _struct(self, t: Struct) -> str:
        fields = ", ".join(f"{name}: {self._type(ft)}" for name, ft in t.fields)
        plain = re.sub(r"\W", "_", t.name, flags=re.ASCII)
        alias = self._structs[t] = self._struct_names(plain)
        quoted = "" if alias == t.name else f" {json.dumps(t.name)}"
        self._struct_lines.append(f"struct {alias}{quoted} {{ {fields} }}")
        return alias

    def _loc(self, loc: Loc | None) -> str:
        if not self._locs or loc is None:
            return ""
        chain = []
        while loc is not None:
            span = f":{loc.line}:{loc.col}-{loc.end_line}:{loc.end_col}"
            chain.append(json.dumps(loc.file) + span)
            loc = loc.inlined
        return " ! " + " <- ".join(chain)


def _symbol(name: str) -> str:
    return name if _WORD.match(name) else json.dumps(name)
