"""Everyday Python against CPython: the same function, the same random arguments, the same results to the bit.

Each function is compared, or is refused in the words that it asks for. The summary of a test run counts both.
"""

import inspect
import random
import warnings

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_function
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.kernel import Function
from tests.lang.cases import (
    language_cases,
    language_cases_flow,
    language_cases_forms,
    language_cases_numbers,
    language_cases_refused,
    language_cases_values,
)


def functions(*modules):
    """The functions that the modules define."""
    return [f for m in modules for _, f in inspect.getmembers(m, inspect.isfunction)]


CASES = functions(
    language_cases, language_cases_flow, language_cases_forms, language_cases_numbers, language_cases_values
)
REFUSED = functions(language_cases_refused)
TRIALS = 30


def argument(kind, rng):
    """(what CPython gets, what the interpreter gets)."""
    if kind is int:
        n = rng.randint(-9, 12)
        return n, n
    if kind is bool:
        p = rng.random() < 0.5
        return p, p
    if kind is float:
        x = np.float32(rng.choice([0.0, rng.uniform(-4, 4), rng.randint(-8, 8) / 2]))
        return x, float(x)
    assert kind is wp.vec3
    v = np.array([rng.uniform(-4, 4) for _ in range(3)], np.float32)
    return v, tuple(map(float, v))


def test_enough_cases():
    assert len(CASES) >= 400
    assert len({f.__name__ for f in CASES + REFUSED}) == len(CASES + REFUSED)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_same_as_cpython(function, record_property):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        lowered = lower_function(Function(function))
    verify(lowered)
    rng = random.Random(function.__name__)
    kinds = [p.annotation for p in inspect.signature(function).parameters.values()]
    for _ in range(TRIALS if kinds else 1):
        pairs = [argument(kind, rng) for kind in kinds]
        expected = function(*(a for a, _ in pairs))
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = interp.call(lowered, [b for _, b in pairs])
        assert len(found) == len(expected)
        for e, f in zip(expected, found):
            assert isinstance(f, bool) == isinstance(e, (bool, np.bool_))
            wanted = e if isinstance(e, int) else float(np.float32(e))
            assert wanted == f, f"{[a for a, _ in pairs]}: {expected} against {found}"
    record_property("cpython", "right")


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function, record_property):
    with pytest.raises(wp.CompileError) as caught:
        lower_function(Function(function))
    assert inspect.getdoc(function) in str(caught.value)
    record_property("cpython", "refused")
