"""Mistakes and costs of a Kernel node as data, and texts that change while a play runs."""

import json

import numpy as np
import pytest

from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.kernel.diagnostics import entry
from omni.warp_core.nodes.play.player import Player, Settings, SettingsError
from tests.nodes.kernel.kernel_scenes import kernel, value

TEXT = (
    "@wp.kernel\ndef k(a: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = a[i] * 2.0\n"
)
ATTRIBUTES = "custom float[] inputs:a = [1, 2, 3]\ncustom float[] outputs:y\n"


def shown(result, node="kernel"):
    return tuple(json.loads(value(result, f"/G/{node}.state:{name}")) for name in ("diagnostics", "status"))


def test_status_of_a_node_that_runs(make_scene, play):
    diagnostics, status = shown(play(make_scene(kernel(TEXT, ATTRIBUTES))))
    assert diagnostics == [] and (status["state"], status["dims"], status["device"]) == ("compiled", [[3]], "cpu")
    assert status["compile_ms"] > 0 and status["kernel_ms"] > 0


# text, then (line, column, end column) of the first mistake, counted by hand, and words of its message
MISTAKES = [
    (TEXT.replace("a[i] *", "a[i] * nothing *"), (4, 19, 26), "nothing"),
    ("@wp.func\ndef f(x: float):\n    return x.y\n" + TEXT.replace("a[i] *", "f(a[i]) *"), (3, 12, 15), "y"),
    ("# ä\n" + TEXT.replace("i]", "é]"), (5, 14, 15), "é"),
    (TEXT.replace("wp.tid()", "wp.tid("), (3, 15, 16), "never closed"),
    ("\n1 / 0\n" + TEXT, (2, 0, 0), "ZeroDivisionError"),
    (TEXT.replace("def k(", "def k(b: float, "), (0, 0, 0), "inputs:b"),
]


def test_diagnostics_have_the_place_in_the_text(make_scene, play):
    nodes = "".join(kernel(text, ATTRIBUTES, f"k{i}") for i, (text, _, _) in enumerate(MISTAKES))
    result = play(make_scene(nodes))
    for i, (_, (line, column, end), word) in enumerate(MISTAKES):
        diagnostics, status = shown(result, f"k{i}")
        first = diagnostics[0]
        assert status["state"] == "error" and word in first["message"], first
        assert (first["line"], first["column"], first["endColumn"]) == (line, column, end), first
        assert first["file"] == (f"/G/k{i}.inputs:codeStr" if line else "")
    assert len(result.log.errors) == len(MISTAKES), "each is told once"


def test_a_mistake_of_a_checked_run_has_the_line_that_it_quotes():
    message = "kernel `k`, thread 6: index 9 is out of range\n  --> /G/k.inputs:codeStr:4\n4 |     y[i + 3] = a[i]\n  |"
    assert entry(message)["line"] == 4
    assert entry(message.replace("\n4 |", "\n5 |"))["line"] == 0
    assert entry("it failed\n  --> /G/k.inputs:codeStr:1\nwhy: no line is quoted")["line"] == 0


def test_an_attribute_that_appears_in_a_repaired_frame_clears_the_diagnostics(make_scene, play):
    result = play(make_scene(kernel(TEXT, ATTRIBUTES + "custom int inputs:dimCount = 7\n")))
    assert "1 to 4 dimensions" in shown(result)[0][0]["message"]
    result.player.loaded.attribute("/G/kernel.inputs:dimCount").set(1)
    result.player.run(str(result.target))
    diagnostics, status = shown(result)
    assert diagnostics == [] and status["state"] == "compiled"


def test_a_text_that_changes_is_compiled_beside_the_play(make_scene, tmp_path):
    """Frame 0 starts, each text follows between two frames, and each is waited for one frame later."""
    texts = {0: TEXT.replace("2.0", "3.0"), 2: TEXT.replace("2.0", "nothing"), 4: TEXT.replace("2.0", "5.0 + 1.0")}
    log = Log(emit=lambda text: None)
    player = Player.open(make_scene(kernel(TEXT, ATTRIBUTES), frames="0:6"), Settings(), log)
    node = player.loaded.nodes()[0]
    seen, states = [], []

    def after(frame):
        seen.append(node.attributes["outputs:y"].value.tolist())
        states.append(json.loads(node.attributes["state:status"].value)["state"])
        assert node.shared_state.newest.wait(60)
        if frame in texts:
            player.set_code("/G/kernel", texts[frame])

    player.run(str(tmp_path / "out.usda"), after)
    a = np.array([1.0, 2.0, 3.0])
    assert seen == [(a * 2).tolist()] * 2 + [(a * 3).tolist()] * 4 + [(a * 5 + 1).tolist()]
    assert states == ["compiled", "compiling", "compiled", "compiling", "error", "compiling", "compiled"]
    assert not log.errors and len(log.warnings) == 1
    assert "the last good one runs on" in log.warnings[0] and "inputs:codeStr:4" in log.warnings[0]
    with pytest.raises(SettingsError, match="no node that runs code"):
        player.set_code("/G/other", TEXT)
