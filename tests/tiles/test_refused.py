"""Mistakes of kernels with tiles: types, places, and elements out of bounds."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.content_hash import used_names
from omni.warp_core.lang.registry import BLOCK_BUILTINS
from tests.tiles.tile_runs import COMPILED, interpreted, launched, refused

f32 = np.float32


@pytest.mark.parametrize(
    "text, under, fragments",
    [
        (
            "a = wp.tile_ones(4, dtype=wp.vec3)\nb = a * a",
            "a * a",
            ["Cannot multiply tile<vec3f> by tile<vec3f>: at least one element type must be scalar", "tile[vec3f, 4]"],
        ),
        (
            "b = wp.tile_ones(4, dtype=wp.vec3) / wp.vec3(1.0)",
            "wp.tile_ones(4, dtype=wp.vec3) / wp.vec3(1.0)",
            ["Cannot divide tile<vec3f> by vec3f: at least one operand must be a scalar type"],
        ),
        (
            "b = wp.tile_ones(4) + wp.tile_ones(4, dtype=int)",
            None,
            ["`+` cannot combine tile[float32, 4] and tile[int32, 4]", "wp.tile_astype"],
        ),
        ("b = wp.tile_ones(4) * wp.float64(2.0)", None, ["tile[float32, 4] and float64", "wp.float32(...)"]),
        ("a = wp.tile_ones(4)\na = wp.tile_ones(5)", "a", ["`a` is tile[float32, 4] and cannot become"]),
        (
            "if n > 1:\n    a = wp.tile_ones(4)\nelse:\n    a = wp.tile_ones(4, dtype=int)\nwp.tile_store(x, a)",
            "a",
            ["`a` is tile[float32, 4] and cannot become tile[int32, 4]"],
        ),
        ("a = wp.tile_ones(4)\na[:2] = wp.tile_ones(2, dtype=int)", None, ["cannot be assigned", "wp.tile_astype"]),
        ("a = wp.tile_ones(4)\nb = a[4]", "4", ["tile index 4 is out of bounds for axis 0 with size 4"]),
        ("b = wp.tile_ones(4)[::0]", "::0", ["the step of a slice cannot be zero"]),
        ("b = wp.tile_extract(wp.tile_ones(4), -1)", "-1", ["tile index -1 is out of bounds"]),
        ("a = wp.tile_arange(n)", "n", ["must be compile time constants, but stop is not"]),
        ("a = wp.tile_load(n, 4)", "n", ["takes an array for `a`, not int32"]),
        ("wp.tile_store(x, 1.0)", "1.0", ["takes a tile for `t`"]),
        ("(wp.tile_ones(4) + 1.0)[0] = 2.0", None, ["only locals and array elements can be changed"]),
        (
            "a = wp.tile_ones(4)\nb = wp.tile_map(lambda u: u + wp.tile_sum(a)[0], a)",
            "wp.tile_sum(a)",
            ["for one element of a tile cannot be work of the whole block"],
        ),
        (
            "t = wp.tile_ones(4)\nv = t[1:]\nv[0] = 2.0\n"
            "for i in range(n):\n    t = wp.tile_ones(4)\nwp.tile_store(x, v)",
            "t",
            ["`t` cannot hold another tile here, as `v` shows elements", "wp.tile_assign(t, ...)"],
        ),
        ("for i in wp.tile_ones(4):\n    x[0] = i", None, ["tile[float32, 4] cannot be iterated"]),
        ("if wp.tile_ones(4):\n    x[0] = 1.0", None, ["cannot be used as a condition", "such as t[0]"]),
        *(
            (
                f"t = wp.tile_ones(4)\nu = wp.where({condition}, t, 0.0)",
                part,
                ["tile[bool, 4] cannot be used as a condition", "(0.0 < t) & (t < 2.0)", "turn one round by `~`"],
            )
            for condition, part in (
                ("0.0 < t < 2.0", "0.0 < t"),
                ("0.0 < x[0] < t", "0.0 < x[0] < t"),
                ("t > 0.0 and t < 2.0", "t > 0.0"),
                ("t < 0.0 or t > 2.0", "t < 0.0"),
                ("not t > 0.0", "t > 0.0"),
            )
        ),
    ],
)
def test_refused(text, under, fragments):
    refused(text, *fragments, under=under)


@wp.kernel
def reads_outside(x: wp.array[float], n: int):
    t = wp.tile_ones((3, 2))
    x[0] = t[1, n]


@wp.kernel
def writes_outside(x: wp.array[float], n: int):
    t = wp.tile_ones((3, 2))
    t[0, n] = 1.0
    wp.tile_store(x, t[0])


@pytest.mark.parametrize("kernel", [reads_outside, writes_outside])
def test_elements_out_of_bounds_are_told(kernel):
    """Also in release mode; -1 is the last element."""
    interpreted(kernel, 1, [np.zeros(2, f32), -1], 32)
    with pytest.raises(Exception, match="coordinate dimension 1 has index"):
        interpreted(kernel, 1, [np.zeros(2, f32), 2], 32)
    if COMPILED:
        launched(kernel, 1, [np.zeros(2, f32), -1], 32)
        with pytest.raises(wp.KernelError, match=r"coordinate dimension 1 has index 2, outside valid range \[0, 2\)"):
            launched(kernel, 1, [np.zeros(2, f32), 2], 32)
            wp.synchronize()


def test_sizes_of_blocks_matter_to_kernels_with_tiles():
    assert used_names(reads_outside).mention(BLOCK_BUILTINS)
