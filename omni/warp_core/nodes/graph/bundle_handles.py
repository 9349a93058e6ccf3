"""Bundles as a node class sees them: `db.inputs.b` and `db.outputs.b`, with the method names of omni.graph.core.

`BundleContents` is the attribute, `BundleHandle` a bundle of its tree, `ItemHandle` a value in one. Handles of outputs
copy on write: they share everything with the bundle they began with until a part is written. Nothing reaches other
nodes before `finish`, which the evaluator calls after a compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from types import TracebackType
from typing import Any

import numpy as np

import omni.warp_core as wp

from ...arrays.array import array
from ..values.attribute_types import AttributeType, parse
from ..values.attribute_values import Value, ValueTypeError, coerce, zero
from ..values.bundles import EMPTY, Bundle, Item, frozen
from ..values.device_values import DeviceValue
from .attribute import Attribute, GraphError
from .node_graph import Node
from .placement import array_for, given, is_placed, value_of, zeros


class BundleChangeType(IntEnum):
    """Whether a part of a bundle differs from what the node saw last."""

    NONE = 0
    MODIFIED = 1


def _type(kind: Any) -> AttributeType:
    """Return the type that a node gives: by its name, as this host has it, or as an `og.Type`."""
    if isinstance(kind, AttributeType):
        return kind
    return parse(kind if isinstance(kind, str) else kind.get_ogn_type_name())


def _sized(kind: AttributeType, count: int) -> Value:
    """Return the first value of an attribute, an array of `count` zeros where it is one."""
    if count and kind.is_array and kind.is_numeric:
        return np.zeros((count, *kind.shape), kind.dtype)
    return zero(kind)


class ItemHandle:
    """A value of a bundle, or a piece of its metadata (`field`): `get`, `set`, `get_array`."""

    __slots__ = ("_bundle", "_field", "name")

    def __init__(self, bundle: BundleHandle, name: str, field: str = ""):
        self._bundle, self.name, self._field = bundle, name, field

    @property
    def _item(self) -> Item:
        attributes = self._bundle.current("attributes")
        if not self._field:
            return attributes[self.name]
        table = attributes[self.name].metadata if self.name else self._bundle.current("metadata")
        return table[self._field]

    def _put(self, item: Item) -> None:
        if not self._field:
            self._bundle.put("attributes", self.name, item)
        elif not self.name:
            self._bundle.put("metadata", self._field, item)
        else:
            owner = self._bundle.current("attributes")[self.name]
            metadata = {**owner.metadata, self._field: item}
            self._bundle.put("attributes", self.name, Item(owner.type, owner.held, metadata))

    def get_name(self) -> str:
        """Return the name."""
        return self._field or self.name

    def get_type(self) -> AttributeType:
        """Return the type."""
        return self._item.type

    def is_valid(self) -> bool:
        """True if the bundle still has the value."""
        try:
            return self._item is not None
        except KeyError:
            return False

    def size(self) -> int:
        """Return the number of elements of an array, 1 for other values."""
        return len(self._item.held) if self._item.type.is_array else 1

    def get(self, on_gpu: bool = False) -> Value:
        """Return the value; an array is read-only. On a GPU: an array of numbers is one of the device of the play."""
        item = self._item
        if on_gpu and is_placed(item.type):
            return array_for(self._bundle.node, item, item.type)
        return item.value

    def set(self, value: Any, on_gpu: bool = False) -> None:
        """Store a copy of `value`, where it lies. Raises GraphError for one that does not fit the type."""
        item = self._item
        if isinstance(value, array):
            value = given(value, item.type, self._bundle.node.timing)
            if type(value) is DeviceValue:
                self._put(Item(item.type, value.kept(), item.metadata))
                return
        try:
            taken = coerce(value, item.type)
        except ValueTypeError as error:
            raise GraphError(f"{self._bundle.path}.{self.get_name()}: {error}") from None
        copied = taken.copy() if isinstance(taken, np.ndarray) else taken
        self._put(Item(item.type, frozen(copied), item.metadata))

    def get_array(self, on_gpu: bool = False, get_for_write: bool = False, reserved_element_count: int = 0) -> Any:
        """Return the array. For writing: a new one of `reserved_element_count` elements that begins like the old."""
        if not get_for_write:
            return self.get(on_gpu)
        item, node = self._item, self._bundle.node
        kept = min(reserved_element_count, len(item.held))
        if on_gpu and is_placed(item.type):
            made = zeros(node, item.type, reserved_element_count)
            if kept:
                wp.copy(made, array_for(node, item, item.type), count=kept)
            self._put(Item(item.type, value_of(made, item.type, node.timing, is_reused=True), item.metadata))
            return made
        made = _sized(item.type, reserved_element_count)
        made[:kept] = item.value[:kept]
        self._put(Item(item.type, made, item.metadata))
        return made


class BundleHandle:
    """A bundle as omni.graph.core has it: attributes and child bundles by name or number."""

    __slots__ = ("_bundle", "_edited", "_handles", "_owner", "_parent", "name", "read_only")

    def __init__(self, bundle: Bundle, name: str, owner: Attribute, parent: BundleHandle | None, read_only: bool):
        self._bundle, self.name, self._owner, self._parent, self.read_only = bundle, name, owner, parent, read_only
        self._handles: dict[str, BundleHandle] = {}
        self._edited: dict[str, dict[str, Any]] | None = None  # the tables, once one of them was written

    @property
    def path(self) -> str:
        """The attribute that holds the bundle, and the names on the way down to it."""
        return f"{self._parent.path}/{self.name}" if self._parent else self._owner.path

    @property
    def node(self) -> Node:
        """The node whose attribute holds the bundle."""
        return self._owner.node

    def current(self, table: str) -> Any:
        """Return the attributes, children or metadata as they are now."""
        return self._edited[table] if self._edited else getattr(self._bundle, table)

    def put(self, table: str, name: str, value: Any) -> None:
        """Write an entry of a table. Raises GraphError for a bundle that is read only."""
        self._edit()[table][name] = value

    def _edit(self) -> dict[str, dict[str, Any]]:
        if self.read_only:
            raise GraphError(f"{self.path} is a bundle that this node only reads; write to a bundle of its outputs")
        handle: BundleHandle | None = self
        while handle is not None and handle._edited is None:
            old = handle._bundle
            handle._edited = {name: dict(getattr(old, name)) for name in ("attributes", "children", "metadata")}
            handle = handle._parent
        assert self._edited is not None
        return self._edited

    def freeze(self) -> Bundle:
        """Return the bundle as it is now; the same object for as long as nothing is written."""
        if self._edited is not None:
            children = {
                name: self._handles[name].freeze() if name in self._handles else child
                for name, child in self._edited["children"].items()
            }
            attributes = {name: _without_writers(item) for name, item in self._edited["attributes"].items()}
            self._bundle = Bundle(attributes, children, self._edited["metadata"])
            self._edited = None
        return self._bundle

    def is_valid(self) -> bool:
        """True if a node has given the bundle."""
        return self.freeze() is not EMPTY

    def get_name(self) -> str:
        """Return the name among its siblings."""
        return self.name

    # Child bundles.

    def get_child_bundle_count(self) -> int:
        """Return the number of child bundles."""
        return len(self.current("children"))

    def get_child_bundle(self, index: int) -> BundleHandle:
        """Return a child bundle by its number, in the order in which they were created. Raises IndexError."""
        return self._child(list(self.current("children"))[index])

    def get_child_bundle_by_name(self, name: str) -> BundleHandle | None:
        """Return a child bundle, None for an unknown name."""
        return self._child(name) if name in self.current("children") else None

    def get_child_bundles(self) -> list[BundleHandle]:
        """Return all child bundles."""
        return [self._child(name) for name in self.current("children")]

    def _child(self, name: str) -> BundleHandle:
        if name not in self._handles:
            bundle = self.current("children")[name]
            self._handles[name] = BundleHandle(bundle, name, self._owner, self, self.read_only)
        return self._handles[name]

    def create_child_bundle(self, name: str) -> BundleHandle:
        """Return the child bundle of that name, made if it is not there."""
        if name not in self.current("children"):
            self.put("children", name, Bundle())
        return self._child(name)

    def create_child_bundles(self, count: int) -> list[BundleHandle]:
        """Return new child bundles prim0, prim1 and so on."""
        return [self.create_child_bundle(f"prim{i}") for i in range(count)]

    def remove_child_bundle(self, child: BundleHandle | str) -> None:
        """Remove a child bundle."""
        name = child if isinstance(child, str) else child.name
        self._edit()["children"].pop(name, None)
        self._handles.pop(name, None)

    def copy_child_bundle(self, source: BundleHandle, name: str = "") -> BundleHandle:
        """Make `source` a child of this bundle, sharing its contents."""
        name = name or source.name
        self.remove_child_bundle(name)
        self.put("children", name, source.freeze())
        return self._child(name)

    # Attributes.

    def get_attribute_count(self) -> int:
        """Return the number of attributes."""
        return len(self.current("attributes"))

    def get_attribute_names(self) -> list[str]:
        """Return the names of all attributes."""
        return list(self.current("attributes"))

    def get_attribute_types(self) -> list[AttributeType]:
        """Return the types of all attributes."""
        return [item.type for item in self.current("attributes").values()]

    def get_attributes(self) -> list[ItemHandle]:
        """Return all attributes."""
        return [ItemHandle(self, name) for name in self.current("attributes")]

    def get_attribute_by_name(self, name: str) -> ItemHandle | None:
        """Return an attribute, None for an unknown name."""
        return ItemHandle(self, name) if name in self.current("attributes") else None

    def create_attribute(self, name: str, type: Any, element_count: int = 0) -> ItemHandle:
        """Return the attribute of that name and type, with the empty value if it is new."""
        kind, known = _type(type), self.current("attributes").get(name)
        if known is None or known.type != kind or element_count:
            self.put("attributes", name, Item(kind, _sized(kind, element_count)))
        return ItemHandle(self, name)

    def remove_attribute(self, name: str) -> None:
        """Remove an attribute."""
        self._edit()["attributes"].pop(name, None)

    remove_attribute_by_name = remove_attribute

    def copy_attribute(self, source: ItemHandle, name: str = "") -> ItemHandle:
        """Take over an attribute of another bundle, sharing its value."""
        self.put("attributes", name or source.name, source._item)
        return ItemHandle(self, name or source.name)

    # Metadata.

    def create_attribute_metadata(self, attribute: str, field: str, type: Any, element_count: int = 0) -> ItemHandle:
        """Return a piece of metadata of an attribute, with the empty value at first."""
        if attribute not in self.current("attributes"):
            raise GraphError(f"{self.path} has no attribute {attribute!r}; create it before its metadata")
        handle = ItemHandle(self, attribute, field)
        handle._put(Item(_type(type), _sized(_type(type), element_count)))
        return handle

    def get_attribute_metadata_names(self, attribute: str) -> list[str]:
        """Return the names of an attribute's metadata."""
        return list(self.current("attributes")[attribute].metadata)

    def get_attribute_metadata_by_name(self, attribute: str, field: str) -> ItemHandle | None:
        """Return a piece of metadata of an attribute, None for an unknown name."""
        owner = self.current("attributes").get(attribute)
        return ItemHandle(self, attribute, field) if owner is not None and field in owner.metadata else None

    def create_bundle_metadata(self, field: str, type: Any, element_count: int = 0) -> ItemHandle:
        """Return a piece of metadata of the bundle, with the empty value at first."""
        self.put("metadata", field, Item(_type(type), _sized(_type(type), element_count)))
        return ItemHandle(self, "", field)

    def get_bundle_metadata_by_name(self, field: str) -> ItemHandle | None:
        """Return a piece of metadata of the bundle, None for an unknown name."""
        return ItemHandle(self, "", field) if field in self.current("metadata") else None

    # Everything at once.

    def copy_bundle(self, source: BundleHandle) -> None:
        """Become a copy of `source` that shares its contents."""
        self._replace(source.freeze())

    def clear_contents(self) -> None:
        """Remove all attributes, child bundles and metadata."""
        self._replace(Bundle())

    def _replace(self, bundle: Bundle) -> None:
        edited = self._edit()
        for name in edited:
            edited[name] = dict(getattr(bundle, name))
        self._handles.clear()


