"""Calls of library functions that native code runs on CPUs. One call does the work of all active lanes.

Native code gets a mask of lanes, the number of lanes and a buffer. The buffer has a column for each number of the
arguments, then a column for each number of the results. A column has 8 bytes for each lane, and starts with the numbers
of all lanes side by side. The functions are in native/src, and native/src/launches/runtime_symbols.cpp lists them.
"""

from __future__ import annotations

from ...ir.nodes import Function, Value
from ..function import FunctionEmitter
from ..lane_values import LaneValue
from ..memory_access import memory_leaves
from ..writer import Leaf, llvm_type

# The native function for a function of the library. Both give the same results.
SYMBOLS = {
    "_mesh_first_hit": "wc_mesh_first_hit",
    "_mesh_crossings": "wc_mesh_crossings",
    "_mesh_closest": "wc_mesh_closest",
    "_mesh_winding": "wc_mesh_winding",
    "_mesh_next_in_box": "wc_mesh_next_in_box",
    "_mesh_next_in_sphere": "wc_mesh_next_in_ball",
    "_bvh_next": "wc_bvh_next",
}
_LANE = 8  # bytes of a column for each lane


def name_of(fn: Function) -> str:
    """The name of a function of the library, without its overload. Derivatives, such as `f#0(f32).tangent`, keep it."""
    name, _, overload = fn.name.partition("#")
    return name if overload.endswith(")") or not overload else fn.name


def emit_native_call(caller: FunctionEmitter, fn: Function, args: list[Value]) -> list[LaneValue]:
    """Call the native function that stands for `fn`. If all arguments are uniform, so are the results."""
    w, operands = caller.w, [v for a in args for v in caller.get(a)]
    n = caller.lanes.width(*operands)
    results: list[Leaf] = [leaf for t in fn.results for _, leaf in memory_leaves(t)]
    buffer = w.alloca(f"[{(len(operands) + len(results)) * n} x i64], align 64")

    def column(number: int) -> str:
        return w.inst(f"getelementptr i8, ptr {buffer}, i64 {number * n * _LANE}")

    for i, v in enumerate(operands):
        w.do(f"store {llvm_type(v.type, n)} {caller.lanes.operand(v, n)}, ptr {column(i)}, align {_LANE}")
    caller.shared.declare(f"declare void @{SYMBOLS[name_of(fn)]}(i64, i64, ptr)")
    w.do(f"call void @{SYMBOLS[name_of(fn)]}(i64 {_lane_bits(caller, n)}, i64 {n}, ptr {buffer})")
    found = []
    for i, leaf in enumerate(results, len(operands)):
        text = w.inst(f"load {llvm_type(leaf, n)}, ptr {column(i)}, align {_LANE}")
        found.append(caller.lanes.result(leaf, text, n))
    return found


def _lane_bits(caller: FunctionEmitter, n: int) -> str:
    if n == 1 or caller.mask is None:
        return str((1 << n) - 1)
    return caller.w.inst(f"zext i{n} {caller.lanes.mask_bits(caller.mask)} to i64")
