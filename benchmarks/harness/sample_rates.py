"""The table of two benchmarks of samples: volumes.py and textures.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Rates = Mapping[str, Sequence[float]]  # name -> million samples a CPU second and a second of the clock, sum of samples


def print_rates(ours: Rates, peer: Rates, count: int) -> None:
    """Print the rates of each case. Sums of `count` samples must agree."""
    for name, (cpu, clock, total) in ours.items():
        line = f"{name:18} omni.warp_core {cpu:7.1f} {clock:7.1f}"
        if name in peer:
            of_peer, clock_of_peer, total_of_peer = peer[name]
            assert abs(total - total_of_peer) < 1e-4 * count, (total, total_of_peer)
            line += f"   warp-lang {of_peer:7.1f} {clock_of_peer:7.1f}"
            line += f"   ratio {cpu / of_peer:5.1f} {clock / clock_of_peer:5.1f}"
        print(line)
