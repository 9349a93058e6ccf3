"""One answer everywhere: compiled kernels, the IR interpreter and the pack give the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import build_library_pack
from omni.warp_core.front import library, library_pack
from omni.warp_core.ir import bytecode, verifier
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.printer import print_function
from omni.warp_core.lang import registry
from omni.warp_core.lang.generics import unify
from omni.warp_core.lang.types import F16, F32, F64, Scalar
from omni.warp_core.passes import pipeline
from tests.lib.judges import BINARY, SPECIAL, UNARY, gpu_bound, stated_bound
from tests.lib.test_accuracy import binary_kernel, run, unary_kernel

FLOATS = {F16: (wp.float16, np.float16), F32: (wp.float32, np.float32), F64: (wp.float64, np.float64)}
EVERY_FLOAT = pytest.mark.parametrize("t", FLOATS, ids=lambda t: t.key)
CHEAP = [
    *("abs", "sign", "floor", "ceil", "trunc", "rint", "round", "frac", "degrees", "radians", "step", "nonzero"),
    *("erfinv", "erfcinv", "inverse_approx"),
]
CHEAP_BINARY = ["min", "max", "copysign", "div_approx"]


def sample(numpy_type: type = np.float32) -> np.ndarray:
    """Special numbers, random bits, and numbers where functions change."""
    rng = np.random.default_rng(17)
    size = np.dtype(numpy_type).itemsize
    patterns = np.frombuffer(rng.bytes(150 * size), numpy_type)
    with np.errstate(over="ignore"):
        return np.concatenate([SPECIAL.astype(numpy_type), patterns, rng.uniform(-20, 20, 150).astype(numpy_type)])


def interpreted(name: str, t: Scalar, *inputs: np.ndarray) -> np.ndarray:
    """What calls in Python compute."""
    builtin, types = registry.get(name), (t,) * len(inputs)
    forms = [[pattern for _, pattern, _ in o.params] for o in builtin.overloads]
    i = next(i for i, p in enumerate(forms) if len(p) == len(types) and all(unify(x, t, {}) for x in p))
    fn = pipeline.run(library.instantiate(builtin, i, types).function)
    rows = zip(*(x.tolist() for x in inputs))
    return np.array([interp.call(fn, list(row))[0] for row in rows], dtype=inputs[0].dtype)


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    both_nan = np.isnan(found) & np.isnan(expected)
    same = both_nan | ((found == expected) & (np.signbit(found) == np.signbit(expected)))
    assert same.all(), (found[~same][:5], expected[~same][:5])


def assert_same_results(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, but for the functions of float64 on GPUs, which come from another library there."""
    if wp.get_device().is_cuda and found.dtype == np.float64 and name in {**UNARY, **BINARY}:
        function = getattr(wp, name)
        bound = stated_bound(function.__doc__, "float64") + gpu_bound(function)
        near = np.isfinite(expected) & (np.abs(found - expected) <= bound * np.spacing(np.abs(expected)))
        found = np.where(near, expected, found)
    assert_same_bits(found, expected)


@EVERY_FLOAT
@pytest.mark.parametrize("name", [*UNARY, *CHEAP])
def test_compiled_maths_equals_the_interpreter(name, t):
    dtype, numpy_type = FLOATS[t]
    x = sample(numpy_type)
    assert_same_results(name, run(unary_kernel(getattr(wp, name), dtype), x), interpreted(name, t, x))


@EVERY_FLOAT
@pytest.mark.parametrize("name", [*BINARY, *CHEAP_BINARY])
def test_compiled_maths_of_two_arguments_equals_the_interpreter(name, t):
    dtype, numpy_type = FLOATS[t]
    a = sample(numpy_type)
    b = np.roll(a, 7)
    assert_same_results(name, run(binary_kernel(getattr(wp, name), dtype), a, b), interpreted(name, t, a, b))


@pytest.fixture(scope="module")
def built() -> bytecode.Pack:
    saved, library.pack_lookup = library.pack_lookup, None
    try:
        data = build_library_pack.build()
    finally:
        library.pack_lookup = saved
    assert data[: library_pack.DIGEST_SIZE] == library_pack.source_digest()
    return bytecode.Pack(data[library_pack.DIGEST_SIZE :])


def test_the_pack_has_the_common_instances_and_they_verify(built):
    wanted = [
        "sin#0(f32)",
        "pow#1(f64, f64)",
        "dot#0(vec3<f32>, vec3<f32>)",
        "inverse#2(mat4x4<f64>)",
        "mul#3(quat<f32>, quat<f32>)",
    ]
    for name in wanted:
        assert name in built
    for name in built.names():
        verifier.verify(built.load(name))


def test_packed_functions_compute_what_their_source_does(built):
    x = sample()[::5].tolist()
    for name in ("sin", "tan", "exp", "log", "atan", "cbrt"):
        from_source = pipeline.run(library.instantiate(registry.get(name), 0, (F32,)).function)
        from_pack = pipeline.run(built.load(f"{name}#0(f32)"))
        for v in x:
            a, b = interp.call(from_source, [v])[0], interp.call(from_pack, [v])[0]
            assert a == b or (a != a and b != b), (name, v)


def test_a_pack_of_other_sources_is_not_used(tmp_path, monkeypatch, built):
    path = tmp_path / "library.pack"
    monkeypatch.setattr(library_pack, "PATH", path)
    good = library_pack.source_digest()
    for data in (b"", b"short", bytes(library_pack.DIGEST_SIZE) + b"x" * 100, good + b"damaged"):
        path.write_bytes(data)
        library_pack._pack.cache_clear()
        assert library_pack.lookup("sin#0(f32)") is None
    path.write_bytes(good + bytecode.write({"sin#0(f32)": built.load("sin#0(f32)")}))
    library_pack._pack.cache_clear()
    found = library_pack.lookup("sin#0(f32)")
    assert found is not None
    assert found.is_library
    assert print_function(found).count("call") == 1  # the reduction of huge arguments
    library_pack._pack.cache_clear()


@pytest.mark.parametrize("file", ["lang/types.py", "ir/analysis/alias.py", "front/statements/loops/more.py"])
def test_a_pack_is_stale_after_a_change_of_any_source(tmp_path, monkeypatch, file):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("a = 1\n")
    monkeypatch.setattr(library_pack, "PACKAGE", str(tmp_path))
    before = library_pack.source_digest()
    path.write_text("a = 2\n")
    assert library_pack.source_digest() != before
