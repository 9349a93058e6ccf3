"""Scenes written as text, and graphs of plain Python nodes."""

import sys
import textwrap
from types import SimpleNamespace

import pytest

from omni.warp_core import config
from omni.warp_core.nodes.graph.evaluate import Evaluator
from omni.warp_core.nodes.graph.node_graph import Attribute, Graph, Host, Log, Node, NodeType
from omni.warp_core.nodes.ogn.ogn_spec import from_dict
from omni.warp_core.nodes.play.player import Player, Settings
from omni.warp_core.nodes.stock import builtin_nodes
from omni.warp_core.nodes.values.attribute_types import parse
from omni.warp_core.nodes.values.attribute_values import coerce

STOCK = {node_type.spec.name: node_type for node_type in builtin_nodes.node_types()}


@pytest.fixture(autouse=True)
def settings_dir(tmp_path):
    """Tests neither read nor leave consent in the user's settings."""
    before = config.settings_dir
    config.settings_dir = str(tmp_path / "settings")
    yield tmp_path / "settings"
    config.settings_dir = before


KIT = ("carb", "omni.ext", "omni.graph", "omni.timeline", "omni.usd")


@pytest.fixture(autouse=True)
def no_stand_ins_stay():
    """Each test leaves the modules of this process as they were: stand-ins for Kit must not reach other tests."""
    yield
    for name in [name for name in sys.modules if name in KIT or name.startswith(tuple(f"{root}." for root in KIT))]:
        del sys.modules[name]


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
    """Builds graphs of Python nodes: node(name, compute, inputs, outputs) or stock(name, type), then connect."""

    def __init__(self, evaluator: str, path: str = "/G", host: Host | None = None):
        self.host = host or Host(Log(emit=lambda text: None))
        self.graph = Graph(path, evaluator, self.host)
        self.trace: list = []

    def node(self, name, compute, inputs=None, outputs=None, kind=None, state=None, hooks=None, **flags) -> Node:
        methods = {"compute": compute, **(hooks or {})}
        cls = type(kind or "Plain", (), {key: staticmethod(method) for key, method in methods.items()})
        ports = {
            port: {key: {"type": t, "description": "x"} for key, t in (given or {}).items()}
            for port, given in (("inputs", inputs), ("outputs", outputs), ("state", state))
        }
        body = {"description": "x", "language": "Python", **ports}
        body |= {key: flags.pop(key) for key in ("version", "scheduling") if key in flags}
        spec = from_dict({f"test.{kind or 'Plain'}": body})
        return self._add(name, NodeType(spec, cls, **flags))

    def _add(self, name, node_type) -> Node:
        node = Node(f"{self.graph.path}/{name}", node_type.spec.name, node_type, self.host)
        for attribute in node_type.spec.attributes.values():
            node.add(Attribute(node, attribute.name, attribute.type, attribute))
        self.graph.nodes[node.path] = node
        return node

    def stock(self, name, kind, /, **values) -> Node:
        """A node of omni.graph.<kind> with values of inputs."""
        node = self._add(name, STOCK[f"omni.graph.{kind}"])
        for key, value in values.items():
            attribute = node.attributes[f"inputs:{key}"]
            attribute.set(coerce(value, attribute.type))
        return node

    def event(self, name="OnTest", outputs=("done",)) -> Node:
        """An event node that enables all of its outputs in every evaluation."""

        def compute(db):
            for output in outputs:
                setattr(db.outputs, output, 1)
            return True

        return self.node(name, compute, {}, dict.fromkeys(outputs, "execution"), kind="OnTest")

    def note(self, name, after="", reads="", kind="any") -> Node:
        """A node that notes its name, or what it reads from `reads`, after the execution output `after`."""

        def compute(db):
            self.trace.append((name, db.inputs.x.value if kind == "any" else db.inputs.x) if reads else name)
            db.outputs.done = 1
            return True

        node = self.node(name, compute, {"go": "execution", "x": kind}, {"done": "execution"})
        if after:
            self.connect(after, f"{name}.inputs:go")
        if reads:
            self.connect(reads, f"{name}.inputs:x")
        return node

    def variable(self, name, kind, value) -> Attribute:
        """A variable of the graph."""
        holder = Node(self.graph.path, "OmniGraph", None, self.host)
        self.graph.variables[name] = variable = Attribute(holder, f"graph:variable:{name}", parse(kind))
        variable.set(value)
        return variable

    def value(self, path: str):
        """The value of an attribute: node.outputs:x."""
        name, attribute = path.split(".")
        return self.graph.nodes[f"{self.graph.path}/{name}"].attributes[attribute].value

    def connect(self, source: str, target: str) -> None:
        (a, b), (c, d) = source.split("."), target.split(".")
        nodes, path = self.graph.nodes, self.graph.path
        nodes[f"{path}/{c}"].attributes[d].sources.append(nodes[f"{path}/{a}"].attributes[b])

    def start(self) -> Evaluator:
        evaluator = Evaluator(self.graph)
        evaluator.start()
        return evaluator


@pytest.fixture
def build():
    return Builder
