"""Terminal output of a play: progress, messages and the table of nodes. Texts of a scene are made harmless."""

from __future__ import annotations

import re
import shutil
import sys

from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ..graph.node_graph import Node
from ..scene.consent import Code
from ..scene.visible_text import harmless, plain
from .player import Outcome

SHOWN_LINES = 30  # of each text
SHOWN_COLUMNS = 200  # of each line
SHOWN_TEXTS = 20
SHOWN_NODES = 1000
_LINE_ENDS = re.compile(r"\r\n|\r|\n")  # those of Python; others, such as \x0c, stand within a line


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the command line decides what that means


_NO_LIMIT = 100_000  # columns: terminals break long lines themselves, and a pipe takes them as they are
out = _Console(highlight=False, soft_wrap=True, width=_NO_LIMIT)
err = _Console(stderr=True, highlight=False, soft_wrap=True)


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
    """List the code that would run, each text once."""
    texts: dict[tuple[str, str], list[Code]] = {}
    for code in codes:
        texts.setdefault((code.digest, code.origin), []).append(code)
    many = "s" * (len(codes) != 1)
    say(f"{scene} contains code that would run on this machine, in {len(codes)} node{many}:")
    for number, same in enumerate(texts.values()):
        _list_code(same, number < SHOWN_TEXTS)
    say(
        "\nNothing was run. If you trust this code, play again with --trust, or with --remember to be asked again "
        "only when it changes."
    )


def say(text: str) -> None:
    """A line on stderr."""
    err.print(Text(harmless(text)))


def _list_code(same: list[Code], in_full: bool) -> None:
    """Describe one text and the nodes that carry it, and show its first lines where they may be shown."""
    code, lines = same[0], _LINE_ENDS.split(same[0].text)
    if not lines[-1]:
        lines.pop()
    nodes = code.node + (f" and {len(same) - 1} more" if len(same) > 1 else "")
    say(f"\n  {nodes}  ({code.origin}, {len(lines)} lines, {len(code.data)} bytes)")
    say(f"       sha256 {code.digest}")
    for _, path in code.files:
        say(f"       reads {path}")
    if not code.is_inside:
        say("       not shown, because the file is outside of the scene's folder")
        return
    shown = lines[: SHOWN_LINES if in_full else 0]
    for number, line in enumerate(shown, 1):
        rest = len(line) - SHOWN_COLUMNS
        more = f" ... {rest} more characters are not shown" if rest > 0 else ""
        say(f"  {number:>4} | {plain(line[:SHOWN_COLUMNS])}{more}")
    hidden = lines[len(shown) :]
    if hidden:
        say(f"       ... {len(hidden)} more lines of {sum(map(len, hidden))} characters are not shown")
    unseen = sum(c != "\t" and not " " <= c <= "~" for line in shown for c in line[:SHOWN_COLUMNS])
    if unseen:
        say(f"       {unseen} characters are shown as escapes, because they could not be seen or told apart")


def _state(node: Node) -> str:
    """Return the state in the table; a node that only waited for a failed one did not run."""
    if node.disabled:
        return "failed" if node.has_failed else "invalid"
    if not node.is_on:
        return "off"
    if node.has_failed:
        return "failed"
    return "ok" if node.ran else "not run"


def _cost(node: Node) -> tuple[str, ...]:
    t = node.timing
    if not (t.compile_ms or t.launches):
        return ("",) * 4
    return f"{t.compile_ms:.1f}", f"{t.kernel_ms:.1f}", str(t.launches), str(t.replays)


def _launched(nodes: list[Node]) -> dict[str, list[Node]]:
    """Return the reasons why nodes with kernels were not replayed, each with its nodes."""
    reasons: dict[str, list[Node]] = {}
    for node in nodes:
        if node.timing.launched_because:
            reasons.setdefault(node.timing.launched_because, []).append(node)
    return reasons


def _listed(nodes: list[Node]) -> list[Node]:
    """Return the nodes that the table shows: of very many, first those that are not ok."""
    if len(nodes) <= SHOWN_NODES:
        return nodes
    return sorted(nodes, key=lambda node: _state(node) == "ok")[:SHOWN_NODES]


def _table(nodes: list[Node], with_type: bool) -> Table:
    """The nodes, one per line, paths after the columns of known width."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("state")
    for name in ("compile ms", "kernel ms", "launches", "replays"):
        table.add_column(name, justify="right")
    table.add_column("node")
    if with_type:
        table.add_column("type")
    for node in nodes:
        cells: tuple[str | Text, ...] = (
            _state(node),
            *_cost(node),
            Text(harmless(node.label)),
            Text(harmless(node.type_name)),
        )
        table.add_row(*cells[: len(table.columns)])
    return table


def columns() -> int:
    """The width of the terminal; without one, lines may be as long as they like."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _NO_LIMIT


def summary(outcome: Outcome) -> None:
    """The table of nodes, without their types where the terminal is narrow, and a line that says what was played."""
    listed = _listed(outcome.nodes)
    table = _table(listed, with_type=True)
    if Measurement.get(out, out.options, table).maximum > columns():
        table = _table(listed, with_type=False)
    out.print(table)
    for reason, nodes in _launched(listed).items():
        more = f" and {len(nodes) - 1} more" * (len(nodes) > 1)
        out.print(Text(harmless(f"{nodes[0].path}{more}: not replayed, because {reason}")))
    for node in listed:
        if node.timing.uploads or node.timing.downloads:
            counts = f"{node.timing.uploads} arrays copied to the device, {node.timing.downloads} copied from it"
            out.print(Text(harmless(f"{node.label}: {counts}")))
    if len(listed) < len(outcome.nodes):
        out.print(f"... {len(outcome.nodes) - len(listed)} more nodes")
    rate = outcome.frames / max(outcome.seconds, 1e-9)
    frames = "1 frame" if outcome.frames == 1 else f"{outcome.frames} frames"
    out.print(f"{frames} in {outcome.seconds:.2f} s ({rate:.1f} per second)")
