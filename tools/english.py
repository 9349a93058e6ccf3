"""A lint for English: counts turns of phrase that are hard to read in docstrings, comments and the package's strings.

    python -m tools.english            fails and names the places where the tree has more of one than the baseline
    python -m tools.english FILE...    lists those in files, by line
    python -m tools.english --lower    lowers the baseline to what the tree has; it never raises it

The baseline is a total for each turn of phrase over the whole tree, so that files can be moved and renamed.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "tools" / "english_baseline.json"
FOLDERS = ("benchmarks", "data", "examples", "native", "ogn", "omni", "tests", "tools")
SUFFIXES = (".py", ".cpp", ".h")
PHRASES = ("be it", "is none", "no such thing as", "somebody", "nobody")
OPENING = "a module docstring that begins with What, How or Whether"
LONG = "a sentence of more than 30 words"
MOST_WORDS = 30

_EXAMPLE = re.compile(r"^ *(>>>|\.\.\.).*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"\n\s*(?:[-*]|[\w, ]+:) |\n\s*\n|:(?=\n)|(?<=[.!?])\s")
_CPP_TEXT = re.compile(r'//[^\n]*(?:\n *//[^\n]*)*|(?:"(?:[^"\\\n]|\\.)*"\s*)+')


def python_texts(source: str, with_strings: bool) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring and comment, and of the other strings if asked for."""
    nodes = list(ast.walk(ast.parse(source)))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and with_strings:
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in parts:
            continue
        elif with_strings or id(node) in docs:
            yield node.lineno, node.value
    yield from comments(source)


def comments(source: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each comment. Lines below each other are one comment."""
    first, lines = 0, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != first + len(lines) or not token.line.lstrip().startswith("#"):
            yield first, "\n".join(lines)
            first, lines = token.start[0], []
        lines.append(token.string.lstrip("#"))
    yield first, "\n".join(lines)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of everything in a file that is written in English."""
    source = path.read_text()
    if path.suffix == ".py":
        yield from python_texts(source, with_strings=path.is_relative_to(ROOT / "omni"))
    else:
        for match in _CPP_TEXT.finditer(source):
            yield source.count("\n", 0, match.start()) + 1, re.sub(r'" *\n? *"|//|"', "", match[0])


def findings(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the kind of each finding in a file."""
    for line, text in texts(path):
        if line == 1 and path.suffix == ".py" and re.match(r"(What|How|Whether)\b", text):
            yield line, OPENING
        joined = " ".join(text.split())
        for phrase in PHRASES:  # not "is None", which is Python
            yield from [(line, phrase)] * len(re.findall(rf"\b({phrase}|{phrase.capitalize()})\b", joined))
        for sentence in _SENTENCE_END.split(_EXAMPLE.sub("", text)):
            if len(re.findall(r"[A-Za-z]\w*", sentence)) > MOST_WORDS:
                yield line, LONG


def places() -> dict[str, list[str]]:
    """The files and lines of each kind of finding over the tree."""
    found: dict[str, list[str]] = {kind: [] for kind in (*PHRASES, OPENING, LONG)}
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.*")):
            if file.suffix in SUFFIXES:
                for line, kind in findings(file):
                    found[kind].append(f"{file.relative_to(ROOT)}:{line}")
    return found


def main(arguments: list[str]) -> int:
    """The command line."""
    if arguments and arguments != ["--lower"]:
        for name in arguments:
            for line, kind in findings(Path(name).resolve()):
                print(f"{name}:{line}: {kind}")
        return 0
    found, allowed = places(), json.loads(BASELINE.read_text())
    if arguments:
        allowed = {kind: min(len(at), allowed.get(kind, len(at))) for kind, at in found.items()}
        BASELINE.write_text(json.dumps(allowed, indent=4) + "\n")
    more = {kind: at for kind, at in found.items() if len(at) > allowed.get(kind, 0)}
    for kind, at in more.items():
        print(f"`{kind}` stands {len(at)} times in the source; {allowed.get(kind, 0)} are allowed: {', '.join(at)}")
    if more:
        print("Rewrite the new ones.")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
