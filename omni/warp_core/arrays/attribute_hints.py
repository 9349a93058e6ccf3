"""Hints for attribute names of other array libraries: the error says what to write here instead."""

from __future__ import annotations

from typing import Any

_HERE = {
    "T": "write `a.transpose()`",
    "sum": "write `wp.utils.array_sum(a)`",
    "mean": "write `wp.utils.array_sum(a) / a.size`, or `a.numpy().mean()`",
    "dot": "write `wp.utils.array_inner(a, b)`, or `a @ b` for matrices",
    "matmul": "write `a @ b`, or `wp.matmul`",
    "astype": "write `wp.map(wp.float64, a)`, or `wp.array(a, dtype=wp.float64)`",
    "copy": "write `wp.clone(a)`",
    "clone": "write `wp.clone(a)`",
    "detach": "write `wp.clone(a, requires_grad=False)`",
    "item": "write `a.list()[0]`",
    "tolist": "write `a.numpy().tolist()`",
    "cpu": 'write `a.to("cpu")`',
    "cuda": 'write `a.to("cuda:0")`',
    "backward": "write `tape.backward(a)`, with the `wp.Tape()` that recorded the launches",
}


class ForeignNames:
    """Mixin of arrays."""

    __slots__ = ()

    @property
    def typecode(self) -> str:
        """The name of the element type. `reprlib` asks for it, as it takes every class `array` for that of Python."""
        return self.dtype.__name__  # type: ignore[attr-defined]

    def __float__(self) -> float:
        raise TypeError("an array is no number: write `a.list()[0]` for the first element")

    __int__ = __float__

    def __getattr__(self, name: str) -> Any:  # where the usual look-up has failed
        if name in _HERE:
            raise AttributeError(f"arrays have no `{name}`: {_HERE[name]}", obj=self)  # no `name`: no guess of Python's
        return object.__getattribute__(self, name)  # raises again what the look-up did
