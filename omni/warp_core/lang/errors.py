"""Compile errors and their text.

Two kinds. *Yours*: a `CompileError` carries every `Diagnostic` of one kernel. Each shows the excerpt with a caret under
the smallest guilty span, what is wrong in the words of the source, the nearest candidates and help. *Ours*: an
`InternalError` asks for a report. Start with `Diagnostic.render`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

WIDTH = 160  # characters of a source line that a report shows
MOST_NAMES = 10  # in a list of those that exist


class Span(NamedTuple):
    """A source position: 1-based lines, 0-based columns counted in UTF-8 bytes as Python's `ast` does."""

    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0


class Place(NamedTuple):
    """A span together with the text of its first line, kept so that later edits of the file cannot mislead."""

    span: Span
    text: str = ""

    def render(self, margin: int, mark: str = "^") -> list[str]:
        """`--> file:line:col`, the line, and marks under the span."""
        raw = self.text.rstrip("\n").encode()
        first = len(raw[: self.span.col].decode(errors="replace"))
        last = len(raw) if self.span.end_line > self.span.line else self.span.end_col
        width = max(1, len(raw[self.span.col : last].decode(errors="replace").rstrip()))
        pad = " " * margin
        head = f"{pad}--> {shown_file(self.span.file)}:{self.span.line}:{first + 1}"
        if not raw:
            return [head]
        line, first, width = _window(raw.decode(errors="replace"), first, width)
        blank = "".join("\t" if c == "\t" else " " for c in line[:first])
        return [head, f"{pad} |", f"{self.span.line:>{margin}} | {line}", f"{pad} | {blank}{mark * width}"]


def shown_file(file: str) -> str:
    """Return the name of a file in reports: a notebook's cells by their numbers, as IPython does."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    label = shell.compile.format_code_name(file) if hasattr(shell, "compile") else None
    return " ".join(label) if label and label[0] == "Cell" else file


def _window(line: str, first: int, width: int) -> tuple[str, int, int]:
    """The part of a very long line around its marks, and where the marks are in it."""
    if len(line) <= WIDTH:
        return line, first, width
    start = max(0, min(first - WIDTH // 4, len(line) - WIDTH))
    head = "..." if start else ""
    tail = "..." if start + WIDTH < len(line) else ""
    first += len(head) - start
    return f"{head}{line[start : start + WIDTH]}{tail}", first, min(width, len(head) + WIDTH - first)


class Diagnostic(NamedTuple):
    """One mistake of the user's: `code` names its kind (docs/errors.md has a page for each)."""

    code: str
    message: str
    place: Place | None = None
    notes: tuple[tuple[str, Place], ...] = ()
    candidates: tuple[str, ...] = ()
    help: str = ""

    def render(self) -> str:
        """The report of this mistake as several lines of text."""
        places = [p for p in (self.place, *(p for _, p in self.notes)) if p]
        margin = max((len(str(p.span.line)) for p in places), default=1)
        out = [f"error[{self.code}]: {self.message}"]
        if self.place:
            out += self.place.render(margin)
        for text, place in self.notes:
            out.append(f"{' ' * margin} = note: {text}")
            out += place.render(margin, "-")
        if self.candidates:
            out.append(f"{' ' * margin} = candidates:")
            out += [f"{' ' * margin}     {c}" for c in self.candidates]
        if self.help:
            out.append(f"{' ' * margin} = help: {self.help}")
        return "\n".join(out)


class CompileError(Exception):
    """A kernel that does not compile: all its mistakes in one report (`diagnostics`)."""

    def __init__(self, subject: str, diagnostics: Sequence[Diagnostic] = ()):
        self.subject, self.diagnostics = subject, tuple(diagnostics)
        super().__init__(subject, self.diagnostics)

    def __str__(self) -> str:
        count = len(self.diagnostics)
        if not count:
            return self.subject
        head = f"{self.subject} does not compile ({count} error{'s' if count > 1 else ''})"
        return "\n\n".join([head, *(d.render() for d in self.diagnostics)])


class CompileTypeError(CompileError, TypeError):
    """The first mistake is one of types."""


class CompileValueError(CompileError, ValueError):
    """The first mistake is one of values."""


class CompileKeyError(CompileError, KeyError):
    """The first mistake is a name that does not exist."""


class CompileAttributeError(CompileError, AttributeError):
    """The first mistake is a member that does not exist."""


class CompileIndexError(CompileError, IndexError):
    """The first mistake is an index out of range."""


_CLASS_OF = {
    "type-mismatch": CompileTypeError,
    "type-change": CompileTypeError,
    "branch-types": CompileTypeError,
    "no-overload": CompileTypeError,
    "arguments": CompileTypeError,
    "annotation": CompileTypeError,
    "return-type": CompileTypeError,
    "undefined-name": CompileKeyError,
    "unassigned": CompileKeyError,
    "no-member": CompileAttributeError,
    "index": CompileIndexError,
    "not-constant": CompileValueError,
    "capture": CompileValueError,
    "shape": CompileValueError,
}

# The names programs written for the peer catch.
WarpCodegenError = CompileError
WarpCodegenTypeError = CompileTypeError
WarpCodegenValueError = CompileValueError
WarpCodegenKeyError = CompileKeyError
WarpCodegenAttributeError = CompileAttributeError
WarpCodegenIndexError = CompileIndexError


def compile_error(subject: str, diagnostics: Sequence[Diagnostic]) -> CompileError:
    """The exception for these diagnostics; its class follows the first one."""
    return _CLASS_OF.get(diagnostics[0].code, CompileError)(subject, diagnostics)


class InternalError(Exception):
    """A mistake of the compiler's own."""

    def __init__(self, what: str, subject: str = ""):
        self.what, self.subject = what, subject
        super().__init__(what, subject)

    def __str__(self) -> str:
        where = f" while compiling {self.subject}" if self.subject else ""
        return (
            f"internal error of omni.warp_core{where}: {self.what}\n"
            "This is a mistake of the compiler, not of your code. Please report it together with the source of the "
            "kernel and the traceback above."
        )


class PassError(Exception):
    """A mistake of the user's that a pass finds: a `Diagnostic` whose places are operations of the IR."""

    def __init__(self, code: str, reason: str, op: Any, notes: Sequence[tuple[str, Any]] = (), help: str = ""):
        super().__init__(reason)
        self.code, self.reason, self.op, self.notes, self.help = code, reason, op, tuple(notes), help


class NotDifferentiable(Exception):
    """Raised for an operation without a gradient: the reason, and the operation of the IR to blame."""

    def __init__(self, reason: str, op: Any = None):
        super().__init__(reason)
        self.reason, self.op = reason, op


class NotReplayable(NotDifferentiable):
    """Raised for an operation without a gradient, only because executing it again returns another result."""


class WarpDeterminismError(RuntimeError):
    """A launch cannot give the same bits each time, as `wp.config.deterministic` asks for."""


class KernelWarning(UserWarning):
    """A line of a kernel whose documented meaning differs from Python's."""


def nearest(name: str, names: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The names most like `name`, best first; a difference of case alone always counts."""
    import difflib

    pool = sorted(set(names))
    same = [n for n in pool if n.lower() == name.lower()]
    close = difflib.get_close_matches(name, pool, count, 0.7)
    return tuple(dict.fromkeys(same + close))[:count]


def did_you_mean(near: Sequence[str], names: Sequence[str] = ()) -> str:
    """Return the end of a message about a name that does not exist: similar names, or else the first of all names."""
    if near:
        return f"; did you mean {' or '.join(near)}?"
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"; it has {', '.join(names[:MOST_NAMES])}{more}" if names else ""
