"""Attribute types as types of the kernel language, and attribute values as kernel arguments.

Matrices keep USD's row-vector order: element [i][j] of the attribute is element [i, j] in the kernel. Quaternions are
i, j, k, w on both sides. A bool is an int8 in struct style, as scenes of omni.warp expect; a token is a 64-bit hash.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...lang import types as kt
from ...lang.values.structs import spell
from ...lang.values.type_registry import python_type
from ..values.array_elements import element_type, token_number
from ..values.attribute_types import BASES, AttributeType
from ..values.attribute_values import Value


def struct_element_type(t: AttributeType) -> kt.Type | None:
    """The same for the fields of `Inputs` and `Outputs`."""
    found = element_type(t)
    return kt.I8 if found is kt.BOOL else found


def usd_type(t: kt.Type) -> str | None:
    """Return the name of the plainest USD type that a parameter of type `t` can take, None if USD has none.

    >>> from omni.warp_core.lang import types
    >>> usd_type(types.Array(types.Vec(3, types.F32), 1)), usd_type(types.Mat(4, 4, types.F64))
    ('float3[]', 'matrix4d')
    """
    is_array = isinstance(t, kt.Array)
    element = t.dtype if isinstance(t, kt.Array) else t
    plain = (AttributeType(base, n) for base, info in BASES.items() for n in info.tuples)
    found = next((a for a in plain if element_type(a) is element), None)
    return found.sdf + "[]" * is_array if found else None


def fits(given: kt.Type, wanted: kt.Type) -> bool:
    """True if memory of elements `given` can be viewed as elements `wanted`: equal numbers, arranged alike or flat."""
    if given is wanted or (given is kt.BOOL and wanted in (kt.I8, kt.U8)):
        return True
    same_scalar = kt.element(given) is kt.element(wanted)
    return same_scalar and given.size == wanted.size and not isinstance(given, kt.Mat)


def spelled(t: kt.Type) -> str:
    """A kernel type in the words of the user."""
    return spell(t)


def as_scalar(value: Value, t: AttributeType, wanted: kt.Type) -> Any:
    """A single value as an argument of type `wanted`."""
    if t.base == "token":
        return token_number(value)
    if isinstance(wanted, kt.Scalar):
        if wanted is kt.BOOL:
            return bool(value)
        return float(value) if wanted.is_float else int(value)
    return python_type(wanted)(*np.asarray(value).ravel().tolist())
