"""Memory of XLA, which a Python function may use during a call only.

XLA frees it when the call ends, and writes other data there. So arrays that the function keeps are made unusable. What
it has made of them, such as views and recorded launches, has their address and cannot be found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from .. import _native
from ..arrays.array import array

_FREED = _native.type_id("struct memory that JAX has freed{}", 1)  # launches name it, and take no array of it
_WITHOUT_MEMORY = frozenset(
    {"__class__", "_element", "device", "device_id", "dtype", "ndim", "shape", "size", "strides"}
)


def refuse() -> NoReturn:
    """Raise ValueError as its call has ended."""
    raise ValueError(
        "this array shows memory that XLA has freed, as its call of JAX has ended: keep wp.clone(a), or "
        "a.numpy().copy(), and not the array"
    )


class ArrayOfEndedCall(_native.ArrayBase):
    """What an array becomes when its call ends. It tells its shape and type; all else raises ValueError."""

    dtype, device = array.dtype, array.device

    def __getattribute__(self, name: str) -> Any:
        """An attribute, if that needs no memory."""
        return object.__getattribute__(self, name) if name in _WITHOUT_MEMORY else refuse()

    def __repr__(self) -> str:
        return "<array of a call of JAX that has ended>"

    def __len__(self) -> int:
        refuse()

    def __getitem__(self, _: Any) -> Any:
        refuse()

    def __setitem__(self, _: Any, value: Any) -> None:
        refuse()


def end(values: Iterable[Any]) -> None:
    """Make the arrays among the arguments of a call unusable."""
    for value in values:
        if type(value) is array:
            value._lose_memory(_FREED)
            value.__class__ = ArrayOfEndedCall  # type: ignore[assignment]
