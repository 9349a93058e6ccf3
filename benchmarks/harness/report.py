"""Report of a benchmark run: the machine, and tables whose last columns are the ratios."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kernels.programs import PROGRAMS, Program

OURS, ALONE, WARP, NUMBA = "ours", "ours, 1 thread", "warp-lang", "numba"


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system and date of this run."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30) if os.name != "nt" else 0,
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.date.today().isoformat(),
    }


def _processor() -> str:
    """The processor's name and widest vector instructions, as Linux tells them."""
    path = Path("/proc/cpuinfo")
    facts = dict(_pairs(path.read_text().splitlines())) if path.exists() else {}
    flags = facts.get("flags", "").split()
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    family = f"family {facts['cpu family']}" if "cpu family" in facts else ""
    parts = (facts.get("model name") or platform.processor(), family, vectors)
    return ", ".join(part for part in parts if part)


def _pairs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            yield key.strip(), value.strip()


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its columns padded for reading as plain text; all but the first are right-aligned."""
    widths = [max(len(row[c]) for row in (header, *rows)) for c in range(len(header))]
    pad = lambda row: "| " + " | ".join(f"{v:{'<' if c == 0 else '>'}{widths[c]}}" for c, v in enumerate(row)) + " |"  # noqa: E731
    rule = "|" + "|".join("-" * (w + 2) if c == 0 else "-" * (w + 1) + ":" for c, w in enumerate(widths)) + "|"
    return "\n".join([pad(header), rule, *map(pad, rows)])


def programs_table(results: dict[str, Any], threads: int) -> str:
    """Medians per program in milliseconds, then the ratios."""
    header = (
        "program", WARP, NUMBA, ALONE, f"ours, {threads} threads", "rate",
        "numba ÷ ours", "warp ÷ ours, 1 thread", "warp ÷ ours", "goal",
    )  # fmt: skip
    return table(header, [_row(p, results[p.name]) for p in PROGRAMS if p.name in results])


def _row(program: Program, result: dict[str, Any]) -> list[str]:
    median = result["median"]
    ours = median.get(OURS)
    times = [f"{median[k] * 1e3:.3g} ms" if k in median else "failed" for k in (WARP, NUMBA, ALONE, OURS)]
    if not program.numba:
        times[1] = "-"
    rate = f"{program.work / ours:.4g} {program.unit}" if ours else "-"
    pairs = ((NUMBA, OURS), (WARP, ALONE), (WARP, OURS))
    ratios = [f"{median[a] / median[b]:.2f}" if a in median and b in median else "-" for a, b in pairs]
    return [program.title, *times, rate, *ratios, f"{program.goal:g}" if program.goal else ""]


def bandwidth_table(results: dict[str, Any], copies: dict[str, float]) -> str:
    """Bytes that must move per second, and their share of the faster of the two copies."""
    best = max(copies.values(), default=0.0)
    rows = [[name, f"{rate / 1e9:.1f} GB/s", "", ""] for name, rate in copies.items()]
    for program in PROGRAMS:
        seconds = results.get(program.name, {}).get("median", {}).get(OURS)
        if program.moved and seconds and best:
            rate = program.moved / seconds
            goal = f"{program.bandwidth_goal:.0%}" if program.bandwidth_goal else ""
            rows.append([program.title, f"{rate / 1e9:.1f} GB/s", f"{rate / best:.0%}", goal])
    return table(("stream", "bandwidth", "of the faster copy", "goal"), rows)
