"""no-source: A kernel whose text was not kept."""

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from tests.errors.report import accepted

TEXT = "import omni.warp_core as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = 1.0\n"


def test_refused():
    space = {"__name__": "space"}
    exec(compile("\n" + TEXT, "<nowhere>", "exec"), space)  # the text has no owner by then
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(space["k"])
    (found,) = caught.value.diagnostics
    assert found.code == "no-source"
    assert "source of `k` is not available" in found.message and "wp.kernel_from_source" in found.help


def test_repaired():
    accepted(TEXT)
