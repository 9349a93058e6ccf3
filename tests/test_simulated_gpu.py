"""The suite for GPUs, and a part of the suites that are about no device, on simulated ones: see tests/on_gpu.py. A part
of it runs on simulated GPUs that execute the PTX itself (tests/ptx).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUITES = {  # of each what takes seconds; `OMNI_WARP_GPU_TESTS=simulated pytest tests/lang` runs all of one
    "gpu": ["tests/gpu"],
    "others": [
        "tests/lang/test_kernels.py",
        "tests/front/test_updates.py",
        *(f"tests/arrays/test_{name}.py" for name in ("factories", "array_data", "array_views", "indexed_array")),
        "tests/interpreter/test_interpret_launch.py",
        *(f"tests/algo/test_{name}.py" for name in ("cast", "reduce", "scan", "sort", "matmul")),
        *(f"tests/graphs/test_{name}.py" for name in ("graph", "graph_tapes", "random_graphs")),
        "tests/lib/test_expect.py",
        "tests/devices/test_timing.py",
        "tests/arrays/test_memory_tracker.py",
        *(
            f"tests/nodes/kernel/test_{name}.py"
            for name in ("replay", "replay_in_graphs", "kernel_structures", "kernel_bundles")
        ),
        *(f"tests/tape/test_{name}.py" for name in ("tape", "between_launches", "saved_versions")),
        "tests/autodiff/test_gradient_table.py",
        *(f"tests/launches/test_{name}.py" for name in ("launch", "kernel_errors")),
        "tests/geometry",
        "tests/sparse/test_topologies.py",
        "tests/optim/test_linear.py::test_checks_on_the_device_and_captured_solves",
        *(
            f"tests/volumes/test_volume.py::{name}"
            for name in ("test_lookups[far apart]", "test_samples[cluster]", "test_values_in_an_array", "TestRebuild")
        ),
        "tests/volumes/test_volume_gradients.py::test_values_that_change_before_the_gradient",
        "tests/textures",
        "tests/fem/test_interpolation.py::test_nodes_of_several_cells",
        *(f"tests/fem/test_vector_fields.py::test_{name}" for name in ("curl", "rigid_motions_have_no_energy")),
        *(f"tests/fem/test_sides.py::test_{name}" for name in ("vectors_have_both_sides", "the_first_cell_is_inside")),
        "tests/fem/test_partitions.py::test_nodes_that_a_part_lacks_are_zero",
    ],
}
EMULATED = {
    "gpu": [
        *(f"tests/gpu/test_{name}.py" for name in ("launches", "promises", "samples")),
        "tests/gpu/test_volumes.py::test_ids_of_other_devices_are_errors",
        *(f"tests/volumes/test_volume.py::test_{name}" for name in ("lookups[borders]", "samples[borders]")),
        *(
            f"tests/graphs/test_graph.py::test_{name}"
            for name in ("conditions_are_read_when_the_graph_runs", "nested_conditions", "loops_in_graphs_and_outside")
        ),
        *(f"tests/gpu/test_gradients.py::test_{name}" for name in ("atomics", "structs")),
        "tests/autodiff/test_gradient_table.py::test_gradient",
        *(
            f"tests/launches/test_launch.py::test_{name}"
            for name in ("a_launch", "structs_with_arrays", "recorded_launches", "strided_arrays_are_used_in_place")
        ),
        "tests/launches/test_kernel_errors.py::test_launches_after_one_that_failed",
        *(
            f"tests/gpu/test_structures.py::test_{name}"
            for name in ("ids_of_other_devices_are_errors", "a_grid_is_used_on_another_stream")
        ),
        *(
            f"tests/gpu/test_meshes.py::test_{name}"
            for name in (
                "queries_find_what_those_on_the_cpu_find[cuda:0-degenerate]",
                "a_graph_whose_points_are_not_finite[cuda:0]",
                "a_captured_refit_and_a_query_follow_points[cuda:0]",
            )
        ),
        *(
            f"tests/geometry/test_lbvh.py::test_trees_over_all_kinds_of_boxes[cuda:0-{name}]"
            for name in ("deep-4", "huge-1")
        ),
        "tests/geometry/test_bvh.py::test_a_graph_captures_changes_and_queries[rebuild]",
        "tests/geometry/test_mesh_groups.py::test_roots_of_groups[release]",
        *(
            f"tests/geometry/test_hash_grid.py::test_{name}"
            for name in (
                "a_query_finds_each_near_point_once[clustered-dims1]",
                "a_query_finds_each_near_point_once[borders-dims3]",
                "a_graph_builds_and_queries",
                "addresses_that_are_no_structure_are_errors",
            )
        ),
        *(
            f"tests/textures/test_texture_samples.py::test_{name}"
            for name in ("an_address_mode_for_each_axis", "types")
        ),
        "tests/textures/test_texture_gradients.py::test_texels_of_two_times",
    ],
}

# Sorts and scans compile for seconds for each type. Types that differ from another one in their sign or width alone,
# and modes that run without a GPU, are left to runs of single suites.
LEFT_OUT = (
    *(f"tests/algo/test_sort.py::test_all_sizes[4-{t}" for t in ("uint", "int64", "float64")),
    *(f"tests/algo/test_sort.py::test_segments[4-100-30-{t}" for t in ("uint", "int64", "float64")),
    "tests/algo/test_sort.py::test_keys_that_share_most_bits[4-float64",
    *(f"tests/algo/test_scan.py::test_all_sizes[4-{t}" for t in ("uint", "int64")),
    *(f"tests/geometry/test_{name}.py::test_other_modes_find_the_same" for name in ("marching_cubes", "surface_nets")),
)

pytestmark = [
    pytest.mark.slow(3),
    pytest.mark.skipif(sys.platform != "linux", reason="the simulated driver is a Linux library"),
]


@pytest.mark.parametrize("suites", SUITES.values(), ids=SUITES)
def test_on_simulated_gpus(suites):
    _run("simulated", suites)


@pytest.mark.parametrize("suites", EMULATED.values(), ids=EMULATED)
def test_ptx_on_emulated_gpus(suites):
    _run("emulated", suites)


def _run(mode, suites):
    env = os.environ | {"OMNI_WARP_GPU_TESTS": mode}
    left_out = [word for name in LEFT_OUT for word in ("--deselect", name)]
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", *suites, *left_out]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
