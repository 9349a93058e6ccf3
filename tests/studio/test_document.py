"""The document of the studio: edits, undo, saving. Its judge is USD, which opens what was saved."""

import errno
import os
import subprocess
import sys

import pytest
from pxr import Sdf, Usd

from omni.warp_core.nodes.stock import node_registry
from omni.warp_core.studio.editing.document import Document, put
from omni.warp_core.studio.editing.editor import EditError
from omni.warp_core.studio.editing.scene_description import describe
from tests.studio_scenes import write_scene

REGISTRY = node_registry.standard()
G = "/Graph"


@pytest.fixture
def scene(tmp_path):
    return write_scene(tmp_path / "scene.usda")


@pytest.fixture
def document(scene):
    return Document.open(str(scene))


def opened(scene):
    """What a fresh layer has in the file."""
    return Sdf.Layer.OpenAsAnonymous(str(scene))


def names(document):
    return [node["name"] for node in describe(document.stage, REGISTRY)["graphs"][0]["nodes"]]


def sources(document, path):
    return [str(p) for p in document.stage.GetAttributeAtPath(path).GetConnections()]


def edits_of_every_kind(document):
    document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 2.0}], "set")
    document.edit([{"do": "code", "node": f"{G}/lift", "text": "x = 1\n"}], "code")
    document.edit([{"do": "rename", "node": f"{G}/lift", "name": "raise_"}], "rename")
    document.edit([{"do": "attribute", "node": f"{G}/raise_", "name": "inputs:gain", "type": "float", "value": 1}], "x")
    document.edit(
        [{"do": "add", "graph": G, "type": "omni.graph.nodes.ReadTime", "name": "t", "position": [1, 2]}], "x"
    )
    document.edit([{"do": "connect", "source": f"{G}/t.outputs:time", "target": f"{G}/raise_.inputs:gain"}], "connect")
    document.edit([{"do": "disconnect", "target": f"{G}/raise_.inputs:time"}], "disconnect")
    document.edit([{"do": "move", "positions": {f"{G}/write": [5, 6]}}], "move")
    document.edit([{"do": "enable", "node": f"{G}/write", "on": False}], "mute")
    document.edit([{"do": "delete", "nodes": [f"{G}/read"]}], "delete")
    return 10


def test_undo_takes_every_edit_back_and_redo_does_it_again(document):
    before = document.layer.ExportToString()
    texts = [before]
    count = edits_of_every_kind(document)
    after = document.layer.ExportToString()
    for _ in range(count):
        assert document.undo() is not None
        texts.append(document.layer.ExportToString())
    assert texts[-1] == before and document.undo() is None
    assert len({after, *texts}) == count + 1
    for _ in range(count):
        assert document.redo() is not None
    assert document.layer.ExportToString() == after and document.redo() is None


def test_undo_leads_back_to_what_was_saved(document, monkeypatch):
    monkeypatch.setattr("omni.warp_core.studio.editing.document.MOST_STEPS", 3)
    heights = [{"do": "set", "path": f"{G}/lift.inputs:height", "value": float(n)} for n in range(2, 8)]
    document.edit(heights[:1], "a")
    assert document.is_edited
    document.undo()
    assert not document.is_edited
    document.redo()
    document.save()
    assert not document.is_edited
    document.undo()
    assert document.is_edited
    document.redo()
    assert not document.is_edited
    for edit in heights[1:5]:  # the first steps are forgotten
        document.edit([edit], "b", key="typing" if edit in heights[3:5] else "")
        assert document.is_edited
    while document.undo() is not None:
        pass
    assert document.is_edited is (document.layer.ExportToString() != opened(document.path).ExportToString())
    document.reload()
    assert not document.is_edited


def test_patches_bring_another_layer_to_the_same_state(document):
    other = Sdf.Layer.CreateAnonymous(".usda")
    other.TransferContent(document.layer)
    original = document.edit
    patches = []
    document.edit = lambda *given: patches.append(original(*given)) or patches[-1]
    edits_of_every_kind(document)
    for patch in patches:
        put(patch, other)
    assert other.ExportToString() == document.layer.ExportToString()
    assert [patch.is_quiet for patch in patches] == [True, True, *[False] * 5, True, False, False]


