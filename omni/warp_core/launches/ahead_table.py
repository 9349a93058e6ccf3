"""The artifacts of files that `wp.load_aot_module` has read, found by the launches that need them.

A file is for another process, perhaps on another machine, so its keys leave out what the keys of the kernel cache have
besides the kernel and its options: the build of the compiler, and the exact machine. Start with `find`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from ..compiler import Artifact, CompileRequest
from ..front import content_hash
from ..lang.blake2 import blake2b

_BY_CONTENT, _BY_NAME = "content", "name"


class Entry:
    """A kernel in a file: its artifact, which is read when a launch needs it, and its code once that is loaded.

    Args:
        read: a function that returns the artifact, or raises ValueError.
        path: the file.
    """

    def __init__(self, read: Callable[[], Artifact], path: str):
        self.path = path
        self.loaded: Any = None  # a `plans.LoadedKernel`
        self._read = read

    @cached_property
    def artifact(self) -> Artifact:
        """The artifact. Raises ValueError if the file is damaged."""
        return self._read()


_tables: dict[str, dict[str, dict[str, Entry]]] = {_BY_CONTENT: {}, _BY_NAME: {}}  # target -> key -> entry


def key_of(request: CompileRequest, by_name: bool) -> str:
    """Return the key of a request in files.

    Args:
        request: the request; whatever is derived from its kernel has a key of its own.
        by_name: whether the name of the kernel and of its module stand for its content.
    """
    kernel = request.kernel
    positions = request.debug or request.gpu.lines
    meant = (kernel.module.name, kernel.key) if by_name else content_hash.digest(kernel, positions=positions)
    is_exact = request.target.fma and not request.contract
    usual = request._replace(gpu=request.gpu._replace(assemble=False))
    options = [(name, value) for name, value in usual._asdict().items() if name not in ("kernel", "target", "contract")]
    return blake2b(repr((meant, is_exact, options)).encode(), digest_size=20).hexdigest()


def add(target: str, entries: Iterable[tuple[str, Entry]], by_name: bool) -> None:
    """Let launches for a target use entries, in place of earlier ones with their keys."""
    _tables[_BY_NAME if by_name else _BY_CONTENT].setdefault(target, {}).update(entries)


def find(request: CompileRequest) -> Entry | None:
    """Return the entry for a request: one for exactly this content, else one for a kernel of this name."""
    for kind, by_target in _tables.items():
        entries = by_target.get(request.target.name)
        entry = entries.get(key_of(request, kind is _BY_NAME)) if entries else None
        if entry is not None:
            return entry
    return None
