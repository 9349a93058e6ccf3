"""Bundles of the simulated Kit, with the methods of og.IBundle2 that are public, and Kit's nodes for prims."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
from pxr import Usd, UsdGeom

ROLES = {"point": "point", "vector": "vector", "normal": "normal", "color": "color", "texCoord": "texcoord"}


def ogn_name(sdf):
    """The name that .ogn files have for a type of USD: point3f[] is pointf[3][]."""
    base, array = sdf.removesuffix("[]"), "[]" if sdf.endswith("[]") else ""
    for usd, ogn in ROLES.items():
        if base.startswith(usd) and base[-1:] in "hfd":
            return f"{ogn}{base[-1]}[{base[len(usd)]}]{array}"
    if base.startswith("matrix"):
        return f"matrixd[{base[6]}]{array}"
    if base.startswith("quat"):
        return f"{base}[4]{array}"
    is_tuple = base[-1:] in "234" and base[:-1] in ("int", "half", "float", "double")
    return (f"{base[:-1]}[{base[-1]}]" if is_tuple else base) + array


class Type:
    """og.Type, by its name."""

    def __init__(self, name):
        self.name = name

    def get_ogn_type_name(self):
        return self.name


class AttributeData:
    """og.AttributeData: Kit keeps a copy of what is set."""

    def __init__(self, name, kind):
        self.name, self.type, self.value = name, kind, None

    def get_name(self):
        return self.name

    def get_type(self):
        return self.type

    def is_valid(self):
        return True

    def get(self):
        return self.value

    def set(self, value):
        self.value = value.copy() if isinstance(value, np.ndarray) else value


class Bundle:
    """og.IBundle2."""

    def __init__(self, name=""):
        self.name, self.attributes, self.metadata, self.children = name, {}, {}, {}

    def get_name(self):
        return self.name

    def clear_contents(self):
        self.attributes, self.metadata, self.children = {}, {}, {}

    def create_attribute(self, name, kind, element_count=0):
        return self.attributes.setdefault(name, AttributeData(name, kind))

    def create_attribute_metadata(self, name, key, kind, element_count=0):
        return self.metadata.setdefault((name, key), AttributeData(key, kind))

    def create_child_bundle(self, name):
        return self.children.setdefault(name, Bundle(name))

    def get_attributes(self):
        return list(self.attributes.values())

    def get_attribute_by_name(self, name):
        return self.attributes.get(name)

    def get_attribute_metadata_by_name(self, name, key):
        return self.metadata.get((name, key))

    def get_child_bundles(self):
        return list(self.children.values())


class Contents:
    """og.BundleContents."""

    def __init__(self, bundle=None):
        self.bundle = bundle

    @property
    def valid(self):
        return self.bundle is not None


def read_prims(stage, paths, frame):
    """ReadPrimsV2 without patterns: a child bundle for each prim."""
    made = Bundle()
    for number, path in enumerate(paths):
        prim, child = stage.GetPrimAtPath(path), made.create_child_bundle(f"prim{number}")
        for attribute in prim.GetAttributes():
            value = attribute.Get(frame)
            if value is None:
                continue
            name, kind = attribute.GetName(), ogn_name(str(attribute.GetTypeName()))
            is_text = kind.partition("[")[0] in ("token", "string", "asset")
            value = (list(value) if kind.endswith("[]") else str(value)) if is_text else np.array(value)
            child.create_attribute(name, Type(kind)).set(value)
            if interpolation := attribute.GetMetadata("interpolation"):
                child.create_attribute_metadata(name, "interpolation", Type("token")).set(interpolation)
        child.create_attribute("sourcePrimPath", Type("token")).set(path)
        child.create_attribute("sourcePrimType", Type("token")).set(str(prim.GetTypeName()))
        world = UsdGeom.XformCache(frame).GetLocalToWorldTransform(prim)
        child.create_attribute("worldMatrix", Type("matrixd[4]")).set(np.array(world))
    return made


def written_prims(bundle, targets, names):
    """WritePrimsV2 with one target for each prim: yields target, name of the attribute, value."""
    wanted, _, excluded = (names or "*").partition("^")
    for child, target in zip(bundle.get_child_bundles(), targets, strict=True):
        for attribute in child.get_attributes():
            name = attribute.get_name()
            is_about = name.startswith(("sourcePrim", "bbox")) or name == "worldMatrix"
            fits = any(fnmatchcase(name, pattern) for pattern in wanted.split())
            if fits and not is_about and not any(fnmatchcase(name, pattern) for pattern in excluded.split()):
                yield target, name, attribute.get()


def camera_position(stage, path, frame):
    """GetCameraPosition."""
    prim = stage.GetPrimAtPath(path)
    return np.array(UsdGeom.XformCache(Usd.TimeCode(frame)).GetLocalToWorldTransform(prim))[3, :3]
