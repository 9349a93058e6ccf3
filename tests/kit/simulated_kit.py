"""A small Kit, as far as the extension touches it: start-up, registration of nodes, evaluation of graphs.

It follows the public description of Kit (manifest, IExt, run-time generation of databases, the shape of `db`), and uses
nothing of the package under test: node classes and the extension are found as Kit finds them, by the manifest. Kit's
own nodes are written here a second time. Run as a program with an extension folder, a scene, and options in JSON, it
plays the frames and prints what was written.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.util
import json
import sys
import weakref
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import simulated_bundles as bundles
from pxr import Sdf, Usd
from simulated_bundles import Contents, Type, ogn_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGE = 1000  # numbers of an array

# -- modules of Kit ---------------------------------------------------------------------------------------------------

LOG: list[str] = []
SETTINGS: dict[str, object] = {}
MENUS: dict[str, list] = {}
WINDOWS: list[Window] = []
TEXTURES: dict[str, list] = {}
OTHERS: set[str] = set()  # further extensions that are enabled
COMPUTING: list[Node] = []
ENABLED = 1


class Window:
    """omni.ui.Window, with the buttons that were made in it."""

    def __init__(self, title, **size):
        self.title, self.visible, self.buttons, self.labels = title, True, {}, []
        self.frame = Nothing()
        WINDOWS.append(self)


class Nothing:
    """A container of omni.ui."""

    def __init__(self, *arguments, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *details):
        return None


class Settings:
    """carb.settings' interface."""

    def get(self, path):
        return SETTINGS.get(path)

    def subscribe_to_node_change_events(self, path, function):
        WATCHED[path] = function
        return path

    def unsubscribe_to_change_events(self, watch):
        del WATCHED[watch]


class ComputeNodeWidget:
    """omni.graph.ui.ComputeNodeWidget."""

    def __init__(self):
        self.templates = []

    @staticmethod
    def get_instance():
        return PANEL

    def add_template_path(self, path):
        self.templates.append(path)

    def remove_template_path(self, path):
        self.templates.remove(path)


class LayoutFrame:
    """CustomLayoutFrame of omni.kit.property.usd, with groups as lists of names."""

    def __init__(self, hide_extra=False):
        LAYOUT.clear()

    def __enter__(self):
        return self

    def __exit__(self, *details):
        return None

    def apply(self, props):
        return LAYOUT


class LayoutGroup(LayoutFrame):
    """CustomLayoutGroup."""

    def __init__(self, title):
        LAYOUT.append([title])


def layout_property(name, label):
    """CustomLayoutProperty."""
    LAYOUT[-1].append(name)


PANEL = ComputeNodeWidget()
LAYOUT: list[list[str]] = []
SAMPLES: dict[str, str] = {}
WATCHED: dict[str, object] = {}


class DynamicTextureProvider:
    """omni.ui.DynamicTextureProvider."""

    def __init__(self, name):
        self.name = name

    def set_bytes_data(self, data, sizes):
        TEXTURES[self.name] = [hashlib.sha256(bytes(data)).hexdigest(), sizes]


class Subscription:
    """Listens as long as a reference to it exists."""

    def __init__(self, function):
        self.function = function


class EventStream:
    """Events of the stage."""

    def __init__(self):
        self.listeners = []

    def create_subscription_to_pop(self, function, name=""):
        subscription = Subscription(function)
        self.listeners.append(weakref.ref(subscription))
        return subscription

    def push(self, kind):
        for listener in self.listeners:
            if (alive := listener()) is not None:
                alive.function(SimpleNamespace(type=kind))


class UsdContext:
    """omni.usd's context, with one stage at a time."""

    def __init__(self):
        self.stage, self.events = None, EventStream()

    def get_stage(self):
        return self.stage

    def get_stage_event_stream(self):
        return self.events

    def open_stage(self, path):
        self.stage = Usd.Stage.Open(str(path))
        self.events.push(2)


USD = UsdContext()


class Timeline:
    """omni.timeline's interface."""

    time, rate = 0.0, 24.0

    def get_current_time(self):
        return self.time

    def get_time_codes_per_seconds(self):
        return self.rate


TIMELINE = Timeline()


class Manager:
    """omni.kit.app's extension manager."""

    def is_extension_enabled(self, name):
        return name in OTHERS


