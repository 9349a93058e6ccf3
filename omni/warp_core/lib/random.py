"""Random numbers and points: streams that depend on nothing but their seed.

The state of a stream is a uint32. Every draw replaces it by its PCG hash (Jarzynski and Olano, "Hash Functions for GPU
Rendering", 2020) and makes its result from the new state. In a kernel the functions advance the local variable that
is passed as `state`; they return the advanced state after the result, see `registry.Builtin`. Start with `_draw`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import Array, Vec
from ..lang.registry import builtin
from ..lang.values.scalars import float32, float64, int32, uint32
from .exponentials import cbrt, exp, log
from .scalar_functions import floor, sqrt
from .search import lower_bound
from .trigonometry import cos, sin

TAU = 6.283185307179586
HALF_LOG_TAU = 0.9189385332046727
UNIT = 2.0**-24  # spacing of randf
LARGE_RATE = 10.0  # from here on poisson draws by rejection


@builtin
def _pcg(x: uint32) -> uint32:
    """The hash that everything is made of."""
    s = x * uint32(747796405) + uint32(2891336453)
    word = ((s >> ((s >> uint32(28)) + uint32(4))) ^ s) * uint32(277803737)
    return (word >> uint32(22)) ^ word


@builtin
def _unit(bits: uint32) -> float32:
    """The upper 24 of 32 random bits as a number in [0, 1)."""
    return float32(int32(bits >> uint32(8))) * UNIT


@builtin
def _product(a: float32, b: float32) -> float32:
    """A * b rounded, whatever is added to it: streams do not depend on fused operations."""
    return prim.fma(a, b, -0.0)


@builtin
def rand_init(seed: int32) -> uint32:
    """State of a new stream of random numbers.

    Args:
        seed: any number.
        offset: if given, one of many streams of that seed, for instance the index of the thread.

    Returns:
        The state, a uint32, for `randf` and the other functions that draw.

    Error: exact.
    Derivative: none.

    >>> int(wp.rand_init(42))
    1223963391
    """
    return _pcg(uint32(seed))


@builtin(name="rand_init")
def _rand_init_stream(seed: int32, offset: int32) -> uint32:
    return _pcg(uint32(seed) + _pcg(uint32(offset)))


@builtin(updates=True)
def randi(state: uint32) -> tuple[int32, uint32]:
    """Random integer.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        low: the least result, an int32. Without `low` and `high` every int32 is equally likely.
        high: an int32 above all results.

    Returns:
        An int32.

    Error: exact; with a range, results are uniform to high - low parts in 2**32.
    Derivative: none.

    >>> wp.randi(wp.rand_init(42), 0, 100)
    39
    """
    state = _pcg(state)
    return int32(state), state


@builtin(name="randi", updates=True)
def _randi_range(state: uint32, low: int32, high: int32) -> tuple[int32, uint32]:
    state = _pcg(state)
    return low + int32(prim.rem(state, uint32(high) - uint32(low))), state


@builtin(updates=True)
def randu(state: uint32) -> tuple[uint32, uint32]:
    """Random unsigned integer.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        low: the least result, a uint32. Without `low` and `high` every uint32 is equally likely.
        high: a uint32 above all results.

    Returns:
        A uint32.

    Error: exact; with a range, results are uniform to high - low parts in 2**32.
    Derivative: none.

    >>> int(wp.randu(wp.rand_init(42), wp.uint32(10), wp.uint32(20)))
    19
    """
    state = _pcg(state)
    return state, state


@builtin(name="randu", updates=True)
def _randu_range(state: uint32, low: uint32, high: uint32) -> tuple[uint32, uint32]:
    state = _pcg(state)
    return low + prim.rem(state, high - low), state


@builtin(updates=True)
def randf(state: uint32) -> tuple[float32, uint32]:
    """Random number, uniform.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        low: the least result, a float32; 0 if it and `high` are not given.
        high: the end of the range, a float32; 1 if it is not given.

    Returns:
        low + (high - low) * u with u a multiple of 2**-24 in [0, 1), a float32.

    Error: float32 two roundings.
    Derivative: none in `state`; 1 - u in `low`, u in `high`.

    >>> wp.randf(wp.rand_init(42), 4.0, 4.0)
    4.0
    """
    state = _pcg(state)
    return _unit(state), state


@builtin(name="randf", updates=True)
def _randf_range(state: uint32, low: float32, high: float32) -> tuple[float32, uint32]:
    u = randf(state)
    return _product(high - low, u) + low, state


@builtin(updates=True)
def randn(state: uint32) -> tuple[float32, uint32]:
    """Random number, normally distributed.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        A float32 of mean 0 and standard deviation 1, between -5.77 and 5.77.

    Error: float32 4 ULP of the Box-Muller formula sqrt(-2 * log(u + 5.96e-8)) * cos(2 * pi * v) of two draws u, v.
    Derivative: none.

    >>> abs(wp.randn(wp.rand_init(42))) < 5.8
    True
    """
    u = randf(state)
    v = randf(state)
    return sqrt(-2.0 * log(u + 5.96e-8)) * cos(TAU * v), state


@builtin(updates=True)
def poisson(state: uint32, lam: float32) -> tuple[uint32, uint32]:
    """Random count of independent events.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced, unless `lam` is 0.
        lam: the mean of the count, at least 0.

    Returns:
        A uint32 of mean and variance `lam`.

    Error: counts below 2**24 are exact; beyond, they are the float32 nearest to a count.
    Derivative: none.

    >>> int(wp.poisson(wp.rand_init(42), 0.0))
    0
    """
    if lam == 0.0:
        return uint32(0), state
    if lam >= LARGE_RATE:
        return _poisson_rejection(state, prim.min(lam, 4.0e9)), state
    return _poisson_product(state, exp(prim.neg(lam))), state


@builtin(updates=True)
def _poisson_product(state: uint32, threshold: float32) -> tuple[uint32, uint32]:
    """Return how many draws can be multiplied before the product is not above exp(-lam)."""
    count = uint32(0)
    product = randf(state)
    while product > threshold:
        product = product * randf(state)
        count = count + uint32(1)
    return count, state


@builtin(updates=True)
def _poisson_rejection(state: uint32, lam: float32) -> tuple[uint32, uint32]:
    """Transformed rejection with squeeze: Hoermann, "The transformed rejection method for generating Poisson random
    variables", 1993, algorithm PTRS.
    """
    b = 0.931 + _product(2.53, sqrt(lam))
    a = -0.059 + _product(0.02483, b)
    scale = 1.1239 + 1.1328 / (b - 3.4)
    inside = 0.9277 - 3.6224 / (b - 2.0)
    log_lam = log(lam)
    while True:
        u = randf(state) - 0.5
        v = randf(state)
        us = 0.5 - prim.abs(u)
        k = floor(_product((2.0 * a) / us + b, u) + lam + 0.43)
        if us >= 0.07 and v <= inside:
            return uint32(k), state
        if us == 0.0 or k < 0.0 or (us < 0.013 and v > us):
            continue
        likely = log(v) + log(scale) - log(a / (us * us) + b)
        if likely <= _product(k, log_lam) - lam - _log_factorial(k):
            return uint32(k), state


@builtin
def _log_factorial(k: float32) -> float32:
    """log(k!) for k >= 0, by Stirling's series beyond 7."""
    x = float64(k) + 8.0
    shift = float64(1.0)
    for i in range(1, 8):
        shift = shift * (x - float64(i))
    r = 1.0 / (x * x)
    series = ((r * (1.0 / 1260.0) - 1.0 / 360.0) * r + 1.0 / 12.0) / x
    return float32((x - 0.5) * prim.libm("log", x) - x + HALF_LOG_TAU + series - prim.libm("log", shift))


