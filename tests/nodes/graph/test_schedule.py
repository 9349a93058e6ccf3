"""Several graphs: their order in a frame, graphs on demand, and graphs that are evaluated for prims."""

import pytest

from omni.warp_core.nodes.graph.node_graph import STAGES, Host, Instance, Log
from omni.warp_core.nodes.graph.schedule import Schedule


@pytest.fixture
def host():
    return Host(Log(emit=lambda text: None))


def noting_graph(build, host, path, stage, trace):
    b = build("push", path, host)
    b.node("n", lambda db: trace.append((path, db.node.get_graph().outermost.target)), {}, {})
    b.graph.stage = stage
    return b.graph


def test_graphs_run_by_pipeline_stage_then_as_in_the_file(build, host):
    trace = []
    stages = {"/A": STAGES[2], "/B": STAGES[0], "/C": STAGES[1], "/D": STAGES[0], "/E": STAGES[3]}
    play = Schedule([noting_graph(build, host, path, stage, trace) for path, stage in stages.items()], host)
    play.start()
    play.frame()
    assert [path for path, _ in trace] == ["/B", "/D", "/C", "/A"]
    (warning,) = host.log.warnings
    assert warning.startswith("/E: is evaluated on demand")
    play.evaluate("/E")
    play.evaluate("/A")
    assert [path for path, _ in trace[4:]] == ["/E", "/A"]
    play.stop()


@pytest.mark.parametrize(
    ("mode", "prims", "expected"),
    [
        ("Automatic", [], ["/G"]),
        ("Automatic", ["/P", "/Q"], ["/P", "/Q"]),
        ("Standalone", ["/P"], ["/G"]),
        ("Instanced", ["/P"], ["/P"]),
        ("Instanced", [], []),
    ],
)
def test_a_graph_runs_for_itself_or_for_each_prim_that_names_it(build, host, mode, prims, expected):
    trace = []
    graph = noting_graph(build, host, "/G", STAGES[0], trace)
    graph.mode, graph.instances = mode, [Instance(path) for path in prims]
    play = Schedule([graph], host)
    play.start()
    play.frame()
    assert [target for _, target in trace] == expected
    assert len(host.log.warnings) == (mode == "Instanced" and not prims)


def test_every_instance_has_values_states_and_variables_of_its_own(build, host):
    b = build("push", "/G", host)
    b.variable("start", "int", 10)
    first = b.node("first", lambda db: setattr(db.outputs, "x", db.inputs.x + 1), {"x": "int"}, {"x": "int"})

    def add(db):
        db.state.sum += db.inputs.x + db.node.get_graph().find_variable("start").value
        return True

    b.node("sum", add, {"x": "int"}, {}, state={"sum": "int"})
    b.connect("first.outputs:x", "sum.inputs:x")
    b.graph.instances = [Instance("/P"), Instance("/Q", {"start": 100})]
    play = Schedule([b.graph], host)
    play.start()
    for value in (1, 2):
        first.attributes["inputs:x"].set(value)
        play.share(first.attributes["inputs:x"])
        play.frame()
    sums = [node.attributes["state:sum"].value for node in play.nodes() if node.path == "/G/sum"]
    assert sums == [2 + 10 + 3 + 10, 2 + 100 + 3 + 100]
    assert b.value("sum.state:sum") == 0, "the graph itself does not run"


def test_copies_of_graphs_are_bounded(build, host, monkeypatch):
    monkeypatch.setattr("omni.warp_core.nodes.graph.schedule.NODE_LIMIT", 5)
    trace = []
    graph = noting_graph(build, host, "/G", STAGES[0], trace)
    graph.instances = [Instance(f"/P{i}") for i in range(8)]
    play = Schedule([graph], host)
    play.start()
    play.frame()
    assert [target for _, target in trace] == ["/P0", "/P1", "/P2", "/P3", "/P4"]
    assert (
        len(host.log.errors) == 1 and "over 5 nodes for all prims together; 3 prims are left out" in host.log.errors[0]
    )


def test_messages_name_the_prim(build, host):
    b = build("push", "/G", host)
    b.node("n", lambda db: False, {}, {})
    b.graph.instances = [Instance("/P"), Instance("/Q")]
    play = Schedule([b.graph], host)
    play.start()
    play.frame()
    assert host.log.errors == [f"/G/n for {prim}: compute returned False" for prim in ("/P", "/Q")]
