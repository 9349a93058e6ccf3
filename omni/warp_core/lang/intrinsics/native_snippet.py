"""`wp.func_native`: functions whose bodies are C++ text. This compiler takes none but the barriers of blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..kernel import Function
from ..registry import INTRINSICS

_BARRIERS = ("WP_TILE_SYNC();", "__syncthreads();")


class NativeFunction(Function):
    """A function whose body is C++ text: kernels that call it are refused."""

    snippet = ""


def func_native(snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None) -> Callable:
    """Decorator for functions whose bodies are C++ text, as programs for warp-lang have them.

    Kernels are compiled from Python only. A barrier (`WP_TILE_SYNC();`, `__syncthreads();`) becomes
    `wp.syncthreads()`. A kernel that calls any other such function is refused, with the line of the call; programs
    run as long as they launch none.

    Args:
        snippet: the C++ text.
        adj_snippet: the text of its gradient; not looked at.
        replay_snippet: what a backward pass runs in its place; not looked at.

    Returns:
        The decorator.

    >>> @wp.func_native("WP_TILE_SYNC();")
    ... def sync(): ...
    >>> sync is wp.syncthreads
    True
    """
    if not isinstance(snippet, str):
        raise TypeError(
            f"snippet: expected C++ text, got {type(snippet).__name__}; write @wp.func for Python functions"
        )
    frame = sys._getframe(1)

    def enter(f: Callable) -> Any:
        if "".join(snippet.split()) in _BARRIERS:
            return INTRINSICS["syncthreads"]
        made = NativeFunction(f, frame=frame)
        made.snippet = snippet
        return made

    return enter
