"""The programs side by side: this package, warp-lang and numba, each in its own process, on the same inputs.

    make bench        or        python benchmarks/run.py [--only nbody mix] [--json results.json]

Every output is compared with a float64 NumPy computation, to the tolerance printed, before any time is taken. The
implementations then take turns, so that a disturbance of the machine meets all of them; medians are reported, ratios
last. warp-lang runs CPU kernels on one thread, so this package is timed on one thread too.

Read kernels/programs.py for what is computed, kernels/in_wp.py and kernels/in_numba.py for how.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import peers
from harness.contenders import Contender, WorkerError
from harness.report import ALONE, NUMBA, OURS, WARP, bandwidth_table, machine, programs_table
from kernels.programs import PROGRAMS, STREAM, Program

HERE = Path(__file__).resolve().parent
SAMPLE_SECONDS = 0.2  # a sample is as many runs as fill this time
SEED = 20
QUIET = 0.97  # share of a core below which other work disturbed the run


class Timed(Contender):
    """A contender, and how long its samples took by the clock on the wall and of processor time."""

    def __init__(self, label: str, python: str, package: str, threads: int) -> None:
        super().__init__(python, str(HERE / "harness" / "worker.py"), package, threads, OMP_WAIT_POLICY="passive")
        self.label, self.threads = label, threads
        self.wall = self.cpu = 0.0  # seconds

    def sample(self, name: str, runs: int) -> float:
        answer = self.ask("time", name=name, runs=runs)
        self.wall += answer["seconds"]
        self.cpu += answer["cpu_seconds"]
        return answer["seconds"] / runs


def sample_in_turns(timers: dict[str, Callable[[int], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds per run: `rounds` samples of each timer, taken in turns."""
    runs = {}
    for label, timer in timers.items():
        timer(1)
        runs[label] = max(1, math.ceil(SAMPLE_SECONDS / timer(1)))
    samples: dict[str, list[float]] = {label: [] for label in timers}
    for _ in range(rounds):
        for label, timer in timers.items():
            samples[label].append(timer(runs[label]))
    return samples


def medians(samples: dict[str, list[float]]) -> dict[str, float]:
    return {label: statistics.median(values) for label, values in samples.items()}


def check(program: Program, reference: dict[str, np.ndarray], file: Path) -> str | None:
    """What is wrong with the outputs in `file`, or None."""
    with np.load(file) as outputs:
        problems = {name: program.tolerance.problem(outputs[name], ref) for name, ref in reference.items()}
    return "; ".join(f"{name}: {what}" for name, what in problems.items() if what) or None


def run_program(program: Program, contenders: list[Timed], rounds: int, directory: Path) -> dict[str, Any]:
    """Inputs to everybody, outputs compared, then times of those that were right."""
    contenders = [c for c in contenders if program.numba or c.label != NUMBA]
    inputs = program.inputs(np.random.default_rng(SEED))
    reference = program.reference(inputs)
    np.savez(directory / "inputs.npz", **inputs)
    first, wrong = {}, {}
    for index, contender in enumerate(contenders):
        outputs = directory / f"outputs{index}.npz"
        try:
            answer = contender.ask("load", program.name, str(directory / "inputs.npz"), str(outputs))
        except WorkerError as why:
            wrong[contender.label] = str(why)
            continue
        problem = check(program, reference, outputs)
        if problem:
            wrong[contender.label] = problem
        else:
            first[contender.label] = answer["first"]
    agree = f"{', '.join(first) or 'none'} agree with float64 NumPy ({program.tolerance})"
    print(f"{program.name}: {agree}" + "".join(f"\n    {k}: {v}" for k, v in wrong.items()), flush=True)
    timers = {c.label: lambda runs, c=c: c.sample(program.name, runs) for c in contenders if c.label in first}
    samples = sample_in_turns(timers, rounds)
    return {"first_run": first, "wrong": wrong, "samples": samples, "median": medians(samples)}


def copy_bandwidth(ours: Timed, rounds: int) -> dict[str, float]:
    """Bytes read and written per second when 10 M floats are copied, by NumPy and by a kernel."""
    names = ours.ask("load_copies", size=STREAM)["names"]
    timers = {name: lambda runs, name=name: ours.sample(name, runs) for name in names}
    return {name: 8 * STREAM / t for name, t in medians(sample_in_turns(timers, rounds)).items()}


def share_of_a_core(contenders: list[Timed]) -> float:
    """Processor time over elapsed time of the one-threaded processes: below 1 where other work disturbed them."""
    alone = [c for c in contenders if c.threads == 1 and c.wall]
    return sum(c.cpu for c in alone) / sum(c.wall for c in alone) if alone else 1.0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[p.name for p in PROGRAMS], help="programs to run (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="samples of each implementation (default: 9)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to FILE")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    theirs = options.peer_python or str(peers.python())
    contenders = [
        Timed(OURS, sys.executable, "omni.warp_core", options.threads),
        Timed(ALONE, sys.executable, "omni.warp_core", 1),
        Timed(WARP, theirs, "warp", 1),
        Timed(NUMBA, theirs, "numba", options.threads),
    ]
    record: dict[str, Any] = {"machine": machine(), "threads": options.threads}
    record["versions"] = {c.label: c.ask("versions") for c in contenders}
    with tempfile.TemporaryDirectory() as scratch:
        record["programs"] = {
            p.name: run_program(p, contenders, options.rounds, Path(scratch))
            for p in PROGRAMS
            if not options.only or p.name in options.only
        }
    record["copy"] = copy_bandwidth(contenders[0], options.rounds)
    record["share_of_a_core"] = share_of_a_core(contenders)
    for contender in contenders:
        contender.close()
    print_report(record)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if any(result["wrong"] for result in record["programs"].values()) else 0


def print_report(record: dict[str, Any]) -> None:
    facts = record["machine"]
    print(
        f"\n{facts['processor']}; {facts['cores']} cores, {facts['memory_gib']} GiB; {facts['system']}; {facts['date']}"
    )
    for label, versions in record["versions"].items():
        print(f"  {label}: " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    share = record["share_of_a_core"]
    if share < QUIET:
        print(f"  the machine was busy: a one-threaded process got {share:.0%} of a core, so times are too long")
    print("\n" + bandwidth_table(record["programs"], record["copy"]))
    print("\n" + programs_table(record["programs"], record["threads"]))


if __name__ == "__main__":
    sys.exit(main())
