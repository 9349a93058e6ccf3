"""Consent to run the code in a scene. A kernel's text is a Python program: it runs only after the user agreed.

Consent is for exactly one content: what is remembered is the SHA-256 of each text, in the user's settings. A text that
changes by one character, or comes from another file of other content, has to be agreed to anew.
"""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

from pxr import Usd

from ...usd.stage import StageError, layer_file
from ..graph.attribute import Attribute, GraphError
from ..graph.node_graph import Node
from ..kernel import code_file, consented_code
from ..stock import node_registry
from ..stock.node_registry import KERNEL, SCRIPT
from .graph_loader import Loaded, beside_scene

_TEXTS = ("inputs:codeStr", "inputs:script")


@dataclass(frozen=True)
class Code:
    """The program one node carries: which node, where the text stands, the text, and the other `files` it reads.

    `is_inside` is False for a text from outside of the scene's folder, which must not be shown.
    """

    node: str
    origin: str
    text: str
    is_inside: bool = True
    files: tuple[tuple[str, str], ...] = ()  # input and path

    @cached_property
    def data(self) -> bytes:
        """The text as bytes: those of the file where it comes from one."""
        return self.text.encode("utf-8", "surrogatepass")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes in hexadecimal, and of the paths of other files if there are any."""
        listed = "".join(f"\0{name}={path}" for name, path in self.files)
        return consented_code.digest(self.text + listed)


def collect(loaded: Loaded, stage: Usd.Stage) -> list[Code]:
    """The programs of all nodes. A text that cannot be had is told, and its node does not run."""
    found = []
    for node in loaded.nodes():
        if node.type is None or node.type.spec.name not in (KERNEL, SCRIPT):
            continue
        try:
            found.append(replace(_code_of(node, stage), files=_files_of(node, stage)))
        except (GraphError, StageError) as error:
            node.disabled = str(error)
            node.host.log.error(node.path, str(error))
    return found


def _code_of(node: Node, stage: Usd.Stage) -> Code:
    if node.type is not None and node.type.spec.name == SCRIPT:
        uses_path = node.attributes["inputs:usePath"]
        if uses_path.sources:
            raise GraphError("inputs:usePath is connected; the player runs only code that is written in the scene")
        text, file, is_file = "inputs:script", "inputs:scriptPath", bool(uses_path.value)
    else:
        provider = _fixed(node.attributes["inputs:codeProvider"])
        if provider not in ("embedded", "file"):
            raise GraphError(f"inputs:codeProvider is {provider!r}; it must be 'embedded' or 'file'")
        text, file, is_file = "inputs:codeStr", "inputs:codeFile", provider == "file"
    return _code_in_file(node, file, stage) if is_file else Code(node.path, text, _fixed(node.attributes[text]))


def _code_in_file(node: Node, attribute: str, stage: Usd.Stage) -> Code:
    """Return the program in the file that an attribute names. Raises GraphError."""
    name = _fixed(node.attributes[attribute])
    path = beside_scene(stage, node.path, attribute, name) if name else ""
    try:
        file = code_file.read(path, os.path.dirname(layer_file(stage.GetRootLayer())))
    except GraphError as error:
        raise GraphError(f"{attribute} {name!r} cannot be read ({path or 'it is empty'}): {error}") from None
    return Code(node.path, path, file.text, file.is_inside)


def _files_of(node: Node, stage: Usd.Stage) -> tuple[tuple[str, str], ...]:
    """The inputs of a node that name files for its kernel, such as volumes, each with the path."""
    inputs = [a for a in node.on("inputs") if a.spec is None and a.name.endswith(":file") and a.type.is_text]
    return tuple((a.base_name.replace(":", "_"), beside_scene(stage, node.path, a.name, _fixed(a))) for a in inputs)


def _fixed(attribute: Attribute) -> str:
    """The value of an input that says what code runs: it must not be computed while the scene plays."""
    source = attribute
    while source.sources:
        source = source.sources[0]
        if source.port != "inputs" or source.type.is_execution:
            raise GraphError(
                f"{attribute.name} is computed by {source.path}; the player runs only code that is written in the scene"
            )
    attribute.pull()
    return attribute.value


def remember(codes: list[Code]) -> str:
    """Keep the consent to these texts; return the file it is kept in. Raises OSError."""
    return consented_code.remember(code.digest for code in codes)


def agreed_before() -> set[str]:
    """Return the digests that need no question: those that are remembered, and texts that new nodes have.

    A new node has an empty text or the one of its description, which is part of this package.
    """
    registry = node_registry.standard()
    types = [node_type for name in (KERNEL, SCRIPT) if (node_type := registry.find(name)) is not None]
    specs = [spec for node_type in types for name in _TEXTS if (spec := node_type.spec.attributes.get(name))]
    return consented_code.remembered() | {consented_code.digest(text) for text in ("", *(s.default for s in specs))}


def missing(codes: list[Code], agreed: Set[str] = frozenset()) -> list[Code]:
    """Return the codes without consent. `agreed` are digests of more texts that may run."""
    known = agreed_before() | agreed
    return [code for code in codes if code.digest not in known]