def test_renaming_keeps_connections(document):
    document.edit([{"do": "rename", "node": f"{G}/lift", "name": "up"}], "rename")
    assert names(document) == ["read", "clock", "up", "write"]
    assert sources(document, f"{G}/write.inputs:value") == [f"{G}/up.outputs:lifted"]


def test_deleting_cuts_the_connections_of_others(document):
    document.edit([{"do": "delete", "nodes": [f"{G}/lift"]}], "delete")
    assert names(document) == ["read", "clock", "write"]
    assert sources(document, f"{G}/write.inputs:value") == []


def test_copies_are_connected_to_each_other_and_to_what_the_originals_read(document):
    document.edit([{"do": "duplicate", "graph": G, "names": {f"{G}/lift": "lift2", f"{G}/write": "write2"}}], "copy")
    assert names(document) == ["read", "clock", "lift", "write", "lift2", "write2"]
    for name in ("inputs:codeStr", "inputs:height"):
        assert document.layer.GetAttributeAtPath(f"{G}/lift2.{name}").default == (
            document.layer.GetAttributeAtPath(f"{G}/lift.{name}").default
        )
    assert sources(document, f"{G}/write2.inputs:value") == [f"{G}/lift2.outputs:lifted"]
    assert sources(document, f"{G}/lift2.inputs:points") == [f"{G}/read.outputs:value"]
    assert document.stage.GetRelationshipAtPath(f"{G}/write2.inputs:prim").GetTargets() == ["/Sheet"]
    assert sources(document, f"{G}/write.inputs:value") == [f"{G}/lift.outputs:lifted"], "originals stay as they are"
    document.undo()
    assert names(document) == ["read", "clock", "lift", "write"]


def test_copies_in_another_graph_have_no_connections_to_the_first(document):
    document.edit([{"do": "addGraph", "path": "/Other"}], "graph")
    document.edit([{"do": "duplicate", "graph": "/Other", "names": {f"{G}/{n}": n for n in ("lift", "write")}}], "copy")
    assert sources(document, "/Other/write.inputs:value") == ["/Other/lift.outputs:lifted"]
    assert sources(document, "/Other/lift.inputs:points") == []
    assert document.stage.GetRelationshipAtPath("/Other/write.inputs:prim").GetTargets() == ["/Sheet"]


def test_a_node_of_another_layer_is_copied_as_it_is(tmp_path, scene):
    over = tmp_path / "over.usda"
    over.write_text(
        f"#usda 1.0\n(\n    subLayers = [@./{scene.name}@]\n)\n"
        'over "Graph"\n{\n    over "lift"\n    {\n        float inputs:height = 7\n    }\n}\n'
    )
    document = Document.open(str(over))
    document.edit([{"do": "duplicate", "graph": G, "names": {f"{G}/lift": "lift2"}}], "copy")
    document.save()
    stage = Usd.Stage.Open(str(over))
    copy = stage.GetPrimAtPath(f"{G}/lift2")
    assert copy.GetTypeName() == "OmniGraphNode" and copy.GetAttribute("inputs:height").Get() == 7
    assert "def lift" in copy.GetAttribute("inputs:codeStr").Get()
    assert [str(p) for p in copy.GetAttribute("inputs:points").GetConnections()] == [f"{G}/read.outputs:value"]


def test_a_node_of_another_layer_is_made_inactive(tmp_path, scene):
    over = tmp_path / "over.usda"
    over.write_text(f"#usda 1.0\n(\n    subLayers = [@./{scene.name}@]\n)\n")
    document = Document.open(str(over))
    document.edit([{"do": "delete", "nodes": [f"{G}/lift"]}], "delete")
    assert names(document) == ["read", "clock", "write"]
    document.save()
    assert opened(scene).GetPrimAtPath(f"{G}/lift")
    stage = Usd.Stage.Open(str(over))
    assert not stage.GetPrimAtPath(f"{G}/lift").IsActive()


