"""`warp._src.thirdparty.appdirs`: where programs keep files of a user that they can make again."""

from __future__ import annotations

import os
import sys


def user_cache_dir(
    appname: str | None = None, appauthor: str | None = None, version: str | None = None, opinion: bool = True
) -> str:
    """Return the folder of a program in the user's folder for caches. It may not be there yet.

    Args:
        appname: the name of the program; the folder for all programs if left out.
        appauthor: its maker, a folder above it on Windows; the name of the program if left out.
        version: a folder below that of the program.
        opinion: on Windows, whether the folder ends with `Cache`.
    """
    windows = sys.platform == "win32" and bool(appname)
    maker = [appauthor or appname] if windows else []
    own = [appname] if appname else []
    last = ["Cache"] if windows and opinion else []
    below = [version] if appname and version else []
    return os.path.join(_caches(), *(str(name) for name in (*maker, *own, *last, *below)))


def _caches() -> str:
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches")
    return os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
