"""The suite that needs a GPU. It runs on the machine's GPUs (`make gpu-test`), or on simulated ones.

`OMNI_WARP_GPU_TESTS` says which: "real" or "simulated". Without it nothing here is collected. As a part of the usual
suite `tests/test_simulated_gpu.py` runs it on the simulator (tests/gpu/simulator).
"""

from __future__ import annotations

import os

import pytest

import omni.warp_core as wp
from tests.gpu import simulation

MODE = os.environ.get("OMNI_WARP_GPU_TESTS", "")
collect_ignore_glob = [] if MODE in ("real", "simulated") else ["*"]

if MODE == "simulated":
    simulation.install()


@pytest.fixture(params=["cuda:0", "cuda:1"] if MODE == "simulated" else ["cuda:0"])
def gpu(request):
    """A GPU, which is the default device meanwhile."""
    with wp.ScopedDevice(request.param) as device:
        yield device


@pytest.fixture
def simulated():
    """The simulator's own functions, for tests of what a real driver cannot be made to do."""
    if MODE != "simulated":
        pytest.skip("needs the simulated driver")
    return simulation.library()