def test_presets_are_names_and_no_paths(document, tmp_path):
    (tmp_path / "own.py").write_text("# own\n# custom float inputs:x = 1.0\n")
    add = {"do": "add", "graph": G, "type": "omni.warp_core.Kernel", "name": "k"}
    with pytest.raises(EditError, match="there is no preset"):
        document.edit([{**add, "preset": str(tmp_path / "own.py")}], "add")
    document.edit([{**add, "preset": "displace"}], "add")
    prim = document.stage.GetPrimAtPath(f"{G}/k")
    assert prim.GetAttribute("inputs:height").Get() == pytest.approx(0.1)
    assert prim.GetAttribute("outputs:displaced").GetTypeName() == "point3f[]"
    assert not prim.HasAttribute("inputs:codeStr"), "the page types the text"


def test_a_graph_is_switched_on_and_off(document):
    for is_on in (False, True):
        document.edit([{"do": "enable", "node": G, "on": is_on}], "switch")
        assert document.stage.GetAttributeAtPath(f"{G}.graph:enabled").Get() is is_on
        assert describe(document.stage, REGISTRY)["graphs"][0]["enabled"] is is_on


def test_a_node_is_inserted_into_a_connection(document):
    document.edit([{"do": "add", "graph": G, "type": "omni.graph.nodes.Multiply", "name": "twice"}], "add")
    ends = {"source": f"{G}/clock.outputs:time", "target": f"{G}/lift.inputs:time"}
    document.edit([{"do": "insert", "node": f"{G}/twice", **ends}], "insert")
    assert sources(document, f"{G}/twice.inputs:a") == [f"{G}/clock.outputs:time"]
    assert sources(document, f"{G}/lift.inputs:time") == [f"{G}/twice.outputs:product"]
    document.undo()
    assert sources(document, f"{G}/lift.inputs:time") == [f"{G}/clock.outputs:time"]


def test_a_new_node_takes_the_end_of_a_wire(document):
    add = {"do": "add", "graph": G, "type": "omni.graph.nodes.ConstantFloat", "name": "c"}
    document.edit([add, {"do": "insert", "node": f"{G}/c", "target": f"{G}/lift.inputs:height"}], "add")
    assert sources(document, f"{G}/lift.inputs:height") == [f"{G}/c.inputs:value"]


def with_bundles(document):
    """Add two nodes that make bundles, and one that takes a bundle."""
    types = {"grid": "omni.warp_core.GridCreate", "other": "omni.warp_core.GridCreate"}
    types["out"] = "omni.graph.nodes.WritePrimsV2"
    document.edit([{"do": "add", "graph": G, "type": kind, "name": name} for name, kind in types.items()], "add")


def ports(document, node):
    nodes = describe(document.stage, REGISTRY)["graphs"][0]["nodes"]
    return {port["name"]: port for port in next(n for n in nodes if n["name"] == node)["ports"]}


def test_a_kernel_node_gets_an_input_for_the_bundle_that_is_connected_to_it(document):
    with_bundles(document)
    before = document.stage.GetRootLayer().ExportToString()
    ends = {"source": f"{G}/grid.outputs:mesh", "target": f"{G}/lift.inputs:sheet"}
    document.edit([{"do": "connect", **ends}], "connect")
    port = ports(document, "lift")["inputs:sheet"]
    assert (port["type"], port["sources"], port["added"]) == ("bundle", [f"{G}/grid.outputs:mesh"], True)
    assert "sheet_points" in port["about"]
    document.undo()
    assert document.stage.GetRootLayer().ExportToString() == before


