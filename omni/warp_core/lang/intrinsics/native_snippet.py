"""`wp.func_native`: functions whose bodies are C++ text. This compiler takes none but barriers and counts of bits."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from ...late_bound import late
from ..kernel import Function
from ..registry import INTRINSICS
from ..types import I32, I64, U32, U64

_BARRIERS = ("WP_TILE_SYNC();", "__syncthreads();")
_OF_CPUS = re.compile(r"#if defined\(__CUDA_ARCH__\)\n.*?\n#else\n(?P<rest>.*?)\n#endif", re.S)
_BIT_COUNT = re.compile(
    r"return __builtin_(?P<count>ctz|popcount)(?P<long>ll)? ?"
    r"\( ?(\(unsigned (?(long)long long|int)\) ?)?(?P<argument>\w+) ?\);"
)
_COUNTS = {"ctz": "trailing_zeros", "popcount": "bit_count"}


class NativeFunction(Function):
    """A function whose body is C++ text: kernels that call it are refused."""

    snippet = ""


def func_native(snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None) -> Callable:
    """Decorator for functions whose bodies are C++ text, as programs for warp-lang have them.

    Kernels are compiled from Python only. A barrier (`WP_TILE_SYNC();`, `__syncthreads();`) becomes
    `wp.syncthreads()`. A text that only returns `__builtin_ctz(x)` or `__builtin_popcount(x)` of its parameter, or the
    `ll` form of 64 bits, becomes that count. Of `#if defined(__CUDA_ARCH__)`, the text behind `#else` is taken. A
    kernel that calls any other such function is refused, with the line of the call. Programs run as long as they
    launch none.

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
        return _bit_count(made) or made

    return enter


def _bit_count(made: NativeFunction) -> Any:
    """Return the builtin that counts bits as the text of a function does, None for another text."""
    text = " ".join(_OF_CPUS.sub(r"\g<rest>", made.snippet.strip()).split())
    found = _BIT_COUNT.fullmatch(text)
    widths = (I64, U64) if found and found["long"] else (I32, U32)
    if found is None or made.params not in [[(found["argument"], width)] for width in widths]:
        return None
    return late(_COUNTS[found["count"]])