class IExt:
    """omni.ext.IExt."""


class ActionInterface:
    """omni.graph.action's interface."""

    def set_execution_enabled(self, name):
        COMPUTING[-1].attributes[name].value = ENABLED


def module(name, **contents):
    made = ModuleType(name)
    made.__dict__.update(contents)
    made.__path__ = []
    sys.modules[name] = made
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, made)


def button(text, clicked_fn):
    WINDOWS[-1].buttons[text] = clicked_fn


def install(windows: bool) -> None:
    """Make the modules of Kit importable; without windows, as in a service."""
    import omni

    sys.modules.setdefault("omni", omni)
    settings = Settings()
    logs = {f"log_{level}": LOG.append for level in ("info", "warn", "error", "verbose")}
    module("carb", **logs)
    module("carb.settings", get_settings=lambda: settings)
    module("omni.ext", IExt=IExt)
    module("omni.kit")
    module("omni.kit.app", get_app=lambda: SimpleNamespace(get_extension_manager=Manager))
    module("omni.usd", get_context=lambda name="": USD, StageEventType=SimpleNamespace(OPENED=2, CLOSED=4))
    module("omni.timeline", get_timeline_interface=lambda: TIMELINE)
    module("omni.graph")
    controller = SimpleNamespace(attribute_type=Type)
    states = SimpleNamespace(DISABLED=0, ENABLED=ENABLED)
    module("omni.graph.core", Database=object, ExecutionAttributeState=states, Controller=controller)
    module("omni.graph.action", get_interface=ActionInterface)
    if windows:
        label = lambda text, **style: WINDOWS[-1].labels.append(text)  # noqa: E731
        alignment = SimpleNamespace(LEFT_TOP=0)
        texture = DynamicTextureProvider
        boxes = dict.fromkeys(("VStack", "HStack", "ScrollingFrame"), Nothing)
        module(
            "omni.ui",
            Window=Window,
            Label=label,
            Button=button,
            Alignment=alignment,
            DynamicTextureProvider=texture,
            **boxes,
        )
        item = lambda **fields: SimpleNamespace(**fields)  # noqa: E731
        remove = lambda items, menu: [MENUS[menu].remove(entry) for entry in items]  # noqa: E731
        add = lambda items, menu: MENUS.setdefault(menu, []).extend(items)  # noqa: E731
        module("omni.kit.menu")
        module("omni.graph.ui", ComputeNodeWidget=ComputeNodeWidget)
        module("omni.kit.browser")
        module(
            "omni.kit.browser.sample",
            register_sample_folder=SAMPLES.__setitem__,
            unregister_sample_folder=SAMPLES.pop,
        )
        module("omni.kit.property")
        module("omni.kit.property.usd")
        parts = {"CustomLayoutFrame": LayoutFrame, "CustomLayoutGroup": LayoutGroup}
        module("omni.kit.property.usd.custom_layout_helper", CustomLayoutProperty=layout_property, **parts)
        module("omni.kit.menu.utils", MenuItemDescription=item, add_menu_items=add, remove_menu_items=remove)


# -- loading an extension ---------------------------------------------------------------------------------------------


class Extension:
    """An extension that is enabled: its IExt objects and node types."""

    def __init__(self, root: Path):
        self.root = root
        manifest = next(p for p in (root / "config/extension.toml", root / "extension.toml") if p.is_file())
        self.manifest = tomllib.loads(manifest.read_text())
        self.name = root.name.rpartition("-")[0]
        sys.path.insert(0, str(root))
        self._reach_namespace()
        self.started, self.types = [], {}
        modules = [entry["name"] for entry in self.manifest["python"]["module"]]
        for name in modules:
            self._start(importlib.import_module(name))
        if any(dependency == "omni.graph" for dependency in self.manifest["dependencies"]):
            for name in modules:
                self._register_nodes(name)
        for values in self.manifest.get("settings", {}).get("exts", {}).items():
            for key, value in values[1].items():
                SETTINGS.setdefault(f"/exts/{values[0]}/{key}", value)

    def _reach_namespace(self):
        import omni

        omni.__path__ = [str(self.root / "omni"), *omni.__path__]

    def _start(self, loaded):
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, IExt) and value is not IExt:
                extension = value()
                extension.on_startup(self.root.name)
                self.started.append(extension)

    def _register_nodes(self, name):
        folder = self.root.joinpath(*name.split("."))
        if (self.root / "ogn" / name).is_dir() or (folder / "ogn").is_dir() or not folder.is_dir():
            return
        for path in sorted(folder.rglob("*.ogn")):
            described = json.loads(path.read_text())
            ((key, body),) = ((k, v) for k, v in described.items() if not k.startswith("$"))
            inner = ".".join(path.relative_to(folder).with_suffix("").parts)
            cls = getattr(importlib.import_module(f"{name}.{inner}"), path.stem, None)
            if cls is None:
                LOG.append(f"{name}.{inner} has no class {path.stem}; the node is not registered")
                continue
            self.types[key if "." in key else f"{self.name}.{key}"] = (body, cls)

    def disable(self):
        for extension in reversed(self.started):
            extension.on_shutdown()


