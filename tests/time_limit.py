"""A plugin of pytest: the time limit of each test. A test that exceeds it ends its process.

The timer is a thread of C code (`faulthandler`). It fires even where a test waits in native code and holds the GIL, so
that no signal handler and no thread of Python could run. The stacks of all threads go to standard error and name the
test's function and line. pytest-xdist then reports the test as failed and continues in a new process.

The limit is `OMNI_WARP_TEST_SECONDS`. The marker `slow(factor)` multiplies it for tests that run other test suites.
"""

from __future__ import annotations

import faulthandler
import os
from typing import Any

import pytest

SECONDS = float(os.environ.get("OMNI_WARP_TEST_SECONDS", "600"))
_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep standard error before pytest redirects it for a test."""
    config.stash[_STDERR] = os.dup(2)
    config.addinivalue_line("markers", "slow(factor): the time limit of this test is so many times the usual one")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """End the process if the test, with its fixtures, takes longer than its limit."""
    marker = item.get_closest_marker("slow")
    factor = marker.args[0] if marker else 1
    faulthandler.dump_traceback_later(factor * SECONDS, exit=True, file=item.config.stash[_STDERR])
    yield
    faulthandler.cancel_dump_traceback_later()
