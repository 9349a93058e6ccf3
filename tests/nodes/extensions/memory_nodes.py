"""A folder of nodes with every `memoryType`: the example of docs/node-extensions.md, and small nodes beside it."""

import json
import re
import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "node-extensions.md"
KERNELS = """
import numpy as np

import omni.warp_core as wp


@wp.kernel
def twice(points: wp.array(dtype=wp.vec3), made: wp.array(dtype=wp.vec3)):
    made[wp.tid()] = 2.0 * points[wp.tid()]


def lies_on(array):
    return array.device.alias if isinstance(array, wp.array) else type(array).__name__


"""
POINTS = {"type": "pointf[3][]", "description": "Points"}
MESH = {"type": "bundle", "description": "A mesh"}
ON_DEVICE = POINTS | {"memoryType": "cuda"}
ANYWHERE = POINTS | {"memoryType": "any"}
# Name -> inputs, outputs, and the body of compute(db). Each tells in outputs:seen where its points lie.
NODES = {
    "Host": ({"points": POINTS}, {"points": POINTS}, "db.outputs.points = db.inputs.points * np.float32(2)"),
    "Pass": ({"points": ANYWHERE}, {"points": ANYWHERE}, "db.outputs.points = db.inputs.points"),
    "Count": ({"points": POINTS}, {}, "db.outputs.seen = str(db.inputs.points_size)\nreturn True"),
    "Sized": ({"points": ON_DEVICE}, {"points": ON_DEVICE}, """
        points = db.inputs.points
        db.outputs.points_size = len(points)
        made = db.outputs.points
        assert not made.numpy().any()
        wp.launch(twice, dim=len(points), inputs=[points, made], device=points.device)"""),
    "Rows": ({"points": ON_DEVICE}, {"points": POINTS}, "db.outputs.points = db.inputs.points.view(float)"),
    "Wider": ({"points": ON_DEVICE}, {"points": POINTS}, """
        exact = wp.array(db.inputs.points.numpy().astype(np.float64), dtype=wp.vec3d, device=db.inputs.points.device)
        db.outputs.points = exact"""),
    "Wrong": ({"points": ON_DEVICE}, {"points": ON_DEVICE}, "db.outputs.points = wp.zeros(4, device=db.host.device)"),
    "Typed": (
        {"points": {"type": "any", "description": "Points", "memoryType": "cuda"}, "scale": {
            "type": "float", "description": "One number", "memoryType": "cuda", "default": 3.0}},
        {"points": ON_DEVICE}, """
        points = db.inputs.points.value
        assert db.inputs.scale == 3.0
        db.outputs.points = points
        db.outputs.seen = lies_on(points)
        return True"""),
    "Bundled": (
        {"mesh": MESH}, {"mesh": MESH}, """
        db.outputs.mesh = db.inputs.mesh
        prim = db.outputs.mesh.bundle.get_child_bundle(0)
        points = prim.get_attribute_by_name("points")
        old = points.get_array(on_gpu=True)
        made = points.get_array(on_gpu=True, get_for_write=True, reserved_element_count=len(old))
        db.outputs.seen = lies_on(made)
        wp.launch(twice, dim=len(old), inputs=[old, made], device=made.device)
        prim.create_attribute("before", "pointf[3][]").set(old)
        return True"""),
    "Dynamic": ({}, {"points": POINTS}, """
        db.set_dynamic_attribute_memory_location(on_gpu=True)
        db.outputs.points = db.inputs.points"""),
}  # fmt: skip


def write_nodes(folder: Path) -> Path:
    """Write the nodes into `folder`, which is their package, and return it."""
    folder.mkdir()
    for name, text in re.findall(r"^```\w+ (OgnSway\.\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text)
    for name, (inputs, outputs, body) in NODES.items():
        seen = {"seen": {"type": "token", "description": "Where the points lie"}}
        about = {"version": 1, "description": name, "language": "Python", "inputs": inputs, "outputs": outputs | seen}
        (folder / f"Ogn{name}.ogn").write_text(json.dumps({f"acme.{name}": about}))
        body = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
        last = "" if body.endswith("return True") else "        db.outputs.seen = lies_on(db.inputs.points)\n"
        head = f"class Ogn{name}:\n    @staticmethod\n    def compute(db):\n"
        (folder / f"Ogn{name}.py").write_text(f"{KERNELS}{head}{body}\n{last}")
    return folder


def sway(name: str, source: str) -> str:
    """The text of a node of the page's example, which moves with time."""
    points = f"custom point3f[] inputs:points.connect = <{source}>" if source else ""
    return f"""def OmniGraphNode "{name}" {{
        token node:type = "acme.tools.Sway"
        {points}
        custom float inputs:height.connect = </G/time.outputs:time>
    }}
    """


def bundled(name: str, source: str) -> str:
    """The text of a node that doubles the points of a mesh, in a bundle."""
    return f"""def OmniGraphNode "{name}" {{
        token node:type = "acme.Bundled"
        custom rel inputs:mesh = <{source}>
    }}
    """


def other(name: str, kind: str, source: str, declared: str = "point3f[]") -> str:
    """The text of a node of another type of the folder."""
    return f"""def OmniGraphNode "{name}" {{
        token node:type = "acme.{kind}"
        custom {declared} inputs:points.connect = <{source}>
    }}
    """
