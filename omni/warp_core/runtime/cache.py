"""Compiled kernels on disk, named by the hash of everything that went into them.

Many processes may share the directory without locks: an entry is written under a temporary name and renamed, equal
names hold equal content, and whatever does not read back as an artifact counts as missing and is replaced. A directory
that cannot be written costs one warning; kernels then live in memory alone. Start with `load` and `store`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
import warnings

from .. import config
from ..compiler import Artifact
from .artifact import DamagedArtifact, from_bytes, to_bytes

SUFFIX = ".wck"
_TEMPORARY = ".tmp"
_ABANDONED_SECONDS = 600
_serial = itertools.count()
_warned: set[str] = set()
_trimmed: set[str] = set()


def _directory() -> str | None:
    return config.kernel_cache_dir if config.cache_kernels and config.kernel_cache_dir else None


def _entry(directory: str, key: str) -> str:
    return os.path.join(directory, key[:2], key + SUFFIX)


def load(key: str) -> Artifact | None:
    """The cached artifact of `key`, or None if there is no sound one."""
    directory = _directory()
    if directory is None:
        return None
    path = _entry(directory, key)
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return None
    try:
        artifact = from_bytes(data)
    except DamagedArtifact as why:
        config.log(config.LOG_INFO, f"kernel cache: {path} is damaged ({why}); compiling again")
        return None
    with contextlib.suppress(OSError):  # a cache that others own stays as it is
        os.utime(path)  # for `_trim`
    return artifact


def store(key: str, artifact: Artifact) -> bool:
    """Keep `artifact` under `key`; returns whether it is on disk now. Never raises for a disk that refuses."""
    directory = _directory()
    if directory is None:
        return False
    path = _entry(directory, key)
    try:
        # What lies here is run as code: nobody else may write it.
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _write_then_rename(path, to_bytes(artifact))
    except OSError as why:
        _warn_once(directory, why)
        return False
    if directory not in _trimmed:
        _trimmed.add(directory)
        _trim(directory, config.kernel_cache_size)
    return True


def _write_then_rename(path: str, data: bytes) -> None:
    temporary = f"{path.removesuffix(SUFFIX)}.{os.getpid()}.{next(_serial)}{_TEMPORARY}"
    try:
        with open(temporary, "xb") as f:
            f.write(data)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _warn_once(directory: str, why: OSError) -> None:
    if config.verbose_warnings or directory not in _warned:
        _warned.add(directory)
        warnings.warn(
            f"the kernel cache {directory} cannot be written ({why.strerror or why}); kernels are compiled in memory "
            "and not kept. Set wp.config.kernel_cache_dir or OMNI_WARP_CACHE_DIR to a directory that can be written.",
            RuntimeWarning,
            stacklevel=2,
        )


def _files(directory: str) -> list[tuple[float, int, str]]:
    """(time of last use, size, path) of the entries, and of temporary files that processes left when they died."""
    abandoned = time.time() - _ABANDONED_SECONDS
    found = []
    for folder in _scan(directory):
        for entry in _scan(folder.path) if len(folder.name) == 2 and folder.is_dir() else ():
            with contextlib.suppress(OSError):  # another process was faster
                stat = entry.stat()
                if entry.name.endswith(SUFFIX) or (entry.name.endswith(_TEMPORARY) and stat.st_mtime < abandoned):
                    found.append((stat.st_mtime, stat.st_size, entry.path))
    return found


def _scan(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _trim(directory: str, limit: int) -> None:
    """Delete the entries that were used longest ago until the rest takes three quarters of `limit`."""
    entries = sorted(_files(directory))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in entries:
        if total <= limit * 3 // 4:
            break
        _remove(path)
        total -= size


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def clear_kernel_cache() -> int:
    """Delete every compiled kernel from `wp.config.kernel_cache_dir`; other files in it stay.

    Kernels that this process has loaded keep running.

    Returns:
        How many files went.

    >>> wp.clear_kernel_cache() >= 0
    True
    """
    directory = config.kernel_cache_dir
    return sum(_remove(path) for _, _, path in _files(directory)) if directory else 0
