"""`wp.utils`: parallel algorithms on arrays, colours of graphs. Most functions have a module in omni/warp_core/algo."""

from __future__ import annotations

from .algo.cast import array_cast
from .algo.graph_coloring import (
    GraphColoringAlgorithm,
    graph_coloring_assign,
    graph_coloring_balance,
    graph_coloring_get_groups,
)
from .algo.reduce import array_inner, array_sum
from .algo.scan import array_scan, runlength_encode
from .algo.sort import radix_sort_pairs, segmented_sort_pairs
from .lang.python_function import create_warp_function
from .older_names import in_module

__all__ = [
    "GraphColoringAlgorithm",
    "array_cast",
    "array_inner",
    "array_scan",
    "array_sum",
    "create_warp_function",
    "graph_coloring_assign",
    "graph_coloring_balance",
    "graph_coloring_get_groups",
    "radix_sort_pairs",
    "runlength_encode",
    "segmented_sort_pairs",
]

__getattr__ = in_module(__name__)
