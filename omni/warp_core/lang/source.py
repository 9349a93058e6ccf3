"""The source of a kernel or function, captured when it is decorated and parsed when it is first needed.

Captured are the lines of the file as they were (editing the file later changes nothing). So kernels of files, notebook
cells, `python -c`, the prompt and `kernel_from_source` are treated alike. Columns and lines of the syntax tree are
those of the user's file: `Source.tree` is parsed with its indentation and `Source.offset` is added to its lines.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import threading
import weakref
from types import CodeType, FrameType

from ..late_bound import late
from .deep_recursion import in_thread
from .errors import CompileError, Diagnostic, Place, Span
from .source_recovery import lines_of

LONG_TEXT = 10_000  # characters from which on an expression may nest too deeply for the stack
_parsing = threading.RLock()
# A child of fork has one thread: a lock that another one held would stay taken.
os.register_at_fork(before=_parsing.acquire, after_in_parent=_parsing.release, after_in_child=_parsing.release)


def parse(text: str, filename: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a text. Raises SyntaxError.

    One thread at a time: CPython 3.11 counts the depth of the trees of all threads together, and raises SystemError.
    CPython 3.10 does not count it, and ends the process where there is no room on the stack.
    """
    with _parsing:
        if sys.version_info < (3, 11) and len(text) > LONG_TEXT:
            return in_thread(lambda: ast.parse(text, filename))
        return ast.parse(text, filename)


def _last_line(code: CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line]
    return max([code.co_firstlineno, *lines, *(_last_line(c) for c in code.co_consts if isinstance(c, CodeType))])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class LinecacheEntry:
    """Lines of a text that `linecache` finds, for tracebacks and debuggers, as long as this object lives."""

    def __init__(self, filename: str, lines: list[str]):
        linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)
        weakref.finalize(self, _forget, filename, lines).atexit = False


def _forget(filename: str, lines: list[str]) -> None:
    entry: tuple = linecache.cache.get(filename, ())
    if len(entry) == 4 and entry[2] is lines:  # else another text of this name has come since
        del linecache.cache[filename]


class Source:
    """The text of one function definition and where it stands."""

    __slots__ = ("_block", "_code", "_lines", "_tree", "_wrapper", "filename", "first_line", "in_linecache", "offset")

    def __init__(self, code: CodeType, lines: list[str]):
        self.filename, self.first_line = code.co_filename, code.co_firstlineno
        self._code, self._lines = code, lines
        self._tree: ast.FunctionDef | None = None
        self._block: list[str] | None = None
        self._wrapper = False
        self.in_linecache: LinecacheEntry | None = None  # of a text that is in no file
        self.offset = self.first_line - 1

    @classmethod
    def of(cls, func, frame: FrameType | None = None) -> Source:
        """Capture the source of a Python function, decorated from `frame`. Raises TypeError for anything else."""
        if not inspect.isfunction(func):
            raise TypeError(f"@wp.kernel and @wp.func take a Python function, got {func!r}")
        code = func.__code__
        source = cls(code, lines_of(code, func.__globals__, frame))
        source._wrapper = hasattr(func, "__wrapped__")
        return source

    def line(self, number: int) -> str:
        """One line of the file, "" outside of the file."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def place(self, span: Span) -> Place:
        """A place for a report: the span and its line."""
        return Place(span, self.line(span.line))

    def block(self) -> list[str]:
        """The lines of the definition, decorators included."""
        if self._block is None:
            self._block = self._cut()
        return self._block

    def _cut(self) -> list[str]:
        start = self.first_line - 1
        if start >= len(self._lines):
            return []
        indent, last = _indent(self._lines[start]), _last_line(self._code)
        if last == self.first_line:  # a docstring alone has no code that tells where the definition ends
            return inspect.getblock(self._lines[start:])
        end = min(last, len(self._lines))
        while end < len(self._lines):
            line = self._lines[end]
            if line.strip() and _indent(line) <= indent:
                break
            end += 1
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        return self._lines[start:end]

    def tree(self) -> ast.FunctionDef:
        """The syntax tree of the definition. Raises CompileError when there is no source."""
        if self._tree is None:
            if self._wrapper:
                why = f"`{self._code.co_name}` wraps another function, which kernels cannot see through"
                raise self._refused("unsupported", why, "decorate the function itself, without others in between")
            if self._code.co_name == "<lambda>":
                raise self._refused("unsupported", "a lambda has no types", "write `def` with annotated parameters")
            block = self.block()
            if not block:
                raise self._missing()
            try:
                self._tree = self._parse(block)
            except SyntaxError:  # a continuation line indented less than the definition
                self._block = inspect.getblock(self._lines[self.first_line - 1 :])
                self._tree = self._parse(self._block)
        return self._tree

    def _parse(self, block: list[str]) -> ast.FunctionDef:
        indented = _indent(block[0]) > 0
        self.offset = self.first_line - (2 if indented else 1)
        body = parse(("if 1:\n" if indented else "") + "".join(block)).body
        node = body[0].body[0] if indented else body[0]  # type: ignore[attr-defined]
        if isinstance(node, ast.AsyncFunctionDef):
            line = node.lineno + self.offset
            span = Span(self.filename, line, node.col_offset, line, node.col_offset + len("async"))
            why = "an async function cannot be compiled"
            raise self._refused("unsupported", why, "write `def` without `async`", self.place(span))
        if not isinstance(node, ast.FunctionDef):
            raise self._missing()
        if node.name != self._code.co_name:  # several definitions on one line
            raise self._missing()
        return late("advance_queries")(node)

    def at_parameter(self, name: str, message: str, helps: str = "") -> Diagnostic:
        """The report that the type of a parameter is missing or unknown."""
        node = self.tree().args
        starred = [a for a in (node.vararg, node.kwarg) if a]
        every = [*node.posonlyargs, *node.args, *node.kwonlyargs, *starred]
        arg = next(a for a in every if a.arg == name)
        at = arg.annotation or arg
        lines = at.lineno + self.offset, (at.end_lineno or at.lineno) + self.offset
        place = self.place(Span(self.filename, lines[0], at.col_offset, lines[1], at.end_col_offset or 0))
        helps = helps or f"write `{name}: float` or another type; arrays are `{name}: wp.array(dtype=float)`"
        if name == "self" and arg.annotation is None:
            helps = "kernels are not methods: define it outside of the class, and pass what it needs as arguments"
        return Diagnostic("annotation", message, place, help=helps)

    def _missing(self) -> CompileError:
        why = f"the source of `{self._code.co_name}` is not available"
        helps = "define it in a file or a notebook cell, or pass its text to wp.kernel_from_source(text)"
        return self._refused("no-source", why, helps)

    def _refused(self, code: str, why: str, helps: str, place: Place | None = None) -> CompileError:
        place = place or Place(Span(self.filename, self.first_line))
        return CompileError(f"`{self._code.co_name}`", [Diagnostic(code, why, place, help=helps)])
