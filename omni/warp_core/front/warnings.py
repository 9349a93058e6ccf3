"""Warnings of kernels: told once for each line of a process, also when the code comes from the cache.

A cached kernel may stand elsewhere than when it was compiled, or have other comments. So an artifact names lines by the
definition (in the order in which `content_hash` finds them) and by how many lines of code stand above.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

from ..lang.errors import KernelWarning
from ..lang.kernel import Definition, Kernel
from .content_hash import definitions, is_code

Notice = tuple[str, int, str]  # file, line, message
Stored = tuple[int, int, str]  # definition, line of its code, message

_registries: dict[str, dict] = {}  # what Python remembers of the warnings shown, by file


def tell(definition: Definition, notices: Iterable[Notice]) -> None:
    """Show the warnings that were not shown when another variant of the kernel was compiled."""
    for file, line, message in notices:
        if (file, line, message) not in definition.warned:
            warnings.warn_explicit(message, KernelWarning, file, line, registry=_registries.setdefault(file, {}))
            definition.warned.add((file, line, message))


def stored(kernel: Kernel) -> tuple[Stored, ...]:
    """The warnings told about a kernel, in the form that an artifact keeps."""
    found = definitions(kernel)
    out = []
    for file, line, message in sorted(kernel.warned):
        for i, d in enumerate(found):
            lines = _code_lines(d)
            if d.source.filename == file and line in lines:
                out.append((i, lines.index(line), message))
                break
    return tuple(out)


def placed(kernel: Kernel, kept: Iterable[Stored]) -> Iterator[Notice]:
    """The warnings of an artifact, at the lines where the code stands now."""
    found = definitions(kernel)
    for i, k, message in kept:
        lines = _code_lines(found[i]) if i < len(found) else []
        if k < len(lines):
            yield found[i].source.filename, lines[k], message


def _code_lines(d: Definition) -> list[int]:
    """The line numbers of a definition's lines that count for its hash."""
    return [d.source.first_line + i for i, line in enumerate(d.source.block()) if is_code(line)]
