"""The tokens of C++ text, as the preprocessor leaves them for a CPU."""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_NUMBER = r"0[xX][0-9a-fA-F]+[uUlL]*|(\d+\.\d*|\.\d+|\d+(?=[eEfF]))([eE][+-]?\d+)?[fF]?|\d+[uUlL]*"
_NAME = r"[A-Za-z_]\w*(\s*::\s*[A-Za-z_]\w*)*"
_SIGN = r"<<=|>>=|\+\+|--|->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]]"
_TOKEN = re.compile(f"(?P<number>{_NUMBER})|(?P<name>{_NAME})|(?P<sign>{_SIGN})")
_IF_GPU = re.compile(r"#\s*(if\s+defined\s*\(?\s*__CUDA_ARCH__\s*\)?|ifdef\s+__CUDA_ARCH__)\s*$")
_IF_CPU = re.compile(r"#\s*(if\s+!\s*defined\s*\(?\s*__CUDA_ARCH__\s*\)?|ifndef\s+__CUDA_ARCH__)\s*$")


class NotTranslated(Exception):
    """The text has something that this compiler does not read as a function of the kernel language."""


class Token(NamedTuple):
    """A word of the text. Its kind is "number", "name", "sign" or "end"."""

    kind: str
    text: str


class Text(NamedTuple):
    """What a compiler for CPUs reads, and the lines that only one for GPUs reads."""

    cpu: str
    gpu: str


def preprocessed(text: str) -> Text:
    """Return the text without comments and directives, taken apart by `__CUDA_ARCH__`."""
    cpu: list[str] = []
    gpu: list[str] = []
    inside: list[bool] = []  # of each #if around a line, whether a GPU is asked for there
    for line in _COMMENTS.sub(" ", text).splitlines():
        directive = line.strip()
        if not directive.startswith("#"):
            (gpu if True in inside else cpu).append(line)
        elif _IF_GPU.match(directive) or _IF_CPU.match(directive):
            inside.append(_IF_GPU.match(directive) is not None)
        elif re.match(r"#\s*else$", directive) and inside:
            inside[-1] = not inside[-1]
        elif re.match(r"#\s*endif\b", directive) and inside:
            inside.pop()
        elif not re.match(r"#\s*pragma\b", directive):
            raise NotTranslated(f"`{directive}`")
    return Text("\n".join(cpu), "\n".join(gpu))


def tokens(text: str) -> list[Token]:
    """Return the tokens, with one of the kind "end" behind the last."""
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        if match := _TOKEN.match(text, at):
            kind = str(match.lastgroup)
            found.append(Token(kind, re.sub(r"\s", "", match[0])))
        elif not text[at].isspace():
            raise NotTranslated(f"`{text[at:].splitlines()[0][:40]}`")
        at = match.end() if match else at + 1
    return [*found, Token("end", "the end of the text")]
