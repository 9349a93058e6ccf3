"""Scenes written as text, and graphs of plain Python nodes."""

import textwrap
from types import SimpleNamespace

import pytest

from omni.warp_core import config
from omni.warp_core.nodes.graph.evaluate import Evaluator
from omni.warp_core.nodes.graph.node_graph import Attribute, Graph, Host, Log, Node, NodeType
from omni.warp_core.nodes.ogn.ogn_spec import from_dict
from omni.warp_core.nodes.play.player import Player, Settings


@pytest.fixture(autouse=True)
def settings_dir(tmp_path):
    """Tests neither read nor leave consent in the user's settings."""
    before = config.settings_dir
    config.settings_dir = str(tmp_path / "settings")
    yield tmp_path / "settings"
    config.settings_dir = before


WORLD = """
def Xform "World"
{
    double3 xformOp:translate = (1, 2, 3)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Mesh "Mesh"
    {
        point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        float3[] extent = [(0, 0, 0), (1, 1, 0)]
        custom double height = 2
        custom float scale = 0
        custom int count = 0
        custom bool flag = 0
        custom string label = "a"
        custom vector3d direction = (0, 0, 0)
        custom float animated.timeSamples = { 0: 0, 10: 10 }
    }
}
"""


@pytest.fixture
def make_scene(tmp_path):
    """make_scene(graph_text, evaluator=..., frames=...) -> path of a scene with WORLD and a graph /G."""

    def make(nodes: str, evaluator: str = "push", frames: str = "0:3", name: str = "scene.usda") -> str:
        first, last = frames.split(":")
        head = f'#usda 1.0\n(\n    startTimeCode = {first}\n    endTimeCode = {last}\n    defaultPrim = "World"\n)\n'
        graph = f'def OmniGraph "G"\n{{\n    token evaluator:type = "{evaluator}"\n{textwrap.dedent(nodes)}\n}}\n'
        path = tmp_path / name
        path.write_text(head + WORLD + graph)
        return str(path)

    return make


@pytest.fixture
def play(tmp_path):
    """play(scene, **settings) -> the outcome, with the opened result, the log and the player beside it."""

    def run(scene: str, **settings) -> SimpleNamespace:
        log = Log(emit=lambda text: None)
        player = Player.open(scene, Settings(**settings), log)
        target = tmp_path / "out.usda"
        outcome = player.run(str(target))
        return SimpleNamespace(outcome=outcome, log=log, player=player, target=target)

    return run


class Builder:
    """Builds graphs of Python nodes: node(name, compute, inputs, outputs), then connect."""

    def __init__(self, evaluator: str):
        self.host = Host(Log(emit=lambda text: None))
        self.graph = Graph("/G", evaluator, self.host)

    def node(self, name, compute, inputs=None, outputs=None, kind=None, **flags) -> Node:
        cls = type(kind or "Plain", (), {"compute": staticmethod(compute)})
        ports = {
            port: {key: {"type": t, "description": "x"} for key, t in (given or {}).items()}
            for port, given in (("inputs", inputs), ("outputs", outputs))
        }
        spec = from_dict({f"test.{kind or 'Plain'}": {"description": "x", "language": "Python", **ports}})
        node = Node(f"/G/{name}", spec.name, NodeType(spec, cls, **flags), self.host)
        for attribute in spec.attributes.values():
            node.add(Attribute(node, attribute.name, attribute.type, attribute))
        self.graph.nodes[node.path] = node
        return node

    def connect(self, source: str, target: str) -> None:
        (a, b), (c, d) = source.split("."), target.split(".")
        self.graph.nodes[f"/G/{c}"].attributes[d].sources.append(self.graph.nodes[f"/G/{a}"].attributes[b])

    def start(self) -> Evaluator:
        evaluator = Evaluator(self.graph)
        evaluator.start()
        return evaluator


@pytest.fixture
def build():
    return Builder
