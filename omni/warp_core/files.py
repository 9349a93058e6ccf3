"""Files that appear whole or not at all, and files that only this user can have written.

`write` and `Unfinished` make a file in a private folder and then rename it. `read_private` reads what decides which
code runs: compiled kernels and consent to run code.

Checks are made on what was opened, not on its name, since a name may lead elsewhere a moment later.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator

_PREFIX, _SUFFIX = ".omni-warp-", ".part"
_LOCK = "lock"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK  # opening a FIFO would wait for a writer
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class UntrustedError(OSError):
    """Another user can have written a file or directory: which one, why, and how to change that."""


# -- reading --------------------------------------------------------------------------------------------------------


def read_private(directory: str, name: str, limit: int) -> bytes:
    """Return the content of file `name` below `directory`, at most `limit` bytes.

    The file and each directory from `directory` on must belong to this user and be closed to writes of others. Below
    `directory` no symbolic link is followed.

    Raises:
        UntrustedError: other users can have written the file, or it is no regular file.
        OSError: the file cannot be read, or is longer than `limit`.
    """
    *folders, last = name.split(os.sep)
    with contextlib.ExitStack() as opened:
        at, path = opened.enter_context(_opened(directory, os.O_RDONLY | os.O_DIRECTORY)), directory
        _require_private(at, path)
        for folder in folders:
            path = os.path.join(path, folder)
            at = opened.enter_context(_opened(folder, _FOLDER, at))
            _require_private(at, path)
        path = os.path.join(path, last)
        file = opened.enter_context(_opened_file(last, at, path))
        size = _require_private(file, path).st_size
        if size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        return os.read(file, size)


@contextlib.contextmanager
def _opened(path: str, flags: int, at: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600, dir_fd=at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened_file(name: str, at: int, path: str, access: int = os.O_RDONLY) -> Iterator[int]:
    with contextlib.ExitStack() as opened:
        try:
            file = opened.enter_context(_opened(name, access | _FILE, at))
        except OSError as why:
            if why.errno == errno.ELOOP:
                raise UntrustedError(f"{path} is a symbolic link") from None
            raise
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UntrustedError(f"{path} is not a regular file")
        yield file


def _require_private(descriptor: int, path: str) -> os.stat_result:
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        raise UntrustedError(f"{path} belongs to another user (uid {found.st_uid})")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(found.st_mode)
        raise UntrustedError(
            f"{path} is writable by other users (mode {mode:o}; remove that right with `chmod go-w {path}`)"
        )
    return found


# -- writing --------------------------------------------------------------------------------------------------------


def make_private(directory: str) -> None:
    """Create `directory`, and those above it that are missing, for this user alone.

    Raises:
        UntrustedError: other users can write the directory. Root also refuses to create one in the folder of another
            user, who could not use it afterwards.
        OSError: the directory cannot be created.
    """
    _make_missing(directory)
    with _opened(directory, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        _require_private(descriptor, directory)


def _make_missing(directory: str) -> None:
    if os.path.isdir(directory):
        return
    parent = os.path.dirname(directory)
    _make_missing(parent)
    owner = os.stat(parent).st_uid
    if os.geteuid() == 0 and owner != 0:
        raise UntrustedError(f"{parent} belongs to another user (uid {owner})")
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(directory, 0o700)


def write(target: str, data: bytes, folder: str | None = None) -> None:
    """Write `data` to the file `target`, whole or not at all; only this user can read or write it.

    Args:
        target: the file. An existing one is replaced; a symbolic link is replaced, not followed.
        data: its content.
        folder: the directory for the private folder; that of `target` if None. Both must be on one file system.

    Raises:
        OSError: the file cannot be written.
    """
    with Unfinished(target, folder) as unfinished:
        descriptor = os.open(unfinished.path, _NEW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        unfinished.commit()


def require_replaceable(target: str) -> None:
    """Raise PermissionError for a file whose owner took the right to write it from all, as from published files.

    Renaming a new file to its name would need no right to write the old one.
    """
    with contextlib.suppress(FileNotFoundError):
        found = os.lstat(target)
        if stat.S_ISREG(found.st_mode) and not found.st_mode & 0o222:
            raise PermissionError(errno.EACCES, "the file is read-only; `chmod u+w` allows to write it", target)


class Unfinished:
    """A file in the making, as a context manager that leaves nothing behind unless `commit` is called.

        with Unfinished("picture.png") as unfinished:
            image.save(unfinished.path)
            unfinished.commit()

    `path` is where to write: in a new folder beside the target that no other user can enter, so that no link can be
    planted there. Temporary files that a library makes beside `path` go with the folder. A lock tells other processes
    that this one lives; each new object removes the folders of dead processes.

    Raises:
        PermissionError: the target is a file without the right to write it.
        OSError: the folder cannot be made.
    """

    def __init__(self, target: str, folder: str | None = None):
        self.target = os.path.abspath(target)
        require_replaceable(self.target)
        where = folder or os.path.dirname(self.target)
        sweep(where)
        self._name = "unfinished" + os.path.splitext(target)[1]
        self._beside: dict[str, None] = {}
        try:
            self._folder = _PrivateFolder(where)
        except OSError as why:
            why.filename = self.target  # instead of the name of the private folder
            raise
        self.path = os.path.join(self._folder.path, self._name)

    def __enter__(self) -> Unfinished:
        return self

    def __exit__(self, *details: object) -> None:
        self.discard()

    def beside(self, name: str) -> str:
        """Return where to write another file, which `commit` puts beside the target."""
        self._beside[name] = None
        return os.path.join(self._folder.path, name)

    def commit(self) -> None:
        """Put the files in their places, the target last. Raises OSError."""
        folder = os.path.dirname(self.target)
        for name in self._beside:
            os.replace(name, os.path.join(folder, name), src_dir_fd=self._folder.inside)
        os.replace(self._name, self.target, src_dir_fd=self._folder.inside)

    def discard(self) -> None:
        """Remove the folder and what is left in it; a second call does nothing."""
        self._folder.remove()


class _PrivateFolder:
    """A new directory of this user alone: its `path`, its descriptor `inside`, and a file that is locked meanwhile."""

    path: str
    inside: int | None = None

    def __init__(self, where: str):
        self._opened = contextlib.ExitStack()
        while not self._made(os.path.join(where, f"{_PREFIX}{os.urandom(8).hex()}{_SUFFIX}")):
            self._opened.close()

    def _made(self, path: str) -> bool:
        """Make and lock the directory; False if a `sweep` came between the two and took it for a dead one."""
        os.mkdir(path, 0o700)
        try:
            self.path, self.inside = path, self._opened.enter_context(_opened(path, _FOLDER))
            lock = self._opened.enter_context(_opened(_LOCK, _NEW, self.inside))
            return _lock(lock) and os.fstat(lock).st_nlink > 0
        except FileNotFoundError:
            return False
        except BaseException:
            with self._opened, contextlib.suppress(OSError):
                os.rmdir(path)
            raise

    def remove(self) -> None:
        if self.inside is not None:
            inside, self.inside = self.inside, None  # once closed, its number may mean another directory
            with self._opened, contextlib.suppress(OSError):
                _remove(self.path, inside)


def _lock(descriptor: int) -> bool:
    """Take the lock, unless another process has it. Without locks in the file system, `sweep` never finds it free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def sweep(where: str) -> int:
    """Remove what dead processes of this user left unfinished in a directory; return how many files that were.

    A process is dead if its lock is free. Where that cannot be found out, the files stay.
    """
    try:
        names = os.listdir(where)
    except OSError:
        return 0
    return sum(_sweep(os.path.join(where, n)) for n in names if n.startswith(_PREFIX) and n.endswith(_SUFFIX))


def _sweep(folder: str) -> int:
    with contextlib.suppress(OSError), _opened(folder, _FOLDER) as inside:
        if os.fstat(inside).st_uid != os.geteuid():
            return 0
        try:
            with _opened_file(_LOCK, inside, folder, os.O_RDWR) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return _remove(folder, inside)
        except FileNotFoundError:  # its process died before it had the lock, or is about to take it
            os.rmdir(folder)
    return 0


def _remove(folder: str, inside: int) -> int:
    """Delete a folder that is open as `inside`; return how many files besides locks went."""
    count = _empty(inside)
    os.rmdir(folder)
    return count


def _empty(inside: int) -> int:
    """Delete all in a folder that is open, its lock last; return how many files besides locks went."""
    count = 0
    for name in sorted(os.listdir(inside), key=lambda name: name == _LOCK):
        try:
            os.unlink(name, dir_fd=inside)
            count += name != _LOCK
        except FileNotFoundError:
            pass
        except (IsADirectoryError, PermissionError):  # the folder of a file that was in the making inside of this one
            with _opened(name, _FOLDER, inside) as below:
                count += _empty(below)
            os.rmdir(name, dir_fd=inside)
    return count
