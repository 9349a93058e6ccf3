"""`wp.nodes.GraphBuilder`: graphs written onto a stage from Python, checked against the node types."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pxr import Sdf, Usd

from ...files import write
from ...lang.errors import did_you_mean, nearest
from ...usd.numpy_conversion import from_caller, to_usd
from ...usd.stage import layer_file
from ..extensions import node_folders
from ..graph.attribute import arriving, type_words
from ..graph.evaluate import EVALUATORS
from ..graph.node_graph import NodeType
from ..kernel.signature import Change
from ..ogn.ogn_spec import AttributeSpec, NodeSpec
from ..stock import node_registry
from ..values.attribute_types import HELD_AS_TOKENS, AttributeType, from_sdf, parse
from ..values.attribute_values import ValueTypeError, coerce, converter
from ..values.literals import type_of_literal
from . import kernel_attributes, kernel_presets
from .custom_data import property_of, relationship_type
from .misspelt_names import similar

PORTS = ("inputs:", "outputs:", "state:")


class GraphBuilder:
    """Writes one graph: prims of type OmniGraphNode with values and connections, on the stage's edit target.

    Args:
        stage: The stage to write on.
        path: Path of the graph, as in "/Graph". An existing graph is extended.
        evaluator: "push" (every node in every frame), "dirty_push" (after a change) or "execution" (Action Graph).
        nodes: Folders of node types; their Python files run.

    Raises:
        ValueError: The path or the evaluator cannot be used.

    Example:
        >>> from pxr import Usd
        >>> stage = Usd.Stage.CreateInMemory()
        >>> graph = wp.nodes.GraphBuilder(stage, "/Graph")
        >>> clock = graph.node("clock", "omni.graph.nodes.ReadTime")
        >>> kernel = graph.node("double", "omni.warp_core.Kernel", codeStr='''
        ... @wp.kernel
        ... def double(time: float, twice: wp.array[float]):
        ...     twice[0] = 2.0 * time
        ... ''')
        >>> graph.attribute(kernel, "inputs:time", "double")
        '/Graph/double.inputs:time'
        >>> graph.attribute(kernel, "outputs:twice", "float[]")
        '/Graph/double.outputs:twice'
        >>> graph.connect("/Graph/clock.outputs:time", "/Graph/double.inputs:time")
        >>> with wp.usd.play(stage, frames=(0, 48), fps=24, trust=True) as player:
        ...     player.play(13)
        ...     player.get("/Graph/double.outputs:twice").tolist()
        [1.0]
    """

    def __init__(self, stage: Usd.Stage, path: str, evaluator: str = "push", nodes: Sequence[str] = ()):
        if evaluator not in EVALUATORS:
            raise ValueError(f"evaluator {evaluator!r} is not one of {', '.join(EVALUATORS)}")
        if not Sdf.Path.IsValidPathString(path) or not Sdf.Path(path).IsPrimPath() or not path.startswith("/"):
            raise ValueError(f"{path!r} is not the path of a prim, such as /Graph")
        self.stage, self.path = stage, path
        self._registry = node_registry.standard()
        for folder in nodes:
            node_folders.add_folder(self._registry, Path(folder), _refuse)
        prim = stage.DefinePrim(path, "OmniGraph")
        _author(prim, "evaluator:type", "token", evaluator, custom=False)

    @classmethod
    def over(cls, stage: Usd.Stage, path: str, registry: node_registry.Registry) -> GraphBuilder:
        """Return a builder that extends the graph at `path` and leaves its evaluator as it is."""
        builder = cls.__new__(cls)
        builder.stage, builder.path, builder._registry = stage, path, registry
        return builder

    def node(self, name: str, type_name: str, /, **values: Any) -> str:
        """Add a node and return its path.

        Args:
            name: Name of the prim.
            type_name: The node type, as in "omni.graph.nodes.ReadTime".
            values: Values of its inputs, by name; `set` sets those whose names are no Python names.

        Raises:
            ValueError: There is no such type or input, a value does not fit, or the name is taken.
        """
        node_type = self._registry.find(type_name)
        if node_type is None:
            raise ValueError(f"there is no node type {type_name!r}" + did_you_mean(self._registry.nearest(type_name)))
        if not Sdf.Path.IsValidIdentifier(name):
            raise ValueError(f"{name!r} is not a name for a prim: letters, digits and _ only")
        path = f"{self.path}/{name}"
        if self.stage.GetPrimAtPath(path):
            raise ValueError(f"there is a prim {path} already; choose another name, or use set and attribute on it")
        prim = self.stage.DefinePrim(path, "OmniGraphNode")
        _author(prim, "node:type", "token", type_name, custom=False)
        _author(prim, "node:typeVersion", "int", node_type.spec.version, custom=False)
        with self._whole(path):
            for key, value in values.items():
                self.set(f"{path}.inputs:{key}", value)
        return path

    @contextmanager
    def _whole(self, path: str) -> Iterator[None]:
        """Make a node whole or not at all: an error removes it."""
        try:
            yield
        except ValueError:
            self.stage.RemovePrim(path)
            raise

    def attribute(self, node: str, name: str, kind: str, value: Any = None) -> str:
        """Add an attribute that the node type does not declare, such as a parameter of a kernel; return its path.

        It also gives a type to an attribute of type `any`.

        Args:
            node: Path of the node.
            name: Name with its port: "inputs:x", "outputs:y" or "state:z".
            kind: The type as in `.ogn` files ("pointf[3][]") or as in USD ("point3f[]", "asset").
            value: Its value; None leaves it to a connection, or to zero.

        Raises:
            ValueError: The name or the type cannot be used, or the value does not fit.
        """
        if not name.startswith(PORTS):
            raise ValueError(f"{name!r} must start with inputs:, outputs: or state:")
        prim = self._node(node)
        declared = from_sdf(kind) or parse(kind)
        if declared.is_bundle:
            kernel_attributes.add_bundle(prim, name)
        elif declared.sdf == "rel":
            prim.CreateRelationship(name, True)
        else:
            _create(prim, name, declared, kind if kind in HELD_AS_TOKENS else "")
        path = f"{node}.{name}"
        if value is not None:
            _assign(prim, name, declared, value)
        return path

    def kernel(
        self, name: str, code: str = "", /, preset: str = "", attributes: Mapping[str, str] | None = None, **values: Any
    ) -> str:
        """Add a Kernel node whose attributes follow from its kernels, and return its path. This runs the text.

        Args:
            name: Name of the prim.
            code: The text with the kernels.
            preset: Name of a text to start from, in place of `code`; `omni-warp presets` lists them. Or the path of
                a file that `save_preset` has written.
            attributes: Attributes that the parameters do not tell, as {"state:velocity": "vector3f[]"}: states,
                companions such as "inputs:grid:points", bundles as {"inputs:mesh": "bundle"}, and other types than
                the plainest one. Parameters such as `mesh_points` are then members of the bundle.
            values: Values of inputs, by name, also such as {"found:counter": "count"}, "found:length", "found:dims" and
                "found:optional".

        Raises:
            ValueError: The text has a mistake, a value does not fit, or the name is taken.

        Example:
            >>> from pxr import Usd
            >>> graph = wp.nodes.GraphBuilder(Usd.Stage.CreateInMemory(), "/Graph")
            >>> path = graph.kernel("twist", preset="twist", turns=2.0)
            >>> graph.stage.GetPrimAtPath(path).GetAttribute("outputs:twisted").GetTypeName()
            Sdf.ValueTypeName("point3f[]")
        """
        if bool(code) == bool(preset):
            raise ValueError("give either the code of the kernels or the name of a preset")
        start = kernel_presets.load(preset) if preset else None
        path = self.node(name, node_registry.KERNEL, codeStr=start.text if start else code)
        with self._whole(path):
            if start:
                self.prepare(path, start)
            for full, kind in {**kernel_attributes.companions(values), **(attributes or {})}.items():
                self.attribute(path, full, kind)
            self.fit(path)
            for key, value in values.items():
                self.set(f"{path}.inputs:{key}", value)
        return path

    def prepare(self, node: str, preset: kernel_presets.Preset) -> None:
        """Give a Kernel node the attributes that a preset lists. Its text is not set."""
        for full, kind, value in preset.attributes:
            if full not in _declared(self._registry.find(node_registry.KERNEL)):
                self.attribute(node, full, kind)
            if value is not None:
                self.set(f"{node}.{full}", value)

    def fit(self, node: str) -> list[Change]:
        """Fit the attributes of a Kernel node to its kernels: add, retype and remove. This runs the text of the node.

        Values and connections stay, by name, where the type of the attribute still takes them.

        Returns:
            The changes, with `kind` ("added", "removed", "retyped" or "kept"), `attribute`, `before` and `after`.

        Raises:
            ValueError: There is no such node, its text has a mistake, or the text is in a file.
        """
        prim, spec = self._kernel(node)
        code, kernels = (prim.GetAttribute(f"inputs:{name}").Get() for name in ("codeStr", "kernels"))
        if not code:
            raise ValueError(f"{node} has no inputs:codeStr to fit its attributes to")
        wanted = kernel_attributes.parameters(code, tuple(kernels or ()), f"{node}.inputs:codeStr")
        return kernel_attributes.fit(prim, spec, wanted)

    def save_preset(self, node: str, path: str | os.PathLike[str], use: bool = False) -> None:
        """Save the text and the attributes of a Kernel node as a file, for `kernel(preset=...)` in other graphs.

        Args:
            node: Path of the node.
            path: The file to write; its name ends in .py.
            use: From now on, the node runs the file, which it names relative to the layer of the stage.

        Raises:
            ValueError: There is no such node, its text is in a file already, or the name does not end in .py.
            OSError: The file cannot be written.

        Example:
            >>> import os, tempfile
            >>> from pxr import Usd
            >>> graph = wp.nodes.GraphBuilder(Usd.Stage.CreateInMemory(), "/Graph")
            >>> file = os.path.join(tempfile.mkdtemp(), "slow_twist.py")
            >>> graph.save_preset(graph.kernel("twist", preset="twist", turns=0.1), file)
            >>> again = graph.kernel("again", preset=file)
            >>> round(graph.stage.GetPrimAtPath(again).GetAttribute("inputs:turns").Get(), 3)
            0.1
        """
        prim, spec = self._kernel(node)
        file = os.fspath(path)
        if not file.endswith(kernel_presets.SUFFIX):
            raise ValueError(f"{file}: the name of a preset ends in {kernel_presets.SUFFIX}")
        write(file, kernel_presets.text_of(prim, spec).encode())
        if use:
            layer = layer_file(self.stage.GetRootLayer())
            shown = os.path.relpath(file, os.path.dirname(layer)) if layer else os.path.abspath(file)
            self.set(f"{node}.inputs:codeProvider", "file")
            self.set(f"{node}.inputs:codeFile", shown.replace(os.sep, "/"))
            prim.RemoveProperty("inputs:codeStr")

    def variable(self, name: str, kind: str, value: Any) -> None:
        """Give the graph a variable, which ReadVariable and WriteVariable find by its name.

        Raises:
            ValueError: The name or the type cannot be used, or the value does not fit.
        """
        declared = from_sdf(kind) or parse(kind)
        if not declared.is_plain or not Sdf.Path.IsValidIdentifier(name):
            raise ValueError(f"a variable {name!r} of type {kind} cannot be")
        try:
            held = to_usd(coerce(from_caller(value), declared), declared.sdf)
        except ValueTypeError as error:
            raise ValueError(f"variable {name} ({kind}): {error}") from None
        _create(self.stage.GetPrimAtPath(self.path), f"graph:variable:{name}", declared).Set(held)

    def set(self, path: str, value: Any) -> None:
        """Set an attribute of a node: a number, text, array, or a prim path or list of them for a target.

        An attribute of type `any` takes the type of the value: `2` is an int, `2.0` a double, `(1.0, 2.0)` a
        double[2], `[1.0, 2.0]` a double[], `np.float32(2)` a float. `attribute` names another type.

        Raises:
            ValueError: There is no such attribute, or the value does not fit its type.
        """
        prim, name, kind = self._find(path)
        _assign(prim, name, _literal_type(prim, name, kind, value) if kind.is_any else kind, value)

    def connect(self, source: str, target: str) -> None:
        """Connect an output, or a constant's input, to an input. An execution input may have several sources.

        Raises:
            ValueError: There is no such attribute, or the types do not fit.
        """
        _, _, given = self._find(source)
        prim, name, taken = self._find(target)
        if not name.startswith("inputs:"):
            raise ValueError(f"{target} is not an input")
        if converter(given, taken) is None:
            raise ValueError(f"{target} ({taken}) cannot take {source} ({given})")
        if taken.sdf == "rel":
            node, _, output = source.partition(".")
            link = Sdf.Path(node).AppendProperty(output.replace(":", "_", 1))  # the form that Kit has for bundles
            prim.CreateRelationship(name, True).SetTargets([link if given.is_bundle else Sdf.Path(source)])
            return
        input_ = _create(prim, name, taken)
        if taken.is_execution:
            input_.AddConnection(source)
        else:
            input_.SetConnections([source])

    def _node(self, path: str) -> Usd.Prim:
        prim = self.stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path) else None
        if not prim or prim.GetTypeName() != "OmniGraphNode":
            children = self.stage.GetPrimAtPath(self.path).GetChildrenNames()
            near = nearest(path, [f"{self.path}/{name}" for name in children])
            raise ValueError(f"there is no node {path}" + did_you_mean(near))
        return prim

    def _kernel(self, path: str) -> tuple[Usd.Prim, NodeSpec]:
        """Return a Kernel node with its description. Raises ValueError."""
        prim = self._node(path)
        found = self._registry.find(prim.GetAttribute("node:type").Get() or "")
        if found is None or found.spec.name != node_registry.KERNEL:
            raise ValueError(f"{path} is not a Kernel node")
        return prim, found.spec

    def _find(self, path: str) -> tuple[Usd.Prim, str, AttributeType]:
        node, _, name = path.partition(".")
        prim = self._node(node)
        declared = _declared(self._registry.find(prim.GetAttribute("node:type").Get() or "")).get(name)
        if declared is not None:
            return prim, name, declared.type
        authored = property_of(prim, name)
        if isinstance(authored, Usd.Relationship) and authored:
            return prim, name, relationship_type(authored)
        kind = from_sdf(str(authored.GetTypeName())) if authored else None
        if kind is None:
            known = _declared(self._registry.find(prim.GetAttribute("node:type").Get() or ""))
            names = {*known, *_added(prim)}
            is_numbered = name.startswith("inputs:") and name[-1].isdigit()  # one more input of a node that takes many
            is_part = name.rpartition(":")[0] in names  # of a structure, as inputs:mesh:points is
            near = () if is_numbered or is_part else similar(name, names) or nearest(name, names)
            more = f'graph.attribute("{node}", "{name}", "double") adds one that the node type does not declare'
            raise ValueError(f"the node {node} has no attribute {name!r}" + (did_you_mean(near) or f"; {more}"))
        return prim, name, kind


def _added(prim: Usd.Prim) -> list[str]:
    return [name for name in prim.GetAuthoredPropertyNames() if name.startswith(PORTS)]


def _declared(node_type: NodeType | None) -> dict[str, AttributeSpec]:
    return node_type.spec.attributes if node_type is not None else {}


def _author(prim: Usd.Prim, name: str, kind: str, value: Any, custom: bool) -> None:
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Find(kind), custom).Set(value)


def _create(prim: Usd.Prim, name: str, kind: AttributeType, sdf: str = "") -> Usd.Attribute:
    """Return an attribute; the call makes a missing one. Where it is of a type that is held as tokens, it stays so."""
    present = str(prim.GetAttribute(name).GetTypeName()) if prim.HasAttribute(name) else ""
    is_held = kind.is_text and kind.is_array == present.endswith("[]") and present in HELD_AS_TOKENS
    attribute = prim.CreateAttribute(name, Sdf.ValueTypeNames.Find(present if is_held else sdf or kind.sdf), True)
    if kind.is_execution:
        attribute.SetCustomDataByKey("isExecution", True)
    return attribute


def _assign(prim: Usd.Prim, name: str, kind: AttributeType, value: Any) -> None:
    """Set an attribute or a relationship of a node. Raises ValueError."""
    if kind.is_paths:
        targets = [value] if isinstance(value, str) else list(value)
        prim.CreateRelationship(name, True).SetTargets([Sdf.Path(target) for target in targets])
        return
    try:
        attribute = _create(prim, name, kind)
        attribute.Set(to_usd(coerce(from_caller(value), kind), str(attribute.GetTypeName())))
    except ValueTypeError as error:
        raise ValueError(f"{prim.GetPath()}.{name} ({kind}): {error}") from None


def _literal_type(prim: Usd.Prim, name: str, declared: AttributeType, value: Any) -> AttributeType:
    """Return the type for a value of an attribute whose type is open: what it has, else that of the value."""
    authored = prim.GetAttribute(name)
    held = from_sdf(str(authored.GetTypeName())) if authored and authored.HasAuthoredValue() else None
    kind = held or type_of_literal(value)
    if kind is None or arriving(kind, declared) is None:
        found = f"the type of {value!r} is not clear" if kind is None else f"{value!r} is of type {kind}"
        hint = f'name its type: graph.attribute("{prim.GetPath()}", "{name}", "float[3]", value)'
        raise ValueError(f"{prim.GetPath()}.{name} ({type_words(declared)}): {found}; {hint}")
    return kind


def _refuse(where: str, text: str) -> None:
    raise ValueError(f"{where}: {text}")
