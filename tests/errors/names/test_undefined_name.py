"""undefined-name: A name that nothing defines."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "typo_of_local": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    total = 1.0
    x[i] = totl
""",
        "totl",
        ["`totl` is not defined", "total"],
    ),
    "unknown": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = qwertz
""",
        "qwertz",
        ["`qwertz` is not defined"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    total = 1.0
    x[i] = total
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "undefined-name", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
