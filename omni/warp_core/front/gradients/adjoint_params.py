"""The type of `wp.adjoint[x]` for a parameter `x` of each type."""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Value
from ...lang.array_structs.array_struct_types import indexed_array
from ...lang.types import Array, Struct, Type, leaves


def has_adjoint(t: Type) -> bool:
    """True if `wp.adjoint` has something for parameters of this type."""
    return t.is_differentiable or any(isinstance(leaf, Array) for _, leaf in leaves(t))


def first_adjoint(b: Builder, value: Value) -> Value:
    """Return the initial value of `wp.adjoint[x]`, where `x` has this value: zero, or the gradient of an array."""
    t = value.type
    if isinstance(t, Array):
        return b.op("grad", value)
    if not isinstance(t, Struct) or not any(isinstance(leaf, Array) for _, leaf in leaves(t)):
        return b.zero(t)
    fields = [b.op("extract", value, attr=i) for i in range(len(t.fields))]
    if indexed_array(t) is not None:
        return b.op("make", b.op("grad", fields[0]), *fields[1:], attr=t)
    return b.op("make", *(first_adjoint(b, x) for x in fields), attr=t)
