"""Loops over elements, and memory, that are left of tiles after they are lowered."""

from __future__ import annotations

import pytest

from omni.warp_core.ir import parser, verifier
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.errors import PassError
from omni.warp_core.passes.tiles.tile_lowering import has_tiles, lower_tiles
from tests.tiles.lowering.lowering_programs import build, random_program


def lowered(text: str, compares: bool = True) -> Function:
    (kernel,) = parser.parse(text)
    verifier.verify(kernel)
    new = lower_tiles(kernel, compares)
    verifier.verify(new)
    return new


def codes(kernel: Function) -> list[str]:
    """The operations of the kernel's own body that do something."""
    return [op.code for op in kernel.body.ops if op.code not in ("const", "return", "shared_part")]


def shared_bytes(kernel: Function) -> int:
    return sum(op.attr.bytes for op in kernel.body.walk() if op.code == "shared")


@pytest.mark.parametrize("seed", range(30))
def test_no_tile_is_left(seed: int) -> None:
    new = lower_tiles(build(random_program(seed)))
    verifier.verify(new)
    assert not has_tiles(new)


LOADED = """
  %{name}: tile8x16<f32> = tile_map (%i{name}: i32, %j{name}: i32) {{
    %x{name}: f32 = load %{array}, %i{name}, %j{name}
    yield %x{name}
  }}
"""


def scaled(source: str) -> str:
    return f"""
  %two: f32 = const[2.0]
  %scaled: tile8x16<f32> = tile_map (%i: i32, %j: i32) {{
    %x: f32 = tile_get {source}, %i, %j
    %y: f32 = mul %x, %two
    yield %y
  }}
"""


STORED = """
  %eight: i32 = const[8]
  %sixteen: i32 = const[16]
  elements %eight, %sixteen (%is: i32, %js: i32) {
    %s: f32 = tile_get %scaled, %is, %js
    store %b, %is, %js, %s
    yield
  }
  return
}
"""
HEAD = "kernel @k(%a: array2<f32>, %b: array2<f32>) blocks 32 {"


def test_load_scale_and_store_are_one_loop_without_memory():
    new = lowered(HEAD + LOADED.format(name="t", array="a") + scaled("%t") + STORED)
    assert codes(new) == ["elements"]
    assert [p.name for p, _ in new.private] == ["a", "b"]


def test_arrays_that_no_launch_compares_are_not_read_while_one_is_written():
    new = lowered(HEAD + LOADED.format(name="t", array="a") + scaled("%t") + STORED, compares=False)
    assert codes(new) == ["shared", "elements", "elements"]
    assert shared_bytes(new) == 8 * 16 * 4


def test_elements_that_are_stored_elsewhere_wait_for_all_loads():
    text = HEAD + LOADED.format(name="t", array="b") + scaled("%t")
    turned = text.replace("%x: f32 = tile_get %t, %i, %j", "%x: f32 = tile_get %t, %i, %i")
    assert codes(lowered(turned + STORED)) == ["shared", "elements", "elements"]
    assert codes(lowered(text + STORED)) == ["elements"]


def test_accumulator_of_a_loop_is_updated_in_place():
    new = lowered(
        HEAD
        + """
  %zero: i32 = const[0]
  %one: i32 = const[1]
  %many: i32 = const[100]
  %none: f32 = const[0.0]
  %first: tile8x16<f32> = tile_map (%i0: i32, %j0: i32) {
    yield %none
  }
  %scaled: tile8x16<f32> = for %zero, %many, %one, %first (%k: i32, %acc: tile8x16<f32>) {
    %t: tile8x16<f32> = tile_map (%i1: i32, %j1: i32) {
      %x: f32 = load %a, %k, %j1
      yield %x
    }
    %more: tile8x16<f32> = tile_map (%i: i32, %j: i32) {
      %old: f32 = tile_get %acc, %i, %j
      %y: f32 = tile_get %t, %i, %j
      %sum: f32 = add %old, %y
      yield %sum
    }
    yield %more
  }
"""
        + STORED
    )
    (loop,) = (op for op in new.body.ops if op.code == "for")
    assert [op.code for op in loop.regions[0].ops] == ["elements", "yield"]
    assert shared_bytes(new) == 8 * 16 * 4


def test_tiles_that_a_loop_swaps_are_copied_through_a_third():
    new = lowered(
        HEAD
        + LOADED.format(name="t", array="a")
        + LOADED.format(name="u", array="b")
        + """
  %zero: i32 = const[0]
  %one: i32 = const[1]
  %many: i32 = const[100]
  %scaled, %other = for %zero, %many, %one, %t, %u (%k: i32, %c: tile8x16<f32>, %d: tile8x16<f32>) {
    yield %d, %c
  }
""".replace("%scaled, %other =", "%scaled: tile8x16<f32>, %other: tile8x16<f32> =")
        + STORED
    )
    (loop,) = (op for op in new.body.ops if op.code == "for")
    assert [op.code for op in loop.regions[0].ops].count("elements") == 3
    assert shared_bytes(new) == 3 * 8 * 16 * 4


