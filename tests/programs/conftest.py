"""Programs of others that were written for warp-lang, unchanged. `make test-mujoco` installs them and runs these tests;
without them the files are left out."""

from __future__ import annotations

import importlib.util

NEEDED = {"test_mujoco_warp.py": ("mujoco", "mujoco_warp")}


def pytest_ignore_collect(collection_path, config):
    """Leave out files whose packages are missing."""
    needed = NEEDED.get(collection_path.name, ())
    return True if any(importlib.util.find_spec(name) is None for name in needed) else None
