"""Lines of a kernel and of its functions, named so that they are found again where the code stands later.

A kernel from the cache may stand elsewhere than when it was compiled, or have other comments. So an artifact names a
line by the definition (in the order in which `content_hash` finds them) and by how many lines of code stand above.
"""

from __future__ import annotations

from ..lang.kernel import Definition, Kernel
from .content_hash import definitions, is_code


class CodeLines:
    """The lines of code of a kernel and of all functions that it may call."""

    def __init__(self, kernel: Kernel):
        self._found = [(d.source.filename, _code_lines(d)) for d in definitions(kernel)]

    def named(self, file: str, line: int) -> tuple[int, int] | None:
        """The definition and the line of its code; None for a line elsewhere."""
        for number, (name, lines) in enumerate(self._found):
            if name == file and line in lines:
                return number, lines.index(line)
        return None

    def placed(self, definition: int, code_line: int) -> tuple[str, int] | None:
        """The file and the line where a line of code stands now; None if it is gone."""
        if not 0 <= definition < len(self._found):
            return None
        file, lines = self._found[definition]
        return (file, lines[code_line]) if code_line < len(lines) else None


def _code_lines(d: Definition) -> list[int]:
    """The line numbers of a definition's lines that count for its hash."""
    return [d.source.first_line + i for i, line in enumerate(d.source.block()) if is_code(line)]
