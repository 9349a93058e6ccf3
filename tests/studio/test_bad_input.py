"""Bad input of the studio is told in a sentence, and loses nothing."""

import errno
import os

import pytest
from pxr import Sdf

from omni.warp_core.nodes.stock import node_registry
from omni.warp_core.studio.editing.document import Document
from omni.warp_core.studio.editing.edits import EditError
from omni.warp_core.studio.editing.scene_description import MOST_NODES, describe
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
        client.send("save")
        client.wait(lambda: not client.latest["doc"]["edited"])
        client.close()
    saved = scene.read_text()
    assert "nowhere.DoesNotExist" in saved and "missing.usda" in saved and "inputs:height = 2" in saved


def test_a_text_of_ten_megabytes_is_refused_and_the_last_one_runs_on(tmp_path):
    with running(write_scene(tmp_path / "scene.usda"), tmp_path / "settings") as studio:
        client = Client(studio)
        client.trust()
        client.wait(lambda: client.kernels.get(NODE))
        client.send("code", node=NODE, text=f"# {'x' * 10_000_000}\n{LIFT}", rev=1, run=False)
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
        document.save({})
    assert document.is_edited and scene.read_text() == before


def test_graphs_of_a_hundred_thousand_nodes_are_shown_in_part(tmp_path):
    layer = Sdf.Layer.CreateAnonymous(".usda")
    with Sdf.ChangeBlock():
        graph = Sdf.CreatePrimInLayer(layer, "/Graph")
        graph.specifier, graph.typeName = Sdf.SpecifierDef, "OmniGraph"
        for number in range(100_000):
            node = Sdf.PrimSpec(graph, f"n{number}", Sdf.SpecifierDef, "OmniGraphNode")
            Sdf.AttributeSpec(node, "node:type", Sdf.ValueTypeNames.Token).default = "omni.graph.nodes.ReadTime"
    path = tmp_path / "many.usdc"
    layer.Export(str(path))
    document = Document.open(str(path))
    [found] = describe(document.stage, node_registry.standard())["graphs"]
    assert len(found["nodes"]) == MOST_NODES and found["omitted"] == 100_000 - MOST_NODES
