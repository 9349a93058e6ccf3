"""Effects of kernels on the memory of their arrays, worked out by hand."""

from __future__ import annotations

import omni.warp_core as wp
from omni.warp_core import compiler
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.analysis.effects import Access, covered_arrays, needed_arrays, written_arrays, written_params


@wp.kernel
def in_turns(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=int), n: int):
    i = wp.tid()
    source = x
    to = y
    for _ in range(n):
        to[i] = source[i]
        between = source
        source = to
        to = between


def test_arrays_that_a_loop_carries_are_any_of_their_element_type():
    kernel = lower_kernel(in_turns)
    assert compiler.effects(in_turns).params == (Access(True, True), Access(True, True), Access(), Access())
    assert written_params(kernel) == (True, True, False, False)


@wp.struct
class Pair:
    a: wp.array(dtype=float)
    b: wp.array(dtype=float)


@wp.kernel
def of_members(p: Pair, q: Pair):
    i = wp.tid()
    made = Pair()
    made.a = q.b
    made.b = p.a
    p.b[i] = made.a[i + 1] + made.b[i]


def test_members_of_structs_are_told_apart():
    kernel = lower_kernel(of_members)
    found = compiler.effects(of_members)
    reads, writes = Access(reads=True), Access(writes=True)
    assert {(number, *path): access._replace(covers=False) for number, path, access in found.arrays} == {
        (0, "a"): reads,
        (0, "b"): writes,
        (1, "b"): reads,
    }
    assert {need.name for need in needed_arrays(kernel)} == {"p.a", "p.b", "q.b"}


@wp.struct
class Sides:
    left: Pair
    right: Pair
    count: wp.array(dtype=int)


@wp.func
def put(p: Pair, i: int):
    p.b[i] = p.a[i]


@wp.func
def put_right(s: Sides, i: int):
    put(s.right, i)
    made = Pair()
    made.b = s.left.a
    put(made, i)


@wp.kernel
def of_inner_members(s: Sides, other: Sides, plain: wp.array(dtype=float)):
    put_right(s, wp.tid())


def test_functions_write_the_members_that_they_are_given():
    written = written_arrays(lower_kernel(of_inner_members))
    assert written == (frozenset({(0, 0), (1, 1)}), frozenset(), frozenset())


@wp.kernel
def of_a_choice(s: Sides, other: Sides, plain: wp.array(dtype=float), counts: wp.array(dtype=int)):
    target = s.left.a
    for _ in range(s.count[0]):
        target = s.right.b
    target[0] = 1.0


def test_a_choice_of_members_is_any_of_their_element_type():
    floats = frozenset((side, member) for side in (0, 1) for member in (0, 1))
    assert written_arrays(lower_kernel(of_a_choice)) == (floats, floats, frozenset({()}), frozenset())


@wp.kernel
def at_own_index(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j] = 1.0
    y[j, i] = x[i, j]
    z[i, j + 1] = 2.0


def test_every_element_is_written_where_each_thread_writes_its_own():
    found = compiler.effects(at_own_index).params
    assert found == (Access(False, True, True), Access(False, True, False), Access(False, True, False))


@wp.func
def first(x: wp.array(dtype=float)):
    return x[0]


@wp.kernel
def through_members(p: Pair, q: Pair, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    p.a[i] = x[i]
    p.b[i] = 1.0
    q.a[i] = p.b[i + 1]
    x[i] = 2.0
    y[i] = first(y)


def test_members_are_covered_where_nothing_reads_them():
    assert {array.name for array in covered_arrays(lower_kernel(through_members))} == {"p.a", "q.a"}
    found = {(number, *path): access.covers for number, path, access in compiler.effects(through_members).arrays}
    assert found == {(0, "a"): True, (0, "b"): False, (1, "a"): True, (2,): False, (3,): False}


@wp.func
def bits_of(x: float):
    return wp.cast(x, wp.int32)


@wp.kernel
def of_bits(x: wp.array(dtype=float), y: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = bits_of(x[i])


@wp.kernel
def of_library(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.exp(x[i])  # takes numbers apart by their bits


def test_bit_casts_of_the_library_do_not_count():
    found = compiler.effects(of_bits)
    assert (found.bitcasts_floats, found.makes_of_bits) == (True, False)
    found = compiler.effects(of_library)
    assert (found.bitcasts_floats, found.makes_of_bits) == (False, False)
