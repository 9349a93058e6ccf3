"""Bad input of the studio is told in a sentence, and loses nothing."""

import errno
import os

import pytest

from omni.warp_core.studio.editing.document import Document
from omni.warp_core.studio.editing.editor import EditError
from omni.warp_core.studio.editing.outline import Outline
from omni.warp_core.studio.editing.scene_description import MOST_NODES
from tests.studio_scenes import LIFT, write_scene
from tests.studio_server import Client, running

NODE, VERTICES = "/Graph/lift", "/Sheet\nvertices"
EXTRA = """    def OmniGraphNode "odd"
    {
        token node:type = "nowhere.DoesNotExist"
        custom opaque inputs:strange
        custom double inputs:time.connect = </Graph/clock.outputs:time>
    }

"""


def told(client, words):
    """Wait until a message to the pages has words."""
    return client.wait(lambda: any(words in str(m) for m in client.messages if m["is"] in ("refused", "log", "stats")))


def test_unknown_node_types_ports_and_references_are_told_and_the_rest_runs(tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    text = scene.read_text().replace('    def OmniGraphNode "write"', EXTRA + '    def OmniGraphNode "write"')
    scene.write_text(text + '\ndef Xform "Lost" (references = @./missing.usda@)\n{\n}\n')
    with running(scene, tmp_path / "settings") as studio:
        client = Client(studio)
        client.trust()
        client.wait(lambda: VERTICES in client.arrays and client.arrays[VERTICES][0, 1] > 0.5)
        odd = client.node("odd")
        assert odd["known"] is False and odd["type"] == "nowhere.DoesNotExist"
        told(client, "nowhere.DoesNotExist")
        client.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 2.0})
        client.save()
        client.close()
    saved = scene.read_text()
    assert "nowhere.DoesNotExist" in saved and "missing.usda" in saved and "inputs:height = 2" in saved


def test_a_text_of_ten_megabytes_is_refused_and_the_last_one_runs_on(tmp_path):
    with running(write_scene(tmp_path / "scene.usda"), tmp_path / "settings") as studio:
        client = Client(studio)
        client.trust()
        client.wait(lambda: client.kernels.get(NODE))
        client.send("code", node=NODE, text=f"# {'x' * 10_000_000}\n{LIFT}", run=False)
        told(client, "has more than 1048576 characters")
        client.send("seek", frame=3)
        client.wait(lambda: client.arrays[VERTICES][0, 1] == pytest.approx(0.5 + 3 / 24))
        client.close()


def test_a_disk_that_fills_while_the_scene_is_written_is_told(tmp_path, monkeypatch):
    scene = write_scene(tmp_path / "scene.usda")
    before = scene.read_text()
    document = Document.open(str(scene))
    document.edit([{"do": "set", "path": f"{NODE}.inputs:height", "value": 2.0}], "set")

    def full(*names):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(EditError, match=r"No space left.*still here"):
        document.save()
    assert document.is_edited and scene.read_text() == before


CLOCK = """def OmniGraphNode "n{}"
{{
    token node:type = "omni.graph.nodes.ReadTime"
}}
"""


def test_a_graph_of_a_hundred_thousand_nodes_is_shown_in_part_and_edited(tmp_path):
    path = tmp_path / "many.usda"
    nodes = "".join(CLOCK.format(number) for number in range(100_000))
    path.write_text(f'#usda 1.0\ndef OmniGraph "Graph"\n{{\n{nodes}}}\n')
    document = Document.open(str(path))
    outline = Outline(document)
    [graph] = outline.message()["graphs"]
    assert len(graph["nodes"]) == MOST_NODES and graph["omitted"] == 100_000 - MOST_NODES
    for name in ("n5", "n99999"):  # shown, and left out
        patch = document.edit([{"do": "enable", "node": f"/Graph/{name}", "on": False}], "mute")
        assert patch.paths == (f"/Graph/{name}",) and len(patch.text) < 1000
        shown = [node["name"] for op in outline.changed(patch)["ops"] for node in op["nodes"]]
        assert shown == ([name] if name == "n5" else [])
    assert document.undo().paths == ("/Graph/n99999",)
    assert document.stage.GetAttributeAtPath("/Graph/n5.node:enabled").Get() is False
    assert not document.stage.GetAttributeAtPath("/Graph/n99999.node:enabled")


def test_two_studios_on_one_file_know_of_each_other_and_lose_nothing(tmp_path):
    scene, settings = write_scene(tmp_path / "scene.usda"), tmp_path / "settings"

    def raised(client, height):
        client.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": height})
        client.wait(lambda: client.latest["doc"]["edited"])

    def height(client):
        return next(port["value"] for port in client.node("lift")["ports"] if port["name"] == "inputs:height")

    with running(scene, settings) as first, running(scene, settings) as second:
        one, two = Client(first), Client(second)
        assert two.wait(lambda: two.latest.get("others"))["open"] and "others" not in one.latest
        raised(one, 2.0)
        one.send("save")
        two.wait(lambda: height(two) == 2.0)  # without edits it reads what the other one saved
        raised(one, 3.0)
        raised(two, 4.0)
        one.send("save")
        two.wait(lambda: two.latest["disk"]["changed"])
        two.send("save")
        told(two, "changed on disk")
        assert "inputs:height = 3" in scene.read_text()
        two.send("keep")
        two.send("save")
        one.wait(lambda: height(one) == 4.0)
        raised(one, 5.0)
        raised(two, 6.0)
        first.kill()
        two.close()
        with running(scene, settings) as third:
            three = Client(third)
            assert three.wait(lambda: three.latest.get("others"))
            three.send("recover", take=True)
            three.wait(lambda: height(three) == 5.0)  # those of the killed one, not those of the one that runs
            three.close()


def test_a_studio_that_ends_leaves_no_empty_journal(tmp_path):
    with running(write_scene(tmp_path / "scene.usda"), tmp_path / "settings") as studio:
        Client(studio).close()
        assert [path.suffix for path in (tmp_path / "settings" / "studio").iterdir()] == [".jsonl"]
    assert list((tmp_path / "settings" / "studio").iterdir()) == []
