"""block-range: The threads of a block share the iterations of `wp.block_range`, so these belong to no thread."""

import pytest

from tests.errors.report import accepted, refused

_HEAD = """\
@wp.kernel
def k(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    row = wp.block_index()
"""

CASES = {
    "carried": (
        _HEAD
        + """\
    total = float(0.0)
    for i in wp.block_range(x.shape[1]):
        total += x[row, i]
    out[row] = total
""",
        "total",
        ["`total` is assigned in wp.block_range", "read by others", "wp.atomic_add"],
    ),
    "from_one_iteration_to_the_next": (
        _HEAD
        + """\
    last = float(0.0)
    for i in wp.block_range(x.shape[1]):
        out[i] = last
        last = x[row, i]
""",
        "last",
        ["`last` is assigned in wp.block_range"],
    ),
    "break": (
        _HEAD
        + """\
    for i in wp.block_range(x.shape[1]):
        if x[row, i] < 0.0:
            break
        out[i] = x[row, i]
""",
        "break",
        ["`break` in wp.block_range", "`continue`"],
    ),
    "return": (
        _HEAD
        + """\
    for i in wp.block_range(x.shape[1]):
        for j in range(i):
            if x[row, j] < 0.0:
                return
        out[i] = x[row, i]
""",
        "return",
        ["`return` in wp.block_range"],
    ),
    "value_of_a_thread": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    scale = x[wp.tid()] * 2.0
    for i in wp.block_range(8):
        x[i] = scale
""",
        "x[i]",
        ["what is used here differs between the threads of a block", "it is computed here", "x[wp.tid()] * 2.0"],
    ),
    "index_of_a_thread": (
        """\
@wp.kernel
def k(x: wp.array2d(dtype=float)):
    i = wp.tid()
    for j in wp.block_range(8):
        x[i, j] = 1.0
""",
        "x[i, j]",
        ["differs between the threads of a block", "wp.launch_tiled"],
    ),
    "thread_index": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    for i in wp.block_range(8):
        x[i] = float(wp.thread_index())
""",
        "wp.thread_index()",
        ["do not belong to threads"],
    ),
    "local_array_of_a_thread": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    own = wp.zeros(shape=8, dtype=float)
    for i in wp.block_range(8):
        own[i] = 1.0
    x[wp.tid()] = own[0]
""",
        "own[i]",
        ["differs between the threads of a block"],
    ),
    "count": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    for i in wp.block_range(wp.lane()):
        x[i] = 1.0
""",
        "wp.block_range(wp.lane())",
        ["its count differs between them"],
    ),
    "barrier": (
        """\
@wp.func
def settle(x: float):
    wp.syncthreads()
    return x

@wp.kernel
def k(x: wp.array(dtype=float)):
    for i in wp.block_range(8):
        x[i] = settle(x[i])
""",
        "wp.syncthreads()",
        ["is done by all threads of a block", "before or behind wp.block_range()", "shared here"],
    ),
    "nested": (
        """\
@wp.kernel
def k(x: wp.array2d(dtype=float)):
    for i in wp.block_range(8):
        for j in wp.block_range(8):
            x[i, j] = 1.0
""",
        "wp.block_range(8)",
        ["wp.block_range() is done by all threads of a block"],
    ),
    "elsewhere": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    n = wp.block_range(8)
    x[0] = 1.0
""",
        "wp.block_range(8)",
        ["stands in a `for` statement only"],
    ),
}

REPAIRED = (
    _HEAD
    + """\
    total = wp.shared_array(shape=1, dtype=float)
    total[0] = 0.0
    for i in wp.block_range(x.shape[1]):
        wp.atomic_add(total, 0, x[row, i])
    out[row] = total[0]
"""
)

OWN_LOCALS = """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    value = x[0]
    for i in wp.block_range(8):
        value = 2.0
        own = wp.zeros(shape=3, dtype=float)
        for j in range(3):
            own[j] = value * float(i)
            if j == i:
                break
        x[i] = own[1]
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "block-range", under, *fragments)


def test_a_name_of_an_iteration_means_nothing_behind_the_loop():
    text = """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    for i in wp.block_range(8):
        last = x[i]
    x[0] = last
"""
    refused(text, "unassigned", "last", "whose iterations the threads of a block share")


def test_only_some_threads_come_to_it():
    text = """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    if wp.thread_index() == 0:
        for i in wp.block_range(8):
            x[i] = 1.0
"""
    refused(text, "divergence", "wp.block_range(8)", "wp.block_range() must be reached by all threads of a block")


@pytest.mark.parametrize("text", [REPAIRED, OWN_LOCALS])
def test_repaired(text):
    accepted(text)
