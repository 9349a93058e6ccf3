"""`omni-warp graph`: boxes for nodes, lines for connections, and nothing of a scene that could act in a browser."""

from xml.etree import ElementTree

import pytest

from omni.warp_core import cli

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = """
    def OmniGraphNode "tick"
    {
        token node:type = "omni.graph.action.OnTick"
        custom uint inputs:framePeriod = 3
    }
    def OmniGraphNode "speed"
    {
        token node:type = "omni.graph.nodes.ConstantFloat"
        custom float inputs:value = 0.55
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom uint inputs:execIn.connect = </G/tick.outputs:tick>
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "<script>alert(1)</script>"
        custom token inputs:value.connect = </G/speed.inputs:value>
    }
    def OmniGraphNode "odd"
    {
        token node:type = "acme.Unknown"
    }
"""


@pytest.fixture
def draw(make_scene, tmp_path):
    """draw(nodes, *options) -> the root of the picture."""

    def run(nodes, *options):
        target = tmp_path / "graph.svg"
        assert cli.main(["graph", make_scene(nodes, "execution"), "-o", str(target), *options]) == cli.OK
        return ElementTree.parse(target).getroot()

    return run


def texts(root):
    return [element.text for element in root.iter(f"{SVG}text")]


def test_boxes_have_names_types_and_values(draw):
    found = texts(draw(CHAIN))
    assert {"/G  (execution)", "tick", "omni.graph.action.OnTick", "framePeriod = 3", "value = 0.55"} <= set(found)
    assert {"acme.Unknown", "prim = /World/Mesh", "execIn", "value"} <= set(found)


def test_lines_join_the_rows_of_their_attributes(draw):
    root = draw(CHAIN)
    kinds = [path.get("class") for path in root.iter(f"{SVG}path")]
    assert sorted(kinds) == ["data", "execution"]
    dots = {(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")}
    for path in root.iter(f"{SVG}path"):
        numbers = [float(n) for n in path.get("d").replace("M", " ").replace("C", " ").split()]
        assert tuple(numbers[:2]) in dots and tuple(numbers[-2:]) in dots


def test_boxes_do_not_overlap(draw):
    boxes = [
        [float(r.get(k)) for k in ("x", "y", "width", "height")] for r in draw(CHAIN).iter(f"{SVG}rect") if r.get("x")
    ]
    assert len(boxes) == 4
    for i, (x, y, w, h) in enumerate(boxes):
        for a, b, c, d in boxes[:i]:
            assert x + w <= a or a + c <= x or y + h <= b or b + d <= y


def test_texts_of_a_scene_are_no_elements(draw):
    root = draw(CHAIN)
    assert not list(root.iter(f"{SVG}script"))
    assert any("<script>" in (text or "") for text in texts(root))


def test_code_does_not_run(draw, tmp_path):
    code = f"open({str(tmp_path / 'ran')!r}, 'w')"
    draw(f"""
    def OmniGraphNode "kernel"
    {{
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = "{code}"
    }}
    """)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("arguments", "code"), [(["--graph", "/H"], cli.USAGE), (["--graph", "/G"], cli.OK)])
def test_one_graph(make_scene, tmp_path, arguments, code):
    target = tmp_path / "graph.svg"
    assert cli.main(["graph", make_scene(CHAIN), "-o", str(target), *arguments]) == code
    assert target.exists() == (code == cli.OK)
