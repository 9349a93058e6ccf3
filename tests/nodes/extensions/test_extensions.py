"""Node types of other extensions: found by their manifest, loaded with what they import, played, tested, documented."""

import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from omni.warp_core import cli
from omni.warp_core.nodes.extensions import node_check, node_folders
from omni.warp_core.nodes.ogn.ogn_spec import OgnError
from omni.warp_core.nodes.stock.node_registry import Registry

MANIFEST = """
[package]
version = "1.2.3"

[dependencies]
"omni.graph" = {}

[[python.module]]
name = "PACKAGE"
"""
SCALE = {
    "Scale": {
        "version": 2,
        "description": "Scales points, and counts how often.",
        "language": "Python",
        "categories": ["math"],
        "inputs": {
            "execIn": {"type": "execution", "description": "Run"},
            "points": {"type": "pointf[3][]", "description": "Points to scale"},
            "factor": {"type": "float", "description": "Scale", "default": 2.0, "minimum": 0.0},
            "mode": {"type": "token", "description": "How", "allowedTokens": ["plain", "twice"], "default": "plain"},
        },
        "outputs": {
            "execOut": {"type": "execution", "description": "Next"},
            "points": {"type": "pointf[3][]", "description": "Scaled points"},
            "count": {"type": "int", "description": "Runs so far"},
        },
        "tests": [
            {"inputs:points": [[1, 2, 3]], "inputs:factor": 3, "outputs:points": [[3, 6, 9]], "outputs:count": 1},
            {"inputs": {"points": [[1, 0, 0]], "mode": "twice"}, "outputs": {"points": [[4, 0, 0]]}},
            {"setup": {"expose_prims": [["Cube", "Cube"]]}, "outputs:count": 1},
            {"description": "wrong on purpose", "inputs:points": [[1, 1, 1]], "outputs:points": [[2, 2, 2.1]]},
        ],
    }
}
CODE = """
    import carb
    import omni.graph.core as og
    import omni.timeline
    from PACKAGE.ogn.OgnScaleDatabase import OgnScaleDatabase
    from .helpers import twice

    class OgnScaleState:
        def __init__(self):
            self.count = 0

    class OgnScale:
        @staticmethod
        def internal_state():
            return OgnScaleState()

        @staticmethod
        def compute(db: OgnScaleDatabase) -> bool:
            db.per_instance_state.count += 1
            assert OgnScaleDatabase.per_instance_internal_state(db.node) is db.per_instance_state
            factor = db.inputs.factor if db.inputs.mode == "plain" else twice(db.inputs.factor)
            db.outputs.points_size = len(db.inputs.points)
            db.outputs.points[:] = db.inputs.points * factor
            db.outputs.count = db.per_instance_state.count
            carb.log_info(str(omni.timeline.get_timeline_interface().get_current_time()))
            db.outputs.execOut = og.ExecutionAttributeState.ENABLED
            return True

        @staticmethod
        def release(node):
            OgnScaleDatabase.per_instance_internal_state(node).count = 0
"""


@pytest.fixture
def extension(tmp_path, request, monkeypatch):
    """An extension with the node Scale, in a package of the test's own."""
    package = f"acme_{abs(hash(request.node.nodeid))}.tools"
    folder = tmp_path / "acme.tools-1.2.3"
    nodes = folder.joinpath(*package.split("."), "nodes")
    nodes.mkdir(parents=True)
    (folder / "config").mkdir()
    (folder / "config" / "extension.toml").write_text(MANIFEST.replace("PACKAGE", package))
    (nodes.parent / "__init__.py").write_text("from .extension import *\n")
    (nodes.parent / "extension.py").write_text("import omni.ext\nclass Acme(omni.ext.IExt):\n    pass\n")
    (nodes / "helpers.py").write_text("def twice(x):\n    return 2 * x\n")
    (nodes / "OgnScale.ogn").write_text(json.dumps(SCALE))
    (nodes / "OgnScale.py").write_text(textwrap.dedent(CODE).replace("PACKAGE", package))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return folder


