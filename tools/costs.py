"""Cost of each library function: `python tools/costs.py` writes tests/lib/costs.txt, which is reviewed like code.

A row for each function and its common types: operations after the passes, and lines of LLVM assembly for AVX2 of a
kernel that applies the function to arrays. For the reader only, it also has the milliseconds of processor time that
compiling the kernel took, rounded to powers of two. tests/lib/test_costs.py fails when numbers change unnoticed. All is
lowered from source, so it does not matter whether there is a pack of lowered functions. Start with `measure`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from omni.warp_core.build_library_pack import instances
from omni.warp_core.codegen import toolchain
from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions, emit_cpu
from omni.warp_core.codegen.target import x86
from omni.warp_core.front import library
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.clone import op_count
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang.types import F32, F64, I32, Array, Type, element
from omni.warp_core.passes import pipeline

FILE = Path(__file__).resolve().parent.parent / "tests" / "lib" / "costs.txt"
TARGET = x86("avx2")
COMMAND = "python tools/costs.py"


class Cost(NamedTuple):
    """Of one function with its callees."""

    operations: int
    lines: int

    def __str__(self) -> str:
        return f"{self.operations:6} {self.lines:6}"


@contextmanager
def _without_pack() -> Iterator[None]:
    lookup, known = library.pack_lookup, dict(library._instances)
    library.pack_lookup = None
    library._instances.clear()
    try:
        yield
    finally:
        library.pack_lookup = lookup
        library._instances.update(known)


def functions() -> list[tuple[str, Function]]:
    """Every library function in its common types: (name with types, IR)."""
    with _without_pack():
        return [
            (library.instance_key(builtin, index, types, {}), library.instantiate(builtin, index, types).function)
            for builtin, index, types in instances()
            if not builtin.name.startswith("_") and _common(types)
        ]


def _common(types: tuple[Type, ...]) -> bool:
    """Whether floats are of one precision, and nothing but scalars is made of integers."""
    scalars = {element(t) for t in types}
    return not scalars >= {F32, F64} and all(t is I32 or element(t) is not I32 for t in types)


def kernel(function: Function) -> Function:
    """A kernel that applies `function` to the elements of arrays."""
    inputs = [Value(Array(p.type), name=f"x{k}") for k, p in enumerate(function.params)]
    outputs = [Value(Array(t), name=f"y{k}") for k, t in enumerate(function.results)]
    made = Function("cost", [*inputs, *outputs], is_kernel=True)
    b = Builder(made)
    i = b.op("tid", attr=(0, 1))
    results = b.emit("call", [b.op("load", x, i, attr=()) for x in inputs], function, results=function.results)
    for y, result in zip(outputs, results):
        b.op("store", y, i, result, attr=())
    b.terminate("return")
    return made


def measure(function: Function) -> tuple[Cost, str]:
    """(cost, assembly of the kernel)."""
    finished = pipeline.run(function)
    text = emit_cpu(pipeline.run(kernel(function)), TARGET, EmitOptions(lanes=TARGET.lanes)).text
    return Cost(op_count(finished), text.count("\n")), text


def milliseconds(text: str) -> int:
    """Processor time of LLVM, as a power of two."""
    start = time.process_time()
    toolchain.object_code(text, TARGET)
    return 1 << max(0, round(math.log2(1e3 * (time.process_time() - start))))


def read(path: Path = FILE) -> dict[str, str]:
    """The rows of the file: function to its numbers, without the milliseconds."""
    rows = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {line[20:].strip(): line[:13] for line in rows}


def main() -> None:
    """Write the file."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    header = [f"# Written by `{COMMAND}`; tools/costs.py says what the columns mean.", "#  ops  lines     ms  function"]
    rows = []
    for key, function in functions():
        cost, text = measure(function)
        rows.append(f"{cost} {milliseconds(text):6}  {key}")
    FILE.write_text("\n".join([*header, *sorted(rows, key=lambda row: row[20:])]) + "\n")
    print(f"{FILE}: {len(rows)} functions")


if __name__ == "__main__":
    main()
