"""Spelling of types of the kernel language in stubs: `spell`, and `accepted` for parameters."""

from __future__ import annotations

import omni.warp_core as wp
from omni.warp_core.lang.types import BF16, BOOL, F16, F32, F64, I32, Array, Mat, Scalar, Struct, Type
from omni.warp_core.lang.values.scalars import SCALAR_CLASSES
from omni.warp_core.lang.values.value_classes import NAMED, OLDER_NAMES

# A kernel's float, int and bool are those of Python to a type checker.
PLAIN = {F32: "float", I32: "int", BOOL: "bool"}
FIRST = (F32, F64, F16, BF16, I32)
SCALARS: list[Scalar] = [*FIRST, *(t for t in SCALAR_CLASSES if t not in FIRST and t is not BOOL), BOOL]
_ORDER = {t: i for i, t in enumerate(SCALARS)}
# The longest name of a type is that of its class: vec3f for vec3.
_NOW = sorted((name for name in NAMED if name not in OLDER_NAMES), key=len)
VALUES: dict[Type, str] = {NAMED[name]: name for name in _NOW}
ALIASES: dict[str, str] = {name: VALUES[t] for name, t in NAMED.items() if VALUES[t] != name}
ALIASES["handle"] = wp.handle.__name__


def spell(t: Type) -> str | None:
    """The stub's name of a type; None for one without."""
    if isinstance(t, Scalar):
        return PLAIN.get(t) or SCALAR_CLASSES[t].__name__
    if isinstance(t, Array):
        inner = spell(t.dtype)
        return inner and f"_Array[{inner}]"
    if isinstance(t, Struct):  # in signatures of the library: one that is public
        return t.name
    return VALUES.get(t)


def literal(t: Scalar) -> str:
    """The Python numbers that go with a scalar type."""
    return "float" if t.is_float else "int"


def accepted(t: Type) -> str | None:
    """What a parameter of this type takes: numbers without a type of their own go with each scalar."""
    name = spell(t)
    if name is not None and isinstance(t, Scalar) and t not in PLAIN:
        return f"{name} | {literal(t)}"
    return name


def order(t: Type) -> tuple:
    """A key that puts the types that users write most in front."""
    scalar = t if isinstance(t, Scalar) else getattr(t, "scalar", None)
    return _ORDER.get(scalar, -1) if isinstance(scalar, Scalar) else -1, spell(t) or ""


def kind(t: Type) -> str:
    """A word for the names of type variables."""
    if isinstance(t, Mat):
        return "Matrix"
    return {"Vec": "Vector", "Quat": "Quaternion"}.get(type(t).__name__, type(t).__name__)
