"""Checks of fields, thresholds and the bounds of grids."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import vec3
from ...algo.argument_checks import require_elements
from ...lang.types import F32

_LARGEST = float(np.finfo(np.float32).max)


def check_field(field: Any) -> None:
    """Raise TypeError, ValueError unless a field has three dimensions of float32 with cells between its nodes."""
    require_elements("field", field, F32)
    if field.ndim != 3 or min(field.shape) < 2:
        raise ValueError(f"field: expected three dimensions of at least two nodes each, got shape {field.shape}")


def level(threshold: Any) -> float:
    """The threshold as a number that float32 can hold. Raises TypeError, ValueError."""
    return number_of("threshold", threshold)


def number_of(name: str, value: Any) -> float:
    """A number that float32 can hold. Raises TypeError, ValueError."""
    if not is_finite(name, "a number", value):
        raise ValueError(f"{name}: expected a finite number of float32, got {value}")
    return float(value)


def spacing(shape: Sequence[int], lower: Any, upper: Any) -> tuple[vec3, vec3]:
    """Return the place of the first node, and the distances of nodes."""
    last = [n - 1 for n in shape]
    first = [0.0, 0.0, 0.0] if lower is None else corner("lower", lower)
    end = [float(n) for n in last] if upper is None else corner("upper", upper)
    return vec3(*first), vec3(*((b - a) / max(n, 1) for a, b, n in zip(first, end, last, strict=True)))


def corner(name: str, value: Any) -> list[float]:
    """Three numbers. Raises TypeError, ValueError."""
    if not isinstance(value, Iterable):
        raise TypeError(f"{name}: expected three numbers, got {value!r}")
    numbers = [*value]
    if len(numbers) != 3 or not all(is_finite(name, "three numbers", x) for x in numbers):
        raise ValueError(f"{name}: expected three finite numbers of float32, got {value!r}")
    return [float(x) for x in numbers]


def is_finite(name: str, what: str, value: Any) -> bool:
    """True if float32 holds a number. Raises TypeError for other values."""
    try:
        return bool(math.isfinite(value) and abs(float(value)) <= _LARGEST)
    except TypeError:
        raise TypeError(f"{name}: expected {what}, got {value!r}") from None
