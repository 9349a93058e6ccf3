"""Frames of many small Kernel nodes: evaluated one by one, and replayed as one graph.

Each of the nodes takes the array of the node before and the time, which changes in every frame. Both forms take turns,
and the fastest rounds count, in processor time. The host's cost of a replay is that of a frame without the graph.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import omni.warp_core as wp
from omni.warp_core.nodes.graph.evaluate import Evaluator
from omni.warp_core.nodes.play.player import Player, Settings

NODES, POINTS, FRAMES, ROUNDS = 100, 64, 50, 9
CODE = """
@wp.kernel
def k(x: wp.array(dtype=float), time: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + 0.001 * time
"""


def scene(folder: str) -> str:
    """Write the scene: a clock, and a chain of nodes."""
    node = 'def OmniGraphNode "{name}"\n{{\n token node:type = "{kind}"\n{body}\n}}\n'
    parts = [node.format(name="clock", kind="omni.graph.nodes.ReadTime", body="")]
    for i in range(NODES):
        source = f".connect = </G/k{i - 1}.outputs:y>" if i else f" = {np.arange(POINTS).tolist()}"
        body = f' custom string inputs:codeStr = """{CODE}"""\n custom float[] inputs:x{source}\n'
        body += " custom double inputs:time.connect = </G/clock.outputs:time>\n custom float[] outputs:y"
        parts.append(node.format(name=f"k{i}", kind="omni.warp_core.Kernel", body=body))
    path = Path(folder) / "nodes.usda"
    head = "#usda 1.0\n(\n startTimeCode = 0\n endTimeCode = 1\n)\n"
    path.write_text(head + 'def OmniGraph "G"\n{\n token evaluator:type = "push"\n' + "".join(parts) + "}\n")
    return str(path)


def prepared(path: str, replays: bool) -> tuple[Player, Evaluator]:
    """A scene ready to play."""
    player = Player.open(path, Settings())
    player.host.code = {code.node: code.text for code in player.codes}
    evaluator = Evaluator(player.loaded.graphs[0])
    evaluator.start()
    if not replays:
        evaluator._groups = [(nodes, None) for nodes, _ in evaluator._groups]
    for frame in range(3):
        player.host.timeline.frame = frame
        evaluator.evaluate()
    return player, evaluator


def frames(player: Player, evaluator: Evaluator) -> float:
    """Play some frames. Returns microseconds of a frame."""
    started = time.process_time()
    for _ in range(FRAMES):
        player.host.timeline.frame += 1
        evaluator.evaluate()
    return (time.process_time() - started) / FRAMES * 1e6


def graph_alone(evaluator: Evaluator) -> float:
    """Microseconds of the graph without the host."""
    graph = next(chain._graph for _, chain in evaluator._groups if chain is not None)
    started = time.process_time()
    for _ in range(FRAMES):
        wp.capture_launch(graph)
    return (time.process_time() - started) / FRAMES * 1e6


def main() -> int:
    """Print the figures. Returns 1 if the two forms differ in their results."""
    with tempfile.TemporaryDirectory() as folder:
        path = scene(folder)
        forms = {replays: prepared(path, replays) for replays in (False, True)}
        costs: dict[str, list[float]] = {"evaluated": [], "replayed": [], "graph": []}
        for _ in range(ROUNDS):
            costs["evaluated"].append(frames(*forms[False]))
            costs["replayed"].append(frames(*forms[True]))
            costs["graph"].append(graph_alone(forms[True][1]))
        last = [player.loaded.attribute(f"/G/k{NODES - 1}.outputs:y") for player, _ in forms.values()]
    one, other, alone = (min(values) for values in costs.values())
    print(f"{NODES} Kernel nodes of {POINTS} elements, microseconds a frame")
    print(f"  evaluated one by one {one:9.1f}   ({one / NODES:.2f} for a node)")
    print(f"  replayed             {other:9.1f}   ({other / NODES:.2f} for a node, {one / other:.1f} times as fast)")
    print(f"  graph alone          {alone:9.1f}   (the host adds {(other - alone) / NODES:.2f} for a node)")
    return 0 if all(a is not None and np.array_equal(a.value, last[0].value) for a in last) else 1


if __name__ == "__main__":
    sys.exit(main())
