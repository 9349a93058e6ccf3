"""Prims and attributes that a play adds and removes, as the result shows them at each frame."""

from types import SimpleNamespace

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from omni.warp_core.nodes.graph.node_graph import GraphError, Log
from omni.warp_core.nodes.scene import stage_prims
from omni.warp_core.nodes.scene.stage_values import StageStore
from omni.warp_core.nodes.stock.prims.prim_writers import PrimWriter
from omni.warp_core.nodes.values.attribute_types import parse
from omni.warp_core.nodes.values.bundles import Bundle, item
from omni.warp_core.usd.output_layer import OutputLayer


def mesh(height, **extra):
    points = np.array([(0, 0, 0), (1, 0, 0), (1, height, 0)], np.float32)
    items = {"points": item("pointf[3][]", points), "sourcePrimType": item("token", "Mesh")}
    topology = {"faceVertexCounts": item("int[]", np.array([3], np.int32))}
    return Bundle({**items, **topology, **extra})


@pytest.fixture
def frames(tmp_path):
    """frames([{path: bundle}, ...]) -> the stage of a play that writes these prims in frames 1, 2, 3..."""

    def run(*given):
        path = tmp_path / "scene.usda"
        scene = Usd.Stage.CreateNew(str(path))
        UsdGeom.Xform.Define(scene, "/World").AddTranslateOp().Set((10, 0, 0))
        UsdGeom.Points.Define(scene, "/World/Dots")
        scene.Save()
        store = StageStore(scene, Log(emit=lambda text: None))
        db = SimpleNamespace(host=SimpleNamespace(store=store))
        writer = PrimWriter()
        target = tmp_path / "out.usda"
        with OutputLayer(str(target), scene, 1, len(given), 24) as output:
            for frame, prims in enumerate(given, 1):
                store.frame = frame
                writer.write(db, prims.items(), "*")
                store.flush(output)
            output.commit()
        assert "def" in path.read_text() and "Copy" not in path.read_text()
        return Usd.Stage.Open(str(target)), store

    return run


def visible(stage, path, frame):
    return UsdGeom.Imageable(stage.GetPrimAtPath(path)).ComputeVisibility(frame) == "inherited"


def test_a_prim_that_begins_late_and_ends_is_invisible_before_and_after(frames):
    stage, store = frames({}, {"/Copy": mesh(1)}, {"/Copy": mesh(2)}, {}, {"/Copy": mesh(3)})
    assert [visible(stage, "/Copy", frame) for frame in range(1, 6)] == [False, True, True, False, True]
    tops = [stage.GetAttributeAtPath("/Copy.points").Get(frame)[2][1] for frame in (2, 3, 5)]
    assert tops == [1, 2, 3]
    assert store.prims.exists("/Copy")


def test_a_prim_that_was_there_from_the_first_frame_may_end(frames):
    stage, store = frames({"/Copy": mesh(1)}, {})
    assert [visible(stage, "/Copy", frame) for frame in (1, 2)] == [True, False]
    assert not store.prims.exists("/Copy")
    with pytest.raises(GraphError, match="no prim /Copy"):
        store.read("/Copy", "points")


def test_an_attribute_that_ends_has_no_value_from_then_on(frames):
    extra = {"primvars:heat": item("float[]", np.ones(3, np.float32), interpolation="vertex")}
    stage, store = frames({"/Copy": mesh(1, **extra)}, {"/Copy": mesh(1)})
    heat = stage.GetAttributeAtPath("/Copy.primvars:heat")
    assert list(heat.Get(1)) == [1, 1, 1] and heat.Get(2) is None
    assert UsdGeom.Primvar(heat).GetInterpolation() == "vertex"
    assert "primvars:heat" not in store.value_names("/Copy") and "points" in store.value_names("/Copy")


def test_prims_of_the_scene_stay_when_a_bundle_no_longer_has_them(frames):
    dots = Bundle({"points": item("pointf[3][]", np.zeros((1, 3), np.float32)), "mark": item("int", 3)})
    stage, _ = frames({"/World/Dots": dots}, {})
    assert visible(stage, "/World/Dots", 2)
    assert stage.GetAttributeAtPath("/World/Dots.mark").Get(1) == 3
    assert stage.GetAttributeAtPath("/World/Dots.mark").Get(2) is None


