"""Opening stages: every complaint of USD becomes our own message, none goes to the terminal by itself."""

from __future__ import annotations

import operator
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pxr import Ar, Sdf, Tf, Usd, UsdUtils

_POSITION = re.compile(r"'?(?P<file>[^'\n]*?):(?P<line>\d+):(?P<column>\d+): (?P<what>[^\n]*?)'?$", re.M)
_DETAIL = re.compile(r"Error in '[^'\n]*' at line \d+ in file \S+ : '(?P<what>.*?)'$", re.M | re.S)


RATES = (1e-6, 1e6)  # frames or time codes per second
LAST_FRAME = 999_999_999


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


def unreadable(stage: Usd.Stage, path: str, error: BaseException) -> StageError:
    """Return the error for a prim or property that USD cannot read."""
    return StageError(f"{layer_file(stage.GetRootLayer())}: {path} cannot be read: {reason(error)}")


@contextmanager
def unraised_errors() -> Iterator[list[BaseException]]:
    """Collect the errors that USD prints through `sys.excepthook`, where a value has no form in Python."""
    errors: list[BaseException] = []
    before, sys.excepthook = sys.excepthook, lambda kind, error, trace: errors.append(error)
    try:
        yield errors
    finally:
        sys.excepthook = before


def reason(error: BaseException) -> str:
    """Return the part of an error from USD that helps the author of the file."""
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    try:
        text = str(error)
    except UnicodeError:  # messages of USD quote the file
        text = ""
    if not text or isinstance(error, UnicodeError):
        return "it holds text that is not UTF-8"
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
        except UnicodeEncodeError:
            raise StageError(f"{path}: USD reads only files whose path is text in UTF-8; rename it") from None
        if stage is None:
            raise StageError(f"{path}: not a USD stage that can be read")
        return Opened(stage, complaints(stage))


def frame_rate(stage: Usd.Stage) -> float:
    """Return the frames per second of a stage. Raises StageError for a rate that no clock can follow."""
    if stage.HasAuthoredMetadata("framesPerSecond"):
        return _rate(stage, "framesPerSecond", stage.GetFramesPerSecond())
    return time_code_rate(stage)


def time_code_rate(stage: Usd.Stage) -> float:
    """Return the time codes per second of a stage. Raises StageError for a rate that no clock can follow."""
    return _rate(stage, "timeCodesPerSecond", stage.GetTimeCodesPerSecond())


def _rate(stage: Usd.Stage, name: str, rate: float) -> float:
    if RATES[0] <= rate <= RATES[1]:
        return rate
    raise StageError(f"{layer_file(stage.GetRootLayer())}: {name} is {rate:g}; it must be above 0 and below a million")


def frame_range(stage: Usd.Stage, fps: float) -> tuple[int, int] | None:
    """Return the first and last frame of a stage at `fps`; None if the stage gives no range. Raises StageError."""
    if not stage.HasAuthoredTimeCodeRange():
        return None
    scale = fps / time_code_rate(stage)
    return (
        _frame(stage, "startTimeCode", stage.GetStartTimeCode(), scale),
        _frame(stage, "endTimeCode", stage.GetEndTimeCode(), scale),
    )


def first_and_last(frames: Any) -> tuple[int, int]:
    """Return the frames that a user chose, as a pair of the first and the last one or a range. Raises ValueError."""
    if isinstance(frames, range) and frames.step == 1 and len(frames):
        return frames[0], frames[-1]
    try:
        first, last = map(operator.index, frames)
    except (TypeError, ValueError):
        text = f"frames={frames!r} is not a first and a last frame; write frames=(1, 48), or frames=(5, 5) for frame 5"
        raise ValueError(text) from None
    if last < first:
        raise ValueError(f"frames={frames!r}: the last frame comes before the first; write frames=({last}, {first})")
    return first, last


def _frame(stage: Usd.Stage, name: str, code: float, scale: float) -> int:
    if abs(code * scale) <= LAST_FRAME:  # false for NaN, too
        return round(code * scale)
    raise StageError(
        f"{layer_file(stage.GetRootLayer())}: {name} is {code:g}, which is not a playable frame; frames go "
        f"from -{LAST_FRAME} to {LAST_FRAME}"
    )


def complaints(stage: Usd.Stage) -> list[str]:
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
    """The prim at a path that came from a user, None if it does not exist or the text is not a path."""
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
