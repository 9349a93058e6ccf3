"""`wp.utils`: parallel algorithms on arrays. Each function's own module is in omni/warp_core/algo."""

from __future__ import annotations

from .algo.cast import array_cast
from .algo.reduce import array_inner, array_sum
from .algo.scan import array_scan, runlength_encode
from .algo.sort import radix_sort_pairs, segmented_sort_pairs
from .older_names import in_module

__all__ = [
    "array_cast",
    "array_inner",
    "array_scan",
    "array_sum",
    "radix_sort_pairs",
    "runlength_encode",
    "segmented_sort_pairs",
]

__getattr__ = in_module(__name__)
