"""no-kernel: Text that defines no kernel, or several where one is wanted."""

import pytest

import omni.warp_core as wp
from tests.errors.report import accepted

TWO = "import omni.warp_core as wp\n@wp.kernel\ndef a():\n    pass\n@wp.kernel\ndef b():\n    pass\n"


@pytest.mark.parametrize(
    ("text", "name", "fragment"),
    [
        ("x = 1\n", None, "0 kernels instead of one"),
        (TWO, None, "found: a, b"),
        (TWO, "c", "no kernel `c`"),
    ],
)
def test_refused(text, name, fragment):
    with pytest.raises(wp.CompileError) as caught:
        wp.kernel_from_source(text, name=name)
    assert [d.code for d in caught.value.diagnostics] == ["no-kernel"]
    assert fragment in str(caught.value)


def test_repaired():
    assert wp.kernel_from_source(TWO, name="b").name == "b"
    accepted("@wp.kernel\ndef k():\n    pass\n")
