"""The suite about GPUs. It runs on the machine's GPUs (`make gpu-test`), or on simulated ones.

`OMNI_WARP_GPU_TESTS` says which (tests/on_gpu.py). Without it nothing here is collected. As a part of the usual suite
`tests/test_simulated_gpu.py` runs it on the simulator (tests/gpu/simulator).
"""

from __future__ import annotations

import pytest

from tests.gpu import simulation
from tests.on_gpu import MODE

collect_ignore_glob = [] if MODE else ["*"]


@pytest.fixture
def gpu(device):
    """The device of a test that is about GPUs alone."""
    return device


@pytest.fixture
def simulated():
    """The simulator's own functions, for tests of what a real driver cannot be made to do."""
    if MODE == "real":
        pytest.skip("needs the simulated driver")
    return simulation.library()
