"""The attribute types of OmniGraph: their names in `.ogn` files and in USD, and their NumPy form.

A type is written `base`, `base[N]` (tuple), `base[]` (array) or `base[N][]`. Everything that differs between bases is a
row of `BASES`; start there. `parse` reads a name, `from_sdf` finds the type of a USD attribute.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from .kit_types import SCALARS, AttributeRole, BaseDataType


@dataclass(frozen=True)
class Base:
    """Properties of a base name: tuple sizes, arrays, its NumPy scalar (None: not numeric) and its USD spelling."""

    tuples: tuple[int, ...]
    arrays: bool
    scalar: str | None
    sdf: str
    role: str = ""


_NUMBER = (1, 2, 3, 4)
BASES: dict[str, Base] = {
    "bool": Base((1,), True, "bool", "bool"),
    "uchar": Base((1,), True, "uint8", "uchar"),
    "int": Base(_NUMBER, True, "int32", "int{n}"),
    "uint": Base((1,), True, "uint32", "uint"),
    "int64": Base((1,), True, "int64", "int64"),
    "uint64": Base((1,), True, "uint64", "uint64"),
    "half": Base(_NUMBER, True, "float16", "half{n}"),
    "float": Base(_NUMBER, True, "float32", "float{n}"),
    "double": Base(_NUMBER, True, "float64", "double{n}"),
    "token": Base((1,), True, None, "token"),
    "string": Base((1,), False, None, "string", "text"),
    "path": Base((1,), False, None, "string", "path"),
    "objectId": Base((1,), True, "uint64", "uint64", "object_id"),
    "timecode": Base((1,), True, "float64", "timecode", "timecode"),
    "execution": Base((1,), False, "uint32", "uint", "execution"),
    "bundle": Base((1,), False, None, "rel", "bundle"),
    "target": Base((1,), False, None, "rel", "target"),
    "any": Base((1,), False, None, "token"),
    "matrixd": Base((2, 3, 4), True, "float64", "matrix{n}d", "matrix"),
    "frame": Base((4,), True, "float64", "frame4d", "frame"),
    "transform": Base((4,), True, "float64", "frame4d", "transform"),
}
for _letter, _scalar in (("h", "float16"), ("f", "float32"), ("d", "float64")):
    BASES[f"color{_letter}"] = Base((3, 4), True, _scalar, f"color{{n}}{_letter}", "color")
    BASES[f"normal{_letter}"] = Base((3,), True, _scalar, f"normal{{n}}{_letter}", "normal")
    BASES[f"point{_letter}"] = Base((3,), True, _scalar, f"point{{n}}{_letter}", "position")
    BASES[f"vector{_letter}"] = Base((3,), True, _scalar, f"vector{{n}}{_letter}", "vector")
    BASES[f"texcoord{_letter}"] = Base((2, 3), True, _scalar, f"texCoord{{n}}{_letter}", "texcoord")
    BASES[f"quat{_letter}"] = Base((4,), True, _scalar, f"quat{_letter}", "quaternion")

MATRICES = frozenset({"matrixd", "frame", "transform"})
TEXT = frozenset({"token", "string", "path"})
NAME = re.compile(r"(?P<base>[A-Za-z_]\w*)(?:\[(?P<tuple>\d{1,3})\])?(?P<array>\[\])?")


class TypeNameError(ValueError):
    """A type name that no attribute can have."""


@dataclass(frozen=True)
class AttributeType:
    """One attribute type. `members` holds the alternatives of a union, whose base is "any"."""

    base: str
    count: int = 1
    is_array: bool = False
    members: tuple[AttributeType, ...] = ()

    @property
    def info(self) -> Base:
        """The row of `BASES`."""
        return BASES[self.base]

    @property
    def is_any(self) -> bool:
        """True if the type is resolved at run time (`any` and unions)."""
        return self.base == "any"

    @property
    def is_execution(self) -> bool:
        """True if this is the type of execution connections."""
        return self.base == "execution"

    @property
    def is_text(self) -> bool:
        """True if the value (or each element) is a text."""
        return self.base in TEXT

    @property
    def is_paths(self) -> bool:
        """True if the value is a list of prim paths, held by a USD relationship."""
        return self.base == "target"

    @property
    def is_bundle(self) -> bool:
        """True if the value is a bundle; USD holds its connections in a relationship."""
        return self.base == "bundle"

    @cached_property
    def is_plain(self) -> bool:
        """True if USD holds the value in an attribute of this type: no relationship, nothing resolved at run time."""
        return not (self.is_any or self.is_execution or self.is_paths or self.is_bundle)

    @property
    def is_numeric(self) -> bool:
        """True if the value is made of numbers."""
        return self.info.scalar is not None and not self.is_execution

    @cached_property
    def dtype(self) -> np.dtype:
        """NumPy type of one number of the value."""
        return np.dtype(self.info.scalar)

    @cached_property
    def scalar_range(self) -> tuple[type, Any, Any] | None:
        """Python's type of a scalar number with its least and greatest finite value; None for other values."""
        if not self.is_numeric or self.is_array or self.shape:
            return None
        if self.dtype.kind == "b":
            return bool, False, True
        if self.dtype.kind == "f":
            return float, float(np.finfo(self.dtype).min), float(np.finfo(self.dtype).max)
        return int, int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one element: () for scalars, (n,) for tuples, (n, n) for matrices."""
        if self.base in MATRICES:
            return (self.count, self.count)
        return (self.count,) if self.count > 1 else ()

    @property
    def element(self) -> AttributeType:
        """The type of one element of an array; the type itself otherwise."""
        return AttributeType(self.base, self.count) if self.is_array else self

    @property
    def sdf(self) -> str:
        """Name of the type in USD, "rel" for those that USD holds in a relationship."""
        name = self.info.sdf.replace("{n}", "" if self.count == 1 else str(self.count))
        return name + ("[]" if self.is_array else "")

    # The spellings of og.Type, so that nodes run in both hosts.

    def get_ogn_type_name(self) -> str:
        """The name in a `.ogn` file, as in Kit."""
        return str(self)

    @property
    def base_type(self) -> BaseDataType:
        """What the value is made of, as in Kit: UNKNOWN as long as the type is open; texts are arrays of bytes."""
        if self.is_any:
            return BaseDataType["UNKNOWN"]
        if self.base in ("string", "path"):
            return BaseDataType["UCHAR"]
        scalar = self.info.scalar
        return BaseDataType[SCALARS[scalar] if scalar else "RELATIONSHIP" if self.is_paths else "TOKEN"]

    @property
    def tuple_count(self) -> int:
        """How many numbers one element has, as in Kit: 16 for a 4 x 4 matrix."""
        return self.count**2 if self.base in MATRICES else self.count

    @property
    def array_depth(self) -> int:
        """1 for arrays and texts, else 0, as in Kit."""
        return int(self.is_array or self.base in ("string", "path"))

    @property
    def role(self) -> AttributeRole:
        """What the numbers mean, as in Kit."""
        return AttributeRole["UNKNOWN" if self.is_any else self.info.role.upper() or "NONE"]

    def __str__(self) -> str:
        if self.members:
            return "[" + ", ".join(map(str, self.members)) + "]"
        return self.base + (f"[{self.count}]" if self.count > 1 else "") + ("[]" if self.is_array else "")


ANY = AttributeType("any")
BUNDLE = AttributeType("bundle")
EXECUTION = AttributeType("execution")
TOKEN = AttributeType("token")
BOOL = AttributeType("bool")


@cache
def parse(name: str) -> AttributeType:
    """The type called `name` in a `.ogn` file. Raises TypeNameError saying what is wrong."""
    found = NAME.fullmatch(name.replace(" ", ""))
    if not found or found["base"] not in BASES:
        raise TypeNameError(f"there is no attribute type {name!r}")
    base, info = found["base"], BASES[found["base"]]
    count = int(found["tuple"] or info.tuples[0] if info.tuples[0] == 1 or found["tuple"] else 0)
    if count not in info.tuples:
        sizes = ", ".join(f"{base}[{n}]" if n > 1 else base for n in info.tuples)
        raise TypeNameError(f"{name!r}: {base} does not have this size; its sizes are {sizes}")
    if found["array"] and not info.arrays:
        raise TypeNameError(f"{name!r}: {base} cannot be an array")
    return AttributeType(base, count, bool(found["array"]))


def _numeric(bases: str) -> tuple[AttributeType, ...]:
    return tuple(AttributeType(b) for b in bases.split())


def _tuples(types: tuple[AttributeType, ...]) -> tuple[AttributeType, ...]:
    found = []
    for base, info in BASES.items():
        if base not in MATRICES and info.scalar in {str(t.dtype) for t in types}:
            found += [AttributeType(base, n) for n in info.tuples if n > 1]
    return tuple(found)


def _arrays(types: tuple[AttributeType, ...]) -> tuple[AttributeType, ...]:
    return tuple(AttributeType(t.base, t.count, True) for t in types)


def _union_groups() -> dict[str, tuple[AttributeType, ...]]:
    groups = {"bool": _numeric("bool"), "strings": _numeric("token string")}
    scalers = {"integral": _numeric("uchar int uint int64 uint64"), "decimal": _numeric("half float double timecode")}
    scalers["numeric"] = scalers["integral"] + scalers["decimal"]
    for kind, scalars in scalers.items():
        elements = scalars + _tuples(scalars)
        groups |= {
            f"{kind}_scalers": scalars,
            f"{kind}_tuples": _tuples(scalars),
            f"{kind}_array_elements": elements,
            f"{kind}_arrays": _arrays(elements),
        }
    groups["numerics"] = groups["numeric_array_elements"] + groups["numeric_arrays"]
    groups["matrices"] = (*(AttributeType("matrixd", n) for n in (2, 3, 4)), AttributeType("frame", 4))
    groups["transforms"] = (AttributeType("frame", 4), AttributeType("transform", 4))
    groups["array_elements"] = groups["numeric_array_elements"] + groups["matrices"] + groups["bool"] + (TOKEN,)
    groups["arrays"] = _arrays(groups["array_elements"])
    return groups


UNION_GROUPS = _union_groups()


def parse_union(names: list) -> AttributeType:
    """The union of the types and groups in `names`. Raises TypeNameError."""
    members: list[AttributeType] = []
    for name in names:
        if not isinstance(name, str):
            raise TypeNameError(f"expected the name of a type in a union, got {name!r}")
        if name in UNION_GROUPS and name != "bool":
            members += UNION_GROUPS[name]
        else:
            members.append(parse(name))
    if not members:
        raise TypeNameError("a union needs at least one type")
    return AttributeType("any", members=tuple(dict.fromkeys(members)))


def _all_types() -> list[AttributeType]:
    plain = [AttributeType(b, n) for b, info in BASES.items() for n in info.tuples if info.sdf != "rel"]
    return plain + [AttributeType(t.base, t.count, True) for t in plain if t.info.arrays]


_BY_SDF: dict[str, AttributeType] = {}
for _type in _all_types():
    _BY_SDF.setdefault(_type.sdf, _type)  # the first row wins: `uint64` is uint64, not objectId
# What OmniGraph holds as tokens, as it has no types for files and arrays of strings; USD keeps its own type.
HELD_AS_TOKENS = {name: AttributeType("token", 1, name.endswith("[]")) for name in ("asset", "asset[]", "string[]")}
_BY_SDF |= HELD_AS_TOKENS


def from_sdf(name: str) -> AttributeType | None:
    """The attribute type for a USD type name such as "point3f[]", None when OmniGraph has none."""
    return _BY_SDF.get(name)
