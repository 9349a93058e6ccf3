"""The limits that a description puts on values: allowed tokens, minimum and maximum. Start with `beyond`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..values.attribute_types import AttributeType
from ..values.attribute_values import Value, coerce

if TYPE_CHECKING:
    from .ogn_spec import AttributeSpec


def beyond(spec: AttributeSpec, value: Value) -> str:
    """Return which limit of an attribute a value of its type does not keep, "" if it keeps all."""
    if spec.allowed_tokens:
        tokens = (value,) if isinstance(value, str) else value
        for token in () if tokens is None else tokens:
            if token not in spec.allowed_tokens:
                return f"{token!r} is not among the allowed tokens {', '.join(spec.allowed_tokens)}"
    for word, bound in (("minimum", spec.minimum), ("maximum", spec.maximum)):
        if bound is not None and spec.type.is_numeric and is_beyond(word, bound, spec.type, value):
            return f"{_short(value)} lies beyond the {word} {bound}"
    return ""


def is_beyond(word: str, bound: Any, kind: AttributeType, value: Value) -> bool:
    """True if a number of a value is less than a minimum, or more than a maximum. Raises ValueTypeError."""
    numbers, limit = np.asarray(value), np.asarray(coerce_limit(bound, kind))
    return not np.all(numbers >= limit if word == "minimum" else numbers <= limit)


def coerce_limit(value: Any, kind: AttributeType) -> Value:
    """A minimum or maximum: one number for all components, or one for each. Raises ValueTypeError."""
    scalar = AttributeType(kind.base)
    if kind.shape and not isinstance(value, list):
        return np.full(kind.shape, coerce(value, scalar))
    return coerce(value, kind.element if kind.shape else scalar)


def _short(value: Value) -> str:
    text = str(np.asarray(value).tolist())
    return text if len(text) <= 80 else f"{text[:77]}..."
