"""The live session of a stage: seeking, edits, reports. Its judge is a play of the same frames, or NumPy."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.live_session import Session, Settings
from omni.warp_core.usd.output_layer import SampleLayer

FALL = """
@wp.kernel
def fall(points: wp.array(dtype=wp.vec3), speed: float, height: wp.array(dtype=float), moved: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    height[i] = height[i] + speed
    moved[i] = points[i] + wp.vec3(0.0, height[i], 0.0)
"""
REST = np.array([[0, 0, 0], [1, 2, 3], [4, 5, 6]], np.float32)


@pytest.fixture
def stage():
    """Three points that rise by `speed` in every frame: the node remembers their heights."""
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(9)
    UsdGeom.Points.Define(stage, "/Dots").CreatePointsAttr(REST)
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    read = graph.node("read", "omni.graph.nodes.ReadPrimAttribute", prim="/Dots", name="points", usdTimecode=1.0)
    kernel = graph.node("fall", "omni.warp_core.Kernel", codeStr=FALL, dimSource="points")
    graph.attribute(kernel, "inputs:points", "point3f[]")
    graph.attribute(kernel, "inputs:speed", "float", 2.0)
    graph.attribute(kernel, "state:height", "float[]")
    graph.attribute(kernel, "inputs:height:length", "token", "points")
    graph.attribute(kernel, "outputs:moved", "point3f[]")
    write = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim="/Dots", name="points")
    graph.connect(f"{read}.outputs:value", f"{kernel}.inputs:points")
    graph.connect(f"{kernel}.outputs:moved", f"{write}.inputs:value")
    return stage


@pytest.fixture
def session(stage):
    session = Session.of(stage, Settings(), Log(lambda text: None))
    session.begin()
    yield session
    session.close()


@pytest.fixture
def output():
    return SampleLayer()


def points(session):
    return session.host.store.read("/Dots", "points")[1]


def risen(total):
    return REST + np.array([0, total, 0], np.float32)


def attribute(session, path):
    found = session.loaded.attribute(path)
    assert found is not None
    return found


def test_frames_reached_by_seeking_are_those_of_a_play(session, output):
    session.seek(5, output)
    np.testing.assert_array_equal(points(session), risen(10))
    session.seek(3, output)  # behind: from the first frame on
    np.testing.assert_array_equal(points(session), risen(6))
    session.seek(9, output)
    np.testing.assert_array_equal(points(session), risen(18))
    assert session.frame == 9 and session.is_exact


def test_an_edit_shows_in_the_same_frame_and_ends_exactness(session, output):
    session.seek(4, output)
    session.set(attribute(session, "/Graph/fall.inputs:speed"), 10.0)
    assert session.again(output) == 4 and not session.is_exact
    np.testing.assert_array_equal(points(session), risen(8 + 10))
    session.rewind()
    session.seek(4, output)
    assert session.is_exact
    np.testing.assert_array_equal(points(session), risen(40))


def test_a_text_with_a_mistake_leaves_the_last_good_one_running(session, output):
    session.seek(2, output)
    bad = FALL.replace("points[i] +", "pointz[i] +")
    session.set_code("/Graph/fall", bad)
    session.again(output)  # begins to compile
    _settle(session)
    session.again(output)
    report = next(r for r in session.reports() if r.path == "/Graph/fall")
    [found] = report.diagnostics
    line = bad.splitlines()[found["line"] - 1]
    assert line[found["column"] - 1 : found["endColumn"] - 1] == "pointz"
    assert "points" in found["candidates"] and not report.failed and report.status["state"] == "error"
    np.testing.assert_array_equal(points(session), risen(8))  # frames 1, 2 and two more runs of frame 2
    session.set_code("/Graph/fall", FALL)
    session.again(output)
    _settle(session)
    session.again(output)
    assert not next(r for r in session.reports() if r.path == "/Graph/fall").diagnostics


def _settle(session):
    state = attribute(session, "/Graph/fall.inputs:codeStr").node.shared_state
    assert state.newest.wait(60)


def test_texts_and_values_stay_over_a_rewind(session, output):
    session.set_code("/Graph/fall", FALL.replace("+ speed", "+ 100.0 * speed"))
    session.set(attribute(session, "/Graph/fall.inputs:speed"), 1.0)
    session.rewind()
    session.seek(2, output)
    np.testing.assert_array_equal(points(session), risen(200))


def test_reload_takes_the_graph_of_the_stage_and_keeps_the_state_of_nodes(session, stage, output):
    session.seek(3, output)
    before = attribute(session, "/Graph/fall.inputs:speed").node.shared_state
    stage.GetAttributeAtPath("/Graph/fall.inputs:speed").Set(4.0)
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    graph.node("clock", "omni.graph.nodes.ReadTime")
    session.reload()
    assert session.frame == 3 and session.loaded.attribute("/Graph/clock.outputs:time")
    assert attribute(session, "/Graph/fall.inputs:speed").node.shared_state is before
    session.step(output)
    np.testing.assert_array_equal(points(session), risen(6 + 4))
    assert not session.is_exact


def test_reports_have_the_time_of_each_node_in_the_last_frame(session, output):
    session.step(output)
    reports = {r.path: r for r in session.reports()}
    assert set(reports) == {"/Graph/read", "/Graph/fall", "/Graph/write"}
    assert all(r.wall_ms > 0 and not r.failed for r in reports.values())
    total = {path: r.wall_ms for path, r in reports.items()}
    session.step(output)
    nodes = {node.path: node.timing.wall_ms for node in session.loaded.nodes()}
    for report in session.reports():
        assert report.wall_ms == pytest.approx(nodes[report.path] - total[report.path])


def test_a_failed_node_says_why(session, output):
    session.set(attribute(session, "/Graph/write.inputs:name"), "poinst")
    session.step(output)
    report = next(r for r in session.reports() if r.path == "/Graph/write")
    assert "poinst" in report.failed and report.diagnostics[0]["message"] == report.failed


def test_a_withheld_node_does_not_run_until_it_may(session, output):
    session.withheld = frozenset({"/Graph/fall"})
    session.rewind()
    session.seek(3, output)
    found = {report.path: report.failed for report in session.reports()}
    assert "waits for your consent" in found["/Graph/fall"] and "/Graph/fall" not in session.host.code
    np.testing.assert_array_equal(points(session), REST)
    session.withheld = frozenset()
    session.rewind()
    session.seek(3, output)
    np.testing.assert_array_equal(points(session), risen(6))
