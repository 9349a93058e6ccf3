"""Alias analysis, on small functions whose facts were worked out by hand."""

from __future__ import annotations

import pytest

from omni.warp_core.ir import parser
from omni.warp_core.ir.analysis import alias
from omni.warp_core.ir.nodes import Function, Value

_STRUCTS = """
struct Pair { a: array1<f32>, b: array1<f32> }
struct Outer { n: i32, pair: Pair }
"""


def values_of(function: Function) -> dict[str, Value]:
    """All values by name, those of nested regions too."""
    found = {p.name: p for p in function.params}
    for op in function.body.walk():
        found.update((v.name, v) for v in op.results)
        found.update((p.name, p) for region in op.regions for p in region.params)
    return found


def _parse(text: str) -> dict[str, Value]:
    (function,) = parser.parse(_STRUCTS + text)
    return values_of(function)


ARRAYS = """
kernel @k(%x: array2<f32>, %y: array1<f32>, %n: array1<i32>, %p: Pair, %o: Outer) {
  %i: i32 = tid[0, 1]
  %row: array1<f32> = slice %x, %i
  %part: array1<f32> = slice["r"] %row, %i, %i, %i
  %dx: array2<f32> = grad %x
  %drow: array1<f32> = slice %dx, %i
  %grow: array1<f32> = grad %row
  %pa: array1<f32> = extract[0] %p
  %pb: array1<f32> = extract[1] %p
  %inner: Pair = extract[1] %o
  %oa: array1<f32> = extract[0] %inner
  %made: Pair = make %y, %pb
  %my: array1<f32> = extract[0] %made
  %mb: array1<f32> = extract[1] %made
  %changed: Pair = insert[1] %p, %row
  %ca: array1<f32> = extract[0] %changed
  %cb: array1<f32> = extract[1] %changed
  %local: fixed4<f32> = alloca
  %view: array1<f32> = slice["r"] %local, %i, %i, %i
  %block: fixed4<f32> = shared
  %none: array1<f32> = zero
  return
}
"""

# value: (underlying object, members, gradients, is_view)
PROVENANCE = {
    "x": ("x", (), 0, False),
    "row": ("x", (), 0, True),
    "part": ("x", (), 0, True),
    "dx": ("x", (), 1, False),
    "drow": ("x", (), 1, True),
    "grow": ("x", (), 1, True),
    "pa": ("p", (0,), 0, False),
    "oa": ("o", (1, 0), 0, False),
    "my": ("y", (), 0, False),
    "mb": ("p", (1,), 0, False),
    "ca": ("p", (0,), 0, False),
    "cb": ("x", (), 0, True),
    "view": ("local", (), 0, True),
    "none": ("none", (), 0, False),
}


@pytest.mark.parametrize("name", PROVENANCE)
def test_where_an_array_comes_from(name):
    values = _parse(ARRAYS)
    found = alias.provenance(values[name])
    assert (found.object.name, *found[1:]) == PROVENANCE[name]
    assert alias.underlying_object(values[name]) is values[PROVENANCE[name][0]]


def test_memory_that_no_argument_reaches():
    values = _parse(ARRAYS)
    arrays = {*PROVENANCE, "local", "block", "pb"}
    assert {name for name in arrays if alias.is_own(values[name])} == {"local", "view", "block"}
    assert {name for name in arrays if alias.is_local(values[name])} == {"local", "view"}
    assert {name for name in arrays if alias.is_gradient(values[name])} == {"dx", "drow", "grow"}


# (a, b, may alias if parameters are disjoint, may alias if they may share memory)
PAIRS = [
    ("row", "part", True, True),
    ("row", "y", False, True),
    ("row", "n", False, False),  # elements of another type
    ("pa", "pb", False, True),
    ("pa", "pa", True, True),
    ("pa", "oa", False, True),
    ("my", "y", True, True),
    ("mb", "pb", True, True),
    ("mb", "pa", False, True),
    ("cb", "row", True, True),
    ("ca", "cb", False, True),
    ("local", "y", False, False),
    ("local", "view", True, True),
    ("none", "y", True, True),  # what made it is not known
]


@pytest.mark.parametrize("a, b, disjoint, shared", PAIRS)
def test_arrays_that_may_alias(a, b, disjoint, shared):
    values = _parse(ARRAYS)
    for first, second in ((a, b), (b, a)):
        assert alias.may_alias(values[first], values[second], False) == disjoint
        assert alias.may_alias(values[first], values[second], True) == shared


def test_a_nested_struct_that_was_put_together_is_looked_through():
    """The members that lead to an array are those of its own object, not those of structs around it."""
    values = _parse("""
kernel @k(%p: Pair, %n: i32) {
  %outer: Outer = make %n, %p
  %again: Pair = extract[1] %outer
  %b: array1<f32> = extract[1] %again
  %direct: array1<f32> = extract[1] %p
  return
}
""")
    assert alias.location(values["b"]) == alias.location(values["direct"]) == (values["p"], (1,))
    assert alias.may_alias(values["b"], values["direct"], False)


def test_an_array_that_a_branch_chooses_has_no_location():
    values = _parse("""
kernel @k(%x: array1<f32>, %y: array1<f32>, %c: bool) {
  %either: array1<f32> = if %c {
    yield %x
  } else {
    yield %y
  }
  return
}
""")
    assert alias.location(values["either"]) is None
    assert alias.identified_object(values["either"]) is None
    assert alias.may_alias(values["either"], values["x"], False)
    assert not alias.is_own(values["either"])
