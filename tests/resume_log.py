"""A plugin of pytest for runs that may be cut short: `python tools/gpu_tests.py` uses it in each of its processes.

Each test is noted in a file when it begins and when it ends, with the details of a failure, so nothing is lost with the
process. What the file has already is not run again. A test that takes too long ends the process (tests/time_limit.py);
so does one that loses the GPU, as all tests after it would fail as well.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

FILE = Path(os.environ.get("OMNI_WARP_TEST_JOURNAL", "journal.jsonl"))
RUN = os.environ.get("OMNI_WARP_TEST_RUN", "")  # which process this is: its file, a space, a number
LOST = "this process cannot use the GPU any more"  # of native/src/devices/cuda.cpp
MOST = 20_000  # characters of a failure

pytest_plugins = ["tests.time_limit"]


def write(file: Path, run: str, /, **entry: Any) -> None:
    """Append an entry; other processes do so as well."""
    with open(file, "ab", buffering=0) as out:
        out.write(json.dumps({"run": run, **entry}).encode() + b"\n")


def read(file: Path) -> list[dict[str, Any]]:
    """All entries. A last line that is not complete does not count."""
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


def name(nodeid: str) -> str:
    """What a test is called: its file, and what pytest has behind that."""
    return f"{RUN.rpartition(' ')[0]}::{nodeid.partition('::')[2]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has been run."""
    done = {e["test"] for e in read(FILE) if e["event"] == "end"}
    config.hook.pytest_deselected(items=[item for item in items if name(item.nodeid) in done])
    items[:] = [item for item in items if name(item.nodeid) not in done]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note the beginning."""
    write(FILE, RUN, event="begin", test=name(nodeid))


_phases: list[pytest.TestReport] = []  # of the test that runs: before, itself, after


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the end with the last phase."""
    _phases.append(report)
    if report.when != "teardown":
        return
    outcomes = [r.outcome for r in _phases]
    failed = [r for r in _phases if r.failed]
    why = "\n".join(
        [r.longreprtext for r in failed] + [f"{title}:\n{text}" for r in failed for title, text in r.sections]
    )
    outcome = next((o for o in ("failed", "skipped") if o in outcomes), "passed")
    seconds = round(sum(r.duration for r in _phases), 2)
    _phases.clear()
    write(FILE, RUN, event="end", test=name(report.nodeid), outcome=outcome, seconds=seconds, why=shortened(why))
    if LOST in why:
        os._exit(0)


def shortened(text: str) -> str:
    """A text without its middle if it is very long."""
    return text if len(text) <= MOST else f"{text[: MOST // 2]}\n[...]\n{text[-MOST // 2 :]}"


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Note that the process has come to its end."""
    write(FILE, RUN, event="finish", status=int(exitstatus))
