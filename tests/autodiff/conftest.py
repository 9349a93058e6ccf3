"""Tells, after the tests, how many gradients of random programs were right, refused, unclear and wrong."""

from __future__ import annotations

from collections import Counter

PREFIX = "verdicts: "


def pytest_terminal_summary(terminalreporter):
    totals: dict[str, Counter] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for name, counts in report.user_properties:
                    if name.startswith(PREFIX):
                        totals.setdefault(name, Counter()).update(counts)
    for name, counts in sorted(totals.items()):
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in ("right", "refused", "unclear", "wrong"))
        terminalreporter.write_line(f"{name.removeprefix(PREFIX)}: {kinds}")
