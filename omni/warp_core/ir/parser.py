"""Reads the text form of IR that `printer` writes.

`parse` returns all functions of a text in order. It builds exactly what is written. Nothing is folded or shared, and
nothing but syntax, names and result types of the op table is checked, so that `verifier` can be tested with wrong
programs. A comment runs from `;` to the end of its line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from ..lang.types import VOID, Struct, Type, array_type, parse_type
from .attrs import decode
from .nodes import Function, Loc, Operation, Region, Value
from .ops import OPS

_TOKEN = re.compile(
    r'\s*(?:;.*|(?P<string>"(?:\\.|[^"\\])*")|(?P<value>%[\w.]+)|(?P<number>-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf\b))'
    r"|(?P<arrow>->|<-)|(?P<word>[A-Za-z_][\w.]*)|(?P<mark>[@#(){}\[\],:=<>!-]))",
    re.ASCII,
)
_WORD_ATOMS = {"true": True, "false": False, "inf": math.inf, "nan": math.nan}


class ParseError(ValueError):
    """Text that is not IR; the message starts with the line number."""


def parse(text: str) -> list[Function]:
    """The functions of `text` in order. Raises `ParseError`."""
    return _Parser(text).functions()


class _Line:
    """The tokens of one line with a cursor."""

    def __init__(self, number: int, text: str):
        self.number, self._text, self._at = number, text, 0
        self._tokens = self._scan(text)

    def _scan(self, text: str) -> list[tuple[str, str]]:
        tokens, at, end = [], 0, len(text.rstrip())
        while at < end:
            m = _TOKEN.match(text, at)
            if m is None:
                raise self.error(f"unexpected {text[at:].strip()[:10]!r}")
            if m.lastgroup is not None:
                tokens.append((m.lastgroup, m[m.lastgroup]))
            at = m.end()
        return tokens

    def error(self, what: str) -> ParseError:
        return ParseError(f"line {self.number}: {what}: {self._text.strip()}")

    def fail(self, what: str) -> Any:
        raise self.error(what)

    @property
    def empty(self) -> bool:
        return not self._tokens

    @property
    def done(self) -> bool:
        return self._at == len(self._tokens)

    def peek(self) -> str:
        return self._tokens[self._at][1] if not self.done else ""

    def kind(self) -> str:
        return self._tokens[self._at][0] if not self.done else ""

    def take(self, kind: str = "") -> str:
        if self.done:
            self.fail(f"the line ends where a {kind or 'token'} should be")
        found, token = self._tokens[self._at]
        if kind and found != kind:
            self.fail(f"expected a {kind}, found {token!r}")
        self._at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token and self.kind() != "string":
            self._at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(f"expected {token!r}, found {self.peek()!r}")

    def listing(self, item: Callable[[], Any], close: str) -> list:
        """Comma-separated items up to the token `close`, which is taken."""
        items: list = []
        while not self.accept(close):
            if items:
                self.expect(",")
            items.append(item())
        return items

    def finish(self) -> None:
        if not self.done:
            self.fail(f"unexpected {self.peek()!r}")

    def string(self) -> str:
        text = self.take("string")
        try:
            return json.loads(text)
        except ValueError:
            return self.fail(f"bad string {text}")

    def integer(self) -> int:
        return int(self.take("number"))


class _Parser:
    def __init__(self, text: str):
        lines = (_Line(i, line) for i, line in enumerate(text.splitlines(), 1))
        self._lines = [line for line in lines if not line.empty]
        self._next = 0
        self._structs: dict[str, Struct] = {}
        self._functions: dict[str, Function] = {}
        self._values: dict[str, Value] = {}

    def functions(self) -> list[Function]:
        while self._next < len(self._lines):
            line = self._line()
            if line.accept("struct"):
                self._struct(line)
            else:
                self._function(line)
        return list(self._functions.values())

    def _line(self) -> _Line:
        if self._next == len(self._lines):
            raise ParseError("the text ends inside a function")
        self._next += 1
        return self._lines[self._next - 1]

    # -- declarations -------------------------------------------------------------------------------------------

    def _struct(self, line: _Line) -> None:
        alias = line.take("word")
        name = line.string() if line.kind() == "string" else alias

        def field() -> tuple[str, Type]:
            word = line.take("word")
            line.expect(":")
            return word, self._type(line)

        line.expect("{")
        self._structs[alias] = Struct(name, tuple(line.listing(field, "}")))
        line.finish()

    def _function(self, line: _Line) -> None:
        is_cold, is_library = line.accept("cold"), line.accept("library")
        kind = line.take("word")
        if kind not in ("kernel", "func"):
            line.fail(f"expected 'kernel', 'func' or 'struct', found {kind!r}")
        symbol, name = self._symbol(line)
        if symbol in self._functions:
            line.fail(f"a second function @{symbol}")
        self._values = {}
        line.expect("(")
        params = line.listing(lambda: self._define(line), ")")
        results: list[Type] = []
        if line.accept("->"):
            line.expect("(")
            results = line.listing(lambda: self._type(line), ")")
        block_dim = line.integer() if line.accept("blocks") else 0
        line.expect("{")
        flags = is_library, is_cold, block_dim
        function = Function(name, params, tuple(results), kind == "kernel", self._loc(line), *flags)
        line.finish()
        self._region(function.body).finish()
        self._functions[symbol] = function

    def _symbol(self, line: _Line) -> tuple[str, str]:
        line.expect("@")
        name = line.string() if line.kind() == "string" else line.take("word")
        return (f"{name}#{line.integer()}" if line.accept("#") else name), name

    # -- operations ---------------------------------------------------------------------------------------------

    def _region(self, region: Region) -> _Line:
        """Operations up to the line that closes the region, which is returned after its brace."""
        while True:
            line = self._line()
            if line.accept("}"):
                return line
            region.ops.append(self._operation(line))

    def _operation(self, line: _Line) -> Operation:
        results = []
        if line.kind() == "value":
            results.append(self._define(line))
            while line.accept(","):
                results.append(self._define(line))
            line.expect("=")
        code = line.take("word")
        if code not in OPS:
            line.fail(f"no operation {code!r}")
        op = Operation(code, [])
        atoms = tuple(line.listing(lambda: self._atom(line), "]")) if line.accept("[") else ()
        try:
            op.attr = decode(code, atoms, results[0].type if results else None)
        except ValueError as e:
            line.fail(str(e))
        while line.kind() == "value":
            op.args.append(self._use(line))
            if not line.accept(","):
                break
        self._results(op, results)
        if OPS[code].regions:
            self._regions(op, line)
        op.loc = op.loc or self._loc(line)
        line.finish()
        return op

    def _regions(self, op: Operation, line: _Line) -> None:
        regions = []
        for i in range(OPS[op.code].regions):
            if i > 0:
                line.expect("else")
            params = line.listing(lambda: self._define(line), ")") if line.accept("(") else []
            line.expect("{")
            op.loc = op.loc or self._loc(line)
            line.finish()
            regions.append(Region(params))
            line = self._region(regions[-1])
        line.finish()
        op.regions = tuple(regions)

    def _results(self, op: Operation, results: list[Value]) -> None:
        row = OPS[op.code]
        if not results and row.rule is not None and not row.terminator:
            results = [Value(VOID)]
        for i, value in enumerate(results):
            value.op, value.index = op, i
        op.results = tuple(results)

    def _define(self, line: _Line) -> Value:
        token = line.take("value")
        if token in self._values:
            line.fail(f"{token} is defined twice")
        line.expect(":")
        base = token[1:].partition(".")[0]
        value = self._values[token] = Value(self._type(line), name="" if base.isdigit() else base)
        return value

    def _use(self, line: _Line) -> Value:
        token = line.take("value")
        if token not in self._values:
            line.fail(f"{token} is not defined")
        return self._values[token]

    def _atom(self, line: _Line) -> Any:
        kind, token = line.kind(), line.peek()
        if kind == "string":
            return line.string()
        if kind == "number":
            line.take()
            return int(token) if token.lstrip("-").isdigit() else float(token)
        if kind == "word":
            line.take()
            return _WORD_ATOMS.get(token, token)
        symbol, _ = self._symbol(line)
        if symbol not in self._functions:
            line.fail(f"function @{symbol} is not defined above")
        return self._functions[symbol]

    def _type(self, line: _Line) -> Type:
        word = line.take("word")
        if word in self._structs:
            return self._structs[word]
        if not line.accept("<"):
            return self._parse_type(line, word)
        inner = self._type(line)
        line.expect(">")
        return array_type(word, inner) or self._parse_type(line, f"{word}<{inner.key}>")

    def _parse_type(self, line: _Line, key: str) -> Type:
        try:
            return parse_type(key)
        except ValueError as e:
            return line.fail(str(e))

    def _loc(self, line: _Line) -> Loc | None:
        if not line.accept("!"):
            return None
        spans = [self._span(line)]
        while line.accept("<-"):
            spans.append(self._span(line))
        loc = None
        for span in reversed(spans):
            loc = Loc(*span, loc)
        return loc

    def _span(self, line: _Line) -> tuple[str, int, int, int, int]:
        file = line.string()
        line.expect(":")
        row = line.integer()
        line.expect(":")
        # The end column is lexed as part of a negative number: 3-7 is 3 and -7.
        col = line.integer()
        end_row = -line.integer()
        line.expect(":")
        return file, row, col, end_row, line.integer()
