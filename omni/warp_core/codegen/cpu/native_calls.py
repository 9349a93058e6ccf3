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
    "_mesh_farthest": "wc_mesh_farthest",
    "_mesh_winding": "wc_mesh_winding",
    "_mesh_next_in_box": "wc_mesh_next_in_box",
    "_mesh_next_in_sphere": "wc_mesh_next_in_ball",
    "_bvh_next": "wc_bvh_next",
    "_hash_grid_next": "wc_hash_grid_next",
}
# Those that find many results ahead when one lane calls them. The first result is what was found. The others are what
# the last arguments become, the last of which is its number.
_AHEAD = {"_hash_grid_next": "wc_hash_grid_ahead"}
_MOST_AHEAD = 64
_LANE = 8  # bytes of a column for each lane


def name_of(fn: Function) -> str:
    """The name of a function of the library, without its overload. Derivatives, such as `f#0(f32).tangent`, keep it."""
    name, _, overload = fn.name.partition("#")
    return name if overload.endswith(")") or not overload else fn.name


def emit_native_call(caller: FunctionEmitter, fn: Function, args: list[Value]) -> list[LaneValue]:
    """Call the native function that stands for `fn`. If all arguments are uniform, so are the results."""
    operands = [v for a in args for v in caller.get(a)]
    results: list[Leaf] = [leaf for t in fn.results for _, leaf in memory_leaves(t)]
    n = caller.lanes.width(*operands)
    texts = (_ahead if n == 1 and name_of(fn) in _AHEAD else _call)(caller, name_of(fn), operands, results, n)
    return [caller.lanes.result(leaf, text, n) for leaf, text in zip(results, texts)]


def _call(caller: FunctionEmitter, name: str, operands: list[LaneValue], results: list[Leaf], n: int) -> list[str]:
    buffer = _Buffer(caller, len(operands) + len(results), n)
    buffer.write(operands)
    caller.shared.declare(f"declare void @{SYMBOLS[name]}(i64, i64, ptr)")
    caller.w.do(f"call void @{SYMBOLS[name]}(i64 {_lane_bits(caller, n)}, i64 {n}, ptr {buffer.at})")
    return buffer.read(results, len(operands))


def _ahead(caller: FunctionEmitter, name: str, operands: list[LaneValue], results: list[Leaf], n: int) -> list[str]:
    """Take a result that was found ahead. Where it was not, call native code, which is rare."""
    w, buffer, symbol = caller.w, _Buffer(caller, len(operands) + len(results), n), _AHEAD[name]
    found = w.alloca(f"{{ i64, i64, [{_MOST_AHEAD + 2} x i32], [8 x i32] }}, align 64")
    w.allocas.append(f"  store <2 x i64> zeroinitializer, ptr {found}, align 64")
    kept = [v.text for v in operands[1 - len(results) :]]
    first, count = w.inst(f"load i64, ptr {found}"), w.inst(f"getelementptr i8, ptr {found}, i64 8")
    place = w.inst(f"sub i64 {kept[-1]}, {first}")
    is_there = w.inst(f"icmp ult i64 {place}, {w.inst(f'load i64, ptr {count}')}")

    def take() -> list[str]:
        index = w.inst(f"getelementptr {{ i64, i64, [1 x i32] }}, ptr {found}, i64 0, i32 2, i64 {place}")
        return [w.inst(f"load i32, ptr {index}"), *kept[:-1], w.inst(f"add i64 {kept[-1]}, 1")]

    def call() -> list[str]:
        buffer.write(operands)
        caller.shared.declare(f"declare void @{symbol}(ptr, ptr) cold")
        w.do(f"call void @{symbol}(ptr {buffer.at}, ptr {found})")
        return buffer.read(results, len(operands))

    return w.either(is_there, (take, call), [llvm_type(leaf) for leaf in results])


class _Buffer:
    """The memory in which native code finds arguments, and writes results."""

    def __init__(self, caller: FunctionEmitter, columns: int, n: int):
        self.w, self.lanes, self.n = caller.w, caller.lanes, n
        self.at = self.w.alloca(f"[{columns * n} x i64], align 64")

    def _column(self, number: int) -> str:
        return self.w.inst(f"getelementptr i8, ptr {self.at}, i64 {number * self.n * _LANE}")

    def write(self, operands: list[LaneValue]) -> None:
        for i, v in enumerate(operands):
            text = f"{llvm_type(v.type, self.n)} {self.lanes.operand(v, self.n)}"
            self.w.do(f"store {text}, ptr {self._column(i)}, align {_LANE}")

    def read(self, results: list[Leaf], column: int) -> list[str]:
        return [
            self.w.inst(f"load {llvm_type(leaf, self.n)}, ptr {self._column(i)}, align {_LANE}")
            for i, leaf in enumerate(results, column)
        ]


def _lane_bits(caller: FunctionEmitter, n: int) -> str:
    if n == 1 or caller.mask is None:
        return str((1 << n) - 1)
    return caller.w.inst(f"zext i{n} {caller.lanes.mask_bits(caller.mask)} to i64")
