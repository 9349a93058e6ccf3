"""The Script node: what a text can do, and that it runs with consent only."""

import numpy as np
import pytest
from pxr import Usd

import omni.warp_core as wp


def scripted(text, kind="omni.warp_core.Script", **more):
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    node = graph.node("s", kind, script=text, **more)
    graph.attribute(node, "inputs:x", "float[]", [1.0, 2.0])
    graph.attribute(node, "inputs:frame", "double")
    graph.attribute(node, "outputs:y", "float[]")
    graph.attribute(node, "outputs:count", "int")
    graph.connect(f"{clock}.outputs:frame", f"{node}.inputs:frame")
    return stage


TEXT = """
import numpy as np
import omni.graph.core as og
import warp

calls = []

def setup(db):
    calls.append("setup")

def compute(db):
    calls.append(db.inputs.frame)
    array = warp.array(db.inputs.x, dtype=float, device="cpu")
    db.outputs.y = np.exp(array.numpy()) + db.inputs.frame
    db.outputs.count = len(calls)
    return True
"""


@pytest.mark.parametrize("kind", ["omni.warp_core.Script", "omni.graph.scriptnode.ScriptNode"])
def test_a_text_computes_and_keeps_its_names(kind):
    with wp.usd.play(scripted(TEXT, kind), frames=(0, 5), fps=24, trust=True) as player:
        player.play(3)
        assert not player.errors
        assert np.allclose(player.get("/G/s.outputs:y"), np.exp([1.0, 2.0]) + 2)
        assert player.get("/G/s.outputs:count") == 1 + 3


def test_a_text_without_compute_runs_as_a_whole():
    text = "class Sum:\n    compute = int\ndb.outputs.count = Sum.compute(db.inputs.frame) + 7\n"
    with wp.usd.play(scripted(text), frames=(0, 5), fps=24, trust=True) as player:
        player.play(3)
        assert not player.errors and player.get("/G/s.outputs:count") == 9


@pytest.mark.parametrize(
    "text", ["def comput(db):\n    db.outputs.count = 1\n", "n = 0\ndef Compute(db):\n    pass\n", ""]
)
def test_a_text_that_does_nothing_is_told(text):
    with wp.usd.play(scripted(text), frames=(0, 5), fps=24, trust=True) as player:
        player.play(3)
        assert not player.errors
        (told,) = player.warnings
        assert told.startswith("/G/s: the text has no function compute(db)")
        assert ("should perhaps be compute" in told) == bool(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def compute(db):\n    x = 1\n    return 1 / 0\n", ["ZeroDivisionError", "/G/s.inputs:script:3"]),
        ("def compute(db)\n    pass\n", ["SyntaxError", "/G/s.inputs:script:1"]),
        ("raise ValueError('no')\ndef compute(db):\n    pass\n", ["ValueError: no", "/G/s.inputs:script:1"]),
        ("def compute(db):\n    db.outputs.z = 1\n", ["has no outputs:z", "/G/s.inputs:script:2"]),
        ("def compute(db):\n    raise SystemExit(3)\n", ["SystemExit", "/G/s.inputs:script:2"]),
        ("def compute(db):\n    return False\n", ["compute(db) returned False"]),
    ],
)
def test_a_text_that_fails_is_told_once_with_its_line(text, words):
    with wp.usd.play(scripted(text), frames=(0, 5), fps=24, trust=True) as player:
        player.play(3)
        (error,) = player.errors
        assert not [word for word in words if word not in error], error


def test_a_script_needs_consent():
    with pytest.raises(Exception, match=r"trust|consent|agree"):
        wp.usd.play(scripted(TEXT), frames=(0, 1), fps=24)


def test_the_text_of_a_file_is_run_and_consented_to(make_scene, play, tmp_path):
    (tmp_path / "code.py").write_text("def compute(db):\n    db.outputs.count = 42\n")
    node = """
def OmniGraphNode "s"
{
    token node:type = "omni.graph.scriptnode.ScriptNode"
    custom bool inputs:usePath = 1
    custom token inputs:scriptPath = "code.py"
    custom int outputs:count
}
"""
    done = play(make_scene(node))
    assert not done.log.errors
    (found,) = [a.value for n in done.outcome.nodes for a in n.on("outputs") if a.base_name == "count"]
    assert found == 42


def test_cleanup_runs_when_the_play_ends(tmp_path):
    text = f"def compute(db):\n    pass\ndef cleanup(db):\n    open({str(tmp_path / 'done')!r}, 'w').close()\n"
    with wp.usd.play(scripted(text), frames=(0, 1), fps=24, trust=True) as player:
        player.step()
        assert not (tmp_path / "done").exists()
    assert (tmp_path / "done").exists()


def test_a_computed_script_is_refused():
    stage = scripted(TEXT)
    graph = wp.nodes.GraphBuilder(stage, "/G2")
    graph.node("other", "omni.warp_core.Script", script=TEXT)
    stage.GetPrimAtPath("/G/s").GetAttribute("inputs:script").AddConnection("/G/clock.outputs:time")
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.step()
        assert any("/G/s" in text for text in player.errors)