# -- graphs -----------------------------------------------------------------------------------------------------------

SCALARS = {
    "bool": bool,
    "uchar": np.uint8,
    "int": np.int32,
    "uint": np.uint32,
    "int64": np.int64,
    "uint64": np.uint64,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
    "timecode": np.float64,
}


class Attribute:
    """og.Attribute."""

    def __init__(self, node, name, kind, value, dynamic):
        self.node, self.name, self.kind, self.value, self.dynamic, self.sources = node, name, kind, value, dynamic, []

    def get(self):
        return self.value

    def set(self, value):
        self.value = typed(self.kind, value)
        return True

    def get_node(self):
        return self.node

    def get_name(self):
        return self.name

    def get_resolved_type(self):
        return Type(self.kind)

    def is_dynamic(self):
        return self.dynamic

    def get_upstream_connection_count(self):
        return len(self.sources)

    def get_upstream_connections(self):
        nodes = self.node.graph.nodes
        return [nodes[str(path.GetPrimPath())].attributes[path.name] for path in self.sources]

    def connect(self, target, modify_usd):
        target.sources.append(Sdf.Path(f"{self.node.get_prim_path()}.{self.name}"))
        return True


def empty(kind):
    if kind == "bundle":
        return Contents()
    base, array = kind.removesuffix("[]"), kind.endswith("[]")
    name, _, count = base.rstrip("]").partition("[")
    scalar = SCALARS.get(name) or {"h": np.float16, "f": np.float32, "d": np.float64}.get(name[-1:])
    if scalar is None or name in ("token", "string", "path", "bundle", "target", "any"):
        return [] if array else ""
    shape = () if not count else (int(count),) * 2 if name in ("matrixd", "frame") else (int(count),)
    return np.zeros((0, *shape), scalar) if array else np.zeros(shape, scalar) if shape else scalar(0)


def typed(kind, default):
    """A default of a description as Kit has it, NumPy for tuples and arrays."""
    nothing = empty(kind)
    if default is None or (isinstance(default, list) and not default):
        return nothing
    if isinstance(nothing, (np.ndarray, np.generic)):
        return np.array(default, nothing.dtype)[()]  # also of "nan" and "inf"
    return default


def bundle_sources(relationship):
    """The outputs that a relationship leads to, in either form: </G/node.outputs_x> or </G/node/outputs_x>."""
    found = []
    for path in relationship.GetTargets():
        if path.name.startswith("outputs_"):
            found.append(path.GetParentPath().AppendProperty(path.name.replace("_", ":", 1)))
    return found


