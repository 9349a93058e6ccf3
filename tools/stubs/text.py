"""Pieces of stub text: docstrings, indented blocks, definitions with or without overloads."""

from __future__ import annotations

import inspect
import re
from textwrap import indent


def own_doc(value: object) -> str:
    """The docstring of an object; that of native code without the signature in front."""
    doc = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    first, _, rest = doc.partition("\n")
    return rest.strip() if re.match(r"\w*\(self", first) else doc


def docstring(doc: str | None) -> str:
    """A docstring as source, "..." for none."""
    text = inspect.cleandoc(doc or "")
    if not text:
        return "..."
    quoted = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{quoted}\n"""' if "\n" in text else f'"""{quoted}"""'


def indented(text: str) -> str:
    """A block one level deeper."""
    return indent(text, "    ")


def function(name: str, signatures: list[str], doc: str | None) -> str:
    """A function of one or several signatures, each `(a: int) -> int`. All carry the docstring of the first."""
    head = "@typing.overload\n" if len(signatures) > 1 else ""
    out = []
    for i, signature in enumerate(signatures):
        body = f"\n{indented(docstring(doc))}" if doc and i == 0 else " ..."
        out.append(f"{head}def {name}{signature}:{body}\n")
    return "".join(out)
