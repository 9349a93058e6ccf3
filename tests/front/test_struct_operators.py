"""Struct operators: functions that the type of their first argument supplies, and `*` of structs in calls."""

import pytest

import omni.warp_core as wp
from omni.warp_core.front.content_hash import digest
from omni.warp_core.lang.values.struct_operators import StructOperator

area = StructOperator("area", "area(shape)")


@wp.func
def area_of_square(s: wp.Any):
    return s.side * s.side


@wp.func
def area_of_disc(s: wp.Any):
    return wp.pi * s.radius * s.radius


@wp.func
def scaled(s: wp.Any, by: float):
    return by * s.side


OF_SQUARE = {"area": area_of_square, "call": scaled}
OF_DISC = {"area": area_of_disc}
REFUSED_BY_DISC = {"corners": "a disc has no corners: take a square"}


@wp.struct
class Square:
    side: float
    height: float
    supplies = OF_SQUARE


@wp.struct
class Disc:
    radius: float
    supplies = OF_DISC
    refuses = REFUSED_BY_DISC


@wp.struct
class Pair:
    square: Square
    disc: Disc


@wp.func
def both(a: float, b: float, by: float):
    return by * (a + 10.0 * b)


@wp.kernel
def areas(pair: Pair, out: wp.array[float]):
    out[0] = area(pair.square)
    out[1] = area(pair.disc)
    out[2] = pair.square(3.0)
    out[3] = both(*pair.square, 2.0)
    items = (1.0, *pair.square)
    out[4] = items[2]


def test_each_type_supplies_its_own_function():
    out = wp.zeros(5, dtype=float)
    wp.launch(areas, dim=1, inputs=[Pair(Square(2.0, 5.0), Disc(1.0)), out])
    assert out.numpy() == pytest.approx([4.0, 3.14159265, 6.0, 104.0, 5.0])


def test_what_a_type_lacks_is_refused_with_its_reason():
    corners = StructOperator("corners", "corners(shape)")

    @wp.kernel
    def of_disc(disc: Disc, out: wp.array[float]):
        out[0] = corners(disc)

    @wp.kernel
    def of_number(out: wp.array[float]):
        out[0] = area(out[0])

    with pytest.raises(wp.CompileError, match=r"`disc` is Disc, which has no `corners\(shape\)`(.|\n)*take a square"):
        wp.launch(of_disc, dim=1, inputs=[Disc(1.0), wp.zeros(1, dtype=float)])
    with pytest.raises(wp.CompileError, match=r"`out\[0\]` is float32, which has no `area\(shape\)`"):
        wp.launch(of_number, dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert area(Square(3.0, 1.0)) == 9.0
    with pytest.raises(TypeError, match="in kernels: float has none"):
        area(1.0)
    with pytest.raises(TypeError, match="got no argument"):
        area()


def test_the_hash_of_a_kernel_has_what_its_structs_supply():
    @wp.kernel
    def of_square(s: Square, out: wp.array[float]):
        out[0] = area(s)

    before = digest(of_square)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(OF_SQUARE, "area", area_of_disc)
        assert digest(of_square) != before
    assert digest(of_square) == before
