"""Runs the suites for GPUs where time is short: `python tools/gpu_tests.py`, or `make gpu-test`. Needs pytest alone.

Each file of tests runs in a process of its own. It writes results at once into a folder, and the next call goes on
where the last one ended. So the work can be cut into commands of any length:

    journal.jsonl   each test, when it begins and when it has ended (tests/resume_log.py).
    failures.txt    the details of all failures, the first one first.
    summary.txt     counts, what failed, what took longest.

A test that hangs, loses the GPU or ends its process costs that process alone: it is noted as failed, and the rest of
the file runs in another one, up to five times. The exit status is 0 if all has passed, 1 if something failed, 2 if
something is left to run, and 3 if there is no GPU to run anything on.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import resume_log  # noqa: E402

# What the others rest on comes first.
FIRST = [f"tests/gpu/test_{name}.py" for name in ("devices", "arrays", "launches", "streams", "memory", "graphs")]
SUITES = [
    f"tests/{name}"
    for name in (
        *("gpu", "lang", "front", "lib", "devices", "arrays", "launches", "graphs", "eager", "interpreter", "viz"),
        *("package", "algo", "autodiff", "tape", "forward_mode", "autograd", "volumes"),
    )
]
# The machine's packages may warn of anything, and bring plugins of pytest.
OPTIONS = ["-c", "pyproject.toml", "-p", "tests.resume_log", "-p", "no:cacheprovider", "-W", "default", "--tb=short"]
FOR_CPU = "\npytestmark = pytest.mark.cpu\n"
STARTING = 120  # seconds in which a process has to come to its first test
TAIL = 6_000  # characters of what a process wrote that ended before its time
MOST_PROCESSES = 5  # for a file: where every test hangs, time is better spent on others


def files_of(suites: list[str]) -> list[str]:
    """The files of tests in suites, in the order in which they begin; without those that are about the CPU alone, which
    may need packages that are not there.
    """
    found = [f for s in suites for f in (sorted((ROOT / s).rglob("test_*.py")) if (ROOT / s).is_dir() else [ROOT / s])]
    names = [os.path.relpath(f, ROOT) for f in found if FOR_CPU not in f.read_text()]
    return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


class Worker:
    """A process that runs what is left of a file of tests."""

    def __init__(self, file: str, results: Results, mode: str, test_seconds: float):
        self.file, self.results, self.patience = file, results, max(STARTING, 1.5 * test_seconds)
        self.name = f"{file} {time.time_ns()}"
        self.log = results.folder / f"{time.time_ns()}.log"
        env = {
            "OMNI_WARP_GPU_TESTS": mode,
            "OMNI_WARP_TEST_JOURNAL": str(results.journal),
            "OMNI_WARP_TEST_RUN": self.name,
            "OMNI_WARP_TEST_SECONDS": str(test_seconds),
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),  # for programs that tests start
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        command = [sys.executable, "-m", "pytest", *OPTIONS, file]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._noted, self._since = 0, time.monotonic()

    def has_ended(self) -> bool:
        """Whether the process is gone; one that has not noted anything for long is killed."""
        if self.process.poll() is not None:
            return True
        noted = len(self.results.of(self.name))
        if noted != self._noted:
            self._noted, self._since = noted, time.monotonic()
        if time.monotonic() - self._since < self.patience:
            return False
        self.kill()
        return True

    def kill(self) -> None:
        """End the process and all that it started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> bool:
        """Note how the process ended. Returns whether the file has been run to its end."""
        entries = self.results.of(self.name)
        said = self.log.read_text(errors="replace")[-TAIL:]
        self.log.unlink()
        ended = [e["test"] for e in entries if e["event"] == "end"]
        lost = [e["test"] for e in entries if e["event"] == "begin" and e["test"] not in ended]
        status = next((e["status"] for e in entries if e["event"] == "finish"), None)
        if lost or (status not in (0, 1, 5) and (status is not None or not ended)):
            why = f"the process ended with status {self.process.returncode}; the end of what it wrote:\n{said}"
            self._fail((lost or [self.file])[-1], why)
        done = status is not None or not (ended or lost)
        if not done and self.results.processes(self.file) >= MOST_PROCESSES:
            self._fail(self.file, f"the rest of the file is left out: {MOST_PROCESSES} processes ended before its end")
            done = True
        if done:
            self.results.note(self.name, event="done", file=self.file)
        return done

    def _fail(self, test: str, why: str) -> None:
        self.results.note(self.name, event="end", test=test, outcome="failed", seconds=0, why=why)


