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
        *(f"tests/lang/test_{name}.py" for name in ("kernels", "slices")),
        "tests/front/test_updates.py",
        *(f"tests/arrays/test_{name}.py" for name in ("factories", "array_data", "array_views", "indexed_array")),
        "tests/interpreter/test_interpret_launch.py",
        *(f"tests/algo/test_{name}.py" for name in ("cast", "reduce", "scan", "sort", "matmul")),
        *(f"tests/graphs/test_{name}.py" for name in ("graph", "graph_tapes", "random_graphs")),
        *(f"tests/lib/test_{name}.py" for name in ("atomics", "expect")),
        *(f"tests/tape/test_{name}.py" for name in ("tape", "between_launches", "saved_versions")),
        "tests/autodiff/test_gradient_table.py",
        *(f"tests/launches/test_{name}.py" for name in ("launch", "kernel_errors")),
        "tests/geometry",
    ],
}
EMULATED = {
    "gpu": [
        *(f"tests/gpu/test_{name}.py" for name in ("launches", "promises", "samples")),
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
        "tests/gpu/test_structures.py",
        *(
            f"tests/geometry/test_hash_grid.py::test_{name}"
            for name in (
                "a_query_finds_each_near_point_once",
                "a_graph_builds_and_queries",
                "addresses_that_are_no_structure_are_errors",
            )
        ),
    ],
}


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
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", *suites]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
