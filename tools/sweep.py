"""Measures the error of the single-precision library functions over all floats there are, on compiled kernels.

    python tools/sweep.py [--step N] [NAME ...]

prints for each function of one argument the largest error in ULP and where it is. Without `--step` every one of the
2**32 bit patterns is tried, which takes a minute or two a function; `--step N` takes each N-th.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import omni.warp_core as wp
from tests.lib.judges import UNARY, reference, stated_bound, ulp_errors

CHUNK = 1 << 20


def sweep(name: str, step: int) -> tuple[float, np.float32]:
    """The largest error of a function and its argument."""
    function = getattr(wp, name)

    @wp.kernel
    def apply(x: wp.array[wp.float32], y: wp.array[wp.float32]):
        i = wp.tid()
        y[i] = function(x[i])

    worst, where = 0.0, np.float32(0.0)
    for start in range(0, 2**32, CHUNK * step):
        patterns = np.arange(start, min(start + CHUNK * step, 2**32), step, dtype=np.uint64)
        x = patterns.astype(np.uint32).view(np.float32)
        y = np.empty_like(x)
        wp.launch(apply, dim=len(x), inputs=[x, y])
        errors = ulp_errors(y, reference(UNARY[name], x))
        i = int(np.argmax(errors))
        if errors[i] > worst:
            worst, where = float(errors[i]), x[i]
    return worst, where


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--step", type=int, default=1)
    args = parser.parse_args()
    for name in args.names or UNARY:
        worst, where = sweep(name, args.step)
        bound = stated_bound(getattr(wp, name).__doc__)
        verdict = "" if worst <= bound else f"  ABOVE the stated {bound}"
        print(f"{name:6} {worst:.4f} ULP at {where!r}{verdict}", flush=True)


if __name__ == "__main__":
    main()
