"""Dataflow over structured regions: which parameters each value depends on, worked out by hand."""

from __future__ import annotations

from omni.warp_core.ir import parser
from omni.warp_core.ir.analysis.dataflow import SetFacts, handed_on
from omni.warp_core.ir.nodes import Operation
from tests.ir.test_alias import values_of

LOOPS = """
func @f(%a: i32, %b: i32, %c: bool, %n: i32) -> (i32, i32) {
  %z: i32 = const[0]
  %one: i32 = const[1]
  %chosen: i32, %same: i32 = if %c {
    yield %a, %z
  } else {
    yield %b, %z
  }
  %early: i32, %late: i32 = loop %z, %a (%p: i32, %q: i32) {
    %sum: i32 = add %p, %z
    %stop: bool = gt %sum, %one
    if %stop {
      break %sum, %z
    } else {
      yield
    }
    %more: i32 = add %q, %b
    yield %q, %more
  }
  %apart: i32 = add %n, %one
  return %chosen, %early
}
"""

# Data only: conditions decide which value it is, and no value is made of them.
EXPECTED = {
    "z": "",
    "chosen": "ab",
    "same": "",
    "sum": "ab",  # known after the second visit of the loop
    "more": "ab",
    "early": "ab",
    "late": "ab",  # values that a loop carries count as one
    "apart": "n",
    "stop": "ab",
}


def test_dependences_on_parameters() -> None:
    (function,) = parser.parse(LOOPS)
    facts = SetFacts[str]()
    for param in function.params:
        facts.add(param, frozenset(param.name))

    def visit(op: Operation) -> None:
        of_operands = frozenset[str]() if op.regions else facts.of_any(op.args)
        if op.code == "loop":
            of_operands = facts.of_any(op.args)
        for value, given in handed_on(op):
            facts.add(value, of_operands | facts.of_any(given))

    facts.solve(function.body, visit)
    values = values_of(function)
    assert {name: "".join(sorted(facts.of(values[name]))) for name in EXPECTED} == EXPECTED


def test_facts_about_other_subjects_grow_until_nothing_is_added() -> None:
    """A rule that goes against the order of two operations takes two rounds, and a third one shows that it is done."""
    (function,) = parser.parse("func @g(%a: i32) -> (i32) {\n  %b: i32 = neg %a\n  %c: i32 = neg %b\n  return %c\n}\n")
    facts = SetFacts[str]()
    values = values_of(function)
    facts.add(values["c"], frozenset({"seed"}))
    visits = []

    def backwards(op: Operation) -> None:
        visits.append(op)
        for a in op.args:
            facts.add(a, facts.of_any(op.results))
        facts.add("memory", facts.of(values["a"]))

    facts.solve(function.body, backwards)
    assert facts.of("memory") == facts.of(values["a"]) == {"seed"}
    assert facts.of("elsewhere") == frozenset()
    assert len(visits) == 3 * len(function.body.ops)
