"""The options of `@wp.kernel`: which there are, and what they may be. Start with `checked`."""

from __future__ import annotations

from typing import Any

from .errors import nearest
from .threads import MOST_THREADS

_NAMES = (
    "enable_backward",
    "module",
    "lanes",
    "launch_bounds",
    "cuda_max_registers",
    "module_options",
    "grid_stride",
)
_LANES = (1, 2, 4, 8, 16, 32)  # up to two of the widest registers
_REGISTERS = (16, 255)  # that NVIDIA's assembler can keep a thread to


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with `launch_bounds` as a pair: threads of a block, blocks of a multiprocessor or 0.

    Raises:
        TypeError: an option that does not exist, or is no integer where it must be one.
        ValueError: a number that it cannot be.
    """
    for name in options:
        if name not in _NAMES:
            close = nearest(name, _NAMES)
            raise TypeError(f"wp.kernel has no option {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    lanes = options.get("lanes")
    _check("lanes", lanes, _LANES[0], _LANES[-1])
    if lanes is not None and lanes not in _LANES:
        raise ValueError(f"lanes: expected a power of two, got {lanes}; leave it out to let the compiler choose")
    _check("cuda_max_registers", options.get("cuda_max_registers"), *_REGISTERS)
    bounds = options.get("launch_bounds")
    return options if bounds is None else {**options, "launch_bounds": _bounds(bounds)}


def _check(name: str, value: Any, low: int, high: int) -> None:
    if value is not None and type(value) is not int:
        raise TypeError(f"{name}: expected an integer, got {value!r}")
    if value is not None and not low <= value <= high:
        raise ValueError(f"{name}: expected {low} to {high}, got {value}; leave it out to let the compiler choose")


def _bounds(given: Any) -> tuple[int, int]:
    parts = (given,) if isinstance(given, int) else given
    if not isinstance(parts, (tuple, list)) or len(parts) not in (1, 2):
        raise TypeError(f"launch_bounds: expected the threads of a block, or a pair with blocks, got {given!r}")
    for part in parts:
        _check("launch_bounds", part, 1, MOST_THREADS)
    return parts[0], parts[1] if len(parts) == 2 else 0
