"""Tests of exchange with other frameworks. Files that need one are named after it: `test_jax_kernel.py` needs JAX.

Such a file is left out where the framework is missing, as in `make test`. `make test-interop` installs the frameworks
and names those that must be there in OMNI_WARP_INTEROP: then a missing one is an error, and so is a skipped test.
"""

from __future__ import annotations

import importlib.util
import os

import pytest

# What files named test_NAME*.py need -> the modules to import.
FRAMEWORKS = {"torch": ("torch",), "jax": ("jax",), "xla": ("jax",), "paddle": ("paddle",), "mpi": ("mpi4py",)}
FRAMEWORKS |= {"numba": ("numba",), "ml_dtypes": ("ml_dtypes",)}
REQUIRED = [name for name in os.environ.get("OMNI_WARP_INTEROP", "").split(",") if name]


def _is_missing(name: str) -> bool:
    return any(importlib.util.find_spec(module) is None for module in FRAMEWORKS[name])


def pytest_ignore_collect(collection_path, config):
    """Leave out files whose framework is missing."""
    for name in FRAMEWORKS:
        if collection_path.name.startswith(f"test_{name}") and _is_missing(name):
            if name in REQUIRED:
                raise pytest.UsageError(f"{name} is required by OMNI_WARP_INTEROP, but cannot be imported")
            return True
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail tests that were skipped where frameworks are required."""
    outcome = yield
    report = outcome.get_result()
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but OMNI_WARP_INTEROP requires it: {report.longrepr}"
