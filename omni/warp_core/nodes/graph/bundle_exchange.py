"""Bundles in and out of a node, in this host and in Kit.

In this host a bundle passes as it is. Kit keeps bundles in its own memory: there the values of a bundle are copied by
the methods of omni.graph.core, whose names `BundleHandle` has too.
"""

from __future__ import annotations

from typing import Any

from ..values.attribute_types import AttributeType, TypeNameError, parse
from ..values.attribute_values import coerce
from ..values.bundles import EMPTY, Bundle, Item, frozen
from .bundle_handles import BundleContents

METADATA = ("interpolation",)  # what the values of prims have


def input_bundle(db: Any, name: str) -> Bundle:
    """Return the bundle of an input, EMPTY if no node gives one."""
    contents = getattr(db.inputs, name)
    held = getattr(contents, "value", None)
    if isinstance(held, Bundle):
        return held
    return copied_in(contents.bundle) if contents.valid else EMPTY


def output_bundle(db: Any, name: str, bundle: Bundle) -> None:
    """Set an output to a bundle. It is left as it is if the bundle is the same object."""
    contents = getattr(db.outputs, name)
    if not isinstance(contents, BundleContents):
        copy_out(bundle, contents.bundle)
    elif contents.value is not bundle:
        setattr(db.outputs, name, bundle)


def copied_in(source: Any) -> Bundle:
    """Return a copy of a bundle of omni.graph.core, without the attributes whose type is unknown here."""
    attributes = {}
    for attribute in source.get_attributes():
        try:
            kind = parse(attribute.get_type().get_ogn_type_name())
        except TypeNameError:
            continue
        name, metadata = attribute.get_name(), {}
        for key in METADATA:
            about = source.get_attribute_metadata_by_name(name, key)
            if about is not None and about.is_valid():
                metadata[key] = Item(parse("token"), about.get())
        attributes[name] = Item(kind, frozen(coerce(attribute.get(), kind)), metadata)
    children = {child.get_name(): copied_in(child) for child in source.get_child_bundles()}
    return Bundle(attributes, children)


def copy_out(bundle: Bundle, target: Any) -> None:
    """Make a bundle of omni.graph.core a copy of a bundle."""
    target.clear_contents()
    for name, item in bundle.attributes.items():
        count = len(item.value) if item.type.is_array else 0
        target.create_attribute(name, _type(item.type), count).set(item.value)
        for key, about in item.metadata.items():
            target.create_attribute_metadata(name, key, _type(about.type)).set(about.value)
    for name, child in bundle.children.items():
        copy_out(child, target.create_child_bundle(name))


def _type(kind: AttributeType) -> Any:
    """Return a type as the host has it."""
    try:
        import omni.graph.core as og  # type: ignore[import-not-found]
    except ImportError:
        return kind
    return og.Controller.attribute_type(str(kind))