def _without_writers(item: Item) -> Item:
    """Return an item whose array is read-only."""
    value = frozen(item.held)
    return item if value is item.held else Item(item.type, value, item.metadata)


class BundleChanges:
    """The changes of a bundle since this node looked last: a context that forgets them at its end."""

    __slots__ = ("_contents", "_seen")

    def __init__(self, contents: BundleContents, seen: dict[Attribute, Bundle]):
        self._contents, self._seen = contents, seen

    def __enter__(self) -> BundleChanges:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear_changes()

    def __bool__(self) -> bool:
        return self.has_changed()

    def activate(self) -> None:
        """Start tracking; here bundles always are."""

    def clear_changes(self) -> None:
        """Take the bundle as seen."""
        self._seen[self._contents.attribute] = self._contents.bundle.freeze()

    def has_changed(self) -> bool:
        """True if any part of the bundle changed."""
        return self._before is not self._contents.bundle.freeze()

    @property
    def _before(self) -> Bundle | None:
        return self._seen.get(self._contents.attribute)

    def get_change(self, part: BundleContents | BundleHandle | ItemHandle) -> BundleChangeType:
        """Return whether a bundle or an attribute of the tree changed."""
        if isinstance(part, ItemHandle):
            before = self._bundle_before(part._bundle)
            same = before is not None and before.attributes.get(part.name) is part._item
        else:
            handle = part.bundle if isinstance(part, BundleContents) else part
            same = self._bundle_before(handle) is handle.freeze()
        return BundleChangeType.NONE if same else BundleChangeType.MODIFIED

    def _bundle_before(self, handle: BundleHandle) -> Bundle | None:
        if handle._parent is None:
            return self._before
        above = self._bundle_before(handle._parent)
        return above.children.get(handle.name) if above is not None else None


