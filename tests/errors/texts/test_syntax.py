"""syntax: Text that is not Python, reported at its place in the text."""

import pytest

import omni.warp_core as wp
from tests.errors.report import accepted, underlined


def test_refused():
    with pytest.raises(wp.CompileError) as caught:
        wp.kernel_from_source("import omni.warp_core as wp\n@wp.kernel\ndef k(x: float:\n    pass\n", filename="node")
    (found,) = caught.value.diagnostics
    assert found.code == "syntax"
    assert (found.place.span.file, found.place.span.line) == ("node", 3)
    assert underlined(found) in ("(", ":")


def test_repaired():
    accepted("@wp.kernel\ndef k(x: float):\n    pass\n")