SCENE = """
    def OmniGraphNode "tick"
    {
        token node:type = "omni.graph.action.OnTick"
    }
    def OmniGraphNode "scale"
    {
        token node:type = "acme.tools.Scale"
        custom uint inputs:execIn.connect = </G/tick.outputs:tick>
        custom point3f[] inputs:points = [(1, 2, 3), (4, 5, 6), (0, 0, 0), (1, 1, 1)]
        custom float inputs:factor = 0.5
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom uint inputs:execIn.connect = </G/scale.outputs:execOut>
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "points"
        custom token inputs:value.connect = </G/scale.outputs:points>
    }
"""


def test_a_scene_plays_with_the_nodes_of_an_extension(extension, make_scene, play):
    from pxr import Usd

    done = play(make_scene(SCENE, "execution"), nodes=[str(extension)])
    assert not done.log.errors and not done.log.warnings
    stage = Usd.Stage.Open(str(done.target))
    points = stage.GetAttributeAtPath("/World/Mesh.points").Get(3)
    assert [tuple(p) for p in points][:2] == [(0.5, 1, 1.5), (2, 2.5, 3)]
    node = next(n for n in done.outcome.nodes if n.path == "/G/scale")
    assert node.get_attribute("outputs:count").value == 4


def test_the_scene_without_the_folder_names_the_type(make_scene, play):
    done = play(make_scene(SCENE, "execution"))
    assert any("/G/scale" in text and "acme.tools.Scale" in text and "--nodes" in text for text in done.log.errors)


def test_a_plain_folder_is_a_package(tmp_path, monkeypatch):
    folder = tmp_path / "more nodes"
    folder.mkdir()
    body = {"description": "x", "language": "Python", "outputs": {"a": {"type": "int", "description": "x"}}}
    (folder / "OgnOne.ogn").write_text(json.dumps({"One": body}))
    code = "from .shared import VALUE\nclass OgnOne:\n    @staticmethod\n    def compute(context, node):\n"
    code += "        node.get_attribute('outputs:a').set(VALUE)\n        return True\n"
    (folder / "OgnOne.py").write_text(code)
    (folder / "shared.py").write_text("VALUE = 7\n")
    registry = Registry()
    (spec,) = node_folders.add_folder(registry, folder, pytest.fail)
    assert spec.name == "more nodes.One"
    assert registry.find("more nodes.One") is not None


RESOLVING = """
import omni.graph.core as og

class OgnTwice:
    @staticmethod
    def on_connection_type_resolve(node):
        given, made = node.get_attribute("inputs:x"), node.get_attribute("outputs:x")
        kind = given.get_resolved_type()
        if kind.base_type == og.BaseDataType.UNKNOWN:
            made.set_resolved_type(og.Type(og.BaseDataType.UNKNOWN))
        else:
            made.set_resolved_type(og.Type(kind.base_type, kind.tuple_count, kind.array_depth, kind.role))

    @staticmethod
    def compute(db):
        db.outputs.x = db.inputs.x.value * 2
        return True
"""


@pytest.mark.parametrize(
    "kind, value", [("pointf[3][]", [[1, 2, 3]]), ("double", 2.5), ("matrixd[2]", [[1, 2], [3, 4]])]
)
def test_a_hook_as_written_for_kit_gives_types_from_their_parts(tmp_path, capsys, kind, value):
    given, expected = ({"type": kind, "value": v} for v in (value, (2 * np.array(value)).tolist()))
    ports = {port: {"x": {"type": "any", "description": "x"}} for port in ("inputs", "outputs")}
    body = {"version": 1, "description": "Doubles.", "language": "Python", **ports}
    body["tests"] = [{"inputs:x": given, "outputs:x": expected}]
    folder = tmp_path / f"hooks_{kind.partition('[')[0]}"
    folder.mkdir()
    (folder / "OgnTwice.ogn").write_text(json.dumps({"Twice": body}))
    (folder / "OgnTwice.py").write_text(RESOLVING)
    assert cli.main(["ogn", "test", str(folder)]) == 0, capsys.readouterr()