@builtin(updates=True)
def sample_cdf(state: uint32, cdf: Array[float32]) -> tuple[int32, uint32]:
    """Random index, distributed as a table says.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        cdf: array of increasing numbers that ends with 1: the probability that the index is at most i.

    Returns:
        The first index i with cdf[i] >= u, for u uniform in [0, 1), an int32; the length of `cdf` if no index fits.

    Error: exact.
    Derivative: none.

    >>> wp.sample_cdf(wp.rand_init(42), wp.array([0.0, 0.0, 1.0], dtype=float))
    2
    """
    u = randf(state)
    return lower_bound(cdf, u), state


@builtin(updates=True)
def sample_triangle(state: uint32) -> tuple[Vec[2, float32], uint32]:
    """Random point in a triangle.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec2 of barycentric coordinates u, v, uniform over the triangle; the third one is 1 - u - v.

    Error: float32 2 ULP.
    Derivative: none.

    >>> sum(wp.sample_triangle(wp.rand_init(42))) <= 1.0
    True
    """
    r = sqrt(randf(state))
    v = randf(state)
    return Vec[2, float32](1.0 - r, r * v), state


@builtin
def _on_circle(u: float32) -> Vec[2, float32]:
    angle = TAU * u
    return Vec[2, float32](cos(angle), sin(angle))


