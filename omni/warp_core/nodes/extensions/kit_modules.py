"""Stand-ins for the modules of Kit that node files import: `omni.graph.core`, `carb`, `omni.usd`, `omni.timeline`, ...

They are installed when a folder of nodes is loaded, and only those that Python cannot find. Each has the names that
node classes use to compute; a missing one is an AttributeError that says so. `<package>.ogn.<Stem>Database`, which Kit
generates from the `.ogn`, is among them.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from ..graph.database import Database
from ..graph.node_graph import Node
from ..ogn.ogn_spec import NodeSpec
from . import graph_names
from .node_class import computing

_LOG = logging.getLogger("omni.warp_core.nodes")
GENERATOR_VERSION = (1, 80, 0)  # of the databases whose shape this host follows


class StandIn(ModuleType):
    """A module of Kit with the names that this host has."""

    def __init__(self, name: str, contents: dict[str, Any]):
        super().__init__(name, "A stand-in of the headless host of omni.warp_core.")
        self.__path__: list[str] = []
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        self.__dict__.update(contents)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{self.__name__}.{name} is not there outside of Kit; see docs/node-extensions.md")


class _Timeline:
    """`omni.timeline.get_timeline_interface()`: the clock of the play."""

    def get_current_time(self) -> float:
        """Return the seconds on the timeline."""
        return computing().host.timeline.time

    def get_time_codes_per_second(self) -> float:
        """Return the frames per second."""
        return computing().host.timeline.fps

    get_time_codes_per_seconds = get_time_codes_per_second

    def is_playing(self) -> bool:
        """Return whether the timeline plays."""
        return computing().host.timeline.is_playing

    def is_stopped(self) -> bool:
        """Return whether the timeline stands at its start."""
        return not self.is_playing()


class _UsdContext:
    """`omni.usd.get_context()`: the stage of the play."""

    def get_stage(self) -> Any:
        """Return the stage."""
        return computing().host.store.stage


class _Settings:
    """`carb.settings.get_settings()`: empty."""

    def get(self, path: str) -> None:
        """Return None: nothing is set."""

    get_as_bool = get_as_int = get_as_float = get_as_string = get


class _Extension:
    """`omni.ext.IExt`: the base class of extensions, which this host does not start."""


def _contents() -> dict[str, dict[str, Any]]:
    """Return the stand-ins: dotted name -> contents."""
    action = {"get_interface": computing}
    logs = {f"log_{level}": getattr(_LOG, method) for level, method in _LEVELS.items()}
    settings = {"get_settings": lambda: _Settings()}
    return {
        "carb": {**logs, "settings": SimpleNamespace(**settings)},
        "carb.settings": settings,
        "omni.ext": {"IExt": _Extension},
        "omni.graph": {},
        "omni.graph.core": graph_names.names(),
        "omni.graph.action": action,
        "omni.graph.action_core": action,
        "omni.timeline": {"get_timeline_interface": lambda: _Timeline()},
        "omni.usd": {"get_context": lambda name="": _UsdContext()},
    }


_LEVELS = {"verbose": "debug", "info": "info", "warn": "warning", "error": "error"}


def install() -> None:
    """Install the stand-ins that are missing. In Kit, where `omni.graph.core` is there, this does nothing."""
    if isinstance(sys.modules.get("omni.graph.core"), StandIn) or _exists("omni.graph.core"):
        return
    for name, contents in _contents().items():
        if not _exists(name):
            module = sys.modules[name] = StandIn(name, contents)
            parent, _, child = name.rpartition(".")
            if parent in sys.modules:
                setattr(sys.modules[parent], child, module)


def _exists(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def add_database(package: str, stem: str, spec: NodeSpec) -> None:
    """Make the module `<package>.ogn.<stem>Database` with the class that Kit generates from a `.ogn`."""
    folder = f"{package}.ogn"
    if folder not in sys.modules:
        sys.modules[folder] = StandIn(folder, {})
        if package in sys.modules:
            sys.modules[package].ogn = sys.modules[folder]  # type: ignore[attr-defined]
    name = f"{stem}Database"
    cls = type(name, (_NodeDatabase,), {"INTERFACE": _interface(spec), "__slots__": ()})
    sys.modules[f"{folder}.{name}"] = StandIn(f"{folder}.{name}", {name: cls})


class _NodeDatabase(Database):
    """The parts of a generated database that a node class reaches by its name."""

    __slots__ = ()
    GENERATOR_VERSION = GENERATOR_VERSION
    TARGET_VERSION = (2, 0, 0)

    @staticmethod
    def shared_internal_state(node: Node) -> Any:
        """Return the state of a node."""
        return node.shared_state

    @staticmethod
    def per_instance_internal_state(node: Node, instance: int = 0) -> Any:
        """Return the state of a node: this host has one instance of each."""
        return node.shared_state

    per_node_internal_state = per_instance_internal_state


def _interface(spec: NodeSpec) -> list[tuple]:
    """Return the attributes as tuples, as a generated database lists them."""
    rows = []
    for attribute in spec.attributes.values():
        kind = 0 if not attribute.type.is_any else 1 if attribute.type.members else 2
        name = attribute.metadata.get("uiName")
        required = not attribute.optional
        about = attribute.description
        head = (attribute.name, str(attribute.type), kind, name, about, attribute.metadata, required)
        rows.append((*head, attribute.default, False, ""))
    return rows
