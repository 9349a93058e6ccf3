"""Bundles: trees of named and typed values, in which geometry travels along one connection.

A bundle has attributes, child bundles and metadata. By convention a bundle of prims has one child for each prim,
`prim0`, `prim1` and so on. Bundles never change: a connection carries one without copying it, two bundles may share
their parts, and a part is unchanged exactly if it is the same object. graph/bundle_handles.py has what node classes
use to read and write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .attribute_types import AttributeType, parse
from .device_values import DeviceValue, on_cpu

Value = Any


@dataclass(frozen=True, eq=False, slots=True)
class Item:
    """One value of a bundle with its type. `metadata` are values about it, such as `interpolation`.

    `held` is the value where it lies: a DeviceValue for one on a device.
    """

    type: AttributeType
    held: Value
    metadata: Mapping[str, Item] = field(default_factory=dict)

    @property
    def value(self) -> Value:
        """The value in its canonical form. One that lies on a device is copied."""
        return on_cpu(self.held)

    def hold(self, value: DeviceValue) -> None:
        """Hold the same numbers on a device, too."""
        object.__setattr__(self, "held", value)


@dataclass(frozen=True, eq=False, slots=True)
class Bundle:
    """A bundle that never changes; equal only to itself.

    >>> from omni.warp_core.nodes.values.bundles import Bundle, item
    >>> sheet = Bundle({"height": item("float", 2.0)})
    >>> sheet.value("height"), sheet.value("width", 1.0)
    (2.0, 1.0)
    """

    attributes: Mapping[str, Item] = field(default_factory=dict)
    children: Mapping[str, Bundle] = field(default_factory=dict)
    metadata: Mapping[str, Item] = field(default_factory=dict)

    def value(self, name: str, default: Value = None) -> Value:
        """Return the value of an attribute, `default` if the bundle lacks it."""
        found = self.attributes.get(name)
        return default if found is None else found.value

    def having(self, attributes: Mapping[str, Item]) -> Bundle:
        """Return a bundle like this one in which `attributes` are added or replaced."""
        return replace(self, attributes={**self.attributes, **attributes})


_OF_POINTS = ("normals", "extent")  # what other points make wrong


def with_changed(prim: Bundle, changed: Mapping[str, Item]) -> Bundle:
    """Return a prim with other values. What belongs to the old ones goes: normals and extent of points, and indices."""
    gone = {*(_OF_POINTS if "points" in changed else ()), *map(indices_of, changed)}
    kept = {name: found for name, found in prim.attributes.items() if name not in gone}
    return replace(prim, attributes={**kept, **changed})


def indices_of(name: str) -> str:
    """Return the name of the indices of a primvar: which of its values each element has."""
    return f"{name}:indices"


def expanded(prim: Bundle, name: str) -> Item:
    """Return an attribute with a value for each element, also of a primvar with indices. Raises IndexError."""
    found, indices = prim.attributes[name], prim.attributes.get(indices_of(name))
    if indices is None:
        return found
    values, places = found.value, np.asarray(indices.value)
    wrong = places[(places < 0) | (places >= len(values))]
    if wrong.size:
        raise IndexError(f"{indices_of(name)} names the value {wrong[0]} of {len(values)} values")
    is_text = isinstance(values, tuple)
    return Item(found.type, tuple(values[i] for i in places) if is_text else values[places], found.metadata)


EMPTY = Bundle()  # where no node has given a bundle


def item(type_name: str, value: Value, **metadata: str) -> Item:
    """Return a value of the type that a `.ogn` file calls `type_name`; arrays become read-only. Metadata are tokens."""
    about = {name: Item(parse("token"), text) for name, text in metadata.items()}
    return Item(parse(type_name), frozen(value), about)


def frozen(value: Value) -> Value:
    """Return a value that cannot be written to: a read-only view of an array, anything else as it is."""
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def kept(value: Value) -> Value:
    """Return a value that stays: a copy of an array that can be written to, where it lies, else the value itself."""
    if type(value) is DeviceValue:
        return value.kept()
    return frozen(value.copy()) if isinstance(value, np.ndarray) and value.flags.writeable else value


def prims_bundle(prims: list[Bundle]) -> Bundle:
    """Return the bundle that has each of `prims` as a child: prim0, prim1 and so on."""
    return Bundle(children={f"prim{i}": prim for i, prim in enumerate(prims)})


def prims_of(bundle: Bundle) -> list[Bundle]:
    """Return the prims of a bundle: its children, or the bundle itself if it is one prim."""
    if not bundle.children and bundle.attributes:
        return [bundle]
    return list(bundle.children.values())


def map_prims(bundle: Bundle, change: Callable[[Bundle], Bundle]) -> Bundle:
    """Return a bundle in which `change` has replaced each prim. Prims that it returns unchanged stay shared."""
    if not bundle.children and bundle.attributes:
        return change(bundle)
    children = {name: change(child) for name, child in bundle.children.items()}
    if all(children[name] is child for name, child in bundle.children.items()):
        return bundle
    return replace(bundle, children=children)


def merged(bundles: list[Bundle]) -> Bundle:
    """Return one bundle with the prims of several. Names that are taken count on: prim0, prim1."""
    if len(bundles) == 1:
        return bundles[0]
    return prims_bundle([prim for bundle in bundles for prim in prims_of(bundle)])


def changed_names(before: Bundle, now: Bundle) -> Iterator[str]:
    """Yield the names of attributes that were added, removed or written between two states of a bundle."""
    for name in {**before.attributes, **now.attributes}:
        if before.attributes.get(name) is not now.attributes.get(name):
            yield name