LENT = """
  %m: array2<f32> = tile_to_memory %t
  %zero: i32 = const[0]
  %x0: f32 = load %m, %zero, %zero
  store %b, %zero, %zero, %x0
"""


def added(first: str, second: str) -> str:
    return f"""
  %scaled: tile8x16<f32> = tile_map (%i: i32, %j: i32) {{
    %v: f32 = tile_get {first}, %i, %j
    %w: f32 = load {second}, %j, %i
    %y: f32 = add %v, %w
    yield %y
  }}
  %n: array2<f32> = tile_to_memory %scaled
  %x1: f32 = load %n, %zero, %zero
  store %b, %zero, %zero, %x1
"""


def test_memory_that_is_only_read_is_that_of_its_tile():
    new = lowered(HEAD + LOADED.format(name="t", array="a") + LENT + scaled("%t") + STORED)
    assert codes(new) == ["shared", "elements", "load", "store", "elements"]
    assert shared_bytes(new) == 8 * 16 * 4


def test_memory_that_is_written_is_a_copy_of_a_tile_that_lives_on():
    written = LENT + "\n  store %m, %zero, %zero, %x0\n"
    new = lowered(HEAD + LOADED.format(name="t", array="a") + written + scaled("%t") + STORED)
    assert codes(new) == ["shared", "elements", "elements", "load", "store", "store", "elements"]
    assert shared_bytes(new) == 2 * 8 * 16 * 4


def test_a_map_that_reads_lent_memory_is_not_made_in_the_same_place():
    new = lowered(HEAD + LOADED.format(name="t", array="a") + LENT + added("%t", "%m") + STORED)
    assert shared_bytes(new) == 2 * 8 * 16 * 4


def test_results_of_algorithms_lie_in_the_memory_that_these_were_given():
    new = lowered(
        HEAD
        + """
  %nothing: tile8x16<f32> = tile_empty
  %m: array2<f32> = tile_to_memory %nothing
  %zero: i32 = const[0]
  %one: f32 = const[1.0]
  store %m, %zero, %zero, %one
  %t: tile8x16<f32> = tile_from_memory %m
"""
        + scaled("%t")
        + STORED
    )
    assert codes(new) == ["shared", "store", "barrier", "elements"]
    assert shared_bytes(new) == 8 * 16 * 4


def test_a_map_of_elements_as_they_are_is_no_loop():
    same = """
  %u: tile8x16<f32> = tile_map (%i1: i32, %j1: i32) {
    %x1: f32 = tile_get %t, %i1, %j1
    yield %x1
  }
  %m: array2<f32> = tile_to_memory %u
"""
    new = lowered(HEAD + LOADED.format(name="t", array="a") + same + scaled("%u") + STORED)
    assert codes(new) == ["elements"]


def neighbours(number: int) -> str:
    """A map that gets two elements of the map before it."""
    return f"""
  %t{number + 1}: tile8x16<f32> = tile_map (%i{number}: i32, %j{number}: i32) {{
    %r{number}: i32 = const[7]
    %k{number}: i32 = sub %r{number}, %i{number}
    %x{number}: f32 = tile_get %t{number}, %i{number}, %j{number}
    %y{number}: f32 = tile_get %t{number}, %k{number}, %j{number}
    %d{number}: f32 = div %x{number}, %y{number}
    yield %d{number}
  }}
"""


def test_tiles_whose_lives_do_not_meet_share_memory():
    first = """
  %t0: tile8x16<f32> = tile_map (%i: i32, %j: i32) {
    %x: f32 = load %a, %i, %j
    yield %x
  }
"""
    text = HEAD + first + "".join(map(neighbours, range(6))) + STORED.replace("%scaled", "%t6")
    new = lowered(text)
    assert codes(new) == ["shared"] + ["elements"] * 6
    assert shared_bytes(new) == 2 * 8 * 16 * 4


def test_tiles_that_need_too_much_memory_are_named():
    loaded = "".join(
        f"""
  %t{n}: tile128x{64 + n}<f32> = tile_map (%i{n}: i32, %j{n}: i32) {{
    %x{n}: f32 = load %a, %i{n}, %j{n}
    yield %x{n}
  }}
  %m{n}: array2<f32> = tile_to_memory %t{n}
"""
        for n in range(8)
    )
    used = "".join(f"  store %m{n}, %zero, %zero, %none\n" for n in range(8))
    text = HEAD + "\n  %zero: i32 = const[0]\n  %none: f32 = const[0.0]\n" + loaded + used + "  return\n}\n"
    with pytest.raises(PassError, match="276480 bytes at once, which exceeds the 256 KiB arena") as caught:
        lowered(text)
    assert [note for note, _ in caught.value.notes] == [
        f"tile[float32, 128, {n}] takes {128 * n * 4} bytes" for n in (71, 70, 69)
    ]
