"""shape: A shape, offset, axis, slice or step that no tile has; the types of tiles that do not fit are named."""

import pytest

from tests.errors.report import accepted, refused

HEAD = """\
@wp.kernel
def k(x: wp.array(dtype=float), m: wp.array2d(dtype=float), n: int):
"""
LINES = {
    "dimensions": (
        "a = wp.tile_zeros((1, 1, 1, 1, 1))",
        "(1, 1, 1, 1, 1)",
        ["`wp.tile_zeros`: output must have between one and four dimensions, got 5"],
    ),
    "extents": ("a = wp.tile_zeros((2, 0))", "(2, 0)", ["extents must be positive integers, got (2, 0)"]),
    "broadcasting": (
        "a = wp.tile_ones(4) + wp.tile_ones(8)",
        "wp.tile_ones(4) + wp.tile_ones(8)",
        ["shape mismatch", "tile[float32, 4] and tile[float32, 8]"],
    ),
    "axis": (
        "a = wp.tile_sum(wp.tile_ones((2, 2, 1)), axis=3)",
        "3",
        ["axis 3 is out of bounds for tile with 3 dimensions"],
    ),
    "step": ("a = wp.tile_arange(0, 4, 0)", "wp.tile_arange(0, 4, 0)", ["step cannot be zero"]),
    "range": ("a = wp.tile_arange(4, 0)", "wp.tile_arange(4, 0)", ["non-empty range", "start=4.0, stop=0.0, step=1.0"]),
    "fraction": ("a = wp.tile_arange(0, 4.5, dtype=int)", "4.5", ["stop=4.5 has a fractional part"]),
    "large": ("a = wp.tile_arange(0, 400, dtype=wp.uint8)", "400", ["stop=400 is out of range for uint8"]),
    "contiguous": (
        "a = wp.tile_reshape(wp.tile_transpose(wp.tile_ones((2, 4))), 8)",
        "wp.tile_transpose(wp.tile_ones((2, 4)))",
        ["requires a contiguous tile"],
    ),
    "empty": ("a = wp.tile_ones((4, 4))[2:2]", "2:2", ["empty tile"]),
    "index": ("a = wp.tile_ones((4, 4))[1.5]", "1.5", ["must be integers or slices"]),
    "other_axes": (
        "a = wp.tile_ones((4, 4))[wp.tile_zeros(2, dtype=int), 1:]",
        "wp.tile_ones((4, 4))[wp.tile_zeros(2, dtype=int), 1:]",
        ["requires ':' on all other axes"],
    ),
    "array": (
        "wp.tile_store(m, wp.tile_ones(4))",
        "m",
        ["same number of dimensions", "2 dimensions for `a`", "array2d[float32]"],
    ),
    "mapped": (
        "a = wp.tile_map(wp.add, wp.tile_ones(4), wp.tile_ones(5))",
        "wp.tile_ones(5)",
        ["shapes do not match", "tile[float32, 4] and tile[float32, 5]"],
    ),
    "assigned": (
        "a = wp.tile_ones(4)\n    wp.tile_assign(a, wp.tile_ones(8))",
        "wp.tile_ones(8)",
        ["source tile[float32, 8] does not fit within destination tile[float32, 4]"],
    ),
    "changed": (
        "a = wp.tile_ones(4)\n    a += wp.tile_ones((2, 4))",
        "a += wp.tile_ones((2, 4))",
        ["shape mismatch", "tile[float32, 4] cannot become tile[float32, 2, 4]"],
    ),
}


CASES = {name: (f"{HEAD}    {line}\n", *rest) for name, (line, *rest) in LINES.items()}

REPAIRED = f"{HEAD}    a = wp.tile_ones(4) + wp.tile_ones((8, 1))\n    wp.tile_store(m, a)\n"


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    text, under, fragments = CASES[name]
    refused(text, "shape", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
