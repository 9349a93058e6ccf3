"""Every call of the library that warp-lang 1.19 takes, over all scalar types: the same types and numbers come out here.

The table, tests/lib/peer.txt, was written by `tools/peer_table.py` in that library's environment. Rows are checked at
Python scope, where the interpreter runs them. Of the rows of one call that differ only in scalar types, some are
compiled too and must give the same bits. `OTHER_TYPES` and `OTHER_VALUES` have what is different on purpose.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from tests.lib import calls
from tests.on_gpu import CPU_FUSES

TABLE = Path(__file__).with_name("peer.txt")
EPSILON = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}
UNITS = 16.0  # roundings by which a result may differ, of the largest component
COMPILED = 11  # every so manieth row is compiled too; prime, so that all scalar types have their turn

# Text of calls -> why they have another type, or are refused.
OTHER_TYPES = {
    r"a0 (and|or) a1 .*": "give an operand, as in Python; there a bool",
    r"round\(a0\) .*": "gives an int, as in Python; there a float",
}
# Text of calls -> why they give other numbers.
OTHER_IN_KERNELS = {r"wp\.transform\w*\(\) .*": "zeros in a kernel and the identity in Python, as there"}
OTHER_VALUES = {
    r"wp\.(uint|vec\du|vector|matrix)\S*\(a0.* of \((\w+<)?b?f\d+>?\)": (
        "floats below zero become 0 when unsigned; there the result depends on the machine"
    ),
    r"wp\.cast\(a0, wp\.bool\) .*": "whether the byte is not zero; there its lowest bit",
    **OTHER_IN_KERNELS,
    r"wp\.svd3.*": "signs of singular vectors are free",
    r"wp\.eig3.*": "the order of eigenvalues is free",
    r"wp\.quat_to_euler\(a0, 0, 1, 2\) of \(quat<f32>\)": "at the end of the range, where the angles are not unique",
    r"wp\.intersect_tri_tri.*": "the second triangles have no area",
}
LOOSE = {r"wp\.(qr3|svd2)": 96.0}
"""Text of calls -> how many roundings they may differ by: what repeats many steps."""


def matches(row: calls.Row, texts: dict) -> bool:
    return any(re.fullmatch(text, str(row)) for text in texts)


def rows() -> list[calls.Row]:
    return [r for r in calls.parse(TABLE.read_text().splitlines()) if not matches(r, OTHER_TYPES)]


ROWS = rows()
GROUPS = {e: list(group) for e, group in itertools.groupby(ROWS, key=lambda r: r.expression)}


_BARE = {bool: "bool", int: "i32", float: "f32"}


def key_of(value: object) -> str:
    """The type of a result; bare Python numbers stand for the types of that name."""
    t = getattr(value, "__wc_type__", None)
    return _BARE[type(value)] if t is None else t.key


def leaves(value: object) -> list[float]:
    if hasattr(value, "_leaves"):
        return list(value._leaves())
    return [float(np.float32(value)) if type(value) is float else getattr(value, "value", value)]


def at_python_scope(row: calls.Row, sample: int) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The types and numbers of the results of a call of Python values."""
    space = {"wp": wp}
    for i, (key, parts) in enumerate(zip(row.args, calls.arguments(row, sample))):
        space[f"a{i}"] = calls.type_of(wp, key)(*parts)
    value = eval(row.expression, space)
    results = value if isinstance(value, tuple) else (value,)
    return tuple(map(key_of, results)), tuple(x for r in results for x in leaves(r))


def same_number(x: float, y: float) -> bool:
    return x == y or (x != x and y != y)


def check(row: calls.Row, found: tuple[float, ...], expected: tuple[float, ...]) -> None:
    """Whether the numbers agree: integers exactly, floats to some roundings of the largest of them."""
    assert len(found) == len(expected)
    if matches(row, OTHER_VALUES):
        return
    keys = [calls.scalar_of(key) for key in row.results for _ in range(math.prod(calls.shape_of(key)))]
    scale = max([1.0, *(abs(x) for x in expected if math.isfinite(x))])
    units = next((u for text, u in LOOSE.items() if re.match(text, row.expression)), UNITS)
    for x, y, key in zip(found, expected, keys):
        tolerance = units * EPSILON.get(key, 0.0) * scale
        assert same_number(x, y) or abs(x - y) <= tolerance, f"{row}: {found}, there {expected}"


def test_the_table_has_the_whole_library():
    assert len(ROWS) > 5000
    named = {name for r in ROWS for name in re.findall(r"wp\.(\w+)\(", r.expression)}
    assert len(named) > 150


@pytest.mark.parametrize("expression", GROUPS)
def test_results_at_python_scope_are_those_of_warp_lang(expression):
    for row in GROUPS[expression]:
        for sample, expected in enumerate(row.values):
            types, found = at_python_scope(row, sample)
            assert types == row.results, str(row)
            check(row, found, expected)


BATCHES = [ROWS[::COMPILED][i : i + 20] for i in range(0, len(ROWS[::COMPILED]), 20)]


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")
@pytest.mark.parametrize("batch", BATCHES, ids=[b[0].expression for b in BATCHES])
def test_compiled_calls_give_the_bits_of_python_scope(batch):
    for row, found in zip(batch, calls.run(wp, batch)):
        for sample, numbers in enumerate(found):
            check(row, numbers, row.values[sample])
            expected = at_python_scope(row, sample)[1]
            may_differ = not CPU_FUSES or matches(row, OTHER_IN_KERNELS)  # Python scope fuses on every processor
            assert may_differ or all(map(same_number, numbers, expected)), f"{row}: compiled {numbers}, else {expected}"
