"""Warnings of kernels: told once for each line of a process, also when the code comes from the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lang.errors import KernelWarning
from ..lang.kernel import Definition, Kernel
from ..logger import warn_at
from .code_lines import CodeLines

Notice = tuple[str, int, str]  # file, line, message
Stored = tuple[int, int, str]  # definition, line of its code, message

_registries: dict[str, dict] = {}  # what Python remembers of the warnings shown, by file


def tell(definition: Definition, notices: Iterable[Notice]) -> None:
    """Show the warnings that were not shown when another variant of the kernel was compiled."""
    for file, line, message in notices:
        if (file, line, message) not in definition.warned:
            warn_at(message, KernelWarning, file, line, _registries.setdefault(file, {}))
            definition.warned.add((file, line, message))


def stored(kernel: Kernel) -> tuple[Stored, ...]:
    """The warnings told about a kernel, in the form that an artifact keeps."""
    lines = CodeLines(kernel)
    named = ((lines.named(file, line), message) for file, line, message in sorted(kernel.warned))
    return tuple((*at, message) for at, message in named if at)


def placed(kernel: Kernel, kept: Iterable[Stored]) -> Iterator[Notice]:
    """The warnings of an artifact, at the lines where the code stands now."""
    lines = CodeLines(kernel)
    for definition, code_line, message in kept:
        at = lines.placed(definition, code_line)
        if at:
            yield *at, message
