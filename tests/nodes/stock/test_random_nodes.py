"""Random nodes: the seed decides, and the values have the distribution; noise is that of wp.noise."""

import math

import numpy as np
import pytest
from scipy import stats

import omni.warp_core as wp
from tests.nodes.stock.single_node import Bench, compute

NAMES = ("RandomBoolean", "RandomNumeric", "RandomGaussian", "RandomUnitVector", "RandomUnitQuaternion")


def draws(name, count, **inputs):
    bench = Bench(name, **inputs)
    out = [bench.run()["random"][1] for _ in range(count)]
    assert not bench.host.log.errors
    return out


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides(name):
    first = draws(name, 70, seed=7, useSeed=True)
    assert np.array_equal(first, draws(name, 70, seed=7, useSeed=True))
    assert not np.array_equal(first, draws(name, 70, seed=8, useSeed=True))
    assert len(np.unique(first, axis=0)) > 1


@pytest.mark.parametrize("name", NAMES)
def test_without_a_seed_each_play_draws_the_same(name):
    assert np.array_equal(draws(name, 5), draws(name, 5))


def test_another_seed_starts_again():
    bench = Bench("RandomNumeric", seed=7, useSeed=True)
    first = [bench.run()["random"] for _ in range(3)]
    bench.set("seed", 8)
    bench.run()
    bench.set("seed", 7)
    assert [bench.run()["random"] for _ in range(3)] == first


def test_a_noise_function_draws_the_same_at_every_run():
    assert len(set(draws("RandomNumeric", 4, seed=2**64 - 1, useSeed=True, isNoise=True))) == 1


def test_runs_what_follows():
    bench = Bench("RandomBoolean")
    bench.run()
    assert bench.node.attributes["outputs:execOut"].value == 1


def test_uniform_numbers():
    bench = Bench("RandomNumeric", min=("double[]", [-2.0] * 5000), max=("double", 3), seed=1, useSeed=True)
    kind, values = bench.run()["random"]
    assert kind == "double[]" and values.min() >= -2 and values.max() < 3
    assert stats.kstest(values, stats.uniform(-2, 5).cdf).pvalue > 0.01


def test_empty_ranges_draw_nothing():
    assert compute("RandomNumeric", min=("int[]", []))["random"][1].shape == (0,)
    assert compute("RandomGaussian", stdev=("float[2][]", []))["random"][1].shape == (0, 2)


def test_one_bound_takes_the_type_of_the_other():
    assert compute("RandomNumeric", max=("int", 0))["random"] == ("int", 0)
    kind, value = compute("RandomNumeric", min=("colorf[3]", [0.5, 0.5, 0.5]))["random"]
    assert kind == "colorf[3]" and np.all((value >= 0.5) & (value < 1))


def test_integers_reach_both_ends():
    kind, values = compute("RandomNumeric", min=("int[]", [-1] * 3000), max=("int", 1), seed=1, useSeed=True)["random"]
    assert kind == "int[]"
    assert stats.chisquare(np.unique(values, return_counts=True)[1]).pvalue > 0.01
    whole = compute("RandomNumeric", min=("uint64[]", [0] * 64), max=("uint64", 2**64 - 1))["random"][1]
    assert whole.max() > 2**63


def test_the_end_of_a_range_is_not_reached():
    low, high = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    values = compute("RandomNumeric", min=("float[]", [low] * 200), max=("float", high))["random"][1]
    assert set(values) == {low}
    assert compute("RandomNumeric", min=("float[2]", [5, 1]), max=("float", 5))["random"][1][0] == 5


def test_normal_numbers():
    inputs = {"mean": ("double", 10), "stdev": ("double[]", [2] * 5000), "seed": 3, "useSeed": True}
    kind, values = compute("RandomGaussian", **inputs)["random"]
    assert kind == "double[]"
    assert stats.kstest(values, stats.norm(10, 2).cdf).pvalue > 0.01
    assert np.allclose(compute("RandomGaussian", **inputs, useLog=True)["random"][1], np.exp(values))
    assert compute("RandomGaussian", mean=("colorf[3]", [1, 2, 3]), stdev=("float", 0))["random"][1].tolist() == [
        1,
        2,
        3,
    ]


def test_booleans_are_fair():
    assert stats.binomtest(sum(draws("RandomBoolean", 1000, seed=5, useSeed=True)), 1000).pvalue > 0.01


@pytest.mark.parametrize(("name", "size"), [("RandomUnitVector", 3), ("RandomUnitQuaternion", 4)])
def test_directions_are_equally_dense(name, size):
    values = np.array(draws(name, 1500, seed=2, useSeed=True))
    assert values.dtype == np.float32
    assert np.allclose(np.linalg.norm(values, axis=1), 1, atol=1e-6)
    squares = np.sort(values[:, 0] ** 2)  # of a direction in n dimensions: beta(1/2, (n-1)/2)
    assert stats.kstest(squares, stats.beta(0.5, (size - 1) / 2).cdf).pvalue > 0.01


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_noise_is_that_of_kernels(size):
    points = np.random.default_rng(size).uniform(-50, 50, (12, size)).astype(np.float32)
    kind = "float[]" if size == 1 else f"float[{size}][]"
    got = compute("Noise", position=(kind, points[:, 0] if size == 1 else points), seed=2**32 - 1)["result"]
    vector = {1: lambda p: float(p[0]), 2: lambda p: wp.vec2(*p), 3: lambda p: wp.vec3(*p), 4: lambda p: wp.vec4(*p)}[
        size
    ]
    state = wp.rand_init(-1)
    assert got[0] == "float[]"
    np.testing.assert_allclose(got[1], [wp.noise(state, vector(p)) for p in points.tolist()], rtol=0, atol=1e-5)


def test_noise_is_zero_at_whole_numbers_and_smooth():
    assert compute("Noise", position=("float[3]", [3, -7, 1e6]))["result"] == ("float", 0.0)
    x = np.linspace(-3, 3, 6001)
    values = compute("Noise", position=("float[]", x))["result"][1]
    assert np.abs(values).max() > 0.1 and np.abs(np.diff(values)).max() < 0.005


ERRORS = [
    ("RandomNumeric", {"min": ("int", 2), "max": ("int", 1)}, "inputs:min must not be above inputs:max"),
    ("RandomNumeric", {"min": ("double", math.nan)}, "inputs:min (double) must be finite numbers"),
    ("RandomNumeric", {"min": ("token", "x")}, "inputs:min (token) must be finite numbers"),
    ("RandomGaussian", {"stdev": ("double", -1)}, "inputs:stdev is negative"),
    ("Noise", {"position": ("float", math.inf)}, "inputs:position (float) must be finite numbers"),
    ("Noise", {"position": ("matrixd[2]", np.eye(2))}, "inputs:position is of type matrixd[2]"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error
