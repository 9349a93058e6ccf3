"""divergence: All threads of a block come to a barrier, a shuffle or a ballot, or none of them does."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "condition": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    if x[i] > 0.0:
        s[wp.thread_index()] = x[i]
        wp.syncthreads()
        x[i] = s[0]
""",
        "wp.syncthreads()",
        ["must be reached by all threads of a block", "this condition differs between threads", "> 0.0"],
    ),
    "early_return": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i >= n:
        return
    wp.syncthreads()
    x[i] = 1.0
""",
        "wp.syncthreads()",
        ["some threads of a block have left the kernel before", "some threads leave here", "let all threads come here"],
    ),
    "early_return_in_a_loop": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in range(n):
        wp.syncthreads()
        for m in range(2):
            if x[i] > float(j + m):
                return
        x[i] += 1.0
""",
        "wp.syncthreads()",
        ["some threads", "return"],
    ),
    "count": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    for j in range(wp.lane()):
        x[0] = wp.shuffle(x[j], 0)
""",
        "wp.shuffle(x[j], 0)",
        ["a shuffle must be reached", "the count differs between threads"],
    ),
    "break": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    while True:
        wp.syncthreads()
        if x[wp.tid()] > 0.0:
            break
""",
        "wp.syncthreads()",
        ["some threads leave here"],
    ),
    "data_of_the_block": (
        """\
@wp.kernel
def k(x: wp.array(dtype=wp.uint32)):
    s = wp.shared_array(shape=wp.block_dim(), dtype=int)
    t = wp.thread_index()
    s[t] = 1
    wp.syncthreads()
    if s[t] > 0:
        x[wp.tid()] = wp.ballot(True)
""",
        "wp.ballot(True)",
        ["wp.ballot() must be reached"],
    ),
    "array_that_is_written": (
        """\
@wp.kernel
def k(x: wp.array(dtype=int)):
    for j in range(x[0]):
        wp.syncthreads()
        x[wp.tid()] = j
""",
        "wp.syncthreads()",
        ["the count differs between threads"],
    ),
    "in_a_function": (
        """\
@wp.func
def shared_sum(value: float):
    s = wp.shared_array(shape=1, dtype=float)
    s[0] = 0.0
    wp.syncthreads()
    wp.atomic_add(s, 0, value)
    wp.syncthreads()
    return s[0]

@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        x[i] = shared_sum(x[i])
""",
        "wp.syncthreads()",
        ["this condition differs between threads", "i % 2 == 0"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    if x[i] > 0.0:
        s[wp.thread_index()] = x[i]
    wp.syncthreads()
    if x[i] > 0.0:
        x[i] = s[0]
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "divergence", under, *fragments)


SHARED_FLAG = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i, t = wp.tid(), wp.thread_index()
    more = wp.shared_array(shape=1, dtype=int)
    if t == 0:
        more[0] = n
    wp.syncthreads()
    while more[0] > 0:
        wp.syncthreads()
        x[i] += 1.0
        if t == 0:
            more[0] -= 1
        wp.syncthreads()
"""


def test_repaired():
    accepted(REPAIRED)


def test_all_threads_read_the_same_from_shared_memory():
    accepted(SHARED_FLAG)
