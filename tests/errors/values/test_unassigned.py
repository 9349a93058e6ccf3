"""unassigned: A local that some path leaves without a value; both lines are named."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "one_branch": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if n > 0:
        y = 1.0
    x[i] = y
""",
        "y",
        ["`y` may be read before it is assigned", "it is assigned here, on some paths only", "y = 1.0"],
    ),
    "loop_that_may_not_run": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in range(n):
        y = x[j]
    x[i] = y
""",
        "y",
        ["in a loop that may not run", "y = x[j]"],
    ),
    "while_loop": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    j = 0
    while j < n:
        y = x[j]
        j += 1
    x[i] = y
""",
        "y",
        ["`y` may be read"],
    ),
    "read_first": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = y
    y = 1.0
""",
        "y",
        ["it is assigned here", "y = 1.0"],
    ),
    "loop_variable": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in range(n):
        pass
    x[j] = 1.0
""",
        "j",
        ["for j in range(n)"],
    ),
    "augmented": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    y += 1.0
""",
        "y",
        ["`y` may be read before it is assigned"],
    ),
    "short_circuit": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if n > 0 or (m := n + 1) > 3:
        x[m] = 1.0
""",
        "m",
        ["`m` may be read"],
    ),
    "one_case": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    match n:
        case 1:
            y = 1.0
    x[i] = y
""",
        "y",
        ["`y` may be read"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    y = 0.0
    if n > 0:
        y = 1.0
    x[i] = y
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "unassigned", under, *fragments)


def test_repaired():
    accepted(REPAIRED)


def test_a_walrus_of_what_is_refused_is_no_second_mistake():
    text = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if (y := unknown(n)) > 1.0:
        x[i] = y
"""
    refused(text, "undefined-name", "unknown", "`unknown` is not defined")
