"""Random programs: the text form is exact, and no pass changes what a program computes.

OMNI_WARP_RANDOM_PROGRAMS sets how many.
"""

from __future__ import annotations

import os
import random
import re

import pytest

from omni.warp_core.ir import parser, printer, verifier
from omni.warp_core.ir.clone import copy_function
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.types import SCALARS
from omni.warp_core.passes import checks
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.ir.generate import NATIVE, Options, copy_inputs, generate, make_inputs, same

THREADS = 6
CHUNK = 12
COUNT = int(os.environ.get("OMNI_WARP_RANDOM_PROGRAMS", "60"))
EXACT = PassOptions(contract=False)


def results(kernel: Function, args: list) -> list:
    args = copy_inputs(args)
    interp.run_kernel(kernel, args, THREADS)
    return args


def assert_same_results(kernel: Function, other: Function, seed: int) -> None:
    for attempt in range(2):
        args = make_inputs(kernel, 1000 * seed + attempt, THREADS)
        for param, a, b in zip(kernel.params, results(kernel, args), results(other, args)):
            assert same(a, b), f"seed {seed}: {param.name} {a} became {b}"


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_programs_are_valid_and_their_text_is_exact(first):
    for seed in range(first, first + CHUNK):
        kernel = generate(seed)
        verifier.verify(kernel)
        text = printer.print_function(kernel, locs=True)
        again = parser.parse(text)[-1]
        verifier.verify(again)
        assert printer.print_function(again, locs=True) == text
        assert printer.print_function(copy_function(kernel), locs=True) == text


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_passes_keep_results(first):
    for seed in range(first, first + CHUNK):
        kernel = generate(seed)
        before = printer.print_function(kernel)
        optimised = run(kernel, EXACT)
        assert printer.print_function(kernel) == before
        verifier.verify(optimised)
        assert_same_results(kernel, optimised, seed)


@pytest.mark.parametrize("first", range(0, COUNT // 2, CHUNK))
def test_optimised_programs_do_not_change_further(first):
    for seed in range(first, first + CHUNK):
        optimised = run(generate(seed, NATIVE), EXACT)
        again = run(optimised, EXACT)
        assert_same_results(optimised, again, seed)


@pytest.mark.parametrize("limit", [0, 5, 1000])
def test_the_inline_limit_does_not_matter(limit):
    options = Options(functions=4, statements=6)
    for seed in range(500, 520):
        kernel = generate(seed, options)
        assert_same_results(kernel, run(kernel, PassOptions(contract=False, inline_limit=limit)), seed)


@pytest.mark.parametrize("first", range(0, COUNT // 2, CHUNK))
def test_debug_programs_compute_the_same_or_fail(first):
    ended = 0
    for seed in range(first, first + CHUNK):
        kernel = generate(seed)
        debug = run(kernel, PassOptions(debug=True, contract=False))
        verifier.verify(debug)
        args = make_inputs(kernel, seed, THREADS)
        try:
            got = results(debug, args)
        except interp.Failure as failure:
            assert failure.kind in ("nan", "division")
            continue
        ended += 1
        assert all(map(same, got, results(kernel, args)))
    assert ended


def first_failure(kernel: Function, args: list) -> tuple | None:
    """Which thread fails first, and what it tells."""
    try:
        results(run(kernel, PassOptions(debug=True)), args)
    except interp.Failure as failure:
        return failure.thread, failure.kind, failure.message, repr(failure.values)
    return None


@pytest.mark.parametrize("first", range(0, COUNT // 2, CHUNK))
def test_checks_that_wait_for_each_other_report_what_each_reports_alone(first, monkeypatch):
    failed = 0
    for seed in range(first, first + CHUNK):
        kernel = generate(seed, Options(functions=seed % 3, libm=True))
        args = make_inputs(kernel, seed, THREADS)
        found = []
        for most in (1, 3, checks.MAX_RUN):
            with monkeypatch.context() as patch:
                patch.setattr(checks, "MAX_RUN", most)
                found.append(first_failure(kernel, args))
        assert found[0] == found[1] == found[2], seed
        failed += found[0] is not None
    assert failed


def test_contraction_is_the_same_in_debug_mode():
    """Fused operations are formed alike, so that debug mode shows the numbers of the release build."""
    options = Options(scalars=tuple(s for s in SCALARS if s.key in ("bool", "i32", "u32", "f32", "f64")))
    for seed in range(60):
        kernel = generate(seed, options)
        args = make_inputs(kernel, seed, THREADS)
        try:
            debug = results(run(kernel, PassOptions(debug=True)), args)
        except interp.Failure:
            continue
        assert all(map(same, debug, results(run(kernel), args))), seed


def test_damaged_text_is_refused_not_fatal():
    rng = random.Random(1)
    texts = [printer.print_function(generate(seed), locs=True) for seed in range(3)]
    for _ in range(400):
        text = rng.choice(texts)
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", "%", "[", "]", "{", "}", "x", "1", ",", '"', "\n", "-"]) + text[at + 1 :]
        try:
            functions = parser.parse(text)
        except parser.ParseError as e:
            assert re.match(r"line \d+: |the text ends", str(e)), e
            continue
        for function in functions:
            verifier.problems(function)
