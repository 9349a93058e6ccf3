"""Programs on a GPU side by side with warp-lang's, CuPy's and numba's, each package in its own process; times by events
of the GPU.

    make gpu-bench    or    python benchmarks/gpu.py [--only saxpy] [--peer-python PYTHON] [--seconds 600]
                                                     [--simulated] [--small]

Every output is compared with a float64 NumPy computation before any time is taken; medians are reported. It also
measures the bandwidth of copies and the rate of multiply-adds, of which programs reach a share. Sums, scans, sorts and
the gradients of springs follow. Then come a graph of 100 small launches, through this package and by the driver alone,
one launch alone, and the time from a new source file to its result. A peer that is not installed, or cannot use the
GPU, is left out and named; requirements/gpu.txt has what to install for all. What takes too long is cut short or left
out, and its row says so. `--simulated` tries all this out without a GPU, `--small` on little data: their numbers mean
nothing. The workers are gpu_wp.py, gpu_cupy.py and gpu_numba.py.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from harness.contenders import ROOT, Contender, WorkerError, serve
from harness.gpu_worker import SAMPLES
from harness.report import NUMBA, OURS, WARP, machine, table
from kernels.programs import PROGRAMS

CUPY, DRIVER = "CuPy", "the driver"
WORKERS = {
    "omni.warp_core": "harness.gpu_wp",
    "warp": "harness.gpu_wp",
    "cupy": "harness.gpu_cupy",
    "numba": "harness.gpu_numba",
}
PEERS = {WARP: "warp", CUPY: "cupy", NUMBA: "numba"}
DEVICE = "cuda:0"
ALGORITHMS = {"sum": "sum of 16 M floats", "scan": "scan of 16 M ints", "sort": "sort of 16 M pairs of ints"}
COUNTED = ("nbody", "mandelbrot", "svd3", "noise2", "noise3", "pnoise", "curlnoise")  # programs bound by arithmetic
OF_COPY = 0.92  # goals: what streams reach of the bandwidth of copies,
OF_DRIVER = 1.05  # and the time of a graph over that of the driver alone
SECONDS = 600
ROW_SECONDS = 40  # for an answer,
SAMPLE_SECONDS = 5  # and for the samples in it


class Peer:
    """A package in its process, which is started again after it has been ended."""

    def __init__(self, label: str, python: str, options: argparse.Namespace) -> None:
        self.label, self.python, self.options = label, python, options
        self.worker: Contender | None = None

    def ask(self, *question: Any, within: float = ROW_SECONDS) -> Any:
        """What the worker answers.

        Raises:
            WorkerError: it cannot, or not in time.
        """
        left = self.options.deadline - time.monotonic()
        if left <= 0:
            raise WorkerError(f"no time left of {self.options.seconds:.0f} s")
        if self.worker is None or self.worker.process.poll() is not None:
            flags = [f"--{name}" for name in ("simulated", "small") if getattr(self.options, name)]
            package = PEERS.get(self.label, "omni.warp_core")
            self.worker = Contender(self.python, __file__, package, "--serve", *flags, BENCHMARK_DEVICE=DEVICE)
        return self.worker.ask(*question, within=min(within, left))

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()


class Bench:
    """All who can use the GPU, ours first, and the rows so far."""

    def __init__(self, peers: list[Peer]) -> None:
        self.peers, self.rows = peers, []
        self.ours = peers[0]

    def asked(self, peer: Peer, *question: Any, notes: list[str]) -> Any:
        """What a worker answers, or None; what is amiss goes into the notes."""
        try:
            return peer.ask(*question)
        except WorkerError as why:
            notes.append(f"{peer.label}: {why}")
            return None

    def row(self, title: str, *question: Any, who: tuple[str, ...] = (OURS, *PEERS), note: Note | None = None) -> Any:
        """Ask all of `who`, and add a row. Returns our answer: seconds, samples, and what else there is."""
        notes: list[str] = []
        found: dict[str, float] = {}
        mine = None
        for peer in self.peers:
            answer = self.asked(peer, *question, notes=notes) if peer.label in who else None
            if answer is None:
                continue
            found[peer.label] = answer[0]
            mine = answer if peer is self.ours else mine
            if answer[1] < SAMPLES and question[0] != "edit":
                notes.append(f"{peer.label}: {answer[1]} samples in {SAMPLE_SECONDS} s")
        if mine and note:
            notes.insert(0, note(mine))
        self.add(title, found, notes)
        return mine

    def add(self, title: str, found: dict[str, float], notes: list[str]) -> None:
        """A row of microseconds, and what others take in units of ours."""
        labels = [OURS, *PEERS]
        shown = [f"{found[label] * 1e6:.4g}" if label in found else "-" for label in labels]
        ours = found.get(OURS)
        ratios = [f"{found[label] / ours:.2f}" if ours and label in found else "-" for label in PEERS]
        self.rows.append([title, *shown, *ratios, "; ".join(n for n in notes if n)])
        print(" | ".join(self.rows[-1]), flush=True)


Note = Callable[[list], str]  # what a row says of our answer


def share_of_copy(moved: int, bandwidth: float) -> Note:
    return lambda mine: f"{moved / mine[0] / bandwidth:.0%} of the copy, goal {OF_COPY:.0%}"


def share_of_rate(operations: float | None, rate: float) -> Note:
    return lambda mine: f"{operations / mine[0] / rate:.0%} of the multiply-adds" if operations else ""


class Limits(NamedTuple):
    """What the device can do, by this run: bytes and operations in a second."""

    bandwidth: float
    rate: float


def limits(bench: Bench) -> Limits:
    copied = bench.row("copy, 256 MiB", "copy", SAMPLE_SECONDS, who=(OURS, WARP),
                       note=lambda mine: f"{mine[2] / mine[0] / 1e9:.0f} GB/s")  # fmt: skip
    fused = bench.row("multiply-adds", "fused", SAMPLE_SECONDS, who=(OURS, WARP),
                      note=lambda mine: f"{mine[2] / mine[0] / 1e12:.1f} TFLOP/s")  # fmt: skip
    return Limits(*(mine[2] / mine[0] if mine else 0.0 for mine in (copied, fused)))


def programs(bench: Bench, only: list[str], limit: Limits) -> None:
    for program in PROGRAMS:
        if program.name not in only:
            continue
        note: Note | None = None
        if program.moved and limit.bandwidth:
            note = share_of_copy(program.moved, limit.bandwidth)
        elif program.name in COUNTED and limit.rate:
            note = share_of_rate(bench.asked(bench.ours, "operations", program.name, notes=[]), limit.rate)
        bench.row(program.title, "program", program.name, SAMPLE_SECONDS, note=note)


def gradients(bench: Bench) -> None:
    """Those that we and warp-lang agree on."""
    title, notes, both = "gradients of 1 M springs", [], (OURS, WARP)
    found = [bench.asked(p, "gradient", "springs", notes=notes) for p in bench.peers if p.label in both]
    if len(found) == 2 and all(found) and not np.allclose(*found, rtol=1e-3, atol=1e-3 * np.abs(found[0]).max()):
        bench.add(title, {}, ["gradients differ"])
        return
    bench.row(title, "backward", "springs", SAMPLE_SECONDS, who=both)


def launches(bench: Bench) -> None:
    both = OURS, WARP
    bench.row("graph of 100 small launches", "graph", SAMPLE_SECONDS, who=both)
    notes: list[str] = []
    replays = bench.asked(bench.ours, "replays", notes=notes) or {}
    for what, (mine, alone) in replays.items():
        ratio = f"{alone * 1e6:.4g} by {DRIVER} alone: {mine / alone:.3f} of that, goal {OF_DRIVER}"
        bench.add(f"that graph, time of the {what}", {OURS: mine}, [ratio])
    if notes:
        bench.add("that graph by the driver alone", {}, notes)
    bench.row("launch, without waiting", "launch", SAMPLE_SECONDS, who=both)
    bench.row("new source file to result", "edit", SAMPLE_SECONDS, who=both)


def started(options: argparse.Namespace) -> list[Peer]:
    """Who can use the GPU, after a line for each."""
    found = []
    labels = [OURS] if options.simulated else [OURS, *PEERS]
    for label in labels:
        peer = Peer(label, sys.executable if label == OURS else options.peer_python, options)
        try:
            facts = peer.ask("facts")
        except (OSError, WorkerError) as why:
            print(f"{label} is left out: {why}")
            continue
        print(f"{label} {facts['version']} on {facts['device']}")
        found.append(peer)
    return found


def main() -> None:
    """Run everything and print a table for docs/gpu.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=[p.name for p in PROGRAMS])
    parser.add_argument("--peer-python", default=sys.executable, help="where the peers are installed")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all of it; what comes later is left out")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--small", action="store_true", help="little data: to see that all of it works")
    options = parser.parse_args()
    if options.serve:
        worker = importlib.import_module(WORKERS[options.package]).Worker
        serve(worker, options.package, options.small, options.simulated)
        return
    options.deadline = time.monotonic() + options.seconds
    peers = started(options)
    if not peers or peers[0].label != OURS:
        sys.exit("there is nothing to measure without a GPU")
    bench = Bench(peers)
    programs(bench, options.only, limits(bench))
    for name, title in ALGORITHMS.items():
        bench.row(title, "algorithm", name, SAMPLE_SECONDS)
    gradients(bench)
    launches(bench)
    if options.simulated or options.small:
        print("These numbers mean nothing: there is no GPU, or next to no data.")
    print(machine())
    header = ["", *(f"{label}, us" for label in (OURS, *PEERS)), *(f"{label} ÷ ours" for label in PEERS), ""]
    print(table(header, bench.rows))
    for peer in peers:
        peer.close()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
