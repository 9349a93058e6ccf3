"""Gradients that would end unnoticed: at arrays without a gradient that hand on what was made of arrays with one.

Start with `Cuts.launch`, which a tape calls for every launch. Which arrays a kernel takes gradients from and hands them
to is known from its adjoint, so that conditions, integers and constants cut nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .. import config
from ..compiler import effects, flows
from ..lang.errors import CompileError
from ..lang.kernel import Kernel, on_redefinition
from . import memory, plans, views
from .array import array
from .intervals import Intervals
from .places import Place


class _Uses(NamedTuple):
    """What a kernel does to the arrays of each parameter: which parameters have a part in what it writes there, and
    whether a grid of their shape overwrites all of their elements.
    """

    flow: tuple[frozenset[int], ...]
    covers: tuple[bool, ...]


_uses: WeakKeyDictionary[Kernel, _Uses] = WeakKeyDictionary()
on_redefinition.append(_uses.clear)


class CutGradientWarning(UserWarning):
    """A gradient ends at an array without one; see `wp.config.cut_gradients`."""


class Made(NamedTuple):
    """How an array without a gradient came to hold what depends on arrays with one."""

    what: str
    place: Place
    kept: array


class Cut(NamedTuple):
    """A step that reads such an array, and the gradients that it would hand back there."""

    what: str
    place: Place
    made: Made
    gradients: tuple[array, ...]

    def matters(self) -> bool:
        """Whether the loss depends on what the step wrote; asked when its turn comes to go backwards."""
        return any(map(memory.any_set, self.gradients))

    def tell(self) -> None:
        """Raise RuntimeError or warn, as `wp.config.cut_gradients` says."""
        text = (
            f"{self.what} ({self.place}) reads an array without a gradient, which {self.made.what} ({self.made.place}) "
            "made of arrays with one: the gradient would end there. Make the array with requires_grad=True; or, if "
            "nothing is to flow through it, say so before the launches: `a.requires_grad = False`. What is overwritten "
            "in between outside of `with tape:`, or by NumPy, counts as what it was"
        )
        if config.cut_gradients == "error":
            raise RuntimeError(text)
        if config.cut_gradients == "warn":
            warnings.warn(text, CutGradientWarning, stacklevel=2)


class Cuts:
    """What a tape knows of arrays without gradients."""

    def __init__(self) -> None:
        self._made: Intervals[Made] = Intervals()

    def launch(
        self, kernel: Kernel, dim: Any, args: Sequence[list[array]], place: Place, writes: Sequence[bool]
    ) -> Cut | None:
        """Note a launch: for each parameter the arrays that it shows, and whether the kernel may write to them."""
        if not self._concerns(args, writes):
            return None
        flow, covers = _of(kernel)
        taken = frozenset[int]().union(*flow)
        found = {i: made for i in taken for a in args[i] if (made := self._found(a)) is not None}
        sources = {i for i in taken if i in found or any(a.grad is not None for a in args[i])}
        made_of = [flow[i] & sources if written else frozenset() for i, written in enumerate(writes)]
        self._forget(dim, [a for a, parts, all_of in zip(args, made_of, covers) if all_of and not parts])
        active: dict[int, list[array]] = {}  # by where they would end
        for a, parts in [(a, parts) for arrays, parts in zip(args, made_of) if parts for a in arrays]:
            self._add(a, Made(f"kernel `{kernel.name}`", place, a))
            if a.grad is not None:
                for end in parts & found.keys():
                    active.setdefault(end, []).append(a.grad)
        if not active:
            return None
        number = min(active)
        what = f"kernel `{kernel.name}`: argument `{kernel.params[number][0]}`"
        gradients = {views.identity(g): g for end in active.values() for g in end}
        return Cut(what, place, found[number], tuple(gradients.values()))

    def _concerns(self, args: Sequence[list[array]], writes: Sequence[bool]) -> bool:
        """Whether there is an array without a gradient that could take over what has one, or has done so."""
        for arrays, written in zip(args, writes):
            for a in arrays:
                if a.grad is None and (self._found(a) is not None or (written and _can_carry(a))):
                    return True
        return False

    def _forget(self, dim: Any, covered: Iterable[list[array]]) -> None:
        """Forget what a launch overwrites as a whole with what depends on no array with a gradient."""
        grid = tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
        for a in (a for arrays in covered for a in arrays if a.shape == grid):
            self.overwritten(a)

    def step(self, what: str, inputs: Iterable[array], out: array, covers: bool, place: Place) -> Cut | None:
        """Note a step that is no launch: it makes `out` of its inputs, be it that it overwrites all of `out`."""
        found = [made for a in inputs if (made := self._found(a)) is not None]
        if out.grad is not None:
            return Cut(what, place, found[0], (out.grad,)) if found else None
        if found or any(a.grad is not None and _is_float(a) for a in inputs):
            self._add(out, Made(what, place, out))
        elif covers:
            self.overwritten(out)
        return None

    def overwritten(self, a: array) -> None:
        """Note that the elements of an array have got values that depend on nothing."""
        if self._made and a.is_contiguous:
            self._made.remove(views.span_of(a))

    def __bool__(self) -> bool:
        """Whether there is an array without a gradient that hands on what was made of arrays with one."""
        return bool(self._made)

    def clear(self) -> None:
        """Forget everything."""
        self._made.clear()

    def _found(self, a: array) -> Made | None:
        if not self._made or a.grad is not None or a._constant:
            return None
        return self._made.meeting(views.span_of(a))

    def _add(self, a: array, made: Made) -> None:
        if a.grad is None and _can_carry(a):
            self._made.add(views.span_of(a), made)


def _can_carry(a: array) -> bool:
    return bool(a.size) and not a._constant and _is_float(a)


def _is_float(a: array) -> bool:
    return a._require_element().is_active


def _of(kernel: Kernel) -> _Uses:
    if kernel not in _uses:
        with plans.as_at_first(kernel, plans.options_for(kernel)):
            params = effects(kernel).params
            try:
                flow = flows(kernel)
            except CompileError:  # never differentiated itself, but what it does still depends on what it reads
                read = frozenset(i for i, p in enumerate(params) if p.reads)
                flow = tuple(read if p.writes else frozenset() for p in params)
        _uses[kernel] = _Uses(flow, tuple(p.covers for p in params))
    return _uses[kernel]
