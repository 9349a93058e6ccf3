"""The text that a code object was compiled from, wherever it came from. Start with `lines_of`.

Files, notebook cells, zip archives and doctests are known to `linecache`. The other places keep nothing: the string of
`python -c`, the history of the prompt, a file on standard input, the strings that a program gave to `exec`. There every
candidate is compiled again, and counts only if the same code comes out.
"""

from __future__ import annotations
import __future__

import linecache
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FrameType

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_LARGEST = 16 << 20  # characters of a candidate
_DEFINITION = re.compile(r"(?:^|;)\s*(?:async\s+)?def\s+(\w+)")


def split_lines(text: str) -> list[str]:
    """The lines of Python source, their ends kept: str.splitlines knows more line ends than Python's tokenizer."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)


def lines_of(code: CodeType, module_globals: dict, frame: FrameType | None) -> list[str]:
    """All lines of the text the code was compiled from, or [] if they were not kept.

    Args:
        code: of the function.
        module_globals: where the function is defined; the loader of its module may know the text.
        frame: from which the function was decorated.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, module_globals) or _lines_typed(code)
    if _belongs(code, lines[code.co_firstlineno - 1 :]):
        return lines
    for text in _candidates(code, frame):
        if code.co_name.strip("<>") in text and len(text) < _LARGEST and code in _codes(text, code.co_flags & _FUTURE):
            return split_lines(text)
    return []


def _lines_typed(code: CodeType) -> list[str]:
    """Return the lines typed at a prompt; Python 3.13 and later keep them."""
    kept = getattr(linecache, "_getlines_from_code", None)
    return kept(code) if kept is not None else []


def _belongs(code: CodeType, rest: list[str]) -> bool:
    """True if the code may start with these lines: a text can be compiled under the name of a file it is not from."""
    if code.co_name == "<lambda>":
        return bool(rest)
    for line in rest:
        if _defines(line, code.co_name):
            return True
        if line is rest[0] and not line.lstrip().startswith("@"):
            return False
    return False


def _defines(line: str, name: str) -> bool:
    return name in _DEFINITION.findall(line)


def _candidates(code: CodeType, frame: FrameType | None) -> Iterator[str]:
    yield from sys.orig_argv[1:]  # of `python -c`
    if code.co_filename == "<stdin>":
        yield from _typed(code)
        yield from _standard_input()
    seen: set[int] = set()
    while frame is not None:
        for text in _strings(frame):
            if id(text) not in seen:
                seen.add(id(text))
                yield text
        frame = frame.f_back


def _strings(frame: FrameType) -> Iterator[str]:
    """The strings at hand in a frame: what it gave to `exec` is probably among them."""
    places: list[Iterable] = [frame.f_locals.values(), frame.f_code.co_consts]
    if frame.f_locals is not frame.f_globals:
        places.append(frame.f_globals.values())
    for place in places:
        for x in list(place):
            if isinstance(x, str):
                yield x
            elif isinstance(x, (bytes, bytearray)):
                yield x.decode(errors="replace")


def _typed(code: CodeType) -> Iterator[str]:
    """The definitions of this name in the history of an interactive prompt, the last one first."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    typed = [readline.get_history_item(i + 1) or "" for i in range(readline.get_current_history_length())]
    lines = "\n".join(typed).split("\n")  # what was pasted may be one entry
    for i in reversed(range(len(lines))):
        if _defines(lines[i], code.co_name):
            first = i
            while first > 0 and lines[first - 1].startswith("@"):
                first -= 1
            text = "\n".join(lines[first:])
            yield "\n" * (code.co_firstlineno - 1) + text + "\n"


def _standard_input() -> Iterator[str]:
    """A file that Python reads its program from is still there to be read again."""
    if not hasattr(os, "pread"):
        return
    try:
        size = os.fstat(0).st_size
        yield os.pread(0, min(size, _LARGEST), 0).decode(errors="replace")
    except OSError:  # a pipe or a terminal
        return


@lru_cache(maxsize=8)
def _codes(text: str, flags: int) -> tuple[CodeType, ...]:
    """The code of all functions in a text, none for what is not Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were told when the program compiled it
        try:
            module = compile(text, "<candidate>", "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ()
    return tuple(_nested(module))


def _nested(code: CodeType) -> Iterator[CodeType]:
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield c
            yield from _nested(c)
