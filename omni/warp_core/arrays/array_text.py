"""The text of an array for the prompt and debuggers: as NumPy's, short, with element type and device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_MOST_SHOWN = 60  # numbers; of larger arrays, the first and last three of each dimension
_MOST_COPIED = 4096  # elements that are copied from a GPU to be shown


def array_text(
    name: str, dtype: str, shape: tuple[Any, ...], size: int, device: Any, numbers: Callable[[], np.ndarray]
) -> str:
    """Return the text of an array.

    Args:
        name: the class.
        dtype: the name of the element type.
        shape: the extents, or in annotations what they stand for.
        size: the number of elements.
        device: where the elements are. Those on a GPU are shown if they are few and no capture is active.
        numbers: returns the elements.
    """
    told = f"dtype={dtype}, device={device}"
    if size == 0 or (device.is_cuda and (size > _MOST_COPIED or device.is_capturing)):
        return f"{name}(shape={shape}, {told})"
    found = numbers()
    shown = np.array2string(
        found, separator=", ", prefix=f"{name}(", threshold=_MOST_SHOWN, edgeitems=3, max_line_width=100
    )
    if found.size > _MOST_SHOWN:
        told = f"shape={shape}, {told}"
    last = shown.rpartition("\n")[2]
    separator = ",\n" + " " * (len(name) + 1) if len(last) + len(told) > 98 else ", "
    return f"{name}({shown}{separator}{told})"
