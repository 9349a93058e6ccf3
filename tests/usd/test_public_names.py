"""`wp.usd` as a module: its examples run, its names load late, and without usd-core it says what to install."""

import doctest
import importlib
import subprocess
import sys

import numpy as np
import pytest

import omni.warp_core as wp

MODULES = sorted({*wp.usd._HOMES, "element_types", "polygons"})


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings(module):
    result = doctest.testmod(importlib.import_module(f"omni.warp_core.usd.{module}"), extraglobs={"wp": wp, "np": np})
    assert result.failed == 0


def test_names_are_those_of_their_modules():
    for public in (wp.usd, wp.render):
        assert dir(public) == public.__all__
        names = {name: module for module, listed in public._HOMES.items() for name in listed.split()}
        assert sorted(names) == public.__all__
        for name, module in names.items():
            assert getattr(public, name) is getattr(importlib.import_module(f"{public.__name__}.{module}"), name)
    with pytest.raises(AttributeError, match="no attribute 'read_meshes'"):
        wp.usd.read_meshes


def test_the_module_itself_does_not_need_usd():
    program = (
        "import sys; sys.modules['pxr'] = None\nimport omni.warp_core as wp\nwp.usd\ntry:\n    wp.usd.read_mesh\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "wp.usd.read_mesh needs usd-core; install it with: pip install 'omni-warp-core[usd]'\n"
