"""The examples of pages and docstrings that need JAX run."""

import doctest
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from tests.interop.xla.child import run_file

# Pages use the place that these functions have in new versions.
PLACES = "import jax\nfrom tests.interop.xla.jax_versions import shard_map\njax.shard_map = shard_map\n"
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("page", ["interop.md", "distributed.md"])
def test_code_of_pages_runs(page, tmp_path):
    blocks = re.findall(r"^```python jax\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    run_file("\n".join([PLACES, *blocks]), tmp_path, devices=4)


@pytest.mark.parametrize("name", ["jax", "jax_kernel"])
def test_examples_of_docstrings_run(name, monkeypatch):
    monkeypatch.setitem(doctest.OPTIONFLAGS_BY_NAME, "SKIP", 0)
    module = importlib.import_module(f"omni.warp_core.interop.{name}")
    found = doctest.testmod(module, extraglobs={"wp": wp, "np": np})
    assert found.attempted and not found.failed
