"""`wp.jax_experimental.ffi`: the functions for JAX by the names that programs written for warp-lang import."""

from __future__ import annotations

from ..interop.jax_callable import JaxCallableGraphMode as GraphMode
from ..interop.jax_callable import check_cache_max, clear_jax_callable_graph_cache, jax_callable
from ..interop.jax_callback import register_ffi_callback
from ..interop.jax_kernel import JaxModulePreloadMode as ModulePreloadMode
from ..interop.jax_kernel import jax_kernel

__all__ = [
    "GraphMode",
    "ModulePreloadMode",
    "clear_jax_callable_graph_cache",
    "get_jax_callable_default_graph_cache_max",
    "jax_callable",
    "jax_kernel",
    "register_ffi_callback",
    "set_jax_callable_default_graph_cache_max",
]

_graph_cache_max: int | None = 32


def get_jax_callable_default_graph_cache_max() -> int | None:
    """How many graphs a `jax_callable` keeps; matters to GPUs only."""
    return _graph_cache_max


def set_jax_callable_default_graph_cache_max(cache_max: int | None) -> None:
    """Set how many graphs a `jax_callable` keeps; None for any number. Matters to GPUs only.

    Raises:
        ValueError: It is no number from 0 on.
    """
    global _graph_cache_max
    check_cache_max(cache_max)
    _graph_cache_max = cache_max
