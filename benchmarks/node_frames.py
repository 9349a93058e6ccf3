"""A frame of a scene in the style of omni.warp: 65,536 points and three Kernel nodes, whose scalars follow the time.

    python benchmarks/node_frames.py [PYTHON]

PYTHON is an interpreter with warp-lang; without it, the environment of the peers is used. There, Python nodes do what
the host of such nodes does: they wrap arrays, fill the structs, launch, and hand the arrays on. See
harness/node_frames_peer.py.
Here, the player replays the nodes. Both run the same texts and take turns. Figures are processor time of a frame, the
fastest round of each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import peers

from omni.warp_core.nodes.graph.evaluate import Evaluator
from omni.warp_core.nodes.play.player import Player, Settings

POINTS, FRAMES, ROUNDS = 65_536, 20, 7
HEAD = "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    i = wp.tid()\n    p = inputs.p[i]\n"
TEXTS = {
    "wave": HEAD + "    outputs.q[i] = p + wp.vec3(0.0, 0.2 * wp.sin(2.0 * inputs.time + 3.0 * p[0]), 0.0)\n",
    "twist": HEAD
    + "    a = inputs.time * p[1]\n"
    + "    outputs.q[i] = wp.vec3(wp.cos(a) * p[0] - wp.sin(a) * p[2], p[1], wp.sin(a) * p[0] + wp.cos(a) * p[2])\n",
    "swell": HEAD + "    outputs.q[i] = p * (1.0 + 0.1 * inputs.time * wp.exp(-wp.dot(p, p)))\n",
}


def points() -> np.ndarray:
    """The points of the mesh."""
    return np.random.default_rng(7).uniform(-1, 1, (POINTS, 3)).astype(np.float32)


def scene(folder: str) -> str:
    """Write the scene: a clock, and the three nodes one after the other."""
    node = 'def OmniGraphNode "{0}"\n{{\n token node:type = "{1}"\n{2}\n}}\n'
    parts = [node.format("clock", "omni.graph.nodes.ReadTime", "")]
    before = ""
    for name, text in TEXTS.items():
        p = f".connect = </G/{before}.outputs:q>" if before else f" = {[tuple(x) for x in points().tolist()]}"
        body = f" custom string inputs:codeStr = {json.dumps(text)}\n custom point3f[] inputs:p{p}\n"
        body += ' int node:typeVersion = 2\n custom token inputs:dimSource = "p"\n custom point3f[] outputs:q\n'
        body += " custom float inputs:time.connect = </G/clock.outputs:time>"
        parts.append(node.format(name, "omni.warp.WarpKernel", body))
        before = name
    path = Path(folder) / "frames.usda"
    head = "#usda 1.0\n(\n startTimeCode = 0\n endTimeCode = 1\n)\n"
    path.write_text(head + 'def OmniGraph "G"\n{\n token evaluator:type = "push"\n' + "".join(parts) + "}\n")
    return str(path)


class Host:
    """The scene in this host."""

    def __init__(self, path: str):
        self.player = Player.open(path, Settings(fps=24.0))
        self.player.take_code()
        self.evaluator = Evaluator(self.player.loaded.graphs[0])
        self.evaluator.start()
        self.play(3)

    def play(self, frames: int) -> float:
        """Play some frames. Returns microseconds of processor time for each."""
        started = time.process_time()
        for _ in range(frames):
            self.player.host.timeline.frame += 1
            self.evaluator.evaluate()
        return (time.process_time() - started) / frames * 1e6

    def result(self) -> np.ndarray:
        """The points after the last frame."""
        found = self.player.loaded.attribute("/G/swell.outputs:q")
        assert found is not None
        return np.asarray(found.value)


class Peer:
    """The same nodes as Python code around warp-lang."""

    def __init__(self, python: str, folder: str):
        np.save(f"{folder}/points.npy", points())
        script = str(Path(__file__).parent / "harness" / "node_frames_peer.py")
        self.process = subprocess.Popen(
            [python, script, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._ask(TEXTS)
        self.play(3)

    def _ask(self, request: object) -> object:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def play(self, frames: int) -> float:
        """Play some frames. Returns microseconds of processor time for each."""
        found = self._ask(frames)
        assert isinstance(found, float)
        return found


def main() -> int:
    """Print the figures. Returns 1 if the results differ."""
    python = sys.argv[1] if len(sys.argv) > 1 else str(peers.python())
    with tempfile.TemporaryDirectory() as folder:
        host, peer = Host(scene(folder)), Peer(python, folder)
        costs = [(host.play(FRAMES), peer.play(FRAMES)) for _ in range(ROUNDS)]
        peer.process.communicate("0\n")
        theirs = np.load(f"{folder}/result.npy")
    ours, other = (min(column) for column in zip(*costs, strict=True))
    gap = float(np.abs(host.result() - theirs).max())
    print(f"{POINTS} points, {len(TEXTS)} Kernel nodes, microseconds of processor time a frame")
    print(f"  this host {ours:9.1f}\n  warp-lang {other:9.1f}   ({other / ours:.1f} times as long)")
    print(f"  results differ by {gap:.1e}")
    return 0 if gap < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
