"""Structures that kernels search are on the CPU alone so far: GPUs refuse them, and say so."""

import pytest

import omni.warp_core as wp


@wp.kernel
def first_of(grid: wp.uint64, result: wp.array(dtype=int)):
    result[0] = wp.hash_grid_point_id(grid, 0)


def test_a_gpu_has_no_hash_grids(gpu):
    with pytest.raises(NotImplementedError, match=f"no hash grids on {gpu} yet"):
        wp.HashGrid(2, 2, 2, device=gpu)


def test_a_gpu_does_not_compile_queries(gpu):
    grid = wp.HashGrid(2, 2, 2, device="cpu")
    with pytest.raises(wp.CompileError, match="structures such as hash grids are not there on GPUs yet"):
        wp.launch(first_of, 1, [grid.id, wp.zeros(1, dtype=int, device=gpu)], device=gpu)


def test_points_on_a_gpu_are_refused(gpu):
    grid = wp.HashGrid(2, 2, 2, device="cpu")
    with pytest.raises(ValueError, match=f"points: is on {gpu}, but the grid is on cpu"):
        grid.build(wp.zeros(3, dtype=wp.vec3, device=gpu), 1.0)
