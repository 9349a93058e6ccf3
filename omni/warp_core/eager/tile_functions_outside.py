"""Functions on tiles outside of compiled kernels: `wp.tile(dtype=..., shape=...)` is a type, all others refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang.arrays import TileAnnotation
from ..lang.registry import TILE_BUILTINS
from .intrinsics import run_by


def _refusal(name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"wp.{name}() has a value only inside a kernel")

    run.__name__ = run.__qualname__ = name
    return run


def tile(*args: Any, **kwargs: Any) -> TileAnnotation:
    """The type of a tile in an annotation: `wp.tile(dtype=float, shape=(4, 8))`."""
    if not args and kwargs.keys() == {"dtype", "shape"}:
        return TileAnnotation(kwargs["dtype"], kwargs["shape"])
    raise RuntimeError("wp.tile() has a value only inside a kernel; a type is wp.tile(dtype=float, shape=(4, 8))")


run_by({**{name: _refusal(name) for name in TILE_BUILTINS}, "tile": tile})
