"""Writes docs/node-types.md from the declarations of node types, so that the page shows what the host has.

python -m tools.docs    rewrites the page; tests/nodes/stock/test_type_listing.py checks that it is up to date
"""

from __future__ import annotations

from pathlib import Path

from omni.warp_core.nodes.ogn.ogn_spec import AttributeSpec, NodeSpec
from omni.warp_core.nodes.stock import builtin_nodes, node_registry, type_listing

PAGE = Path(__file__).resolve().parent.parent / "docs" / "node-types.md"
INTRO = """\
# Node types

This page is written by `tools/type_pages.py` from the declarations in `omni/warp_core/nodes/stock`; edit those.

`omni-warp nodes` prints these types in a terminal, and `omni-warp nodes NAME` the attributes of one with their defaults
and descriptions. Names, versions and attributes are those of Kit. An attribute without a type here takes its type from
what is connected to it, or from the value that the scene gives it, such as `custom float inputs:b = 2`. A bool is false
unless it says `= true`.

* Numbers, tuples, matrices and arrays of them compute by components. A number goes with all components of a tuple. A
  single value, or an array of one element, goes with all elements of an array. Other sizes must be equal.
* The result of two types is what NumPy promotes them to, in the role of the first operand: a `pointf[3]` and a `double`
  give a `pointd[3]`. Integers wrap around on overflow. A conversion to an integer type saturates.
* A node that cannot compute says why, and names the attribute. Examples are division by zero, an index out of range,
  and arrays of unequal length.
* A scene may use an older version of a type; a newer one plays with a warning. `omni.graph.action.X` may also be
  written `omni.graph.action_nodes.X`.
* An array that a node makes has at most 134 million numbers.
"""
OLDER_HEAD = """
## Node types of omni.warp

Scenes that were written for the extension omni.warp, up to its release 1.12, play with these types. Attributes and
defaults are those of its public description, except where the last column says otherwise. An input of a scene that the
type does not have is told.

| type | version | played by | unlike there, or without a public source |
|---|---|---|---|
"""
HEAD = """\
| type | version | description | inputs | outputs | unlike in Kit |
|---|---|---|---|---|---|
"""


# What differs in a node type of omni.warp, and what of it has no public source.
OLDER = {
    "omni.warp.WarpKernel": "threads where neither `dimSource` nor `dim1` is set: 1. Version 1 had `dim` in place of "
    "`dim1`. `device` is that of the play",
    "omni.warp.FixedTime": "`end` is kept to",
    "omni.warp.WarpGridCreate": "normals and texture coordinates, by corner, are our own",
    "omni.warp.WarpMeshFromVolume": "the surface is that of our marching cubes, so its triangles are others",
    "omni.warp.WarpNoiseDeform": "the noise is our own. Ranges of `base` and `falloff` have no public source",
    "omni.warp.WarpParticlesFromMesh": "the jitter is our own: the same particles in every run, at most `maxPoints`",
    "omni.warp.WarpWaveSolve": "the solver is our own",
    "omni.warp.WarpOgnBundleInspectChanges": "all attributes of all prims count; `topologyChanged` is true for faces, "
    "curves and prims alone",
    "omni.warp.WarpTextureWrite": "a file for each frame, see [geometry-nodes.md](geometry-nodes.md#geometry-nodes). "
    "Which dimension is a row has no public source: `dim1` is the number of rows here",
    "omni.warp.WarpSampleMeshDeform": "amplitude and length of the sine have no public source",
    "omni.warp.WarpSampleProceduralVolume": "defaults of the radii, and how the torus moves, have no public source",
    "omni.warp.WarpSampleOceanDeform": "defaults of `directionality`, `amplitude`, `direction` and `scale`, and the "
    "spectrum, have no public source",
    "omni.warp.WarpSamplePrimFlocking": "how it moves, and which prims fly, has no public source: `prims`, or shapes "
    "with `boid` in their path",
    "omni.warp.WarpClothSimulate": "public are `enabled`, `substepCount`, `gravity`, `globalScale`, `collider`, "
    "`springIndexPairs` and `time`, and that the other names begin with `contact`, `cloth`, `collider`, `spring` and "
    "`ground`. The rest of those names, their defaults and the solver are our own",
    "omni.warp.WarpParticlesSimulate": "as with the cloth: public are `enabled`, `gravity`, `globalScale`, `collider` "
    "and `time`. Other names, defaults and the solver are our own",
}


def _older() -> str:
    """The types of omni.warp, with the types that play them."""
    registry = node_registry.standard()
    rows = "".join(
        f"| `{name}` | {registry.find(name).spec.version} | `{node_registry.ALIASES[name]}` | {_cell(text)} |\n"
        for name, text in OLDER.items()
    )
    return OLDER_HEAD + rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _attribute(attribute: AttributeSpec) -> str:
    kind = type_listing.type_name(attribute)
    name = attribute.name.partition(":")[2]
    if kind == "any":
        return f"`{name}`"
    default = type_listing.shown_default(attribute) if type_listing.has_default(attribute) else None
    return f"`{name}` {kind}" + (" = true" if default is True else "")


def _row(spec: NodeSpec) -> str:
    ports = (", ".join(map(_attribute, type_listing.attributes(spec, port))) for port in ("inputs", "outputs"))
    cells = (f"`{spec.name}`", str(spec.version), spec.description, *ports, type_listing.limits(spec))
    return "| " + " | ".join(map(_cell, cells)) + " |\n"


def _section(title: str, specs: list[NodeSpec]) -> str:
    return f"\n## {title}\n\n{HEAD}" + "".join(map(_row, specs))


def page() -> str:
    """The whole page."""
    sections, seen = [], set()
    for family in builtin_nodes.FAMILIES:
        specs = [node_type.spec for node_type in family.TYPES]
        seen |= {spec.name for spec in specs}
        sections.append(_section((family.__doc__ or "").partition(":")[0].partition(".")[0], specs))
    own = [spec for spec in type_listing.all_specs(node_registry.standard()) if spec.name not in seen]
    return INTRO + "".join(sections) + _section("Nodes of this package", own) + _older()
