"""Gradients that would end unnoticed: at arrays without a gradient that hand on what was made of arrays with one.

Start with `DependenceTracker.launch`, which a tape calls for every launch. Which arrays a kernel takes gradients from
and hands them to is known from its adjoint, so that conditions, integers and constants cut nothing. Bits of floats in
arrays of
integers are followed, too: what is made of them again would have no gradient.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .. import config
from ..arrays import layouts, transfer
from ..arrays.array import array
from ..autodiff.analysis.leaves import leaf_types
from ..devices.interval_map import IntervalMap
from ..dispatch.call_site import CallSite
from ..ir.launch_facts import Effects
from ..lang.kernel import Kernel, on_redefinition
from ..lang.types import Array, Scalar, Type
from ..launches import plans
from ..launches.kernel_facts import differentiable_dependences, effects
from ..logger import warn


class _Uses(NamedTuple):
    """How a kernel uses the arrays of each parameter.

    `flow` has the parameters from which the kernel computes its results there, `bits` those whose bits may take part.
    `covers` is True if a grid of the array's shape overwrites all elements.
    """

    flow: tuple[frozenset[int], ...]
    bits: tuple[frozenset[int], ...]
    covers: tuple[bool, ...]


_uses: WeakKeyDictionary[Kernel, _Uses] = WeakKeyDictionary()
on_redefinition.append(_uses.clear)


class Reread(NamedTuple):
    """An array that a kernel may read through one parameter after it has written to it through another, or the same.

    `ends` are the arrays in which it stores what it makes of what it reads, each with its parameter.
    """

    writer: int
    reader: int
    read: array
    ends: Sequence[tuple[int, array]]


class CutGradientWarning(UserWarning):
    """A gradient ends at an array without one; see `wp.config.cut_gradients`."""


class Provenance(NamedTuple):
    """Records which operation wrote differentiable data into an array that has no gradient. `is_bits`: the data was
    written as raw bits into a struct member that is not a float.
    """

    what: str
    place: CallSite
    kept: array
    active: bool  # whether the array had a gradient then
    elsewhere: bool = False  # whether another thread did, which the tape does not record

    @property
    def is_bits(self) -> bool:
        """True if the data was written as raw bits into a struct member that is not a float."""
        return self.active or not _is_float(self.kept)


class BrokenChain(NamedTuple):
    """A step that reads such an array, and the gradients that it would hand back there."""

    what: str
    place: CallSite
    made: Provenance
    gradients: tuple[array, ...]

    def has_nonzero_gradient(self) -> bool:
        """True if the loss depends on the data that the operation wrote. The backward pass asks when it reaches the
        operation.
        """
        return any(map(transfer.any_set, self.gradients))

    def tell(self) -> None:
        """Raise RuntimeError or warn, as `wp.config.cut_gradients` says."""
        if self.made.is_bits:
            raise RuntimeError(
                f"{self.what} ({self.place}) makes numbers of bits that {self.made.what} ({self.made.place}) took of "
                "numbers with gradients, which cannot follow them: hand the numbers on in an array of their own; or, "
                f"if nothing is to flow through them, {self._instead()} before the launches: `a.requires_grad = False`"
            )
        if self.made.elsewhere:
            tell(
                f"{self.what} ({self.place}) reads an array that {self.made.what} ({self.made.place}) computed in "
                "another thread of arrays with gradients. A tape records the thread of its `with tape:` only, so the "
                "gradient would end there: do both in one thread; or, if nothing is to flow through the array, copy "
                "it: wp.clone(a, requires_grad=False)"
            )
            return
        text = (
            f"{self.what} ({self.place}) reads an array without a gradient, which {self.made.what} ({self.made.place}) "
            "made of arrays with one: the gradient would end there. Make the array with requires_grad=True; or, if "
            "nothing is to flow through it, say so before the launches: `a.requires_grad = False`. What is overwritten "
            "in between outside of `with tape:`, or by NumPy, counts as what it was"
        )
        tell(text)

    def _instead(self) -> str:
        if _is_active(self.made.kept):
            return "keep the bits in an array of integers, apart from the members with gradients, and say so of it"
        return "say so of the array of bits"


def tell(text: str) -> None:
    """Raise RuntimeError or warn, as `wp.config.cut_gradients` says."""
    if config.cut_gradients == "error":
        raise RuntimeError(text)
    if config.cut_gradients == "warn":
        warn(text, CutGradientWarning, stacklevel=3, severity=config.LOG_ERROR)  # the gradient may be wrong


class DependenceTracker:
    """Tracks which arrays without gradients contain differentiable data."""

    def __init__(self) -> None:
        self._made: IntervalMap[Provenance] = IntervalMap()
        self._elsewhere: deque[Provenance] = deque()  # what other threads made since the last step

    def launch(
        self,
        kernel: Kernel,
        dim: Any,
        args: Sequence[list[array]],
        place: CallSite,
        written: Sequence[list[array]],
        reread: Iterable[Reread],
    ) -> BrokenChain | None:
        """Record a launch: for each parameter the arrays that it shows, and those to which the kernel may write; and
        what it may read after it has written it.
        """
        self._join()
        if not self._concerns(kernel, args, written):
            return None
        flow, bits, covers = _of(kernel)
        taken = frozenset[int]().union(*flow)
        found = {i: made for i in taken for a in args[i] if (made := self._found(a)) is not None}
        sources = {i for i in taken if i in found or any(map(_is_active, args[i]))}
        made_of = [flow[i] & sources if arrays else frozenset() for i, arrays in enumerate(written)]
        tracked = [[a for a in arrays if _is_active(a) or not parts] for arrays, parts in zip(args, made_of)]
        self._forget(dim, [arrays for arrays, all_of in zip(tracked, covers) if all_of])
        active: dict[int, list[array]] = {}  # by where they would end
        for a, i in [(a, i) for i, arrays in enumerate(written) if made_of[i] for a in arrays]:
            if not _is_active(a) or made_of[i] & bits[i]:
                self._add(a, Provenance(f"kernel `{kernel.name}`", place, a, _is_active(a)))
        for a, i in [(a, i) for i, arrays in enumerate(written) for a in arrays]:
            if a.grad is not None and _is_float(a):
                for end in flow[i] & found.keys():
                    if end in bits[i] or not found[end].active:
                        active.setdefault(end, []).append(a.grad)
        for writer, reader, a, ends in reread:
            lost = [e.grad for i, e in ends if e.grad is not None and _is_float(e) and reader in flow[i]]
            if lost and made_of[writer] and _is_float(a) and not (_is_active(a) or a._requires_grad_off):
                found.setdefault(reader, Provenance(f"kernel `{kernel.name}`", place, a, False))
                active.setdefault(reader, []).extend(lost)
        if not active:
            return None
        number = min(active)
        what = f"kernel `{kernel.name}`: argument `{kernel.params[number][0]}`"
        gradients = {layouts.identity(g): g for end in active.values() for g in end}
        return BrokenChain(what, place, found[number], tuple(gradients.values()))

    def _concerns(self, kernel: Kernel, args: Sequence[list[array]], written: Sequence[list[array]]) -> bool:
        """True if an array without a gradient could receive, or has received, differentiable data."""

        def takes(a: array) -> bool:
            if a._requires_grad_off:
                return False
            is_untracked = _is_float(a) and not _is_active(a)
            return is_untracked or (_has_other_members(a) and plans.may_bitcast_gradients(kernel))

        return any(takes(a) for arrays in written for a in arrays) or any(
            self._found(a) is not None for arrays in args for a in arrays
        )

    def _forget(self, dim: Any, covered: Iterable[list[array]]) -> None:
        """Forget what a launch overwrites as a whole with what depends on no array with a gradient."""
        grid = tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
        for a in (a for arrays in covered for a in arrays if a.shape == grid):
            self.overwritten(a)

    def step(self, what: str, inputs: Iterable[array], out: array, covers: bool, place: CallSite) -> BrokenChain | None:
        """Record a host operation that computes `out` from its inputs, even if it overwrites all of `out`."""
        self._join()
        found = [made for a in inputs if (made := self._found(a)) is not None]
        if out.grad is not None:
            if covers:
                self.overwritten(out)
            lost = [made for made in found if not made.active]
            if found and not lost:
                self._add(out, Provenance(what, place, out, _is_active(out)))
            return BrokenChain(what, place, lost[0], (out.grad,)) if lost else None
        if found or (_is_float(out) and any(map(_is_active, inputs))):
            self._add(out, Provenance(what, place, out, _is_active(out)))
        elif covers:
            self.overwritten(out)
        return None

    def overwritten(self, a: array) -> None:
        """Record that the elements of an array got new values without recorded inputs."""
        if self._made and a.is_contiguous:
            self._made.remove(layouts.byte_range(a))

    def elsewhere(self, what: str, place: CallSite, inputs: Iterable[array], outputs: Iterable[array]) -> None:
        """Record what another thread computes, if it depends on arrays with gradients. That thread calls this."""
        if any(_is_active(a) or self._found(a) is not None for a in inputs):
            self._elsewhere.extend(Provenance(what, place, a, False, True) for a in outputs if a.size and _is_float(a))

    def _join(self) -> None:
        """Take over what other threads have made."""
        while self._elsewhere:
            made = self._elsewhere.popleft()
            self._made.remove(layouts.byte_range(made.kept))
            self._made.add(layouts.byte_range(made.kept), made)

    def __bool__(self) -> bool:
        """True if an array without a gradient carries data that was computed from arrays with gradients."""
        return bool(self._made or self._elsewhere)

    def has_made(self, a: array) -> bool:
        """True if an array without a gradient carries such data."""
        self._join()
        return self._found(a) is not None

    def clear(self) -> None:
        """Forget everything."""
        self._made.clear()
        self._elsewhere.clear()

    def _found(self, a: array) -> Provenance | None:
        """Return the provenance of an array's data from the time when it had no gradient, though it may have one by
        now.
        """
        if not self._made or a._requires_grad_off:
            return None
        return self._made.meeting(layouts.byte_range(a))

    def _add(self, a: array, made: Provenance) -> None:
        if a.size and not a._requires_grad_off and (not _is_active(a) or _has_other_members(a)):
            self._made.add(layouts.byte_range(a), made)


def _is_active(a: array) -> bool:
    return a.grad is not None and _is_float(a)


def _is_float(a: array) -> bool:
    return a._require_element().is_active


def _has_other_members(a: array) -> bool:
    return not all(isinstance(leaf, Scalar) and leaf.is_float for leaf in leaf_types(a.dtype))


def _of(kernel: Kernel) -> _Uses:
    if kernel not in _uses:
        with plans.with_captured_constants(kernel, plans.options_for(kernel)):
            done = effects(kernel)
            flow = _flow(kernel, done)
        bits = tuple(_flow_of_bits(kernel, done))
        _uses[kernel] = _Uses(tuple(map(frozenset.union, flow, bits)), bits, tuple(p.covers for p in done.params))
    return _uses[kernel]


def _flow(kernel: Kernel, done: Effects) -> tuple[frozenset[int], ...]:
    """For each parameter, those whose numbers have a part in what the kernel writes there."""
    found = differentiable_dependences(kernel).of
    if found is not None:
        return tuple(map(frozenset, found))
    # Never differentiated itself, but what it does still depends on what it reads.
    read = frozenset(i for i, p in enumerate(done.params) if p.reads)
    floats = [_has(t, True) for _, t in kernel.params]
    return tuple(read if p.writes and f else frozenset() for p, f in zip(done.params, floats))


def _flow_of_bits(kernel: Kernel, done: Effects) -> Iterable[frozenset[int]]:
    """For each parameter, those whose bits may have a part in what the kernel writes there."""
    kinds = [(_has(t, False), _has(t, True)) for _, t in kernel.params]
    bits, numbers = (frozenset(i for i, p in enumerate(done.params) if p.reads and kinds[i][k]) for k in (0, 1))
    for access, (holds_bits, holds_numbers) in zip(done.params, kinds):
        found = frozenset[int]()
        if access.writes and holds_bits:
            found |= bits | (numbers if done.bitcasts_floats else found)
        if access.writes and holds_numbers and done.makes_of_bits:
            found |= bits
        yield found


def _has(t: Type, floats: bool) -> bool:
    """True if an argument of a type has elements with floats in them, or, without `floats`, with other members: their
    bits may be those of floats.
    """
    arrays = [leaf for leaf in leaf_types(t) if isinstance(leaf, Array)]
    return any(leaf.is_differentiable is floats for a in arrays for leaf in leaf_types(a.dtype))