def test_a_kernel_node_is_inserted_into_a_wire_of_bundles(document):
    with_bundles(document)
    target = f"{G}/out.inputs:primsBundle"
    document.edit([{"do": "connect", "source": f"{G}/grid.outputs:mesh", "target": target}], "connect")
    before = document.stage.GetRootLayer().ExportToString()
    ends = {"source": f"{G}/grid.outputs:mesh", "target": target}
    document.edit([{"do": "insert", "node": f"{G}/lift", **ends}], "insert")
    assert ports(document, "lift")["inputs:mesh"]["sources"] == [f"{G}/grid.outputs:mesh"]
    assert ports(document, "lift")["outputs:mesh"]["type"] == "bundle"
    assert ports(document, "out")["inputs:primsBundle"]["sources"] == [f"{G}/lift.outputs:mesh"]
    document.undo()
    assert document.stage.GetRootLayer().ExportToString() == before


def test_a_second_bundle_gets_an_input_of_its_own(document):
    with_bundles(document)
    for name in ("grid", "other"):
        document.edit([{"do": "insert", "node": f"{G}/lift", "source": f"{G}/{name}.outputs:mesh"}], "connect")
    found = ports(document, "lift")
    assert found["inputs:mesh"]["sources"] == [f"{G}/grid.outputs:mesh"]
    assert found["inputs:mesh2"]["sources"] == [f"{G}/other.outputs:mesh"]


def test_a_wire_that_is_dropped_on_a_node_takes_an_input_without_a_connection(document):
    document.edit([{"do": "add", "graph": G, "type": "omni.graph.nodes.ReadTime", "name": "t"}], "add")
    document.edit([{"do": "insert", "node": f"{G}/lift", "source": f"{G}/t.outputs:time"}], "connect")
    assert sources(document, f"{G}/lift.inputs:height") == [f"{G}/t.outputs:time"]
    assert sources(document, f"{G}/lift.inputs:time") == [f"{G}/clock.outputs:time"]


def test_ports_are_removed_with_the_wires_to_them(document):
    before = document.stage.GetRootLayer().ExportToString()
    document.edit([{"do": "remove", "paths": [f"{G}/lift.outputs:lifted", f"{G}/lift.inputs:height"]}], "remove")
    assert not {"outputs:lifted", "inputs:height"} & ports(document, "lift").keys()
    assert sources(document, f"{G}/write.inputs:value") == []
    document.undo()
    assert document.stage.GetRootLayer().ExportToString() == before


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"do": "connect", "source": f"{G}/clock.outputs:time", "target": f"{G}/lift.inputs:points"}, "cannot take"),
        (
            {"do": "connect", "source": f"{G}/lift.outputs:lifted", "target": f"{G}/lift.inputs:points"},
            "its own output",
        ),
        ({"do": "connect", "source": f"{G}/clock.outputs:tim", "target": f"{G}/lift.inputs:time"}, "no attribute"),
        ({"do": "connect", "source": f"{G}/clock.outputs:time", "target": "/Sheet.points"}, "there is no node /Sheet"),
        (
            {
                "do": "insert",
                "node": f"{G}/clock",
                "source": f"{G}/read.outputs:value",
                "target": f"{G}/lift.inputs:points",
            },
            "clock has no input that fits",
        ),
        ({"do": "add", "graph": G, "type": "omni.graph.nodes.ReadTme", "name": "t"}, "no node type"),
        ({"do": "add", "graph": G, "type": "omni.graph.nodes.ReadTime", "name": "lift"}, "there is a prim"),
        ({"do": "add", "graph": G, "type": "omni.graph.nodes.ReadTime", "name": "a b"}, "not a name"),
        ({"do": "rename", "node": f"{G}/lift", "name": "read"}, "there is a node read already"),
        ({"do": "rename", "node": f"{G}/lift", "name": "1/2"}, "not a name"),
        ({"do": "set", "path": f"{G}/lift.inputs:height", "value": "high"}, "float needs one number"),
        ({"do": "set", "path": f"{G}/lift.inputs:hight", "value": 1}, "no attribute"),
        ({"do": "delete", "nodes": ["/Sheet"]}, "there is no node /Sheet"),
        ({"do": "remove", "paths": [f"{G}/lift.inputs:codeStr"]}, "belongs to the type"),
        ({"do": "remove", "paths": [f"{G}/lift.inputs:hight"]}, "no attribute"),
        ({"do": "code", "node": f"{G}/lift", "text": "x" * (1 << 21)}, "more than"),
        ({"do": "explode", "node": f"{G}/lift"}, "there is no edit"),
        ({"do": "set", "value": 1}, "names no place"),
        ({"do": "set", "path": f"{G}/lift.inputs:height", "vale": 1}, "vale"),
        ({"do": "move", "positions": {f"{G}/lift": [1]}}, "index"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_edits_that_cannot_be_done_change_nothing(document, edit, words):
    before = document.layer.ExportToString()
    with pytest.raises(EditError, match=words):
        document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 9.0}, edit], "edit")
    assert document.layer.ExportToString() == before and not document.is_edited


