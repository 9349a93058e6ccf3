"""Reads mutated `.vdb` and `.nvdb` files. Each is read, or is refused by a VolumeFileError.

    python -m tests.volumes.file_fuzz --cases 1000000 --seed 1        also `make fuzz`

Cases are numbered, and a case is the same in each run of a seed. Workers with limited memory run them, and
SIGALRM ends a worker if a case takes too long. Then the run goes on with the next case. Files of failures go to
build/fuzz.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from omni.warp_core.volumes.file_cursor import VolumeFileError
from omni.warp_core.volumes.nvdb_file import read_grids
from omni.warp_core.volumes.vdb.vdb_file import list_vdb, read_vdb

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "fuzz"
DATA = Path(__file__).parent / "data"
FILES = (
    *("types_blosc_mask.vdb", "zip.vdb", "mask.vdb", "blosc.vdb", "half_blosc_mask.vdb", "several.vdb", "stream.vdb"),
    *("stream_none.nvdb", "stream_zip.nvdb", "stream_blosc.nvdb"),
)
MEMORY = 1 << 29  # bytes that a case may take
LARGEST_RATIO = 1200  # bytes of arrays for each byte of a file
SECONDS = 20  # that a case may take
BATCH = 20_000  # cases of a worker
NUMBERS = (0, 1, 2, 7, 255, 256, 4096, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1)


class Corpus:
    """The files to mutate, and where each has bytes that are not 0."""

    def __init__(self) -> None:
        self.files = [np.frombuffer(gzip.decompress((DATA / f"{name}.gz").read_bytes()), np.uint8) for name in FILES]
        self.full = [np.flatnonzero(data) for data in self.files]

    def case(self, seed: int, number: int) -> tuple[str, bytes]:
        """The suffix and the bytes of a case."""
        rng = np.random.default_rng((seed, number))
        which = int(rng.integers(len(self.files)))
        data = bytearray(self.files[which].tobytes())
        for _ in range(1 << rng.integers(4)):
            self._mutate(rng, which, data)
        return FILES[which].rsplit(".", 1)[1], bytes(data)

    def _mutate(self, rng: np.random.Generator, which: int, data: bytearray) -> None:
        at = min(self._place(rng, which), max(len(data) - 1, 0))
        length = int(rng.integers(1, 65))
        choice = rng.random()
        if choice < 0.3:
            data[at : at + 1] = bytes([data[at] ^ 1 << rng.integers(8)]) if data else b""
        elif choice < 0.75:
            size = int(rng.choice([1, 2, 4, 8]))
            number = int(rng.choice(np.array(NUMBERS, np.uint64))) if rng.random() < 0.7 else int(rng.integers(4096))
            data[at : at + size] = (number % 256**size).to_bytes(size, "little")
        elif choice < 0.82:
            data[at : at + length] = rng.bytes(length)
        elif choice < 0.87:
            del data[at : at + length]
        elif choice < 0.92:
            data[at:at] = data[:length] if rng.random() < 0.5 else rng.bytes(length)
        elif choice < 0.97:
            other = self.files[int(rng.integers(len(self.files)))]
            start = int(rng.integers(max(1, other.size - length)))
            data[at : at + length] = other[start : start + length].tobytes()
        else:
            del data[at:]

    def _place(self, rng: np.random.Generator, which: int) -> int:
        choice = rng.random()
        if choice < 0.35:
            return int(rng.integers(800))
        if choice < 0.8:
            return int(rng.choice(self.full[which]) + rng.integers(-4, 5)) % self.files[which].size
        return int(rng.integers(self.files[which].size))


def read_grids_of(path: Path, first: int) -> str:
    """Read each third grid of a file; return whether all, some or none of them could be read."""
    taken, refused, grids = 0, 0, 0
    try:
        entries: list = read_grids(path) if path.suffix == ".nvdb" else list_vdb(path)
    except VolumeFileError:
        return "refused"
    for number in range(first, min(len(entries), 12), 3):
        try:
            if path.suffix == ".nvdb":
                taken += entries[number].read().nbytes
            else:
                grid = read_vdb(path, index=number)
                taken += sum(value.nbytes for value in vars(grid).values() if isinstance(value, np.ndarray))
            grids += 1
        except VolumeFileError:
            refused += 1
    assert taken <= len(entries) * LARGEST_RATIO * path.stat().st_size, f"{taken} bytes of arrays"
    return "partly refused" if refused and grids else "refused" if refused else "read"


def work(seed: int, first: int, end: int, folder: Path) -> None:
    """Run cases in this process. `folder` gets the number of the current case."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    corpus, counts = Corpus(), dict.fromkeys(("read", "partly refused", "refused"), 0)
    for number in range(first, end):
        suffix, data = corpus.case(seed, number)
        path = folder / f"case.{suffix}"
        path.write_bytes(data)
        (folder / "number").write_text(str(number))
        signal.alarm(SECONDS)
        counts[read_grids_of(path, number % 3)] += 1
    print(*counts.values())


def fuzz(seed: int, cases: int, seconds: float = 1e9) -> tuple[dict[str, int], list[str]]:
    """Run cases in workers; return how many were read and refused, and what went wrong."""
    counts, failures, number = dict.fromkeys(("read", "partly refused", "refused"), 0), [], 0
    end_time = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while number < cases and time.monotonic() < end_time:
            end = min(number + BATCH, cases)
            command = [
                sys.executable,
                "-m",
                "tests.volumes.file_fuzz",
                "--work",
                f"{seed}",
                f"{number}",
                f"{end}",
                name,
            ]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode == 0:
                for kind, count in zip(counts, done.stdout.split()):
                    counts[kind] += int(count)
                number = end
                continue
            if not (folder / "number").exists():
                raise RuntimeError(done.stderr)
            at = int((folder / "number").read_text())
            failures.append(_keep(seed, at, done))
            number = at + 1
    return counts, failures


def _keep(seed: int, number: int, done: subprocess.CompletedProcess) -> str:
    """Save the file of a failure, and say what went wrong."""
    suffix, data = Corpus().case(seed, number)
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{seed}-{number}.{suffix}"
    path.write_bytes(data)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return f"{path}: {signal.Signals(-done.returncode).name if done.returncode < 0 else last}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.volumes.file_fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the mutations (default: the time)")
    parser.add_argument("--cases", type=int, default=1_000_000, help="how many files to read")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further batch after so long")
    parser.add_argument("--work", nargs=4, metavar="X", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        seed, first, end, folder = options.work
        work(int(seed), int(first), int(end), Path(folder))
        return 0
    counts, failures = fuzz(options.seed, options.cases, options.seconds)
    print(f"seed {options.seed}:", ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    print(*failures, sep="\n", end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
