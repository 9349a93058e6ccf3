"""Runs the text tests of `wir` and its folders.

Comments at the top of a file say what to do, in the order given here:

    ; run: verify, roundtrip, pass=inline+simplify, interp    harnesses
    ; problem: TEXT                  one for each problem that the verifier must find (run: problems)
    ; error: TEXT                    the parser must refuse the text with this message (run: error)
    ; call f(1.0, [1, 2]) = (3.0,)   result of a device function, before and after the passes
    ; launch k(4)([0, 0, 0, 0])      runs a kernel over a grid
    ; fails: kind: message           what the call or launch above ends with instead of results
    ; then [1, 2, 3, 4]              the arrays among the arguments afterwards
    ; prints: TEXT                   what the launch above printed, one line each
    ; check: TEXT                    lines of the last function after the passes that hold these texts in this order
    ; never: TEXT                    no line holds this text

A list stands for an array of its parameter's element type. Expectations are written by hand.
"""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import pytest

from omni.warp_core.ir import parser, printer, verifier
from omni.warp_core.ir.clone import copy_function
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function
from omni.warp_core.passes import (
    atomic_demotion,
    checks,
    dce,
    fma_contraction,
    index_normalization,
    licm,
    load_elimination,
    reciprocals,
    simplify,
)
from omni.warp_core.passes.inline import inline
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.ir.generate import same

FILES = sorted((Path(__file__).parent / "wir").rglob("*.wir"))


def in_place(run_pass):
    def apply(function: Function) -> Function:
        function = copy_function(function)
        run_pass(function)
        return function

    return apply


PASSES = {
    "inline": lambda f: inline(f, 80, lambda callee: callee),
    "simplify": simplify.simplify,
    "bounds": in_place(index_normalization.normalize_indices),
    "licm": in_place(licm.licm),
    "contract": in_place(fma_contraction.contract),
    "reciprocals": in_place(reciprocals.use_reciprocals),
    "dce": in_place(dce.dce),
    "loads": in_place(load_elimination.eliminate_loads),
    "demote_atomics": in_place(atomic_demotion.demote_atomics),
    "checks": checks.insert_checks,
    "asserts": in_place(checks.drop_asserts),
    "all": run,
    "debug": lambda f: run(f, PassOptions(debug=True)),
}


class FileTest:
    """One file, taken apart."""

    def __init__(self, path: Path):
        self.text = path.read_text()
        self.comments = [line[1:].strip() for line in self.text.splitlines() if line.startswith(";")]
        self.harnesses = [h.strip() for h in self.values("run:")[0].split(",")]

    def values(self, key: str) -> list[str]:
        return [c.removeprefix(key).strip() for c in self.comments if c.startswith(key)]

    @property
    def passes(self) -> list[str]:
        for harness in self.harnesses:
            if harness.startswith("pass="):
                return harness.removeprefix("pass=").split("+")
        return []


def optimised(test: FileTest, functions: list[Function]) -> list[Function]:
    result = []
    for function in functions:
        for name in test.passes:
            function = PASSES[name](function)
            verifier.verify(function)
        result.append(function)
    return result


def literal(text: str):
    return eval(text, {"__builtins__": {}}, {"inf": math.inf, "nan": math.nan})


def argument(value, t):
    if not isinstance(value, list):
        return value
    shape = [len(value)]
    while value and isinstance(value[0], list):
        shape.append(len(value[0]))
        value = [inner for outer in value for inner in outer]
    return MemArray(t.dtype, tuple(shape), list(value))


def perform(test: FileTest, functions: dict[str, Function]) -> None:
    """Follow the call, launch, fails, then and prints comments."""
    out: list[str] = []
    arrays: list[MemArray] = []
    steps = iter([c for c in test.comments if re.match(r"(call|launch|then|prints:|fails:)", c)] + [""])
    step = next(steps)
    while step:
        following = next(steps)
        if step.startswith(("call", "launch")):
            fails = following.removeprefix("fails:").strip() if following.startswith("fails:") else None
            arrays, out = start(step, functions, fails)
        elif step.startswith("then"):
            got = tuple(tuple(a.values()) for a in arrays)
            expected = tuple(tuple(a) for a in literal(f"({step.removeprefix('then')},)"))
            assert same(got, expected), (step, got)
        elif step.startswith("prints:"):
            assert out.pop(0) == ast.literal_eval(step.removeprefix("prints:").strip())
        step = following


def start(step: str, functions: dict[str, Function], fails: str | None) -> tuple[list[MemArray], list[str]]:
    if step.startswith("launch"):
        name, dim, args = re.fullmatch(r"launch (\w+)\((.*?)\)\((.*)\)", step).groups()
        expected = None
    else:
        name, args, expected = re.fullmatch(r"call (\w+)\((.*?)\)(?: = (.*))?", step).groups()
    function = functions[name]
    given = literal(f"({args},)") if args else ()
    values = [argument(v, p.type) for v, p in zip(given, function.params)]
    arrays, out = [v for v in values if isinstance(v, MemArray)], []
    try:
        if expected is None and step.startswith("launch"):
            out = interp.run_kernel(function, values, literal(dim), steps=100_000)
        else:
            got = interp.call(function, values, steps=100_000)
            # Checked functions say at the end whether they ran through.
            got = got[: len(literal(expected))] if expected else got
            assert expected is None or same(got, literal(expected)), (step, got)
        assert fails is None, f"{step} should fail with {fails}"
    except (interp.Failure, interp.Trap) as e:
        values = getattr(e, "values", ())
        found = f"{e}{' ' + repr(values) if values else ''}"
        assert fails is not None and fails in found, (step, found)
    return arrays, out


def check_text(test: FileTest, function: Function) -> None:
    lines = printer.print_function(function).splitlines()
    last = max(i for i, line in enumerate(lines) if line.endswith("{") and not line.startswith((" ", "struct")))
    rest = iter(lines[last:])
    for wanted in test.values("check:"):
        assert any(wanted in line for line in rest), (wanted, "\n".join(lines))
    for unwanted in test.values("never:"):
        assert not any(unwanted in line for line in lines[last:]), (unwanted, "\n".join(lines))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_file(path: Path) -> None:
    test = FileTest(path)
    if "error" in test.harnesses:
        with pytest.raises(parser.ParseError) as caught:
            parser.parse(test.text)
        assert test.values("error:")[0] in str(caught.value)
        return
    functions = parser.parse(test.text)
    if "problems" in test.harnesses:
        found = verifier.problems(functions[-1])
        expected = test.values("problem:")
        assert len(found) == len(expected), found
        assert all(any(e in f for f in found) for e in expected), found
        return
    for function in functions:
        verifier.verify(function)
    if "roundtrip" in test.harnesses:
        once = printer.print_module(functions)
        assert printer.print_module(parser.parse(once)) == once
    finished = optimised(test, functions)
    check_text(test, finished[-1])
    if "interp" in test.harnesses:
        perform(test, {f.name: f for f in functions} if "checks" not in test.passes else {f.name: f for f in finished})
        perform(test, {f.name: f for f in finished})
