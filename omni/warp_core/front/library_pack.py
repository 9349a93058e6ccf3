"""The pack of library functions that were lowered when the package was built; `build_library_pack.py` writes it.

A pack counts only while it comes from the sources at hand: it begins with their digest. Without one, or with a stale or
damaged one, functions are lowered from source, which takes longer and gives the same. Start with `lookup`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from ..ir.bytecode import Pack, PackError
from ..ir.nodes import Function
from ..lang.blake2 import blake2b

# Names as strings: pathlib would take a tenth of the time that the first call of a builtin does.
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
PATH = os.path.join(PACKAGE, "lib", "library.pack")
SOURCES = ("lang", "ir", "front", "passes", "lib")
DIGEST_SIZE = 20


def source_digest() -> bytes:
    """The hash of every file that can change what a library function is lowered to."""
    h = blake2b(digest_size=DIGEST_SIZE)
    for folder in SOURCES:
        for path in sorted(_sources(os.path.join(PACKAGE, folder))):
            h.update(f"{os.path.relpath(path, PACKAGE)}\n".encode() + _bytes(path))
    return h.digest()


def _sources(folder: str) -> Iterator[str]:
    for directory, _, names in os.walk(folder):
        yield from (os.path.join(directory, name) for name in names if name.endswith(".py"))


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@lru_cache(maxsize=1)
def _pack() -> Pack | None:
    try:
        data = _bytes(PATH)
        return Pack(data[DIGEST_SIZE:]) if data[:DIGEST_SIZE] == source_digest() else None
    except (OSError, PackError):
        return None


def lookup(key: str) -> Function | None:
    """The function of this instance key, or None if the pack does not have it."""
    pack = _pack()
    try:
        return pack.load(key) if pack is not None and key in pack else None
    except PackError:
        return None
