"""Structures such as hash grids, as a tape keeps them: their memory as it was when a launch was recorded.

A kernel gets a structure as a number, and may read it from an array. So a recorded launch keeps all structures that
exist on its device. Like other saved tensors (saved.py), they are copied only when a build is about to overwrite them.
Adjoints find structures by the same ids: while one runs, descriptors point to what was kept. Start with `save`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .. import _native
from ..arrays.array import array
from ..compiler import effects
from ..devices.device import Device
from ..dispatch import capture, observers
from ..dispatch.call_site import CallSite
from ..eager.addressed_memory import find
from ..lang.kernel import Kernel, on_redefinition
from .saved import SavedArrays


class _Entry(NamedTuple):
    place: array  # of one element, the descriptor
    addresses: Sequence[str]  # fields of the descriptor that point to the rest of the structure


_live: WeakKeyDictionary[Any, _Entry] = WeakKeyDictionary()


def register(structure: Any, place: array, addresses: Sequence[str]) -> None:
    """Let tapes keep a structure, for as long as it exists.

    Args:
        structure: the structure. Its id leads to the descriptor.
        place: an array of one element, which is the descriptor.
        addresses: the fields of the descriptor that are addresses of registered arrays, or zero.
    """
    _live[structure] = _Entry(place, addresses)
    _native.outdate_launch_templates()  # launches without structures were recorded by them


class SavedStructure:
    """A structure as it was: `descriptor`, and the arrays that it points to."""

    def __init__(self, structure: Any, entry: _Entry, of: str, place: CallSite):
        self._structure = structure  # whose id is valid as long as it exists
        self.place, (self.descriptor,) = entry.place, entry.place.list()
        found = {name: find(int(getattr(self.descriptor, name))) for name in entry.addresses}
        self._arrays = {name: a for name, a in found.items() if a is not None}
        self._saved = SavedArrays([*self._arrays.values()], [*self._arrays], of, place)

    def as_kept(self) -> Any:
        """The descriptor that points to what was kept."""
        made = copy.copy(self.descriptor)
        for name, a in self._arrays.items():
            setattr(made, name, type(getattr(made, name))(self._saved.view(a).ptr))
        return made


def save(kernel: Kernel, device: Device, place: CallSite) -> list[SavedStructure]:
    """Keep the structures on a device for the adjoint of a launch, which is recorded at a place of the program."""
    structures = [(s, entry) for s, entry in _live.items() if entry.place.device is device]
    if not structures or not _may_find_structures(kernel):
        return []
    capture.refuse(f"recording kernel `{kernel.name}`, whose gradient needs structures such as hash grids,", device)
    return [SavedStructure(*found, f"the launch of kernel `{kernel.name}`", place) for found in structures]


_may_find: WeakKeyDictionary[Kernel, bool] = WeakKeyDictionary()
on_redefinition.append(_may_find.clear)


def _may_find_structures(kernel: Kernel) -> bool:
    if kernel not in _may_find:
        _may_find[kernel] = effects(kernel).hidden
    return _may_find[kernel]


@contextmanager
def restored(kept: Sequence[SavedStructure]) -> Iterator[None]:
    """Let ids lead to the structures as they were kept, and afterwards to those of now."""
    now = [saved.place.list() for saved in kept]
    try:
        _write([saved.place for saved in kept], [saved.as_kept() for saved in kept])
        yield
    finally:
        _write([saved.place for saved in kept], [descriptor for (descriptor,) in now])


def _write(places: Sequence[array], descriptors: Sequence[Any]) -> None:
    with observers.NotRecording():
        for place, descriptor in zip(places, descriptors):
            place.fill_(descriptor)
