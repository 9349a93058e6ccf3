"""Node types of folders in the studio: described by the server, run by the engine."""

import json

from pxr import Usd

from omni.warp_core import cli
from tests.studio_scenes import write_scene
from tests.studio_server import Client, running

VERTICES = "/Sheet\nvertices"
TWICE = {
    "acme.Twice": {
        "version": 1,
        "description": "Doubles a number.",
        "language": "Python",
        "inputs": {"x": {"type": "double", "description": "Number", "default": 1.0}},
        "outputs": {"y": {"type": "double", "description": "Its double"}},
    }
}
CODE = """import os

with open({path!r}, "a") as file:
    print(os.environ.get("TMPDIR", "that of the server"), file=file)


class OgnTwice:
    @staticmethod
    def compute(db):
        db.outputs.y = 2.0 * db.inputs.x
        return True
"""


def test_types_of_a_folder_are_added_connected_baked_and_run_in_the_engine_alone(tmp_path):
    nodes, ran = tmp_path / "nodes", tmp_path / "ran.txt"
    nodes.mkdir()
    (nodes / "OgnTwice.ogn").write_text(json.dumps(TWICE))
    (nodes / "OgnTwice.py").write_text(CODE.format(path=str(ran)))
    (nodes / "OgnBroken.ogn").write_text("{")
    scene = write_scene(tmp_path / "scene.usda")
    with running(scene, tmp_path / "settings", tmp_path, ("--nodes", "nodes")) as studio:
        client = Client(studio)
        client.trust()
        client.wait(lambda: VERTICES in client.arrays)
        assert "acme.Twice" in [each["name"] for each in client.latest["welcome"]["types"]]
        client.wait(lambda: "OgnBroken.ogn" in str(client.latest.get("log")))
        client.edit({"do": "add", "graph": "/Graph", "type": "acme.Twice", "name": "twice"})
        client.edit(
            {"do": "connect", "source": "/Graph/clock.outputs:frame", "target": "/Graph/twice.inputs:x"},
            {"do": "connect", "source": "/Graph/twice.outputs:y", "target": "/Graph/lift.inputs:time"},
        )
        client.wait(lambda: client.arrays[VERTICES][0, 1] == 2.5)
        client.save()
        assert all("omni-warp-studio-" in owner for owner in ran.read_text().splitlines()), "the server runs no code"
        client.send("bake")
        client.wait(lambda: client.latest.get("bake", {}).get("state") == "done")
        assert client.latest["bake"]["text"].startswith("Baked: ")
        client.close()
    baked = Usd.Stage.Open(str(tmp_path / "scene_baked.usdc"))
    assert baked.GetAttributeAtPath("/Sheet.points").Get(3)[0][1] == 6.5


def test_a_folder_without_nodes_is_told(tmp_path, capsys):
    scene = write_scene(tmp_path / "scene.usda")
    assert cli.main(["studio", str(scene), "--no-browser", "--nodes", str(tmp_path)]) == cli.USAGE
    assert capsys.readouterr().err == f"error: --nodes {tmp_path}: has no .ogn file\n"


def test_an_engine_that_ends_as_it_starts_is_not_started_for_ever(tmp_path):
    nodes, starts = tmp_path / "nodes", tmp_path / "starts.txt"
    nodes.mkdir()
    (nodes / "OgnTwice.ogn").write_text(json.dumps(TWICE))
    ends = CODE.format(path=str(starts)) + "\n\nos._exit(3)\n"
    (nodes / "OgnTwice.py").write_text(ends)
    scene = write_scene(tmp_path / "scene.usda")
    with running(scene, tmp_path / "settings", tmp_path, ("--nodes", "nodes")) as studio:
        client = Client(studio)
        client.wait(lambda: client.latest.get("engine", {}).get("state") == "crashed")
        assert "before it had read the scene" in client.latest["engine"]["text"]
        client.edit({"do": "add", "graph": "/Graph", "type": "omni.graph.nodes.ReadTime", "name": "t"})
        client.wait(lambda: client.node("t"))  # edits go on without an engine
        assert len(starts.read_text().splitlines()) == 1
        (nodes / "OgnTwice.py").write_text(ends.replace("os._exit(3)", ""))
        client.send("again")
        client.trust()
        client.wait(lambda: VERTICES in client.arrays)
        client.close()