class Node:
    """og.Node: its attributes, from the description and from the prim."""

    def __init__(self, graph, prim, body, cls, type_name):
        self.graph, self.type_name = graph, type_name
        self.prim, self.cls, self.attributes, self.errors = prim, cls, {}, []
        self.version = body.get("version", 1)
        for port in ("inputs", "outputs", "state"):
            for name, entry in body.get(port, {}).items():
                kind = entry["type"] if isinstance(entry["type"], str) else "any"
                default = typed(kind, entry.get("default"))
                if kind == "bundle" and port == "outputs":
                    default = Contents(bundles.Bundle())
                self.attributes[f"{port}:{name}"] = Attribute(self, f"{port}:{name}", kind, default, False)
        for authored in prim.GetAuthoredProperties():
            name = authored.GetName()
            if name.startswith(("inputs:", "outputs:", "state:")):
                self._take(name, authored)
        state = getattr(cls, "internal_state", None)
        self.state = state() if state else None

    def _take(self, name, authored):
        is_attribute = isinstance(authored, Usd.Attribute)
        if name not in self.attributes:
            kind = ogn_name(str(authored.GetTypeName())) if is_attribute else "target"
            self.attributes[name] = Attribute(self, name, kind, empty(kind), True)
        if self.attributes[name].kind == "bundle" or (not is_attribute and bundle_sources(authored)):
            self.attributes[name].sources += bundle_sources(authored)
            return
        value = authored.Get() if is_attribute else [str(path) for path in authored.GetTargets()]
        if value is not None:
            value = value.GetValue() if isinstance(value, Sdf.TimeCode) else value
            is_plain = isinstance(value, (bool, int, float, str, list))
            self.attributes[name].value = value if is_plain else np.array(value)

    def get_prim_path(self):
        return str(self.prim.GetPath())

    def get_type_name(self):
        return self.type_name

    def get_graph(self):
        return self.graph

    def is_disabled(self):
        return False

    def get_attributes(self):
        return list(self.attributes.values())

    def get_attribute(self, name):
        return self.attributes[name]

    def get_attribute_exists(self, name):
        return name in self.attributes

    def node_id(self):
        return id(self)

    def is_valid(self):
        return True


class Graph:
    """og.Graph."""

    def __init__(self, path):
        self.path, self.nodes = path, {}

    def get_path_to_graph(self):
        return self.path

    def get_nodes(self):
        return list(self.nodes.values())


class Port:
    """db.inputs, db.outputs or db.state of a generated database."""

    def __init__(self, node, port):
        self.__dict__.update(_node=node, _port=port)

    def _find(self, name):
        wanted = f"{self._port}:{name}"
        return next(a for n, a in self._node.attributes.items() if n.replace(":", "_") == wanted.replace(":", "_"))

    def __getattr__(self, name):
        try:
            found = self._find(name)
            return [Sdf.Path(path) for path in found.value] if found.kind == "target" else found.value
        except StopIteration:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        if self._port == "inputs":
            raise AttributeError(f"{name}: inputs are locked while computing")
        if name.endswith("_size"):
            attribute = self._find(name[:-5])
            attribute.value = np.zeros((int(value), *attribute.value.shape[1:]), attribute.value.dtype)
            return
        attribute = self._find(name)
        if attribute.kind.endswith("[]"):
            value = np.array(value, attribute.value.dtype).reshape(-1, *attribute.value.shape[1:])
        attribute.value = typed(attribute.kind, value) if attribute.kind in SCALARS else value


class Database:
    """What compute(db) gets."""

    def __init__(self, node):
        self.node = node
        self.inputs, self.outputs, self.state = (Port(node, port) for port in ("inputs", "outputs", "state"))
        self.per_instance_state = self.shared_state = self.internal_state = node.state

    def log_error(self, text):
        self.node.errors.append(text)

    def log_warning(self, text):
        LOG.append(text)

    def set_dynamic_attribute_memory_location(self, on_gpu, gpu_ptr_kind=None):
        pass


