"""Soak test: random programs in one process, whose memory must stay flat.

`python -m tests.fuzz.soak --minutes 60` compiles and runs random kernels, forgets them, and compares each with CPython.
It fails if the memory of the process still grows in the second half. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import linecache
import os
import resource
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np

import omni.warp_core as wp
from tests.lang.test_random_python import THREADS, WIDTHS, as_kernel, data, in_cpython

SAMPLE_EVERY = 20  # programs
ALLOWED = 0.02  # MiB for each program: a kernel and its metadata take ten times as much


class Sample(NamedTuple):
    """The memory of the process after a number of programs."""

    programs: int
    mebibytes: float


def resident() -> float:
    """Return the memory that the process has in RAM, in MiB, without what the allocator of C keeps for later."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # of glibc
        trim(0)
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20
    except OSError:  # not Linux: the most it ever had
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def growth(samples: list[Sample]) -> float:
    """Return the MiB that each program adds, by least squares over the second half."""
    half = samples[len(samples) // 2 :]
    if len(half) < 2:
        return 0.0
    return float(np.polyfit([s.programs for s in half], [s.mebibytes for s in half], 1)[0])


def soak(minutes: float, seed: int) -> list[Sample]:
    """Run programs for that long; return the memory after each twentieth.

    Raises:
        AssertionError: a program computed other numbers than CPython.
    """
    end, programs, samples = time.monotonic() + 60 * minutes, 0, []
    while time.monotonic() < end:
        number, lanes = seed + programs, WIDTHS[programs % len(WIDTHS)]
        arrays = [wp.array(x, dtype=int) for x in data(number)]
        wp.launch(as_kernel(number, lanes), THREADS, inputs=arrays)
        for found, expected in zip(arrays, in_cpython(number)):
            assert found.numpy().tolist() == expected, f"program {number} with lanes={lanes}"
        linecache.clearcache()  # Python keeps the text of each program for tracebacks, 10 KiB on average
        programs += 1
        if programs % SAMPLE_EVERY == 0:
            samples.append(Sample(programs, resident()))
            print(f"{programs} programs, {samples[-1].mebibytes:.1f} MiB", flush=True)
    return samples


def main() -> int:
    """Run the soak test of the command line; 1 if memory grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    warnings.simplefilter("ignore", wp.KernelWarning)
    by_program = growth(soak(options.minutes, options.seed))
    print(f"{1024 * by_program:+.1f} KiB for each program in the second half")
    return int(by_program > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
