"""The program for short sessions on a machine with a GPU, tools/gpu_tests.py: what goes wrong costs one test alone."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = """
import os, time
import pytest

def test_passes(): pass

def test_fails():
    print("what it printed")
    assert 1 == 2

def test_hangs(): time.sleep(1000)

def test_ends_the_process(): os._exit(7)

def test_loses_the_gpu(): raise RuntimeError("this process cannot use the GPU any more")

def test_is_skipped(): pytest.skip("no")

def test_passes_after_all_that(): pass
"""


def call(results, *files, **options):
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    command = [sys.executable, "tools/gpu_tests.py", "--mode=simulated", f"--results={results}", *arguments, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, (results / "summary.txt").read_text(), (results / "failures.txt").read_text()


def test_a_session(tmp_path):
    some, more, broken = (tmp_path / f"test_{name}.py" for name in ("some", "more", "broken"))
    some.write_text(TESTS)
    more.write_text("def test_it(): pass\n")
    broken.write_text("import nothing_of_that_name\n")
    files, results = [str(some), str(more), str(broken)], tmp_path / "results"

    status, summary, failures = call(results, *files, seconds=0)
    assert (status, failures) == (2, "")
    assert "0 tests" in summary and "left to run, by the same command: 3 files" in summary

    status, summary, failures = call(results, *files, test_seconds=5, jobs=2)
    assert status == 1
    assert "9 tests: 5 failed, 3 passed, 1 skipped" in summary and "nothing is left" in summary
    lines = {line.split("::")[-1].split(":")[0]: line for line in summary.splitlines() if "FAILED" in line}
    assert "assert 1 == 2" in lines["test_fails"]
    assert "Timeout" in lines["test_hangs"]
    assert "ended with status 7" in lines["test_ends_the_process"]
    assert "cannot use the GPU any more" in lines["test_loses_the_gpu"]
    assert "what it printed" in failures and "in test_hangs" in failures and "nothing_of_that_name" in failures

    some.write_text(TESTS.replace("assert 1 == 2", "assert 1 == 1").replace("time.sleep(1000)", "pass"))
    assert call(results, *files)[:2] == (status, summary)  # there is nothing to do
    done = call(results, *files, "--again")
    assert done[0] == 1 and "9 tests: 3 failed, 5 passed, 1 skipped" in done[1]
    assert {path.name for path in results.iterdir()} == {"journal.jsonl", "summary.txt", "failures.txt"}


def test_where_all_tests_hang(tmp_path):
    (tmp_path / "test_all.py").write_text("import os\n" + "".join(f"def test_{i}(): os._exit(1)\n" for i in range(9)))
    status, summary, _ = call(tmp_path / "results", str(tmp_path / "test_all.py"))
    assert status == 1 and "6 tests: 6 failed" in summary and "the rest of the file is left out" in summary


def test_without_a_gpu(tmp_path):
    """Nothing is noted, so that the next call runs it all."""
    command = [sys.executable, "tools/gpu_tests.py", f"--results={tmp_path / 'results'}", "tests/gpu"]
    env = os.environ | {"OMNI_WARP_CUDA_DRIVER": "no driver for this test"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 3 and "is not available: no CUDA driver" in done.stdout
    assert not (tmp_path / "results").exists()
