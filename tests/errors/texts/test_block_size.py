"""block-size: Warps have 32 threads: kernels with shuffles or ballots take blocks of whole warps."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "shuffle": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.shuffle_xor(x[i], 1)
""",
        "wp.shuffle_xor(x[i], 1)",
        ["a shuffle needs whole warps of 32 threads, and a block has 48", "multiple of 32"],
    ),
    "ballot": (
        """\
@wp.kernel
def k(x: wp.array(dtype=wp.uint32)):
    x[wp.tid()] = wp.ballot(wp.lane() > 3)
""",
        "wp.ballot(wp.lane() > 3)",
        ["wp.ballot() needs whole warps"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    i, t = wp.tid(), wp.thread_index()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    s[t] = x[i]
    wp.syncthreads()
    x[i] = s[t ^ 1]
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "block-size", under, *fragments, block_dim=48)


def test_repaired():
    accepted(REPAIRED)