@builtin(updates=True)
def sample_unit_ring(state: uint32) -> tuple[Vec[2, float32], uint32]:
    """Random point on the unit circle.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.

    Returns:
        vec2 of length 1, uniform over the circle.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> round(wp.length(wp.sample_unit_ring(wp.rand_init(42))), 5)
    1.0
    """
    return _on_circle(randf(state)), state


@builtin(updates=True)
def sample_unit_disk(state: uint32) -> tuple[Vec[2, float32], uint32]:
    """Random point in the unit disk.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec2 of length at most 1, uniform over the disk.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> wp.length(wp.sample_unit_disk(wp.rand_init(42))) <= 1.0
    True
    """
    r = sqrt(randf(state))
    return _on_circle(randf(state)) * r, state


@builtin
def _on_sphere(z: float32, radius: float32, u: float32) -> Vec[3, float32]:
    """The point of height `z` and distance `radius` from the axis, `u` of a turn from the x axis."""
    ring = _on_circle(u)
    return Vec[3, float32](ring[0] * radius, ring[1] * radius, z)


@builtin(updates=True)
def sample_unit_sphere_surface(state: uint32) -> tuple[Vec[3, float32], uint32]:
    """Random point on the unit sphere.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec3 of length 1, uniform over the surface.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> round(wp.length(wp.sample_unit_sphere_surface(wp.rand_init(42))), 5)
    1.0
    """
    u = randf(state)
    return _on_sphere(1.0 - 2.0 * u, 2.0 * sqrt(u * (1.0 - u)), randf(state)), state


@builtin(updates=True)
def sample_unit_sphere(state: uint32) -> tuple[Vec[3, float32], uint32]:
    """Random point in the unit ball.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by three draws.

    Returns:
        vec3 of length at most 1, uniform over the ball.

    Error: float32 6 ULP of 1.
    Derivative: none.

    >>> wp.length(wp.sample_unit_sphere(wp.rand_init(42))) <= 1.0
    True
    """
    p = sample_unit_sphere_surface(state)
    return p * cbrt(randf(state)), state


@builtin(updates=True)
def sample_unit_hemisphere_surface(state: uint32) -> tuple[Vec[3, float32], uint32]:
    """Random point on the upper half of the unit sphere.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec3 of length 1 with z >= 0, uniform over the surface.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> wp.sample_unit_hemisphere_surface(wp.rand_init(42))[2] >= 0.0
    True
    """
    u = randf(state)
    return _on_sphere(1.0 - u, sqrt(u * (2.0 - u)), randf(state)), state


@builtin(updates=True)
def sample_unit_hemisphere(state: uint32) -> tuple[Vec[3, float32], uint32]:
    """Random point in the upper half of the unit ball.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by three draws.

    Returns:
        vec3 of length at most 1 with z >= 0, uniform over the half ball.

    Error: float32 6 ULP of 1.
    Derivative: none.

    >>> wp.sample_unit_hemisphere(wp.rand_init(42))[2] >= 0.0
    True
    """
    p = sample_unit_hemisphere_surface(state)
    return p * cbrt(randf(state)), state


@builtin(updates=True)
def sample_unit_square(state: uint32) -> tuple[Vec[2, float32], uint32]:
    """Random point in the unit square around the origin.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec2 with components in [-1/2, 1/2), uniform.

    Error: exact multiples of 2**-24.
    Derivative: none.

    >>> wp.max(wp.abs(wp.sample_unit_square(wp.rand_init(42)))) <= 0.5
    True
    """
    x = randf(state)
    y = randf(state)
    return Vec[2, float32](x - 0.5, y - 0.5), state


@builtin(updates=True)
def sample_unit_cube(state: uint32) -> tuple[Vec[3, float32], uint32]:
    """Random point in the unit cube around the origin.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by three draws.

    Returns:
        vec3 with components in [-1/2, 1/2), uniform.

    Error: exact multiples of 2**-24.
    Derivative: none.

    >>> wp.max(wp.abs(wp.sample_unit_cube(wp.rand_init(42)))) <= 0.5
    True
    """
    p = sample_unit_square(state)
    return Vec[3, float32](p[0], p[1], randf(state) - 0.5), state
