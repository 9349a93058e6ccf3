"""Node types by name: those of omni.graph brought along, and those in folders of `.ogn` + `.py` pairs.

`standard()` is the registry of the command line. A node class lives in the Python file of the same stem beside its
`.ogn` and is called like that stem, as in Kit.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ...lang.errors import nearest
from ..graph.node_graph import NodeType
from ..ogn.ogn_spec import NodeSpec, OgnError, read
from . import builtin_nodes

EXTENSION = "omni.warp_core"
PACKAGE = Path(__file__).parents[2]
KERNEL = f"{EXTENSION}.Kernel"
OLD_KERNEL = "omni.warp.WarpKernel"
SCRIPT = f"{EXTENSION}.Script"
# Node types of omni.warp that have the attributes of ours: omni.warp.Warp<name>.
_SUGGESTED = 3  # names that an error proposes
_AS_OURS = (
    *("GridCreate", "WaveSolve", "NoiseDeform", "MeshFromVolume", "ParticlesFromMesh", "TextureWrite"),
    *("ClothSimulate", "ParticlesSimulate"),
)
_SAMPLES = ("SampleProceduralVolume", "SampleMeshDeform", "SampleOceanDeform", "SamplePrimFlocking")
ALIASES = {
    OLD_KERNEL: KERNEL,
    "omni.graph.scriptnode.ScriptNode": SCRIPT,
    **{f"omni.warp.Warp{name}": f"{EXTENSION}.{name}" for name in _AS_OURS + _SAMPLES},
    "omni.warp.WarpOgnBundleInspectChanges": f"{EXTENSION}.BundleInspectChanges",
    "omni.warp.FixedTime": f"{EXTENSION}.FixedTime",
    **builtin_nodes.ALIASES,
}
OLDER_LIBRARY = frozenset(name for name in ALIASES if name.startswith("omni.warp.")) - {OLD_KERNEL}
KERNEL_NAMES = frozenset({KERNEL, *(name for name, target in ALIASES.items() if target == KERNEL)})
# Types of other packages that one of ours plays, with the version and the defaults that their scenes count on.
OLD_TYPES = {OLD_KERNEL: (2, {"inputs:dimSource": "explicit", **{f"inputs:dim{i}": 1 for i in (1, 2, 3, 4)}})}


class Registry:
    """Node types by their full names."""

    def __init__(self) -> None:
        self._types: dict[str, NodeType] = {}

    def add(self, node_type: NodeType) -> None:
        """Register a type under the name in its description."""
        self._types[node_type.spec.name] = node_type

    def __iter__(self) -> Iterator[NodeType]:
        return iter(self._types.values())

    def find(self, name: str) -> NodeType | None:
        """The type called `name`, also by an alias; None if it is unknown."""
        return self._types.get(name) or self._types.get(ALIASES.get(name, name))

    def add_variant(self, name: str, version: int, defaults: dict[str, Any]) -> None:
        """Give the alias `name` a type of its own, with another version and other defaults."""
        base = self._types[ALIASES[name]]
        attributes = {
            key: replace(spec, default=defaults.get(key, spec.default)) for key, spec in base.spec.attributes.items()
        }
        self._types[name] = base.with_spec(replace(base.spec, version=version, attributes=attributes))

    def nearest(self, name: str) -> tuple[str, ...]:
        """The known names most like `name`; first those that differ only in front, as in another extension."""
        known = [*self._types, *ALIASES]
        last = name.rpartition(".")[2].lower()
        same = [n for n in known if n.rpartition(".")[2].lower() == last]
        return tuple(dict.fromkeys([*same, *nearest(name, known)]))[:_SUGGESTED]

    def add_folder(self, folder: Path) -> None:
        """Register every node in `folder`. Raises OgnError for the first description that cannot be used.

        Folders below it are left out: in the packaged extension they hold other names of the same nodes, for Kit.
        """
        for path in sorted(folder.glob("*.ogn")):
            self.add(FolderType(read(path, EXTENSION), path))


class FolderType(NodeType):
    """A node type of a folder. The first use of the class loads it: a scene has few types, and an editor runs none.

    Raises OgnError at that use if the class cannot be loaded.
    """

    def __init__(self, spec: NodeSpec, path: Path):
        self._describe(spec)
        self._path = path
        self.is_first = self.is_compound = False

    @cached_property
    def cls(self) -> Any:
        """The class that computes."""
        return load_class(self._path)

    @cached_property
    def reads_stage(self) -> bool:  # type: ignore[override]
        """True if a node depends on the stage."""
        return getattr(self.cls, "reads_stage", False)

    @cached_property
    def uses_time(self) -> bool:  # type: ignore[override]
        """True if a node depends on the frame."""
        return getattr(self.cls, "uses_time", False)


@cache
def load_class(path: Path) -> Any:
    """The class that goes with the `.ogn` file at `path`. Raises OgnError when it is not there or has no `compute`."""
    source = path.with_suffix(".py")
    name = f"{EXTENSION}.ogn.{path.stem}"
    if not source.is_file():
        raise OgnError(str(path), [f"{source.name} is missing; it holds the class {path.stem}"])
    found = importlib.util.spec_from_file_location(name, source)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise OgnError(str(source), [f"{type(error).__name__}: {error}"]) from error
    cls = getattr(module, path.stem, None)
    if not callable(getattr(cls, "compute", None)):
        raise OgnError(str(source), [f"needs a class {path.stem} with a static method compute(db)"])
    return cls


def folder() -> Path:
    """Return the folder of our own nodes: inside an installed package, or at the top of a checkout."""
    inside = PACKAGE / "ogn"
    return inside if inside.is_dir() else PACKAGE.parents[1] / "ogn"


def standard() -> Registry:
    """All node types this package has."""
    registry = Registry()
    for node_type in builtin_nodes.node_types():
        registry.add(node_type)
    registry.add_folder(folder())
    for name, (version, defaults) in OLD_TYPES.items():
        registry.add_variant(name, version, defaults)
    return registry