class Stock:
    """Kit's own nodes, as far as the sample scenes use them."""

    def __init__(self, stage):
        self.stage, self.frame, self.fps, self.written = stage, 0, stage.GetFramesPerSecond(), {}

    def compute(self, node, kind):
        values = {name: attribute.value for name, attribute in node.attributes.items()}
        if kind in ("OnTick", "OnPlaybackTick", "ReadTime"):
            self._clock(node)
        elif kind == "OnLoaded":
            self._set(node, "outputs:execOut", "execution", int(self.frame == self.stage.GetStartTimeCode()))
        elif kind == "ReadPrimAttribute":
            prim, name = values["inputs:prim"][0], values["inputs:name"]
            source = self.stage.GetPrimAtPath(prim).GetAttribute(name)
            time = values.get("inputs:usdTimecode", np.nan)
            held = self.written.get((prim, name), {}) if np.isnan(time) else {}
            value = held[max(held)] if held else source.Get(self.frame if np.isnan(time) else time)
            self._set(node, "outputs:value", ogn_name(str(source.GetTypeName())), np.array(value))
        elif kind == "ReadPrimsV2":
            made = bundles.read_prims(self.stage, values["inputs:prims"], self.frame)
            self._set(node, "outputs:primsBundle", "bundle", Contents(made))
        elif kind == "WritePrimsV2":
            names = values.get("inputs:attrNamesToExport", "*") if "inputs:attrNamesToExport" in values else "*"
            given = values["inputs:primsBundle"].bundle
            for prim, name, value in bundles.written_prims(given, values["inputs:prims"], names) if names else ():
                self.written.setdefault((prim, name), {})[self.frame] = np.array(value)
            self._set(node, "outputs:execOut", "execution", ENABLED)
        elif kind == "GetCameraPosition":
            position = bundles.camera_position(self.stage, values["inputs:primPath"], self.frame)
            self._set(node, "outputs:position", "pointd[3]", position)
        elif kind == "WritePrimAttribute":
            key = values["inputs:prim"][0], values["inputs:name"]
            self.written.setdefault(key, {})[self.frame] = np.array(values["inputs:value"])
            self._set(node, "outputs:execOut", "execution", ENABLED)

    def take_session(self, frame):
        """Note the values that nodes have written to the session layer."""
        layer = self.stage.GetSessionLayer()

        def visit(path):
            if path.IsPropertyPath() and (spec := layer.GetAttributeAtPath(path)) and spec.HasDefaultValue():
                value = spec.default
                value = value.path if isinstance(value, Sdf.AssetPath) else np.array(value)
                self.written.setdefault((str(path.GetPrimPath()), path.name), {})[frame] = value

        layer.Traverse("/", visit)

    def _clock(self, node):
        time = self.frame / self.fps
        start = self.stage.GetStartTimeCode() / self.fps
        given = {"time": time, "frame": float(self.frame), "deltaSeconds": 1 / self.fps}
        given |= {"timeSinceStart": time - start, "absoluteSimTime": time - start}
        for name, value in given.items():
            self._set(node, f"outputs:{name}", "double", value)
        self._set(node, "outputs:tick", "execution", ENABLED)

    @staticmethod
    def _set(node, name, kind, value):
        attribute = node.attributes.setdefault(name, Attribute(node, name, kind, value, False))
        attribute.kind, attribute.value = kind, value


class Player:
    """Evaluates the graphs of a stage: push graphs in order of their data, Action Graphs from their events."""

    def __init__(self, extension, stage):
        self.stock = Stock(stage)
        self.nodes, self.kinds, graphs = {}, {}, {}
        for prim in stage.Traverse():
            if prim.GetTypeName() != "OmniGraphNode":
                continue
            kind = prim.GetAttribute("node:type").Get()
            body, cls = extension.types.get(kind, ({}, None))
            path, above = str(prim.GetPath()), str(prim.GetParent().GetPath())
            graph = graphs.setdefault(above, Graph(above))
            self.nodes[path] = graph.nodes[path] = Node(graph, prim, body, cls, kind)
            self.kinds[path] = kind.rpartition(".")[2] if cls is None else ""
        for node in self.nodes.values():
            for attribute in node.prim.GetAuthoredAttributes():
                for source in attribute.GetConnections():
                    node.attributes[attribute.GetName()].sources.append(source)
        for node in self.nodes.values():
            saved = node.prim.GetAttribute("node:typeVersion").Get() or 0
            if 0 < saved < node.version and hasattr(node.cls, "update_node_version"):
                node.cls.update_node_version(None, node, saved, node.version)

    def close(self):
        """Destroy the nodes, as Kit does with a stage that closes."""
        for node in self.nodes.values():
            if hasattr(node.cls, "release"):
                node.cls.release(node)

    def play(self, frame):
        self.stock.frame = frame
        TIMELINE.time, TIMELINE.rate = frame / self.stock.fps, self.stock.fps
        self.done = set()
        for path, node in self.nodes.items():
            graph = node.prim.GetParent().GetAttribute("evaluator:type").Get()
            if graph != "execution":
                self._pull(path)
            elif self.kinds[path].startswith("On"):
                self._run(path)

    def _run(self, path):
        """Compute a node of an Action Graph with its data, then those that it enables."""
        node = self.nodes[path]
        if not self._pull(path, again=True):
            return
        for other, target in self.nodes.items():
            for attribute in list(target.attributes.values()):
                for source in attribute.sources:
                    if str(source.GetPrimPath()) == path and self._enables(node, attribute, source):
                        self._run(other)

    def _enables(self, node, attribute, source):
        output = node.attributes.get(source.name)
        is_execution = attribute.name.startswith("inputs:exec") or (output is not None and output.kind == "execution")
        return is_execution and output is not None and output.value == ENABLED

    def _is_chained(self, path):
        names = self.nodes[path].attributes
        return self.kinds[path].startswith("On") or any(name.startswith("inputs:exec") for name in names)

    def _pull(self, path, again=False):
        if path in self.done and not again:
            return True
        self.done.add(path)
        node = self.nodes[path]
        for attribute in node.attributes.values():
            for source in attribute.sources:
                origin = str(source.GetPrimPath())
                action = node.prim.GetParent().GetAttribute("evaluator:type").Get() == "execution"
                if origin in self.nodes and not (action and self._is_chained(origin)):
                    self._pull(origin)
                given = self.nodes[origin].attributes.get(source.name)
                if given is not None and given.kind != "execution":
                    attribute.value = given.value
                    attribute.kind = given.kind if attribute.kind in ("any", "token") else attribute.kind
        return self._compute(path, node)

    def _compute(self, path, node):
        if node.cls is None:
            self.stock.compute(node, self.kinds[path])
            return True
        for attribute in node.attributes.values():
            if attribute.kind == "execution" and attribute.name.startswith("outputs:"):
                attribute.value = 0
        COMPUTING.append(node)
        try:
            return node.cls.compute(Database(node)) is not False
        finally:
            COMPUTING.pop()