def test_one_value_is_one_line_of_the_file(document, scene):
    document.save()
    canonical = scene.read_text().splitlines()
    document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 2.5}], "set")
    document.save()
    after = scene.read_text().splitlines()
    assert len(canonical) == len(after)
    assert [line.strip() for old, line in zip(canonical, after, strict=True) if old != line] == [
        "custom float inputs:height = 2.5"
    ]


def test_letters_of_a_text_are_one_step(document):
    for text in ("a", "ab", "abc"):
        document.edit([{"do": "code", "node": f"{G}/lift", "text": text}], "edit code", f"code:{G}/lift")
    before = document.stage.GetAttributeAtPath(f"{G}/lift.inputs:codeStr")
    assert before.Get() == "abc"
    document.undo()
    assert "def lift" in before.Get() and document.undo() is None


def test_saving_does_not_write_over_changes_of_others(document, scene):
    document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 2.5}], "set")
    scene.write_text(scene.read_text() + "\n")
    with pytest.raises(EditError, match="changed on disk"):
        document.save()
    document.note_files()
    document.save()
    assert opened(scene).GetAttributeAtPath(f"{G}/lift.inputs:height").default == 2.5


def test_a_save_keeps_links_and_rights_and_leaves_read_only_files(scene, tmp_path):
    link = tmp_path / "link.usda"
    link.symlink_to(scene.name)
    scene.chmod(0o640)
    document = Document.open(str(link))
    document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 2.5}], "set")
    document.save()
    assert link.is_symlink() and scene.stat().st_mode & 0o777 == 0o640
    assert opened(scene).GetAttributeAtPath(f"{G}/lift.inputs:height").default == 2.5
    document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 3.5}], "set")
    scene.chmod(0o444)
    document.note_files()
    with pytest.raises(EditError, match=r"the file is read-only; `chmod u\+w` allows.*edits are still here"):
        document.save()
    assert opened(scene).GetAttributeAtPath(f"{G}/lift.inputs:height").default == 2.5


def test_a_full_disk_is_told_and_nothing_is_lost(document, scene, monkeypatch):
    def full(*names):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = scene.read_text()
    document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 2.5}], "set")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(EditError, match=r"No space left.*nothing was lost"):
        document.save()
    assert document.is_edited and document.undo_label == "set"
    assert scene.read_text() == before and [p.name for p in scene.parent.iterdir()] == [scene.name]


def test_comments_that_saving_would_lose_are_told(tmp_path):
    plain = write_scene(tmp_path / "plain.usda", "# in a text\n")
    assert not Document.open(str(plain)).has_comments()
    noted = tmp_path / "noted.usda"
    noted.write_text(plain.read_text().replace("def Mesh", "# a note\ndef Mesh"))
    assert Document.open(str(noted)).has_comments()


def test_saved_files_play_in_a_fresh_process(document, scene, tmp_path):
    document.edit([{"do": "set", "path": f"{G}/lift.inputs:height", "value": 4.0}], "set")
    document.save()
    target = tmp_path / "out.usda"
    command = [sys.executable, "-m", "omni.warp_core.cli", "play", str(scene), "-o", str(target), "--trust"]
    assert subprocess.run(command, capture_output=True).returncode == 0
    stage = Usd.Stage.Open(str(target))
    points = stage.GetAttributeAtPath("/Sheet.points").Get(12)
    assert points[0][1] == pytest.approx(4.5)
