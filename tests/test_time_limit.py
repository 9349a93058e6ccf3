"""A test that hangs ends with its name, and tests of Ctrl-C end where SIGINT is ignored."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import ctypes
import pytest

@pytest.mark.parametrize("case", ["short", "endless"])
def test_native_code_that_holds_the_gil(case):
    if case == "endless":
        ctypes.PyDLL(None).sleep(1000)

@pytest.mark.slow(20)
def test_with_a_longer_limit():
    ctypes.PyDLL(None).sleep(3)

@pytest.mark.parametrize("n", range(6))
def test_that_passes(n):
    pass
"""


def run_pytest(*arguments, **env):
    """The exit status of pytest in a process of its own, and what it wrote."""
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-p", "no:cacheprovider", *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=250,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("processes", [0, 2])
def test_a_test_that_hangs_ends_with_its_name(tmp_path, processes):
    file = tmp_path / "test_some.py"
    file.write_text(TESTS)
    options = ("-p", "tests.time_limit", "-n", processes, "--dist", "worksteal")
    status, text = run_pytest(*options, file, OMNI_WARP_TEST_SECONDS="2")
    assert status == 1 and "Timeout (0:00:02)!" in text
    assert re.search(r'test_some.py", line \d+ in test_native_code_that_holds_the_gil', text)
    if processes:
        assert "FAILED" in text and "test_native_code_that_holds_the_gil[endless]" in text
        assert "1 failed, 8 passed" in text


@pytest.mark.cpu
@pytest.mark.parametrize(
    "test",
    [
        "tests/native/test_pool.py::test_ctrl_c_stops_a_long_launch",
        "tests/launches/test_interrupts.py::test_outside_of_launches_all_is_as_it_was",
        "tests/nodes/test_cli.py::test_interrupted_plays_leave_nothing",
    ],
)
def test_ctrl_c_where_sigint_is_ignored(test):
    """As in a background job of a script."""
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "pytest", "-n", "0", test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout
