"""Calls of library functions as rows of a table: what is called with which types, and the numbers that come out.

    dot(a0, a1)
      vec3<f32>, vec3<f32> -> f32: 1.5; -2.25

says that `wp.dot` of two such vectors gives a float32, here for each of the `SAMPLES` sets of arguments that `numbers`
defines. The module imports no package under test: `run` takes one, so the same calls run on any that has this
interface. `tools/peer_table.py` writes the table, tests/lib/test_peer.py reads it.
"""

from __future__ import annotations

import itertools
import linecache
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

SAMPLES = 2
SCALARS = {
    **{f"f{b}": f"float{b}" for b in (16, 32, 64)},
    "bf16": "bfloat16",
    **{f"i{b}": f"int{b}" for b in (8, 16, 32, 64)},
    **{f"u{b}": f"uint{b}" for b in (8, 16, 32, 64)},
    "bool": "bool",
}
_PARTS = re.compile(r"(vec|mat|quat|transform)(\d*)(?:x(\d+))?<(\w+)>")
_SLOTS = 10  # different arguments of one type; the last slot is for shifts
_SHIFTS = re.compile(r"<<|>>|shift\(")
_serial = itertools.count()


class Row(NamedTuple):
    """One call: its text with a0, a1, ... for arguments, their types, the types of the results, numbers per sample."""

    expression: str
    args: tuple[str, ...]
    results: tuple[str, ...]
    values: tuple[tuple[float, ...], ...] = ()

    def __str__(self) -> str:
        return f"{self.expression} of ({', '.join(self.args)})"


def scalar_of(key: str) -> str:
    """The scalar type of a type: f32 of vec3<f32>."""
    m = _PARTS.fullmatch(key)
    return m[4] if m else key


def shape_of(key: str) -> tuple[int, ...]:
    """The shape of a type: (2, 3) of mat2x3<f32>, () of a scalar."""
    m = _PARTS.fullmatch(key)
    if not m:
        return ()
    return {"quat": (4,), "transform": (7,)}.get(m[1]) or tuple(int(n) for n in m.group(2, 3) if n)


def type_of(wp: Any, key: str) -> Any:
    """The type of this key in the package `wp`."""
    m = _PARTS.fullmatch(key)
    dtype = getattr(wp, SCALARS[scalar_of(key)])
    if m is None:
        return dtype
    if m[1] in ("quat", "transform"):
        return (wp.types.quaternion if m[1] == "quat" else wp.types.transformation)(dtype)
    shape = shape_of(key)
    return wp.types.vector(shape[0], dtype) if m[1] == "vec" else wp.types.matrix(shape, dtype)


# -- arguments ------------------------------------------------------------------------------------------------------

_UNIT = ((0.5, -0.5, 0.5, 0.5), (0.36, 0.48, 0.0, 0.8))  # rotations