class BundleContents:
    """The bundle of one attribute of a node: `db.inputs.b` or `db.outputs.b`."""

    __slots__ = ("_handle", "_seen", "attribute")

    def __init__(self, attribute: Attribute, seen: dict[Attribute, Bundle]):
        self.attribute, self._seen = attribute, seen
        self._handle: BundleHandle | None = None

    @property
    def read_only(self) -> bool:
        """True for inputs."""
        return self.attribute.port == "inputs"

    @property
    def bundle(self) -> BundleHandle:
        """The root of the tree."""
        value = self.attribute.value
        if self._handle is None or (self.read_only and self._handle._bundle is not value):
            self._handle = BundleHandle(value, self.attribute.base_name, self.attribute, None, self.read_only)
        return self._handle

    @property
    def value(self) -> Bundle:
        """The bundle as a value that never changes."""
        return self.bundle.freeze()

    @property
    def valid(self) -> bool:
        """True if a node has given the bundle."""
        return self.bundle.is_valid()

    @property
    def size(self) -> int:
        """The number of attributes of the root."""
        return self.bundle.get_attribute_count()

    @property
    def attributes(self) -> list[ItemHandle]:
        """The attributes of the root."""
        return self.bundle.get_attributes()

    def attribute_by_name(self, name: str) -> ItemHandle | None:
        """Return an attribute of the root, None for an unknown name."""
        return self.bundle.get_attribute_by_name(name)

    def insert(self, described: tuple[AttributeType | str, str] | ItemHandle) -> ItemHandle:
        """Add an attribute to the root: (type, name), or a copy of one of another bundle."""
        if isinstance(described, ItemHandle):
            return self.bundle.copy_attribute(described)
        kind, name = described
        return self.bundle.create_attribute(name, kind)

    def remove(self, name: str) -> None:
        """Remove an attribute of the root."""
        self.bundle.remove_attribute(name)

    def clear(self) -> None:
        """Remove everything."""
        self.bundle.clear_contents()

    def changes(self) -> BundleChanges:
        """Return the changes since this node looked last: `with db.inputs.b.changes() as changes`."""
        return BundleChanges(self, self._seen)


