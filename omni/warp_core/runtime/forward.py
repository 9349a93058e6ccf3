"""Programs in forward mode: while a `Forward` follows, launches, copies and fills also compute tangents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..lang.kernel import Kernel
from . import recording
from .array import array
from .backward import as_array
from .create import empty_like, zeros_like
from .device import Device
from .launch import launch
from .shadows import Shadows, arrays_in
from .tangents import facts, launch_tangent


class Forward:
    """Follows what is done in a `with` block. What `shadows` has no tangents of has zero tangents.

    `strict` is for what a tape records as well: writing to arrays that have no gradient, and so nothing on the tape,
    raises. With `gradients`, arrays that are made get one.
    """

    def __init__(self, strict: bool = False, gradients: bool = False):
        self.shadows = Shadows()
        self.strict, self.gradients = strict, gradients

    def __enter__(self) -> Forward:
        self._following = recording.Following(self)
        self._following.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._following.__exit__(*exception)

    def follows(self, value: Any) -> bool:
        """Whether an array, or an array in a struct, has tangents that may not be zero."""
        return any(self.shadows.of(a) is not None for a in arrays_in(value))

    def launch(self, kernel: Kernel, dim: Any, args: Sequence[Any], device: Device, block_dim: int) -> None:
        """Launch a kernel, with tangents if one of its arguments has one."""
        held = [as_array(a, t, device) for a, (_, t) in zip(args, kernel.params)]
        with recording.Outside(self):
            if self.strict and len(held) == len(kernel.params):
                written = {name: a for (name, _), a, w in zip(kernel.params, held, facts(kernel).written) if w}
                self._check_gradients(f"kernel `{kernel.name}`", held, written)
            if len(held) == len(kernel.params) and any(map(self.follows, held)):
                launch_tangent(kernel, dim, held, [None] * len(held), self.shadows, device, block_dim)
            else:
                launch(kernel, dim, args, device=device, block_dim=block_dim)

    def _check_gradients(self, what: str, read: Sequence[Any], written: Mapping[str, Any]) -> None:
        """Raise if gradients would be lost in what is written."""
        if not self.strict or all(a.grad is None for value in read for a in arrays_in(value)):
            return
        for name, value in written.items():
            if any(a.grad is None for a in arrays_in(value)):
                raise ValueError(
                    f"{what}: `{name}` is written and has no gradient; make it inside of the function that is "
                    "differentiated, or with requires_grad=True"
                )

    def made(self, a: array) -> None:
        """`a` has got memory of its own."""
        if self.gradients and arrays_in(a):
            with recording.Outside(self):
                a.requires_grad = True

    def overwritten(self, a: array) -> None:
        """Elements of `a` have got values that do not change with anything."""
        with recording.Outside(self):
            tangent = self.shadows.of(a)
            if tangent is not None:
                tangent.zero_()

    def copied(self, dest: array, src: array) -> None:
        """The elements of `src` were copied to those of `dest`."""
        with recording.Outside(self):
            tangent = self.shadows.of(src) if arrays_in(src) else None
            self._check_gradients("a copy", [src], {"dest": dest})
            if tangent is not None and arrays_in(dest):
                self.shadows.ensure(dest)[...] = tangent
                return
        self.overwritten(dest)

    def sums(self, out: array, terms: Sequence[tuple[array, Callable[[array, array], None]]]) -> None:
        """The elements of `out` become a sum of terms; see `recording.sums`."""
        with recording.Outside(self):
            self._check_gradients("a sum or product", [x for x, _ in terms], {"out": out})
            moving = [(self.shadows.of(x), write) for x, write in terms if self.follows(x)]
            if not moving and self.shadows.of(out) is not None:
                moving = [(zeros_like(terms[0][0]), terms[0][1])]
            if len(moving) == 1:
                tangent, write = moving[0]
                write(tangent, self.shadows.ensure(out))  # type: ignore[arg-type]
            elif moving:
                parts = [empty_like(out, requires_grad=recording.tape() is not None) for _ in moving]
                for part, (tangent, write) in zip(parts, moving):
                    write(tangent, part)  # type: ignore[arg-type]
                for part in parts[1:]:
                    parts[0] += part
                self.shadows.ensure(out)[...] = parts[0]
