"""The table that `gradcheck` prints: for each pair of input and output the entry that is worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Row:
    """The comparison of one Jacobian with differences."""

    kernel: str
    input: str = ""
    output: str = ""
    entries: int = 0
    place: str = ""
    gradient: float = 0.0
    difference: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
    passed: bool = True
    skipped: str = ""  # why there is no comparison


_HEADINGS = ("worst entry", "of", "gradient", "difference", "error", "relative", "")


def failures(rows: Sequence[Row]) -> list[str]:
    """One line for each row that does not pass."""
    return [
        f"  {r.kernel}: d {r.place} is {r.gradient:.6g}, finite differences give {r.difference:.6g}"
        for r in rows
        if not r.passed
    ]


def show(rows: Sequence[Row]) -> None:
    """Print a table for each function, with colors where rich is installed and the output is a terminal."""
    for (name, skipped), group in groupby(rows, lambda r: (r.kernel, r.skipped)):
        if skipped:
            print(f"{name}: not checked: {skipped}")
        else:
            _show(name, list(group))


def _show(name: str, rows: list[Row]) -> None:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        print(plain(name, rows))
        return
    table = Table(box=None, pad_edge=False, header_style="bold", title=Text(name), title_justify="left")
    for heading in _HEADINGS:
        words = heading in ("worst entry", "")
        table.add_column(heading, justify="left" if words else "right", no_wrap=heading != "worst entry")
    for r in rows:
        *cells, verdict = _cells(r)
        table.add_row(*map(Text, cells), Text(verdict, "green" if r.passed else "bold red"))
    Console().print(table)


def plain(name: str, rows: Sequence[Row]) -> str:
    """The table as text."""
    lines = [_HEADINGS, *map(_cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADINGS))]
    made = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([name, *made])


def _cells(r: Row) -> tuple[str, ...]:
    if not r.entries:
        return (f"{r.output} by {r.input}", "0", "", "", "", "", "pass")
    numbers = (r.gradient, r.difference, r.absolute, r.relative)
    return (r.place, str(r.entries), *(f"{x:.4g}" for x in numbers), "pass" if r.passed else "FAIL")
