"""Calls of algorithms over tiles that are refused: what the report says, and where its caret is."""

import pytest

from tests.tiles.tile_runs import refused

LOAD = "a = wp.tile_load(m, (4, 3))\nb = wp.tile_load(m, (4, 4))\nc = wp.tile_load(x, 4)\n"


@pytest.mark.parametrize(
    ("call", "fragment", "under"),
    [
        ("d = a @ b", "the first has 3 columns, the second 4 rows", "a @ b"),
        ("d = wp.tile_matmul(a, b)", "shape mismatch: tile[float32, 4, 3] and tile[float32, 4, 4]", "b"),
        ("wp.tile_matmul(b, a, b)", "shape mismatch", "b"),
        ("d = wp.tile_matmul(c, b)", "takes a tile of two dimensions", "c"),
        ("d = wp.tile_matmul(b, b, precision='half')", "precision must be the string literal", "'half'"),
        ("d = wp.tile_cholesky(a)", "takes a square tile", "a"),
        ("d = wp.tile_cholesky(b, fill_mode='both')", "'lower' or 'upper', not 'both'", "'both'"),
        ("d = wp.tile_lower_solve(b, wp.tile_load(x, 5))", "do not fit together", "wp.tile_load(x, 5)"),
        ("wp.tile_fft(c)", "vec2f or vec2d", "c"),
        ("wp.tile_sort(a, b)", "shape mismatch", "b"),
        ("wp.tile_sort(wp.tile_zeros(4, dtype=wp.int8), c)", "takes keys of int32", "wp.tile_zeros(4, dtype=wp.int8)"),
        ("d = wp.tile_scan_inclusive(wp.tile_zeros(4, dtype=wp.vec3))", "element type must be scalar", None),
        ("s = wp.tile_stack(capacity=0, dtype=int)", "capacity must be a positive integer", "0"),
        ("k = wp.tile_stack_push(c, 1, True)", "takes a stack", "c"),
    ],
)
def test_the_report_names_what_is_wrong(call, fragment, under):
    refused(LOAD + call, fragment, under=under)


TYPED = "h = wp.tile_zeros((4, 4), dtype=wp.bfloat16)\nz = wp.tile_zeros((4, 4), dtype=wp.vec2)\n"


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        ("wp.tile_matmul(h, h, h)", "does not support a bfloat16 'out' tile"),
        ("d = z @ z", "does not support complex tiles"),
        ("d = wp.tile_matmul(h, h, precision='tf32')", "precision='tf32' requires float32 tiles"),
        ("d = h @ wp.tile_zeros((4, 4))", "differ in type"),
        ("d = wp.tile_cholesky(h)", "float32 or float64"),
        (
            "wp.tile_matmul(wp.tile_zeros((4, 4)), wp.tile_zeros((4, 4)), wp.tile_zeros((4, 4), dtype=wp.float16))",
            "cannot sum products",
        ),
    ],
)
def test_types_that_do_not_go_together_are_named(call, fragment):
    refused(TYPED + call, fragment)
