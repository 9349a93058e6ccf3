"""Functions of upper layers that lower layers call. Each is loaded at its first call.

Two reasons bring a function here: its module stands above its caller, or most processes never need it (a launch of a
cached kernel needs neither the front end nor gradients). Start with `ROWS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

# Name -> module and function.
ROWS = {
    "options_changed": ("launches.plans", "forget_current"),
    "load_kernels": ("launches.modules", "load_kernels"),
    "unload_kernels": ("launches.modules", "unload_kernels"),
    "advance_queries": ("front.query_loops", "advance_queries"),
    "content_hash": ("front.content_hash", "digest"),
    "callee_adjoint": ("autodiff.vjp.adjoint", "callee_adjoint"),
    "library_gradient": ("front.gradients.library_rules", "library_gradient"),
    "bit_count": ("lib.bits", "bit_count"),
    "trailing_zeros": ("lib.bits", "trailing_zeros"),
    "next_after": ("lib.bits", "next_after"),
    "called_definitions": ("front.content_hash", "definitions"),
    "begin_tile_boxes": ("lib.tiles.tile_queries", "begin_box"),
    "begin_tile_ray": ("lib.tiles.tile_queries", "begin_ray"),
    "begin_tile_faces": ("lib.tiles.tile_queries", "begin_faces"),
    "next_tile_results": ("lib.tiles.tile_queries", "next_results"),
    "call_builtin": ("eager.call", "call"),
    "compile_builtin": ("eager.jit", "compile_call"),
    "tile_type": ("lang.arrays", "tile_type"),
    "ctypes_array": ("lang.values.ctypes_views", "array_class"),
    "ctype_of": ("lang.values.ctypes_views", "ctype_of"),
    "value_at": ("lang.values.ctypes_views", "value_at"),
    "memory_kind": ("arrays.memory_kind", "memory_kind"),
    "track_memory": ("arrays.memory_tracker", "switch"),
    "device_of": ("devices.device", "device_of"),
    "gpu_plan_maker": ("launches.plan_cuda", "GpuPlanMaker"),
    "interpret": ("interpreter.run", "run"),
    "interpreted_launch": ("launches.interpreted_launch", "InterpretedLaunch"),
    "launch_adjoint": ("tape.adjoint_launch", "launch_adjoint"),
    "check_untracked": ("interop.foreign_values", "check_untracked"),
    "check_usable": ("interop.foreign_values", "check_usable"),
    "play_graphs": ("nodes.play.graph_player", "open_player"),
    "work_on_kit_stage": ("nodes.scene.kit_stage", "work_on_kit_stage"),
    "work_on_kit_graph": ("nodes.scene.kit_graph", "work_on_kit_graph"),
    "draw_tape": ("viz.draw", "draw_tape"),
    "array_operator": ("algo.map", "Mapping"),
    "matrix_product": ("algo.matmul", "product"),
    "sparse_added": ("sparse.combination", "added"),
    "sparse_axpy": ("sparse.combination", "bsr_axpy"),
    "sparse_copy": ("sparse.combination", "bsr_copy"),
    "sparse_mm": ("sparse.matrix_product", "bsr_mm"),
    "sparse_mv": ("sparse.vector_product", "bsr_mv"),
    "sparse_scale": ("sparse.combination", "bsr_scale"),
    "sparse_transposed": ("sparse.transposition", "bsr_transposed"),
    "copy_by_kernel": ("algo.gpu.array_kernels", "copy"),
    "compare_by_kernel": ("algo.gpu.array_kernels", "same"),
    "cast_on_gpu": ("algo.gpu.cast", "convert"),
    "reduce_on_gpu": ("algo.gpu.reduce", "reduce"),
    "scan_on_gpu": ("algo.gpu.scan", "scan"),
    "runlength_encode_on_gpu": ("algo.gpu.run_length", "runlength_encode"),
    "sort_pairs_on_gpu": ("algo.gpu.sort", "radix_sort_pairs"),
    "sort_segments_on_gpu": ("algo.gpu.sort", "segmented_sort_pairs"),
    "add_by_kernel": ("algo.gpu.array_kernels", "add"),
    "add_product_by_kernel": ("algo.gpu.array_kernels", "add_product"),
}


@cache
def late(name: str) -> Callable[..., Any]:
    """Return the function of a row, its module loaded."""
    module, function = ROWS[name]
    return getattr(importlib.import_module(f"{__package__}.{module}"), function)
