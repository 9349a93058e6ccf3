"""Compiled kernels on disk, and facts about kernels, named by the hash of everything that went into them.

Entries are run as code, so they are used only if no other user can have written them (`files.read_private`). Many
processes may share the directory without locks: entries appear whole, equal names hold equal content, and an entry that
does not read back as the artifact of its key counts as missing and is replaced. A directory that cannot be used costs
one warning; kernels then live in memory alone. Start with `load` and `store`.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from .. import config
from ..compiler import Artifact
from ..files import UntrustedError, make_private, read_private, sweep, write
from ..logger import info, warn
from .artifact import (
    MAX_BYTES,
    DamagedArtifact,
    TooLarge,
    facts_from_bytes,
    facts_to_bytes,
    from_bytes,
    to_bytes,
)

_Facts = TypeVar("_Facts", bound=NamedTuple)
_Read = TypeVar("_Read")

SUFFIX = ".wck"
FOLDERS = 256  # of entries, by the first byte of their names
_warned: set[str] = set()
_room: dict[tuple[str, int], int] = {}  # (directory, size limit): bytes to write before the directory is measured again


def _directory() -> str | None:
    return config.kernel_cache_dir if config.cache_kernels and config.kernel_cache_dir else None


def _name(key: str) -> str:
    return os.path.join(key[:2], key + SUFFIX)


def load(key: str) -> Artifact | None:
    """Return the cached artifact of `key`, or None if there is no sound one."""
    return _load(key, from_bytes)


def load_facts(key: str, kind: type[_Facts]) -> _Facts | None:
    """Return the cached facts of `key`, such as `Effects`, or None if there are no sound ones."""
    return _load(key, lambda data, key: facts_from_bytes(data, key, kind))


def store(key: str, artifact: Artifact) -> bool:
    """Keep `artifact` under `key`; return whether it is on disk now. Never raises for a disk that refuses."""
    return _store(key, artifact.kernel, lambda: to_bytes(artifact, key))


def store_facts(key: str, kernel: str, facts: NamedTuple) -> bool:
    """Keep facts about a kernel under `key`; return whether they are on disk now."""
    return _store(key, kernel, lambda: facts_to_bytes(facts, key))


def _load(key: str, read: Callable[[bytes, str], _Read]) -> _Read | None:
    directory = _directory()
    if directory is None:
        return None
    path = os.path.join(directory, _name(key))
    try:
        found = read(read_private(directory, _name(key), MAX_BYTES), key)
    except UntrustedError as why:
        _warn_once(directory, f"{why}, so it is not used")
        return None
    except OSError:
        return None
    except DamagedArtifact as why:
        info(f"kernel cache: {path} is damaged ({why}); compiling again")
        return None
    with contextlib.suppress(OSError):  # a cache that can only be read stays as it is
        os.utime(path)  # for `_trim`
    return found


def _store(key: str, kernel: str, image: Callable[[], bytes]) -> bool:
    directory = _directory()
    if directory is None:
        return False
    path = os.path.join(directory, _name(key))
    try:
        data = image()
        make_private(directory)
        make_private(os.path.dirname(path))
        write(path, data, folder=directory)
    except UntrustedError as why:
        _warn_once(directory, f"{why}, so it is not used")
        return False
    except TooLarge as why:
        info(f"kernel cache: kernel `{kernel}` is not cached: {why}")
        return False
    except OSError as why:
        _warn_once(directory, f"{directory} cannot be written: {why.strerror or why}")
        return False
    _keep_within(directory, config.kernel_cache_size, path, len(data))
    return True


def _warn_once(directory: str, what: str) -> None:
    if config.verbose_warnings or directory not in _warned:
        _warned.add(directory)
        warn(
            f"kernel cache: {what}. Kernels are compiled in every process instead. Set "
            "wp.config.kernel_cache_dir or OMNI_WARP_CACHE_DIR to a directory that only you can write.",
            RuntimeWarning,
            stacklevel=2,
        )


def _keep_within(directory: str, limit: int, path: str, written: int) -> None:
    """Trim the directory after the entry `path` of `written` bytes, if it may be above `limit`.

    Measuring takes a scan of the directory, so it is done after every sixteenth of the limit, which also finds what
    other processes wrote, or as soon as the writes of this process may pass the limit. A process begins with an
    estimate: one of the 256 folders stands for all.
    """
    room = _room.get((directory, limit))
    if room is None:
        estimate = FOLDERS * sum(size for _, size, _ in _entries_in(os.path.dirname(path)))
        room = limit // 16 if estimate < limit // 2 else 0
    room -= written
    if room < 0:
        room = min(limit - _trim(directory, limit), limit // 16)
    _room[directory, limit] = room


def _entries(directory: str) -> list[tuple[float, int, str]]:
    """(time of last use, size, path) of the entries."""
    folders = [f for f in _scan(directory) if len(f.name) == 2 and f.is_dir(follow_symlinks=False)]
    return [entry for folder in folders for entry in _entries_in(folder.path)]


def _entries_in(folder: str) -> list[tuple[float, int, str]]:
    found = []
    for entry in _scan(folder):
        with contextlib.suppress(OSError):  # another process was faster
            status = entry.stat(follow_symlinks=False)
            if entry.name.endswith(SUFFIX) and not stat.S_ISDIR(status.st_mode):
                found.append((status.st_mtime, status.st_size, entry.path))
    return found


def _scan(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _trim(directory: str, limit: int) -> int:
    """Return the bytes that the entries take. If that is above `limit`, first delete those that were used longest ago
    until the rest takes three quarters of it.
    """
    entries = sorted(_entries(directory))
    total = sum(size for _, size, _ in entries)
    if total > limit:
        for _, size, path in entries:
            if total <= limit * 3 // 4:
                break
            _remove(path)
            total -= size
    return total


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def clear_lto_cache() -> None:
    """Do nothing: this package keeps no objects for NVIDIA's linker. Accepted for programs that call it.

    >>> wp.clear_lto_cache()
    """


def clear_kernel_cache() -> int:
    """Delete every compiled kernel, and what dead processes left, from `wp.config.kernel_cache_dir`; other files stay.

    Kernels that this process has loaded keep running.

    Returns:
        How many files went.

    >>> wp.clear_kernel_cache() >= 0
    True
    """
    directory = config.kernel_cache_dir
    if not directory:
        return 0
    return sweep(directory) + sum(_remove(path) for _, _, path in _entries(directory))