def numbers(key: str, slot: int, sample: int) -> list[float]:
    """The components of an argument: number `slot` among those of the call, in this sample.

    Floats are small multiples of 1/8 and exact in every type. The last slot holds small positive numbers, which shift.
    """
    count, scalar = math.prod(shape_of(key)), scalar_of(key)
    at = [7 * i + 3 * slot + 11 * sample for i in range(count)]
    if scalar == "bool":
        return [(n // 2) % 2 for n in at]
    if scalar[0] in "iu":
        if slot == _SLOTS - 1:
            return [n % 6 + 1 for n in at]
        return [(n * 5 % 13 + 1) * (-1 if scalar[0] == "i" and n % 3 == 1 else 1) for n in at]
    if key.startswith(("quat", "transform")):
        rotation = [x if slot % 2 == 0 else -y for x, y in zip(_UNIT[sample], reversed(_UNIT[sample]))]
        return [(n % 13 - 6) / 8 for n in at[:-4]] + rotation
    return [((n * 5) % 17 - 8 or 9) / 8 for n in at]


def arguments(row: Row, sample: int) -> list[list[float]]:
    """The components of every argument of a call."""
    return [numbers(key, _slot(row.expression, i), sample) for i, key in enumerate(row.args)]


def _slot(expression: str, i: int) -> int:
    return _SLOTS - 1 if i and _SHIFTS.search(expression) else i


# -- running --------------------------------------------------------------------------------------------------------


def kernel_text(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """The source of a kernel that makes all the calls, and the types of its input arrays (`i0`, ...)."""
    inputs = sorted({key for row in rows for key in row.args})
    lines = []
    for j, row in enumerate(rows):
        call = re.sub(
            r"\ba(\d)\b",
            lambda m, r=row: f"i{inputs.index(r.args[int(m[1])])}[{_slot(r.expression, int(m[1]))}, s]",
            row.expression,
        )
        outs = [f"o{j}_{k}" for k in range(len(row.results))]
        lines.append(f"    {', '.join(f'r{out}' for out in outs)} = {call}")
        lines += [f"    {out}[s] = r{out}" for out in outs]
    outs = [f"o{j}_{k}" for j, row in enumerate(rows) for k in range(len(row.results))]
    params = [f"i{n}: wp.array2d(dtype=I{n})" for n in range(len(inputs))]
    params += [f"{o}: wp.array(dtype=T{o})" for o in outs]
    return "\n".join([f"def calls({', '.join(params)}):", "    s = wp.tid()", *lines, ""]), inputs


def kernel_of(wp: Any, rows: Sequence[Row]) -> tuple[Any, list[str]]:
    """The kernel of `kernel_text` in the package `wp`."""
    text, inputs = kernel_text(rows)
    space: dict[str, Any] = {"wp": wp, **{f"I{n}": type_of(wp, key) for n, key in enumerate(inputs)}}
    for j, row in enumerate(rows):
        space.update({f"To{j}_{k}": type_of(wp, key) for k, key in enumerate(row.results)})
    file = f"<calls {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    return wp.kernel(space["calls"]), inputs


def run(wp: Any, rows: Sequence[Row]) -> list[tuple[tuple[float, ...], ...]]:
    """The numbers that each call gives in a kernel of the package `wp`, per sample, all results one after the other."""
    kernel, inputs = kernel_of(wp, rows)
    given = [_input(wp, key) for key in inputs]
    results = [[wp.zeros(SAMPLES, dtype=type_of(wp, key), device="cpu") for key in row.results] for row in rows]
    wp.launch(kernel, dim=SAMPLES, inputs=[*given, *itertools.chain(*results)], device="cpu")
    out = []
    for row, arrays in zip(rows, results):
        parts = [_decoded(a.numpy(), key) for a, key in zip(arrays, row.results)]
        out.append(tuple(tuple(x for p in parts for x in p[s]) for s in range(SAMPLES)))
    return out


def _input(wp: Any, key: str) -> Any:
    data = [[numbers(key, slot, s) for s in range(SAMPLES)] for slot in range(_SLOTS)]
    scalar = scalar_of(key)
    kind = bool if scalar == "bool" else np.dtype(SCALARS[scalar]) if scalar[0] in "iu" else np.float64
    cells = np.array(data, dtype=kind).reshape(_SLOTS, SAMPLES, *shape_of(key))
    return wp.array(cells, dtype=type_of(wp, key), device="cpu")


def _decoded(cells: np.ndarray, key: str) -> list[list[float]]:
    if scalar_of(key) == "bf16" and cells.dtype == np.uint16:
        cells = (cells.astype(np.uint32) << 16).view(np.float32)
    return cells.reshape(SAMPLES, -1).tolist()


# -- the table ------------------------------------------------------------------------------------------------------

_DIGITS = {"f64": 17, "f32": 9, "f16": 5, "bf16": 4}


def render(rows: Iterable[Row]) -> Iterator[str]:
    """The lines of a table."""
    last = None
    for row in rows:
        if row.expression != last:
            last = row.expression
            yield last
        samples = "; ".join(" ".join(_shown(row, sample)) for sample in row.values)
        yield f"  {', '.join(row.args)} -> {', '.join(row.results)}: {samples}"


def _shown(row: Row, sample: Sequence[float]) -> Iterator[str]:
    keys = itertools.chain(*([key] * math.prod(shape_of(key)) for key in row.results))
    for x, key in zip(sample, keys):
        digits = _DIGITS.get(scalar_of(key))
        short = f"{x:.{digits}g}" if digits else str(int(x))
        yield short if not digits or len(short) < len(repr(x)) else repr(x).removesuffix(".0")


def _number(text: str) -> float:
    return int(text) if text.removeprefix("-").isdigit() else float(text)


def parse(lines: Iterable[str]) -> Iterator[Row]:
    """The rows of a table."""
    expression = ""
    for line in lines:
        if not line.startswith("  "):
            expression = line.strip()
            continue
        types, _, samples = line.strip().partition(": ")
        args, _, results = types.partition("-> ")
        yield Row(
            expression,
            tuple(a.strip() for a in args.split(",") if a.strip()),
            tuple(r.strip() for r in results.split(",")),
            tuple(tuple(map(_number, s.split())) for s in samples.split(";")),
        )
