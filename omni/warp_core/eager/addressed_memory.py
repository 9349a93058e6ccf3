"""Arrays that Python code reaches by address, as library functions do that take the id of a structure.

Compiled kernels take any address. Builtins at Python scope and interpreted kernels find the arrays that were registered
here, so a wrong address is an error there. Most structures are never asked for by address. So a new one only says that
it has arrays, and these are listed when an address is looked up.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..ir.interp.array_memory import Trap


class UnknownAddress(Trap):
    """A program read at an address where no array is registered: it was given a wrong id of a structure."""


_registered: WeakValueDictionary[int, Any] = WeakValueDictionary()
_unlisted: WeakKeyDictionary[Any, None] = WeakKeyDictionary()


def register(array: Any) -> None:
    """Let Python code find an array by the address of its first element, for as long as the array exists."""
    _registered[array.ptr] = array


def register_arrays_of(owner: Any) -> None:
    """Do the same for all arrays that `owner._addressed_arrays()` lists, which exist as long as `owner` does."""
    _unlisted[owner] = None


def _list() -> None:
    """Register the arrays of all owners that have not listed theirs."""
    global _unlisted
    owners, _unlisted = _unlisted, WeakKeyDictionary()
    for owner in list(owners):
        for array in owner._addressed_arrays():
            register(array)


def find(address: int) -> Any:
    """Return the registered array at `address`, or None."""
    if _unlisted:
        _list()
    return _registered.get(address)


def array_at(address: int, count: int, element_bytes: int) -> Any:
    """Return the registered array at `address`, of whatever type.

    Raises:
        UnknownAddress: No array is registered there, or it is shorter than `count` elements of `element_bytes`.
    """
    found = find(address)
    if found is None or found.size * found.strides[-1] < count * element_bytes:
        raise UnknownAddress(f"nothing is known at address {address:#x}: pass the id of a structure that exists")
    return found
