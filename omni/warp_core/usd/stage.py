"""Opening stages: every complaint of USD becomes our own message, none goes to the terminal by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pxr import Ar, Sdf, Tf, Usd, UsdUtils

_POSITION = re.compile(r"'?(?P<file>[^'\n]*?):(?P<line>\d+):(?P<column>\d+): (?P<what>[^\n]*?)'?$", re.M)
_DETAIL = re.compile(r"Error in '[^'\n]*' at line \d+ in file \S+ : '(?P<what>.*?)'$", re.M | re.S)


class StageError(Exception):
    """A stage that cannot be opened or used."""


@dataclass
class Opened:
    """A stage, and what USD said while composing it."""

    stage: Usd.Stage
    warnings: list[str]


@contextmanager
def quiet() -> Iterator[UsdUtils.CoalescingDiagnosticDelegate]:
    """Keep USD's own diagnostics off the terminal."""
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield delegate
    finally:
        delegate.TakeUncoalescedDiagnostics()


# What USD's Python functions raise for a damaged file: its own errors, text that is not UTF-8, absurd sizes.
READ_ERRORS = (RuntimeError, UnicodeError, MemoryError)


def unreadable(stage: Usd.Stage, path: str, error: Exception) -> StageError:
    """Return the error for a prim or property that USD cannot read."""
    return StageError(f"{layer_file(stage.GetRootLayer())}: {path} cannot be read: {reason(error)}")


def reason(error: Exception) -> str:
    """Return the part of an error from USD that helps the author of the file."""
    if isinstance(error, UnicodeError):
        return "it holds text that is not UTF-8"
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    text = str(error)
    positions = [f"line {m['line']}, column {m['column']}: {m['what']}" for m in _POSITION.finditer(text)]
    details = [m["what"] for m in _DETAIL.finditer(text)]
    return "; ".join(positions[:1] or details[:1]) or text.strip()


def open_stage(path: str) -> Opened:
    """Open the stage at `path`. Raises StageError when it is missing, not a file or not USD."""
    if not os.path.exists(path):
        raise StageError(f"{path}: there is no such file")
    if not os.path.isfile(path):
        raise StageError(f"{path}: not a file")
    with quiet():
        try:
            stage = Usd.Stage.Open(os.path.abspath(path))
        except Tf.ErrorException as error:
            raise StageError(f"{path}: not a USD stage that can be read: {reason(error)}") from None
        if stage is None:
            raise StageError(f"{path}: not a USD stage that can be read")
        return Opened(stage, _complaints(stage))


def _complaints(stage: Usd.Stage) -> list[str]:
    """Layers and assets that are not there, and other trouble of composition, one line each."""
    found: list[str] = []
    for error in stage.GetCompositionErrors() if hasattr(stage, "GetCompositionErrors") else []:
        asset = getattr(error, "assetPath", "")
        where = getattr(error, "rootSite", None)
        site = str(where.path) if where is not None and hasattr(where, "path") else ""
        if asset:
            found.append(f"{site or '/'}: the layer {asset} cannot be found or opened")
        else:
            found.append(" ".join(str(error).split()))
    return list(dict.fromkeys(found))


def prim_at(stage: Usd.Stage, path: str) -> Usd.Prim | None:
    """The prim at a path that came from a user, None when there is none or the text is no path."""
    if not Sdf.Path.IsValidPathString(path):
        return None
    parsed = Sdf.Path(path)
    if not parsed.IsAbsoluteRootOrPrimPath() or not parsed.IsAbsolutePath():
        return None
    prim = stage.GetPrimAtPath(parsed)
    return prim if prim else None


def layer_file(layer: Sdf.Layer) -> str:
    """The file a layer lives in, "" for anonymous layers."""
    return layer.realPath or ""


def resolve_beside(layer: Sdf.Layer, name: str) -> str:
    """The file `name` as seen from `layer`: absolute as it is, otherwise relative to the layer's folder."""
    return str(Ar.GetResolver().Resolve(layer.ComputeAbsolutePath(name))) or layer.ComputeAbsolutePath(name)
