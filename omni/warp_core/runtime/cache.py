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
from pathlib import Path

from .. import config
from ..compiler import Artifact
from .artifact import DamagedArtifact, from_bytes, to_bytes

SUFFIX = ".wck"
_TEMPORARY = ".tmp"
_ABANDONED_SECONDS = 600
_serial = itertools.count()
_warned: set[str] = set()
_trimmed: set[str] = set()


def _directory() -> Path | None:
    return Path(config.kernel_cache_dir) if config.cache_kernels and config.kernel_cache_dir else None


def _entry(directory: Path, key: str) -> Path:
    return directory / key[:2] / f"{key}{SUFFIX}"


def load(key: str) -> Artifact | None:
    """The cached artifact of `key`, or None if there is no sound one."""
    directory = _directory()
    if directory is None:
        return None
    path = _entry(directory, key)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    try:
        artifact = from_bytes(data)
    except DamagedArtifact as why:
        config.log(config.LOG_INFO, f"kernel cache: {path} is damaged ({why}); compiling again")
        return None
    _touch(path)
    return artifact


def _touch(path: Path) -> None:
    """Mark an entry as used, for `_trim`; a cache that others own stays as it is."""
    with contextlib.suppress(OSError):
        os.utime(path)


def store(key: str, artifact: Artifact) -> bool:
    """Keep `artifact` under `key`; returns whether it is on disk now. Never raises for a disk that refuses."""
    directory = _directory()
    if directory is None:
        return False
    path = _entry(directory, key)
    temporary = path.with_name(f"{key}.{os.getpid()}.{next(_serial)}{_TEMPORARY}")
    try:
        # What lies here is run as code: nobody else may write it.
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _write_then_rename(temporary, path, to_bytes(artifact))
    except OSError as why:
        _warn_once(directory, why)
        return False
    if str(directory) not in _trimmed:
        _trimmed.add(str(directory))
        _trim(directory, config.kernel_cache_size)
    return True


def _write_then_rename(temporary: Path, path: Path, data: bytes) -> None:
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _warn_once(directory: Path, why: OSError) -> None:
    if config.verbose_warnings or str(directory) not in _warned:
        _warned.add(str(directory))
        warnings.warn(
            f"the kernel cache {directory} cannot be written ({why.strerror or why}); kernels are compiled in memory "
            "and not kept. Set wp.config.kernel_cache_dir or OMNI_WARP_CACHE_DIR to a directory that can be written.",
            RuntimeWarning,
            stacklevel=2,
        )


def _files(directory: Path) -> list[Path]:
    """The entries in `directory`, and the temporary files that processes left there when they died."""
    old = time.time() - _ABANDONED_SECONDS
    found = list(directory.glob(f"??/*{SUFFIX}"))
    for path in directory.glob(f"??/*{_TEMPORARY}"):
        with contextlib.suppress(OSError):
            found += [path] if path.stat().st_mtime < old else []
    return found


def _trim(directory: Path, limit: int) -> None:
    """Delete the entries that were used longest ago until the rest takes three quarters of `limit`."""
    entries = []
    for path in _files(directory):
        try:
            stat = path.stat()
        except OSError:
            continue  # another process was faster
        entries.append((stat.st_mtime_ns, stat.st_size, path))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        if total <= limit * 3 // 4:
            break
        _remove(path)
        total -= size


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def clear_kernel_cache() -> int:
    """Delete every compiled kernel from `wp.config.kernel_cache_dir`; other files in it stay.

    Kernels that this process has loaded keep running. Returns how many files went.

    >>> import omni.warp_core as wp
    >>> wp.clear_kernel_cache() >= 0
    True
    """
    if not config.kernel_cache_dir:
        return 0
    return sum(_remove(path) for path in _files(Path(config.kernel_cache_dir)))
