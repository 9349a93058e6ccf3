"""Code that relies on arrays being aligned and apart: launches take it where that is so, and only there."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.launches.plans import PROMISED, STRIDED, Options, request
from tests.on_gpu import MODE


@wp.struct
class Ends:
    first: wp.array(dtype=wp.vec4)
    second: wp.array(dtype=wp.vec4)


def fresh():
    """A kernel that no other test has launched."""

    @wp.kernel
    def move(x: wp.array(dtype=wp.vec4), v: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        out[i] = x[i] + 2.0 * v[i]

    return move


def floats(n, gpu):
    return wp.array(np.arange(n), dtype=float, device=gpu)


def vectors(numbers, first, n):
    """n vectors over an array of numbers, from number `first` on."""
    return wp.array(
        ptr=numbers.ptr + 4 * first,
        dtype=wp.vec4,
        shape=n,
        device=numbers.device,
        deleter=lambda *_: numbers,  # which keeps it alive
    )


def variants(kernel):
    return kernel._plan.variants


def expected(x, v):
    return x.numpy() + np.float32(2) * v.numpy()


def test_arrays_as_promised(gpu):
    move, (x, v, out) = fresh(), (vectors(floats(32, gpu), 0, 8) for _ in range(3))
    correct = expected(x, v)
    wp.launch(move, dim=8, inputs=[x, v], outputs=[out])
    np.testing.assert_array_equal(out.numpy(), correct)
    assert variants(move) == (PROMISED,)
    wp.launch(move, dim=8, inputs=[x, x], outputs=[out])  # what is only read may be the same
    np.testing.assert_array_equal(out.numpy(), expected(x, x))
    assert variants(move) == (PROMISED,)
    every = [vectors(floats(32, gpu), 0, 8)[::2] for _ in range(3)]
    wp.launch(move, dim=4, inputs=every)
    assert variants(move) == (PROMISED, PROMISED | STRIDED)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_misaligned_arrays(gpu, which):
    move = fresh()
    arrays = [vectors(floats(33, gpu), int(i == which), 8) for i in range(3)]
    correct = expected(*arrays[:2])
    wp.launch(move, dim=8, inputs=arrays)
    np.testing.assert_array_equal(arrays[2].numpy(), correct)
    assert variants(move) == (0,)


def test_arrays_that_share_memory(gpu):
    move, numbers, v = fresh(), floats(64, gpu), vectors(floats(32, gpu), 0, 8)
    x, apart = vectors(numbers, 0, 8), vectors(numbers, 32, 8)
    correct = expected(x, v)
    wp.launch(move, dim=8, inputs=[x, v], outputs=[x])
    np.testing.assert_array_equal(x.numpy(), correct)
    assert variants(move) == (0,)
    wp.launch(move, dim=8, inputs=[x, v], outputs=[apart])
    assert variants(move) == (0, PROMISED)


def test_arrays_that_meet_themselves(gpu):
    """What all threads add to one element is added atomically."""

    @wp.kernel
    def count(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] += 1.0

    x = wp.zeros(8, dtype=float, device=gpu)
    wp.launch(count, dim=8, inputs=[x])
    assert variants(count) == (PROMISED,)
    wp.launch(count, dim=8, inputs=[wp.array(ptr=x.ptr, dtype=float, shape=8, strides=(0,), device=gpu)])
    assert variants(count) == (STRIDED, PROMISED)
    assert x.list() == [9.0, *[1.0] * 7]


def test_arrays_in_structs(gpu):
    @wp.kernel
    def turn(ends: Ends, out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        out[i] = ends.first[i] - ends.second[i]

    numbers, out = floats(64, gpu), wp.zeros(4, dtype=wp.vec4)
    ends = Ends()
    ends.first, ends.second = vectors(numbers, 16, 4), vectors(numbers, 0, 4)
    wp.launch(turn, dim=4, inputs=[ends, out])
    assert variants(turn) == (PROMISED,)
    ends.first = vectors(numbers, 17, 4)
    wp.launch(turn, dim=4, inputs=[ends, out])
    assert set(variants(turn)) == {0, PROMISED}
    np.testing.assert_array_equal(out.numpy(), np.full((4, 4), 17.0))


def test_gradients_count_as_written(gpu):
    move = fresh()
    x, v, out = (vectors(floats(32, gpu), 0, 8) for _ in range(3))
    x.grad = v
    wp.launch(move, dim=8, inputs=[x, v], outputs=[out])
    assert 0 in variants(move)


def test_recorded_launches_follow_their_arguments(gpu):
    move, (x, v, out) = fresh(), (vectors(floats(32, gpu), 0, 8) for _ in range(3))
    command = wp.launch(move, dim=8, inputs=[x, v], outputs=[out], record_cmd=True)
    command.launch()
    assert variants(move) == (PROMISED,)
    off = vectors(floats(33, gpu), 1, 8)
    command.set_param_at_index(0, off)
    command.launch()
    assert variants(move) == (0, PROMISED)
    np.testing.assert_array_equal(out.numpy(), expected(off, v))


def test_graphs_follow_their_arguments(gpu):
    move, (x, v, out) = fresh(), (vectors(floats(32, gpu), 0, 8) for _ in range(3))
    command = wp.launch(move, dim=8, inputs=[x, v], outputs=[out], record_cmd=True)
    command.launch()
    with wp.ScopedCapture() as capture:
        command.launch()
    off = vectors(floats(33, gpu), 1, 8)
    for given, ready in ((x, (PROMISED,)), (off, (0, PROMISED)), (v, (0, PROMISED))):
        command.set_param_at_index(0, given)
        wp.capture_launch(capture.graph)
        np.testing.assert_array_equal(out.numpy(), expected(given, v))
        assert variants(move) == ready


def test_debug_mode_and_adjoints_are_plain(gpu):
    move = fresh()
    x, v, out = (wp.ones(8, dtype=wp.vec4, requires_grad=True) for _ in range(3))
    wp.launch(move, dim=8, inputs=[x, v], outputs=[out], adjoint=True)
    wp.config.mode = "debug"
    try:
        wp.launch(move, dim=8, inputs=[x, v], outputs=[out])
    finally:
        wp.config.mode = "release"
    assert {plan.variants for options, plan in move._plans.items() if options.adjoint or options.debug} == {(0,)}


def test_the_key_tells_code_apart(gpu):
    move = fresh()
    plain, promised = (request(move, Options(False, device=gpu.id), v) for v in (0, PROMISED))
    assert plain.key() != promised.key()
    assert promised.gpu.aligned and promised.gpu.disjoint and not plain.gpu.aligned and not plain.gpu.disjoint


@pytest.mark.skipif(MODE != "simulated", reason="looks at arrays in the memory of the CPU")
def test_what_is_promised():
    """Against lists of all bytes, on random views of one block of memory."""
    rng = np.random.default_rng(3)
    memory = np.zeros(2048 + 16, np.uint8)
    base = memory.ctypes.data + -memory.ctypes.data % 16
    kinds = {wp.vec4: (16, 16), wp.vec2: (8, 8), wp.vec3: (12, 4)}  # size, and what it promises
    outcomes = set()
    for _ in range(1000):
        arrays, seen, is_aligned, is_apart = [], set(), True, True
        for dtype, (size, unit) in list(kinds.items())[: rng.integers(1, 4)]:
            n, step = int(rng.integers(0, 6)), size * int(rng.choice([1, 2, -1])) + 4 * int(rng.random() < 0.1)
            first = 1024 + int(rng.integers(-40, 40)) * 16 + 4 * int(rng.random() < 0.1)
            arrays.append(wp.array(ptr=base + first, dtype=dtype, shape=(n,), strides=(step,), device="cpu"))
            covered = [at for k in range(n) for at in (first + k * step, first + k * step + size - 1)]
            whole = set(range(min(covered), max(covered) + 1)) if n else set()
            is_aligned &= n == 0 or (first % unit == 0 and step % unit == 0)
            is_apart &= not whole & seen and (n < 2 or abs(step) >= size)
            seen |= whole
        assert _native.promised(arrays) == (is_aligned and is_apart)
        outcomes.add((is_aligned, is_apart))
    assert len(outcomes) == 4