def test_the_command_lists_the_types_of_folders_without_running_them(extension, tmp_path, capsys):
    next(extension.rglob("OgnScale.py")).write_text("raise SystemExit('it ran')")
    other = tmp_path / "other"
    other.mkdir()
    (other / "OgnTwice.ogn").write_text(json.dumps({"Twice": SCALE["Scale"] | {"description": "Doubles. Twice."}}))
    (other / "OgnBad.ogn").write_text("{")
    arguments = ["nodes", "--nodes", str(extension), "--nodes", str(other)]
    assert cli.main(arguments) == cli.OK
    out, err = capsys.readouterr()
    rows = [line.rstrip().split(maxsplit=2) for line in out.splitlines()[1:]]
    assert rows == [["acme.tools.Scale", "2", "Scales points, and counts how often"], ["other.Twice", "2", "Doubles"]]
    assert err.startswith("warning: ") and "OgnBad.ogn" in err
    assert cli.main([*arguments, "scale"]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith("acme.tools.Scale, version 2") and "inputs:factor  float = 2.0\n    Scale" in out


def test_lists_of_folders_without_such_types_say_so(extension, tmp_path, capsys):
    assert cli.main(["nodes", "--nodes", str(extension), "Skale"]) == cli.USAGE
    assert f"there is no node type 'Skale' in {extension}; did you mean Scale?" in capsys.readouterr().err
    assert cli.main(["nodes", "--nodes", str(tmp_path / "gone")]) == cli.USAGE
    assert "gone: is not a folder" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert cli.main(["nodes", "--nodes", str(tmp_path / "empty")]) == cli.USAGE
    assert "empty: has no .ogn file" in capsys.readouterr().err


def test_the_command_runs_the_tests_of_nodes(extension, capsys):
    assert cli.main(["ogn", "test", str(extension)]) == cli.NODES
    out = capsys.readouterr().out
    assert "2 ok, 1 failed, 1 skipped" in out
    assert "outputs:points: expected [[2.0, 2.0, 2.0999" in out and "found [[2.0, 2.0, 2.0]]" in out
    assert "setup.expose_prims is not supported" in out


def test_a_name_that_a_node_lacks_is_told_with_the_line_of_the_node(extension, capsys):
    source = next(extension.rglob("OgnScale.py"))
    lines = source.read_text().replace("db.inputs.factor if", "db.inputs.factr if").splitlines()
    source.write_text("\n".join(lines))
    cli.main(["ogn", "test", str(extension)])
    out = capsys.readouterr().out
    number = 1 + next(i for i, line in enumerate(lines) if "factr" in line)
    assert "has no inputs:factr; it has factor" in out and f"OgnScale.py:{number})" in out
    assert "database.py" not in out


def test_values_of_a_scene_beyond_the_limits_are_told(extension, make_scene, play):
    given = SCENE.replace("factor = 0.5", 'factor = -0.5\n        custom token inputs:mode = "thrice"')
    done = play(make_scene(given, "execution"), nodes=[str(extension)])
    assert not done.log.errors
    assert sorted(done.log.warnings) == [
        "/G/scale.inputs:factor: -0.5 lies beyond the minimum 0.0",
        "/G/scale.inputs:mode: 'thrice' is not among the allowed tokens plain, twice",
    ]


def test_the_command_checks_without_running_code(extension, capsys):
    source = next(extension.rglob("OgnScale.py"))
    source.write_text("raise SystemExit(9)\n" + source.read_text())
    assert cli.main(["ogn", "check", str(extension)]) == cli.OK
    source.write_text(source.read_text().replace("        @staticmethod\n        def compute", "        def compute"))
    source.write_text(source.read_text().replace("    @staticmethod\n    def compute", "    def compute"))
    assert cli.main(["ogn", "check", str(extension)]) == cli.NODES
    assert "needs @staticmethod in front" in capsys.readouterr().out


MISTAKES = {
    "missing": (None, "OgnScale.py is missing; it holds the class OgnScale"),
    "class": ("class Other:\n    pass\n", "needs a class OgnScale"),
    "method": ("class OgnScale:\n    pass\n", "needs a static method compute(db)"),
    "syntax": ("class OgnScale(:\n", "cannot be read"),
}


@pytest.mark.parametrize(("code", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_of_the_class(extension, code, words):
    source = next(extension.rglob("OgnScale.py"))
    source.unlink()
    if code is not None:
        source.write_text(code)
    (finding,) = node_check.check(extension)
    assert any(words in problem for problem in finding.problems)


TESTS = {
    "name": (
        {"inputs:factr": 2.0},
        "test 1, inputs:factr: the node has no such attribute; did you mean inputs:factor?",
    ),
    "section": ({"outputs": {"scald": 1}}, "outputs:scald: the node has no such attribute"),
    "bare": ({"nothing": 1}, "test 1, nothing: no such key"),
    "object": (3, "test 1 must be an object"),
    "minimum": ({"inputs:limited": -1}, "inputs:limited: -1.0 lies beyond the minimum 0"),
    "maximum": ({"inputs": {"limited": 11}}, "inputs:limited: 11.0 lies beyond the maximum 10"),
    "token": ({"inputs:mode": "slow"}, "inputs:mode: 'slow' is not among the allowed tokens fast, exact"),
    "type": ({"inputs:limited": "much"}, "inputs:limited"),
}
LIMITED = {
    "limited": {"type": "float", "description": "A number", "minimum": 0, "maximum": 10, "default": 1},
    "mode": {"type": "token", "description": "How", "allowedTokens": ["fast", "exact"], "default": "fast"},
}


def write_limited(extension, tests):
    """Give the node Scale inputs with limits, and tests."""
    path = next(extension.rglob("OgnScale.ogn"))
    root = json.loads(path.read_text())
    [body] = root.values()
    body["inputs"] |= LIMITED
    body["tests"] = tests
    path.write_text(json.dumps(root))


@pytest.mark.parametrize(("given", "words"), TESTS.values(), ids=TESTS)
def test_names_and_values_of_tests_are_checked(extension, given, words):
    write_limited(extension, [given])
    (finding,) = node_check.check(extension)
    assert [problem for problem in finding.problems if words in problem], finding.problems


def test_tests_that_keep_the_description_are_right(extension):
    fine = {
        "description": "d",
        "inputs:limited": 10,
        "inputs": {"mode": "exact"},
        "$comment": 1,
        "/World/Mesh.points": [],
    }
    added = {"setup": {"create_attributes": []}, "inputs:added": 1}
    write_limited(extension, [fine, added, {"file": "scene.usda", "/Graph/x.outputs:y": 1}])
    (finding,) = node_check.check(extension)
    assert finding.problems == ()


def test_the_command_writes_pages(extension, tmp_path, capsys):
    assert cli.main(["ogn", "docs", str(extension), "-o", str(tmp_path / "pages")]) == cli.OK
    page = (tmp_path / "pages" / "acme.tools.Scale.md").read_text()
    assert "| `factor` | `float` | `2.0` | Scale; at least 0.0 |" in page
    assert "one of `plain`, `twice`" in page
    assert "[acme.tools.Scale](acme.tools.Scale.md)" in (tmp_path / "pages" / "README.md").read_text()


@pytest.mark.parametrize("name", ["../outside", "/etc", "a..b"])
def test_a_manifest_cannot_lead_out_of_its_folder(extension, name):
    (extension / "config" / "extension.toml").write_text(f'[[python.module]]\nname = "acme"\npath = "{name}"\n')
    with pytest.raises(OgnError):
        node_folders.find(extension)


def test_a_folder_without_nodes(tmp_path, capsys):
    assert cli.main(["ogn", "check", str(tmp_path)]) == cli.INPUT
    assert "has no .ogn file" in capsys.readouterr().err


def test_a_package_that_needs_more_of_kit_still_gives_its_nodes(extension):
    init = next(extension.rglob("extension.py"))
    init.write_text("import omni.kit.window.filepicker\n")
    told = []
    specs = node_folders.add_folder(Registry(), extension, lambda where, text: told.append(text))
    assert [spec.name for spec in specs] == ["acme.tools.Scale"]
    assert len(told) == 1 and "cannot be imported" in told[0]


OWN = Path(__file__).parents[3] / "ogn"


def test_all_nodes_of_this_package_pass_their_own_tests(capsys):
    assert cli.main(["ogn", "test", str(OWN)]) == 0
    out = capsys.readouterr().out
    assert all(f"ok      omni.warp_core.{file.stem.removeprefix('Ogn')}, " in out for file in OWN.glob("*.ogn"))
    assert "0 failed, 0 skipped" in out


def test_all_nodes_of_this_package_have_icons():
    for file in OWN.glob("*.ogn"):
        (node,) = json.loads(file.read_text("utf-8")).values()
        assert (OWN / node["icon"]).read_text("utf-8").startswith("<svg"), file.name


def test_a_bundle_is_compared_by_the_attributes_of_its_prim(tmp_path, capsys):
    test = {"inputs:size": [2.0, 4.0], "outputs:mesh": {"faceVertexCounts": [3], "nothing": 1}}
    text = (OWN / "OgnGridCreate.ogn").read_text("utf-8").partition('"tests": [\n')[0]
    (tmp_path / "OgnGridCreate.ogn").write_text(f'{text}"tests": [{json.dumps(test)}]}}}}')
    (tmp_path / "OgnGridCreate.py").write_text((OWN / "OgnGridCreate.py").read_text())
    assert cli.main(["ogn", "test", str(tmp_path)]) == cli.NODES
    out = capsys.readouterr().out
    assert "outputs:mesh, faceVertexCounts: expected [3], found [4]" in out
    assert "outputs:mesh, nothing: expected 1, found nothing" in out


MESH = ["Mesh", "Mesh", {"points": ["point3f[]", [[0, 0, 0], [1, 0, 0], [0, 1, 0]]], "size": ["double", 3]}]


@pytest.fixture
def read_mesh(tmp_path, capsys):
    """read_mesh(test) -> output of the tests of Read Mesh, with this one only."""

    def run(test):
        text = (OWN / "OgnReadMesh.ogn").read_text("utf-8").partition('"tests": [\n')[0]
        (tmp_path / "OgnReadMesh.ogn").write_text(f'{text}"tests": [{json.dumps(test)}]}}}}')
        (tmp_path / "OgnReadMesh.py").write_text((OWN / "OgnReadMesh.py").read_text())
        cli.main(["ogn", "test", str(tmp_path)])
        return capsys.readouterr().out

    return run


def test_a_test_makes_prims_and_looks_at_them(read_mesh):
    test = {"setup": {"create_prims": [MESH]}, "inputs:prim": ["/Mesh"], "/Mesh.size": 4, "/Mesh.points": [[0, 0, 0]]}
    out = read_mesh(test)
    assert "/Mesh.size: expected 4.0, found 3.0" in out
    assert "/Mesh.points: expected [[0.0, 0.0, 0.0]], found [[0.0, 0.0, 0.0], [1.0" in out


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"setup": {"create_prims": [["Mesh", "Mesh", {}, 1]]}}, "setup.create_prims: must be a list of paths"),
        ({"setup": {"create_prims": [["a b", "Mesh"]]}}, "'/a b' is not the path of a prim"),
        ({"inputs:prim": ["/Mesh"]}, "there is no prim /Mesh"),
        ({"/Mesh": 1}, "/Mesh: there is no such node"),
        ({"file": "none.usda"}, "none.usda: there is no such file"),
        ({"setup": {"connect": [["a.outputs:x", "b.inputs:y"]]}}, "there is no node 'b'"),
    ],
)
def test_mistakes_in_tests_with_a_stage(read_mesh, test, words):
    assert words in read_mesh(test)


def test_a_test_of_a_file_names_attributes_by_path(read_mesh, tmp_path):
    (tmp_path / "scene.usda").write_text("""#usda 1.0
def Mesh "Mesh" {
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]
}
def OmniGraph "G" {
    token evaluator:type = "push"
    def OmniGraphNode "read" {
        token node:type = "omni.warp_core.ReadMesh"
        custom rel inputs:prim = </Mesh>
    }
}
""")
    points = [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert "1 ok" in read_mesh({"file": "scene.usda", "/G/read": {"outputs": {"points": points}}})
    assert "1 ok" in read_mesh({"file": "scene.usda", "/G/read.outputs:points": points})
    assert "1 failed" in read_mesh({"file": "scene.usda", "/G/read.outputs:points": points[:2]})
    assert "only outputs and states" in read_mesh({"file": "scene.usda", "/G/read": {"inputs": {"prim": []}}})
    assert "outputs:points: a test of a file names" in read_mesh({"file": "scene.usda", "outputs:points": points})
