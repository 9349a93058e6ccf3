"""Interpreted functions against compiled IR: the everyday functions of tests/lang, bit for bit."""

import inspect
import random
import warnings

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_function
from omni.warp_core.interpreter import run
from omni.warp_core.ir.interp import array_memory, interp
from omni.warp_core.lang.kernel import Function
from omni.warp_core.lang.values.scalars import typed_components
from omni.warp_core.lang.values.value_classes import to_leaves
from tests.lang.cases.test_language_cases import CASES


@pytest.fixture(autouse=True)
def typed():
    token = typed_components.set(True)
    yield
    typed_components.reset(token)


def argument(kind, rng):
    if kind is int:
        return wp.int32(rng.randint(-9, 12))
    if kind is bool:
        return wp.bool(rng.random() < 0.5)
    if kind is float:
        return wp.float32(rng.choice([0.0, rng.uniform(-4, 4), rng.randint(-8, 8) / 2]))
    return wp.vec3(*(rng.uniform(-4, 4) for _ in range(3)))


def to_ir(value):
    t = value.__wc_type__
    return array_memory.unflatten(to_leaves(value, t), t)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_same_as_the_ir(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        lowered = lower_function(Function(function))
    python = run.python_function(Function(function))
    rng = random.Random(function.__name__)
    kinds = [p.annotation for p in inspect.signature(function).parameters.values()]
    for _ in range(15 if kinds else 1):
        args = [argument(kind, rng) for kind in kinds]
        expected = interp.call(lowered, [to_ir(a) for a in args])
        found = python(*args)
        found = found if isinstance(found, tuple) else (found,)
        assert len(found) == len(expected)
        for f, e, t in zip(found, expected, lowered.results):
            assert run.describe(f) == t.key.replace("i32", "int32").replace("f32", "float32")
            assert np.array_equal(to_leaves(f, t), array_memory.flatten(e, t), equal_nan=True), (args, found, expected)
