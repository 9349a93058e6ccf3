"""Programs in forward mode: while a `JvpTrace` follows, launches, copies and fills also compute tangents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.factories import empty_like, zeros_like
from ..devices.device import Device
from ..dispatch import call_site, recording
from ..lang.kernel import Kernel
from ..launches.launch import launch
from ..tape import launch_vjp
from ..tape.launch_vjp import as_array, covers
from .launch_jvp import facts, launch_tangent
from .tangent_storage import TangentStorage, arrays_in


class JvpTrace:
    """Follows what is done in a `with` block. What `shadows` has no tangents of has zero tangents.

    `strict` is for what a tape records as well: writing to arrays that have no gradient, and so nothing on the tape,
    raises. With `gradients`, arrays that are made get one.

    Memory with tangents is sealed, as a tape seals what it uses (see `seals`), unless there is one, which does so.
    """

    def __init__(self, strict: bool = False, gradients: bool = False):
        self.shadows = TangentStorage()
        self.strict, self.gradients = strict, gradients
        self.seals: _native.MutationTracker | None = None  # of memory with tangents, where no tape has its own

    def __enter__(self) -> JvpTrace:
        if recording.tape() is None:
            around = recording.follower()
            self.seals = _native.MutationTracker() if around is None else around.seals
        self._following = recording.JvpScope(self)
        self._following.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._following.__exit__(*exception)

    def follows(self, value: Any) -> bool:
        """True if an array, or an array in a struct, has tangents that may not be zero."""
        return any(self.shadows.of(a) is not None for a in arrays_in(value))

    def seal(self, what: str, arrays: Sequence[array], is_covered: Callable[[array], bool] = lambda a: False) -> None:
        """Record that an operation uses arrays. Raise RuntimeError if one of them has changed in an unrecorded write.

        Args:
            what: what messages call it.
            arrays: what it reads or writes.
            is_covered: whether it overwrites all of an array, so that it does not matter what was there.
        """
        moving = [a for a in arrays if self.shadows.of(a) is not None]
        while self.seals is not None and (found := self.seals.use(moving, call_site.here())) is not None:
            number, how, before, writer = found
            if is_covered(moving[number]) and self.seals.renew(moving[number]):
                continue
            by = "by NumPy or another library" if how == _native.CHANGED else f"by what is not recorded ({writer})"
            raise RuntimeError(
                f"{what}: an array of shape {moving[number].shape} has a tangent, and since {before} it was changed "
                f"{by}, so that the tangent does not belong to its numbers: use assign, fill_, wp.copy, `a[...] =`, or "
                "launches without record_tape=False, or another array"
            )

    def wrote(self, arrays: Sequence[array]) -> None:
        """Record that an observed operation has written to arrays."""
        moving = [a for a in arrays if self.shadows.of(a) is not None]
        if self.seals is not None:
            self.seals.wrote(moving, True)
            self.seals.use(moving, call_site.here())

    def _changed(self, what: str, a: array, *read: array) -> None:
        """Record that all elements of `a` have just been written."""
        if self.seals is not None and self.shadows.of(a) is not None:
            self.seals.wrote([a], False)
        self.seal(what, [a, *read], lambda other: other is a)

    def launch(self, kernel: Kernel, dim: Any, args: Sequence[Any], device: Device, block_dim: int) -> None:
        """Launch a kernel, with tangents if one of its arguments has one."""
        held = [as_array(a, t, device) for a, (_, t) in zip(args, kernel.params)]
        arrays = [a for value in held for a in launch_vjp.arrays_in(value)]
        self.seal(f"kernel `{kernel.name}`", arrays, lambda a: covers(kernel, dim, held, a))
        with recording.OuterLevel(self):
            if self.strict and len(held) == len(kernel.params):
                written = {name: a for (name, _), a, w in zip(kernel.params, held, facts(kernel).written) if w}
                self._check_gradients(f"kernel `{kernel.name}`", held, written)
            if len(held) == len(kernel.params) and any(map(self.follows, held)):
                launch_tangent(kernel, dim, held, [None] * len(held), self.shadows, device, block_dim)
            else:
                launch(kernel, dim, args, device=device, block_dim=block_dim)
        self.wrote(arrays)

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
            with recording.OuterLevel(self):
                a.requires_grad = True

    def overwritten(self, a: array) -> None:
        """Elements of `a` have got values that do not change with anything."""
        self._changed("a fill or an assignment", a)
        with recording.OuterLevel(self):
            tangent = self.shadows.of(a)
            if tangent is not None:
                tangent.zero_()

    def copied(self, dest: array, src: array) -> None:
        """The elements of `src` were copied to those of `dest`."""
        self._changed("a copy", dest, src)
        with recording.OuterLevel(self):
            tangent = self.shadows.of(src) if arrays_in(src) else None
            self._check_gradients("a copy", [src], {"dest": dest})
            if tangent is not None and arrays_in(dest):
                self.shadows.ensure(dest)[...] = tangent
                self.seal("a copy", [dest])
                return
        self.overwritten(dest)

    def sums(self, out: array, terms: Sequence[tuple[array, Callable[[array, array], None]]]) -> None:
        """The elements of `out` become a sum of terms; see `Operation.jvp`."""
        self.seal("a sum or product", [out, *(x for x, _ in terms)])
        with recording.OuterLevel(self):
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
