"""`wp.fem.cache`: temporary arrays, and kernels that are kept by a key. Both by the names of `warp.fem`.

Arrays come from the memory pool of their device, which keeps freed memory for the next ones. So a store has nothing to
keep, and an array that a program releases is free once no name refers to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any
from weakref import ref

from ..arrays.array import array
from ..arrays.factories import empty
from ..lang.kernel import Function, Kernel
from ..lang.kernel_options import MODULE_DEFAULTS

__all__ = [
    *("Temporary", "TemporaryStore", "borrow_temporary", "borrow_temporary_like", "dynamic_func", "dynamic_kernel"),
    "set_default_temporary_store",
]

Temporary = array
_kept: dict[Any, Any] = {}  # kernels and functions, by where they are written and by the keys that programs give


class TemporaryStore:
    """Stands for a pool of temporary arrays, for programs that make one.

    >>> store = wp.fem.TemporaryStore()
    >>> wp.fem.borrow_temporary(store, shape=4, dtype=float).shape
    (4,)
    """

    def clear(self) -> None:
        """Return without effect: the store keeps no memory."""


def set_default_temporary_store(temporary_store: TemporaryStore | None) -> None:
    """Return without effect: arrays come from the memory pool anyway.

    Args:
        temporary_store: A store, or None.
    """


def borrow_temporary(
    temporary_store: TemporaryStore | None,
    shape: int | tuple[int, ...],
    dtype: type,
    pinned: bool = False,
    requires_grad: bool = False,
    device: Any = None,
) -> array:
    """Return an array whose elements have no values yet.

    Args:
        temporary_store: Without effect.
        shape: One extent, or several.
        dtype: The type of elements.
        pinned: On the CPU, whether the memory is pinned.
        requires_grad: Whether the array has a gradient.
        device: Where it is.

    Returns:
        An array with two methods more: `release`, which programs call when they are done with it, and `detach`, which
        returns the array.
    """
    made: Any = empty(shape, dtype=dtype, device=device, requires_grad=requires_grad, pinned=pinned)
    made.release = _nothing
    made.detach = ref(made)  # gives the array, and does not keep it
    return made


def borrow_temporary_like(array: array, temporary_store: TemporaryStore | None) -> array:
    """Return an array like another one, whose elements have no values yet: see `borrow_temporary`.

    Args:
        array: The other array.
        temporary_store: Without effect.

    >>> wp.fem.borrow_temporary_like(wp.zeros(3, dtype=wp.vec2), None).detach().size
    3
    """
    return borrow_temporary(temporary_store, array.shape, array.dtype, array.pinned, array.requires_grad, array.device)


def _nothing() -> None:
    """Keep the memory until no name refers to it."""


def dynamic_kernel(
    suffix: Any, kernel_options: Mapping[str, Any] | None = None, allow_overloads: bool = False
) -> Callable[[Callable], Kernel]:
    """Decorator: make a kernel once for a key. Where the same lines run again with the key, the first one is kept.

    Args:
        suffix: The key.
        kernel_options: Options of `wp.kernel`, or of modules.
        allow_overloads: Whether parameters of other types make another kernel.
    """
    frame = sys._getframe(1)
    given = dict(kernel_options or {})
    own = {name: value for name, value in given.items() if name in MODULE_DEFAULTS}
    options = {name: value for name, value in given.items() if name not in own}
    if own:
        options["module_options"] = own | options.get("module_options", {})
    return lambda f: _once(f, suffix, allow_overloads, lambda: Kernel(f, None, None, options, frame=frame))


def dynamic_func(
    suffix: Any, code_transformers: Any = None, allow_overloads: bool = False
) -> Callable[[Callable], Function]:
    """Decorator: make a `wp.func` once for a key, see `dynamic_kernel`.

    Args:
        suffix: The key.
        code_transformers: Without effect.
        allow_overloads: Whether parameters of other types make another function.
    """
    frame = sys._getframe(1)
    return lambda f: _once(f, suffix, allow_overloads, lambda: Function(f, frame=frame))


def _once(f: Callable, suffix: Any, allow_overloads: bool, make: Callable[[], Any]) -> Any:
    key = f.__module__, f.__qualname__, suffix
    if allow_overloads:
        made = make()
        return _kept.setdefault((*key, tuple(t for _, t in made.params)), made)
    if key not in _kept:
        _kept[key] = make()
    return _kept[key]