class BundlePorts:
    """The bundles of one node, and what it saw of them last."""

    __slots__ = ("_contents", "_seen")

    def __init__(self) -> None:
        self._contents: dict[Attribute, BundleContents] = {}
        self._seen: dict[Attribute, Bundle] = {}

    def __iter__(self) -> Iterator[BundleContents]:
        return iter(self._contents.values())

    def contents(self, attribute: Attribute) -> BundleContents:
        """Return the contents of an attribute of type bundle."""
        if attribute not in self._contents:
            self._contents[attribute] = BundleContents(attribute, self._seen)
        return self._contents[attribute]

    def store(self, attribute: Attribute, value: Any) -> None:
        """Give an output a whole bundle, shared with where it comes from. Raises GraphError."""
        if isinstance(value, (BundleContents, BundleHandle)):
            value = value.value if isinstance(value, BundleContents) else value.freeze()
        if not isinstance(value, Bundle):
            raise GraphError(f"{attribute.name} is a bundle and cannot be {type(value).__name__}")
        self._contents.pop(attribute, None)
        if attribute.value is not value:
            attribute.set(value)

    def finish(self) -> None:
        """Let other nodes see the outputs that were written."""
        for attribute, contents in self._contents.items():
            if not contents.read_only and attribute.value is not contents.value:
                attribute.set(contents.value)
