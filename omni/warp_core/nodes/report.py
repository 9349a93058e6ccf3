"""What a play shows in the terminal: progress, messages and the table of nodes. Texts of a scene are made harmless."""

from __future__ import annotations

import re
import shutil
import sys

from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from .consent import Code
from .graph import Node
from .play import Outcome

SHOWN_LINES = 30
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the command line decides what that means


_NO_LIMIT = 100_000  # columns: terminals break long lines themselves, and a pipe takes them as they are
out = _Console(highlight=False, soft_wrap=True, width=_NO_LIMIT)
err = _Console(stderr=True, highlight=False, soft_wrap=True)


def harmless(text: str) -> str:
    """`text` with control characters shown as escapes: a scene must not move the cursor or hide its code."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def complain(text: str) -> None:
    """A line on stderr; errors in red where there is a terminal."""
    style = {"error": "bold red", "warning": "yellow"}.get(text.partition(":")[0], "")
    line = Text(harmless(text))
    line.stylize(style, 0, len(text.partition(":")[0]) if style else 0)
    err.print(line)


def progress() -> Progress:
    """A bar that counts frames, on stderr, gone when done; nothing where stderr is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def ask_consent(scene: str, codes: list[Code]) -> None:
    """List the code that would run."""
    many = len(codes) != 1
    err.print(
        Text(harmless(f"{scene} contains code that would run on this machine, in {len(codes)} node{'s' * many}:"))
    )
    for code in codes:
        lines = code.text.splitlines()
        err.print(Text(harmless(f"\n  {code.node}  ({code.origin}, {len(lines)} lines, sha256 {code.digest[:16]})")))
        for number, line in enumerate(lines[:SHOWN_LINES], 1):
            err.print(Text(f"  {number:>4} | " + harmless(line)))
        if len(lines) > SHOWN_LINES:
            err.print(f"       ... {len(lines) - SHOWN_LINES} more lines")
    err.print(
        "\nNothing was run. If you trust this code, play again with --trust, or with --remember to be asked again "
        "only when it changes."
    )


def _state(node: Node) -> str:
    if node.failed or node.disabled:
        return "failed"
    return "ok" if node.ran else "not run"


def _cost(node: Node) -> tuple[str, ...]:
    t = node.timing
    return (f"{t.compile_ms:.1f}", f"{t.kernel_ms:.1f}", str(t.launches)) if t.compile_ms or t.launches else ("",) * 3


def _table(nodes: list[Node], with_type: bool) -> Table:
    """The nodes, one per line, paths after the columns of known width."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("state")
    for name in ("compile ms", "kernel ms", "launches"):
        table.add_column(name, justify="right")
    table.add_column("node")
    if with_type:
        table.add_column("type")
    for node in nodes:
        cells: tuple[str | Text, ...] = (
            _state(node),
            *_cost(node),
            Text(harmless(node.path)),
            Text(harmless(node.type_name)),
        )
        table.add_row(*cells[: len(table.columns)])
    return table


def summary(outcome: Outcome) -> None:
    """The table of nodes, without their types where the terminal is narrow, and a line that says what was played."""
    table = _table(outcome.nodes, with_type=True)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else _NO_LIMIT
    if Measurement.get(out, out.options, table).maximum > columns:
        table = _table(outcome.nodes, with_type=False)
    out.print(table)
    rate = outcome.frames / max(outcome.seconds, 1e-9)
    out.print(f"{outcome.frames} frames in {outcome.seconds:.2f} s ({rate:.1f} per second)")
