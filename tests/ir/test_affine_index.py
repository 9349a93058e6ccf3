"""Affine indices and launch invariants, on small kernels whose facts were worked out by hand."""

from __future__ import annotations

import pytest

from omni.warp_core.ir import parser
from omni.warp_core.ir.analysis.affine_index import Affine, affine_values, launch_invariants
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang.types import I32, Array
from tests.ir.generate import RawBuilder
from tests.ir.test_alias import values_of

INDICES = """
kernel @k(%x: array1<i32>, %n: i32, %f: f32) {
  %i: i32 = tid[0, 2]
  %j: i32 = tid[1, 2]
  %three: i32 = const[3]
  %next: i32 = add %i, %three
  %before: i32 = sub %j, %three
  %back: i32 = sub %three, %i
  %start: i32 = add %n, %three
  %moved: i32 = add %next, %start
  %thrice: i32 = mul %three, %i
  %six: i32 = add %thrice, %thrice
  %one: i32 = sub %thrice, %i
  %again: i32 = sub %one, %i
  %nothing: i32 = sub %again, %i
  %both: i32 = add %i, %j
  %square: i32 = mul %i, %i
  %long: i64 = cast %next
  %unsigned: u32 = cast %long
  %short: i16 = cast %i
  %of_short: i32 = cast %short
  %real: f32 = cast %i
  %of_real: i32 = cast %real
  %loaded: i32 = load %x, %three
  %after: i32 = add %i, %loaded
  return
}
"""

# value: (dimension, arity, coefficient, constant, has_parameters), None where the value has no such form
FORMS = {
    "i": (0, 2, 1, 0, False),
    "j": (1, 2, 1, 0, False),
    "three": (None, 0, 0, 3, False),
    "n": (None, 0, 0, 0, True),
    "next": (0, 2, 1, 3, False),
    "before": (1, 2, 1, -3, False),
    "back": (0, 2, -1, 3, False),
    "start": (None, 0, 0, 3, True),
    "moved": (0, 2, 1, 6, True),
    "thrice": (0, 2, 3, 0, False),
    "six": (0, 2, 6, 0, False),
    "one": (0, 2, 2, 0, False),
    "again": (0, 2, 1, 0, False),
    "nothing": (None, 0, 0, 0, False),
    "both": None,
    "square": None,
    "long": (0, 2, 1, 3, False),
    "unsigned": (0, 2, 1, 3, False),
    "short": None,  # threads 65,536 apart have the same number
    "of_short": None,
    "real": None,
    "of_real": None,  # threads beyond 2**24 have the same number
    "loaded": None,
    "after": None,
}


def _kernel(text: str) -> tuple[Function, dict[str, Value]]:
    (function,) = parser.parse(text)
    return function, values_of(function)


@pytest.mark.parametrize("name", FORMS)
def test_the_form_of_an_index(name):
    function, values = _kernel(INDICES)
    form = affine_values(function).get(values[name])
    assert (form and tuple(form)) == FORMS[name]


@pytest.mark.parametrize("name, dimension", [("next", 0), ("before", 1), ("back", 0), ("six", None), ("n", None)])
def test_the_index_in_which_threads_differ(name, dimension):
    function, values = _kernel(INDICES)
    assert affine_values(function)[values[name]].injective_dimension == dimension


def test_an_index_that_a_loop_carries_has_no_form():
    function, values = _kernel("""
kernel @k(%n: i32) {
  %i: i32 = tid[0, 1]
  %one: i32 = const[1]
  %last: i32 = for %i, %n, %one, %i (%at: i32, %carried: i32) {
    %next: i32 = add %carried, %one
    %here: i32 = add %i, %one
    yield %next
  }
  return
}
""")
    forms = affine_values(function)
    assert forms[values["here"]] == Affine(0, 1, 1, 1)
    assert not forms.keys() & {values[name] for name in ("at", "carried", "next", "last")}


def test_launch_invariants():
    function, values = _kernel("""
kernel @k(%x: array1<f32>, %n: i32) {
  %i: i32 = tid[0, 1]
  %one: i32 = const[1]
  %length: i32 = shape[0] %x
  %end: i32 = sub %length, %one
  %middle: i32 = div %end, %n
  %own: i32 = add %middle, %i
  %number: f32 = load %x, %middle
  %last: i32 = for %one, %n, %one, %n (%at: i32, %carried: i32) {
    %inside: i32 = mul %end, %end
    %next: i32 = add %carried, %one
    yield %next
  }
  return
}
""")
    found = launch_invariants(function)
    names = {name for name, value in values.items() if value in found}
    assert names == {"x", "n", "one", "length", "end", "middle", "inside"}


@pytest.mark.parametrize("start", ["tid", "n"])
def test_a_value_that_is_doubled_again_and_again(start):
    """Each operation is looked at once, however many ways lead to it."""
    n = Value(I32, name="n")
    function = Function("k", [Value(Array(I32), name="x"), n], is_kernel=True)
    b: Builder = RawBuilder(function)
    index = b.op("tid", attr=(0, 1)) if start == "tid" else n
    for _ in range(200):
        index = b.op("add", index, index)
    b.terminate("return")
    assert affine_values(function)[index].coefficient == (2**200 if start == "tid" else 0)
    assert (index in launch_invariants(function)) == (start == "n")
