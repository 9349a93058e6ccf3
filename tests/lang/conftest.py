"""Counts of the tests that hold kernels against CPython, for the summary of a run."""

import collections


def pytest_terminal_summary(terminalreporter):
    """How many functions and kernels were right, refused with good words, and different."""
    counts = collections.Counter()
    for group in ("passed", "failed"):
        for report in terminalreporter.stats.get(group, ()):
            if report.when == "call":
                counts.update(value for name, value in report.user_properties if name == "cpython")
                counts["different"] += group == "failed" and "_cpython" in report.nodeid
    if counts["right"]:
        line = ", ".join(f"{counts[kind]} {kind}" for kind in ("right", "refused", "different"))
        terminalreporter.write_line(f"programs against CPython: {line}")
