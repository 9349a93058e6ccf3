"""Text of a scene made harmless for a terminal: characters that cannot be seen become escapes."""

from __future__ import annotations

import re

# Characters that Python counts as printable and that nothing shows of: fillers, blanks, selectors of variants.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def harmless(text: str) -> str:
    """`text` with characters that cannot be seen shown as escapes: a scene must not move the cursor."""
    return "".join(c if (c.isprintable() or c in "\n\t") and not _BLANK.match(c) else _escaped(c) for c in text)


def plain(line: str) -> str:
    """A line of code in ASCII, all else shown as escapes: letters of other scripts can look like those of Python."""
    return "".join(c if " " <= c <= "~" or c == "\t" else _escaped(c) for c in line)