def test_the_world_matrix_places_a_prim_whatever_is_above_it(frames):
    matrix = np.diag([2.0, 2.0, 2.0, 1.0])
    matrix[3, :3] = 1, 2, 3
    stage, store = frames({"/World/Copy": mesh(1, worldMatrix=item("matrixd[4]", matrix))})
    got = UsdGeom.XformCache(1).GetLocalToWorldTransform(stage.GetPrimAtPath("/World/Copy"))
    assert np.allclose(got, matrix, atol=1e-12)
    assert np.allclose(store.local_to_world("/World/Copy"), matrix, atol=1e-12)


def placed(x):
    matrix = np.identity(4)
    matrix[3, 0] = x
    return item("matrixd[4]", matrix)


def worlds(stage, path, frames):
    prim = stage.GetPrimAtPath(path)
    return [UsdGeom.XformCache(frame).GetLocalToWorldTransform(prim).ExtractTranslation()[0] for frame in frames]


def test_a_prim_that_rests_first_and_moves_then_rests_in_the_result(frames):
    dots = {"sourcePrimType": item("token", "Points"), "points": item("pointf[3][]", np.zeros((1, 3), np.float32))}
    places = [placed(x) for x in (0, 0, 3, 4)], [placed(x) for x in (10, 10, 11, 11)]
    stage, _ = frames(
        *(
            {"/Copy": mesh(1, worldMatrix=copy), "/World/Dots": Bundle({**dots, "worldMatrix": there})}
            for copy, there in zip(*places)
        )
    )
    assert worlds(stage, "/Copy", range(1, 5)) == [0, 0, 3, 4]
    assert worlds(stage, "/World/Dots", range(1, 5)) == [10, 10, 11, 11]


def test_transforms_of_the_scene_hold_until_a_node_moves_the_prim(tmp_path):
    scene = Usd.Stage.CreateNew(str(tmp_path / "scene.usda"))
    op = UsdGeom.Points.Define(scene, "/Dots").AddTranslateOp()
    for frame in range(1, 5):
        op.Set((frame, 0, 0), frame)
    scene.Save()
    store = StageStore(scene, Log(emit=lambda text: None), start=1)
    with OutputLayer(str(tmp_path / "out.usda"), scene, 1, 4, 24) as output:
        for store.frame in range(1, 5):
            if store.frame > 2:
                store.move("/Dots", np.asarray(placed(-store.frame).value))
            store.flush(output)
        output.commit()
    assert worlds(Usd.Stage.Open(str(tmp_path / "out.usda")), "/Dots", range(1, 5)) == [1, 2, -3, -4]


def test_an_attribute_that_begins_after_its_prim_has_no_value_before(frames):
    extra = {"primvars:heat": item("float[]", np.ones(3, np.float32), interpolation="vertex")}
    stage, _ = frames({"/Copy": mesh(1)}, {"/Copy": mesh(1)}, {"/Copy": mesh(1, **extra)})
    heat = stage.GetAttributeAtPath("/Copy.primvars:heat")
    assert [heat.Get(frame) is None for frame in (1, 2, 3)] == [True, True, False]


def test_a_play_cannot_add_prims_without_end(frames, monkeypatch):
    monkeypatch.setattr(stage_prims, "MOST_PRIMS", 3)
    with pytest.raises(GraphError, match="has added 3 prims already"):
        frames({f"/P{i}": mesh(1) for i in range(4)})


def test_parts_of_instances_are_refused(tmp_path):
    scene = Usd.Stage.CreateInMemory()
    scene.DefinePrim("/Proto/Inside", "Xform")
    instance = scene.DefinePrim("/Copy")
    instance.GetReferences().AddInternalReference("/Proto")
    instance.SetInstanceable(True)
    store = StageStore(scene, Log(emit=lambda text: None))
    for path in ("/Copy/Inside", "/Copy/New"):
        with pytest.raises(GraphError, match="make it not instanceable"):
            store.prims.define(path, "Mesh")


@pytest.mark.parametrize(("name", "kind"), [("a b", "float"), ("", "int")])
def test_bad_names_of_attributes_are_told(name, kind):
    scene = Usd.Stage.CreateInMemory()
    scene.DefinePrim("/A", "Xform")
    store = StageStore(scene, Log(emit=lambda text: None))
    with pytest.raises(GraphError, match="is not the name of an attribute"):
        store.ensure_attribute("/A", name, parse(kind))