def layouts(player):
    """The property panel of each node that has a template, as Kit finds them: by the name of the file."""
    found = {}
    for file in map(Path, PANEL.templates):
        spec = importlib.util.spec_from_file_location("template", file)
        template = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(template)
        for path, node in player.nodes.items():
            if node.type_name == file.stem.removeprefix("template_"):
                props = [SimpleNamespace(prop_name=name) for name in node.attributes]
                found[path] = [list(group) for group in template.CustomLayout(None).apply(props)]
    return found


def main(root, scene, options):
    """Enable the extension, open the scene, answer the dialog, play, and print what was written and what was said."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    for name in [n for n in sys.modules if n.startswith("omni.warp_core")]:
        del sys.modules[name]
    SETTINGS.update(options.get("settings", {}))
    OTHERS.update(options.get("others", ()))
    install(options.get("windows", True))
    extension = Extension(Path(root))
    USD.open_stage(scene)
    if WINDOWS and options.get("answer"):
        WINDOWS[-1].buttons[options["answer"]]()
    player = Player(extension, USD.stage)
    for node in player.nodes.values():
        if "inputs:device" in node.attributes:  # no simulation has a GPU
            node.attributes["inputs:device"].value = "cpu"
    for frame in range(*options["frames"]):
        player.play(frame)
        player.stock.take_session(frame)
    errors = {path: node.errors for path, node in player.nodes.items() if node.errors}
    written = {
        f"{prim}.{name}": {f: v if isinstance(v, str) else _plain(v) for f, v in frames.items()}
        for (prim, name), frames in player.stock.written.items()
    }
    menus = sum(map(len, MENUS.values()))
    started = {"templates": list(PANEL.templates), "samples": dict(SAMPLES), "watched": list(WATCHED)}
    started["layout"] = layouts(player)
    player.close()
    extension.disable()
    started["left"] = [*PANEL.templates, *SAMPLES, *WATCHED]
    import omni.warp_core

    result = {"errors": errors, "written": written, "types": sorted(extension.types), "menus": menus, "log": LOG}
    result["labels"] = [text for window in WINDOWS for text in window.labels]
    result |= {"textures": TEXTURES} | started
    result |= {"windows": len(WINDOWS), "menus_left": sum(map(len, MENUS.values())), "home": omni.warp_core.__file__}
    print(json.dumps(result))


def _plain(array):
    """An array as JSON can hold it: a large one as text of its bytes, as lists of numbers take seconds."""
    if array.size < LARGE or array.dtype.kind not in "biuf":
        return array.tolist()
    return {"dtype": array.dtype.str, "shape": array.shape, "bytes": base64.b64encode(array).decode()}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