class Results:
    """The folder of the results, with those of earlier calls."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.journal = folder, folder / "journal.jsonl"

    def note(self, run: str, /, **entry: Any) -> None:
        """Add an entry to the journal."""
        resume_log.write(self.journal, run, **entry)

    def of(self, run: str) -> list[dict[str, Any]]:
        """The entries of a process."""
        return [e for e in resume_log.read(self.journal) if e["run"] == run]

    def processes(self, file: str) -> int:
        """How many processes have run tests of a file."""
        return len({e["run"] for e in resume_log.read(self.journal) if e["run"].startswith(f"{file} ")})

    def done(self) -> set[str]:
        """The files that have been run to their end."""
        return {e["file"] for e in resume_log.read(self.journal) if e["event"] == "done"}

    def ends(self) -> list[dict[str, Any]]:
        """What has come out of each test, in the order in which they ended."""
        return list({e["test"]: e for e in resume_log.read(self.journal) if e["event"] == "end"}.values())

    def forget_failures(self) -> None:
        """Let what failed be run again."""
        failed = {e["test"] for e in self.ends() if e["outcome"] == "failed"}
        files = {test.split("::")[0] for test in failed}
        kept = [e for e in resume_log.read(self.journal) if e.get("test") not in failed and e.get("file") not in files]
        self.journal.unlink(missing_ok=True)
        for e in kept:
            e["run"] = e["run"] if e["run"].rsplit(" ", 1)[0] not in files else "an earlier call"
            self.note(e.pop("run"), **e)

    def report(self, left: list[str]) -> str:
        """Write failures.txt and summary.txt, and return the latter."""
        ends = self.ends()
        failed = [e for e in ends if e["outcome"] == "failed"]
        details = [f"{'=' * 100}\n{e['test']}\n\n{e['why']}\n" for e in failed]
        (self.folder / "failures.txt").write_text("\n".join(details))
        count = Counter(e["outcome"] for e in ends)
        lines = [f"{len(ends)} tests: {', '.join(f'{n} {what}' for what, n in sorted(count.items()))}"]
        for e in failed:
            said = e["why"].splitlines() or [""]
            telling = next((line for line in said if re.match(r"E |.*(Timeout|Fatal)", line)), said[0])
            lines.append(f"FAILED {e['test']}: {telling[:300]}")
        slow = sorted(ends, key=lambda e: -e["seconds"])[:5]
        lines += [f"{e['seconds']:7.1f} s {e['test']}" for e in slow]
        lines.append(
            f"left to run, by the same command: {len(left)} files {' '.join(left[:8])}" if left else "nothing is left"
        )
        (self.folder / "summary.txt").write_text("\n".join(lines) + "\n")
        return "\n".join(lines)


def why_not(mode: str) -> str:
    """Why no test can run at all, or an empty text."""
    command = [sys.executable, "-c", "from tests import on_gpu; on_gpu.install()"]
    env = os.environ | {"OMNI_WARP_GPU_TESTS": mode}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=STARTING)
    return done.stderr if done.returncode else ""


def run(results: Results, suites: list[str], mode: str, jobs: int, seconds: float, test_seconds: float) -> list[str]:
    """Run until all is done or the time is over. Returns the files that are left."""
    end = time.monotonic() + seconds
    done = results.done()
    waiting, running = [f for f in files_of(suites) if f not in done], []
    while (waiting or running) and time.monotonic() < end:
        while waiting and len(running) < jobs:
            running.append(Worker(waiting.pop(0), results, mode, test_seconds))
        for worker in [w for w in running if w.has_ended()]:
            running.remove(worker)
            if not worker.close():
                waiting.insert(0, worker.file)
            print(f"{len(waiting) + len(running):4} files left; {worker.file} has ended", flush=True)
        results.report([w.file for w in running] + waiting)
        time.sleep(0.2)
    for worker in running:
        worker.kill()
        worker.log.unlink()
    return [w.file for w in running] + waiting


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", default=SUITES, help="folders and files of tests; all without any")
    parser.add_argument("--mode", default="real", choices=["real", "simulated", "emulated"], help="see tests/on_gpu.py")
    parser.add_argument("--results", type=Path, help="the folder for the results, build/gpu-tests/MODE")
    parser.add_argument("--jobs", type=int, default=4, help="how many processes run at a time")
    parser.add_argument("--seconds", type=float, default=540, help="when to stop; the next call goes on")
    parser.add_argument("--test-seconds", type=float, default=60, help="how long a test may take")
    parser.add_argument("--again", action="store_true", help="run again what failed in earlier calls")
    args = parser.parse_args()
    problem = why_not(args.mode)
    if problem:
        print(problem)
        return 3
    results = Results((args.results or ROOT / "build" / "gpu-tests" / args.mode).resolve())
    if args.again:
        results.forget_failures()
    left = run(results, args.suites, args.mode, args.jobs, args.seconds, args.test_seconds)
    print(results.report(left))
    print(f"details: {results.folder}/failures.txt")
    return 2 if left else 1 if any(e["outcome"] == "failed" for e in results.ends()) else 0


if __name__ == "__main__":
    sys.exit(main())
