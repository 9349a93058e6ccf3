"""Each test leaves the modules of this process as they were: stand-ins for Kit must not reach other tests."""

import sys

import pytest

KIT = ("carb", "omni.ext", "omni.graph", "omni.timeline", "omni.usd")


@pytest.fixture(autouse=True)
def no_stand_ins_stay():
    yield
    for name in [name for name in sys.modules if name in KIT or name.startswith(tuple(f"{root}." for root in KIT))]:
        del sys.modules[name]
