"""The code that the user has agreed to run, by SHA-256: remembered in the settings, or allowed for this process.

Consent is for exactly one content. A text that changes by one character has to be agreed to anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from ... import config
from ...files import UntrustedError, make_private, read_private, write
from ...logger import warn

FILE = "consented-code"
_MAX_BYTES = 1 << 24
_allowed: set[str] = set()  # digests, until the process ends
_everything = False


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def allow(digests: Iterable[str]) -> None:
    """Let these contents run until the process ends."""
    _allowed.update(digests)


def allow_everything(on: bool) -> None:
    """Let all code run until the process ends, or no longer."""
    global _everything
    _everything = on


def is_allowed(content: str) -> bool:
    """True if the content with this digest may run."""
    if not _everything and content not in _allowed and content in remembered():
        _allowed.add(content)
    return _everything or content in _allowed


def remembered() -> set[str]:
    """Return the digests that were agreed to earlier. A file that another user can have written counts for nothing."""
    if config.settings_dir is None:
        return set()
    try:
        return set(read_private(config.settings_dir, FILE, _MAX_BYTES).decode("ascii").split())
    except UntrustedError as why:
        warn(f"remembered consent is not used: {why}", RuntimeWarning, stacklevel=2)
        return set()
    except (OSError, UnicodeDecodeError):
        return set()


def remember(digests: Iterable[str]) -> str:
    """Keep the consent to these contents; return the file it is kept in. Raises OSError."""
    if config.settings_dir is None:
        raise OSError("there is no settings directory (see wp.config.settings_dir)")
    make_private(config.settings_dir)
    lines = sorted(remembered() | set(digests))
    path = os.path.join(config.settings_dir, FILE)
    write(path, ("\n".join(lines) + "\n").encode("ascii"))
    return path
