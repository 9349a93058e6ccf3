"""Time what a user of the studio waits for, with a client in place of the browser: `python benchmarks/studio.py`.

The scene is data/scenes/wave.usda: 65 536 points, and a kernel of 38 lines. Each row gives the median, the 95th
percentile and the most of a number of trials, in milliseconds, from the request to the last byte of the new arrays. A
browser adds about the time of a frame. Run it on a quiet machine; the load is printed beside the figures.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.studio_server import Client, Studio  # noqa: E402

TRIALS = 40
NODE = "/World/Graph/wave"


def timed(client: Client, act: Callable[[int], None], trials: int = TRIALS) -> list[float]:
    """Return the milliseconds from each act to the next frame with other vertices."""
    found = []
    for trial in range(trials):
        before = client.arrays["/World/Water\nvertices"]
        started = time.perf_counter()
        act(trial)
        while client.arrays["/World/Water\nvertices"] is before:
            time.sleep(0.0005)
        found.append(1e3 * (time.perf_counter() - started))
        time.sleep(0.05)
    return found


def show(what: str, times: list[float]) -> None:
    """Print a row."""
    ordered = sorted(times)
    late = ordered[int(0.95 * (len(ordered) - 1))]
    print(f"{what:42} {statistics.median(times):8.1f} {late:8.1f} {ordered[-1]:8.1f}", flush=True)


def measure(folder: Path) -> None:
    """Measure one studio."""
    shutil.copytree(ROOT / "data" / "scenes", folder / "scenes")
    started = time.perf_counter()
    studio = Studio(folder / "scenes" / "wave.usda", folder / "settings")
    show("command, until the address is printed", [1e3 * (time.perf_counter() - started)])
    client = Client(studio)
    client.trust()
    client.wait(lambda: client.kernels.get(NODE) and "/World/Water\nvertices" in client.arrays)
    show("command, until the first frame is evaluated", [1e3 * (time.perf_counter() - started)])
    text = client.node("wave")["code"]  # type: ignore[index]
    revision = client.kernels[NODE]["rev"]

    def edit(trial: int) -> None:
        other = text.replace("0.85", f"0.{850 + trial}1{os.getpid()}")  # a text that no cache has
        client.send("code", node=NODE, text=other, rev=revision + 1 + trial, run=False)

    show("edit of a text, new mesh", timed(client, edit))
    show("slider, new mesh", timed(client, lambda trial: client.send(
        "param", path=f"{NODE}.inputs:height", value=0.5 + 0.01 * trial)))  # fmt: skip
    client.send("timeline", loop=True, speed=16.0)
    client.send("play")
    time.sleep(1.0)
    before, started = len(client.frames), time.perf_counter()
    time.sleep(4.0)
    rate = (len(client.frames) - before) / (time.perf_counter() - started)
    print(f"{'frames a second, evaluated or kept':42} {rate:8.1f}")
    client.close()
    studio.close()


def main() -> None:
    """Print the table."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':42} {'median':>8} {'95 %':>8} {'most':>8}")
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder))


if __name__ == "__main__":
    main()
