"""The outline of a document: its patches bring pages to the graphs that a fresh description has."""

import pytest

from omni.warp_core.studio.editing.document import Document
from omni.warp_core.studio.editing.outline import Outline
from omni.warp_core.studio.editing.scene_description import describe
from tests.studio_scenes import write_scene
from tests.studio_server import patched

G = "/Graph"
EDITS = [
    [{"do": "set", "path": f"{G}/lift.inputs:height", "value": 2.0}],
    [{"do": "code", "node": f"{G}/lift", "text": "x = 1\n"}],
    [{"do": "rename", "node": f"{G}/lift", "name": "up"}],
    [{"do": "add", "graph": G, "type": "omni.graph.nodes.ReadTime", "name": "t", "position": [1, 2]}],
    [{"do": "delete", "nodes": [f"{G}/read"]}],
    [{"do": "addGraph", "path": "/Other"}],
    [{"do": "addGraph", "path": "/Sheet/Below"}],
]


@pytest.fixture
def document(tmp_path):
    return Document.open(str(write_scene(tmp_path / "scene.usda")))


def test_patches_lead_to_what_the_document_has(document):
    outline = Outline(document)
    page = outline.message()
    steps = [lambda edit=edit: document.edit(edit, "edit") for edit in EDITS]
    steps += [document.undo] * len(EDITS) + [document.redo] * len(EDITS)
    for step in steps:
        message = outline.changed(step())
        page = message if message["is"] == "doc" else patched(page, message)
        fresh = describe(document.stage, document.registry)
        assert page["graphs"] == fresh["graphs"] == Outline(document).message()["graphs"]
        assert page["revision"] == document.revision and page["undo"] == document.undo_label


def test_a_patch_has_the_changed_nodes_alone(document):
    outline = Outline(document)
    [op] = outline.changed(document.edit(EDITS[0], "edit"))["ops"]
    assert [node["name"] for node in op["nodes"]] == ["lift"] and "order" not in op
    [op] = outline.changed(document.edit(EDITS[4], "edit"))["ops"]
    assert {node["name"] for node in op["nodes"]} == {"lift"} and f"{G}/read" not in op["order"]
    assert outline.state_message()["ops"] == []
