"""The suite for GPUs, on simulated ones: see tests/gpu/conftest.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(sys.platform != "linux", reason="the simulated driver is a Linux library")
def test_on_simulated_gpus():
    env = os.environ | {"OMNI_WARP_GPU_TESTS": "simulated"}
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "tests/gpu"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
