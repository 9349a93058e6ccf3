"""Reading and checking `.ogn` files: the JSON that describes a node type.

`read` gives the `NodeSpec` of a file or raises `OgnError` with every problem found, each with the path of its key. Keys
starting with `$` are comments at every level. The tables of keys are in ogn_schema.py.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..values.attribute_types import AttributeType, TypeNameError, parse, parse_union
from ..values.attribute_values import Value, ValueTypeError, coerce, zero
from . import categories
from .ogn_schema import ATTRIBUTE_KEYS, HINTS, LANGUAGES, NODE_KEYS, texts
from .value_limits import coerce_limit, is_beyond

PORTS = ("inputs", "outputs", "state")
NODE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
ATTRIBUTE_NAME = re.compile(r"(?:(?:inputs|outputs|state):)?(?P<name>[A-Za-z_][A-Za-z0-9_:.]*)")
TOKEN_NAME = re.compile(r"[A-Za-z_]\w*")


class OgnError(ValueError):
    """A description that cannot be used; `problems` lists everything that is wrong with it."""

    def __init__(self, where: str, problems: list[str]):
        self.where, self.problems = where, problems
        super().__init__("\n".join([f"{where} is not a usable node description:", *(f"  {p}" for p in problems)]))


@dataclass(frozen=True)
class AttributeSpec:
    """One attribute of a node type. `name` carries its port: "inputs:time".

    `memory` is where the node class wants arrays: cpu, cuda, or any for where they lie.
    """

    name: str
    type: AttributeType
    default: Value
    description: str = ""
    optional: bool = False
    minimum: Any = None
    maximum: Any = None
    allowed_tokens: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    memory: str = "cpu"

    @property
    def port(self) -> str:
        """The side of the node it is on: inputs, outputs or state."""
        return self.name.partition(":")[0]

    @property
    def has_limits(self) -> bool:
        """True if not all values of its type are meant."""
        return bool(self.allowed_tokens) or self.minimum is not None or self.maximum is not None


@dataclass(frozen=True)
class NodeSpec:
    """The contents of a `.ogn` file about a node type. `name` is complete: "omni.warp_core.Kernel"."""

    name: str
    version: int
    description: str
    attributes: dict[str, AttributeSpec]
    ui_name: str = ""
    categories: tuple[str, ...] = ()
    scheduling: tuple[str, ...] = ()
    tokens: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    tests: tuple[Any, ...] = ()

    @property
    def is_execution(self) -> bool:
        """True if execution connections run nodes of this type."""
        return any(a.type.is_execution for a in self.attributes.values())

    @property
    def is_event(self) -> bool:
        """True if nodes of this type start a chain: execution outputs, no execution input, named On..."""
        ports = {a.port for a in self.attributes.values() if a.type.is_execution}
        return ports == {"outputs"} and self.name.rpartition(".")[2].startswith("On")


def _items(mapping: dict) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in mapping.items() if not key.startswith("$"))


def _words(value: Any) -> tuple[str, ...]:
    parts = re.split(r"[,\s]+", value) if isinstance(value, str) else value
    return tuple(str(p) for p in parts if p)


def _joined(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(value)


def _metadata(mapping: Any) -> dict[str, str]:
    out = {}
    for key, value in _items(mapping if isinstance(mapping, dict) else {}):
        parts = value.values() if isinstance(value, dict) else value
        out[key] = value if isinstance(value, str) else ",".join(map(str, parts)) if _is_many(parts) else str(value)
    return out


def _is_many(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str)


class _Reader:
    """Turns one description into a NodeSpec, collecting problems on the way."""

    def __init__(self, base: Path | None):
        self.base = base
        self.problems: list[str] = []
        self.allowed: dict[str, str] = {}  # tokens that the attributes of the node allow

    def problem(self, where: str, what: str) -> None:
        self.problems.append(f"{where}: {what}")

    def keys(self, where: str, given: dict, table: dict, strict: bool) -> None:
        for key, value in _items(given):
            if key in table:
                wrong = table[key](value)
                if wrong:
                    self.problem(f"{where}.{key}", wrong)
            elif strict:
                self.problem(f"{where}.{key}", f"unknown key; known are {', '.join(table)}")
        if "description" not in given:
            self.problem(where, "description is missing")

    def node(self, name: str, body: Any, prefix: str) -> NodeSpec | None:
        if not NODE_NAME.fullmatch(name):
            self.problem(name, "not a node name: letters, digits, _ and . only")
        if not isinstance(body, dict):
            self.problem(name, "must be an object")
            return None
        self.keys(name, body, NODE_KEYS, strict=False)
        if LANGUAGES.get(str(body.get("language"))) != "Python":
            self.problem(f"{name}.language", 'must be "Python": nodes of this package are written in Python')
        if body.get("memoryType", "cpu") != "cpu" and "cudaPointers" not in body:
            self.problem(f"{name}.memoryType", "anything but cpu needs cudaPointers too")
        hints = self.scheduling(name, body.get("scheduling", ""))
        defined = body.get("categoryDefinitions", {})
        for text in categories.problems_of(body.get("categories", ""), defined, self.base):
            self.problem(f"{name}.categories", text)
        tokens = self.tokens(f"{name}.tokens", body.get("tokens", {}))
        self.allowed = {}
        attributes = self.attributes(name, body)
        if self.problems:
            return None
        return NodeSpec(
            name=name if "." in name or not prefix else f"{prefix}.{name}",
            version=body.get("version", 1),
            description=_joined(body["description"]),
            attributes=attributes,
            ui_name=body.get("uiName", name.rpartition(".")[2]),
            categories=tuple(categories.names(body.get("categories", ""))),
            scheduling=hints,
            tokens={**self.allowed, **tokens},
            metadata=_metadata(body.get("metadata")),
            tests=tuple(body.get("tests", ())),
        )

    def scheduling(self, name: str, value: Any) -> tuple[str, ...]:
        if texts(value):
            return ()
        hints = tuple(word.lower() for word in _words(value))
        where = f"{name}.scheduling"
        for hint in hints:
            if hint not in HINTS:
                self.problem(where, f"unknown hint {hint!r}")
        families = [hint.partition("-")[0] for hint in hints]
        for family in sorted({f for f in families if families.count(f) > 1}):
            self.problem(where, f"at most one hint of {family}")
        if "threadsafe" in hints and {"topology", "topology-write", "pure"} & set(hints):
            self.problem(where, "threadsafe conflicts with topology, topology-write and pure")
        return hints

    def tokens(self, where: str, value: Any) -> dict[str, str]:
        """Token names with their values, from a comma string, a list or an object."""
        if isinstance(value, dict):
            pairs = {key: str(text) for key, text in _items(value)}
        elif isinstance(value, (str, list)):
            parts = value.split(",") if isinstance(value, str) else value
            pairs = {str(p).strip(): str(p).strip() for p in parts if str(p).strip()}
        else:
            return {}
        for key in pairs:
            if not TOKEN_NAME.fullmatch(key) and isinstance(value, dict):
                self.problem(where, f"{key!r} is not a name")
        return pairs

    def attributes(self, node: str, body: dict) -> dict[str, AttributeSpec]:
        found: dict[str, AttributeSpec] = {}
        memory = body.get("memoryType", "cpu")
        for port in PORTS:
            section = body.get(port, {})
            for key, entry in _items(section if isinstance(section, dict) else {}):
                spec = self.attribute(f"{node}.{port}.{key}", port, key, entry, memory)
                if spec is None:
                    continue
                if spec.name in found:
                    self.problem(f"{node}.{port}.{key}", "declared twice")
                found[spec.name] = spec
        return found

    def attribute(self, where: str, port: str, key: str, entry: Any, memory: str) -> AttributeSpec | None:
        match = ATTRIBUTE_NAME.fullmatch(key)
        if not match:
            self.problem(where, "not an attribute name: letters, digits, _ : and . only")
            return None
        if keyword.iskeyword(match["name"]):
            self.problem(where, "a Python keyword cannot be an attribute name")
        if not isinstance(entry, dict):
            self.problem(where, "must be an object")
            return None
        before = len(self.problems)
        self.keys(where, entry, ATTRIBUTE_KEYS, strict=True)
        if "type" not in entry:
            self.problem(where, "type is missing")
        if len(self.problems) > before:
            return None
        try:
            kind = parse(entry["type"]) if isinstance(entry["type"], str) else parse_union(entry["type"])
        except TypeNameError as error:
            self.problem(f"{where}.type", str(error))
            return None
        tokens = self.allowed_tokens(where, kind, entry)
        return AttributeSpec(
            name=f"{port}:{match['name']}",
            type=kind,
            default=self.default(where, kind, entry, tokens),
            description=_joined(entry["description"]),
            optional=entry.get("optional", False),
            minimum=entry.get("minimum"),
            maximum=entry.get("maximum"),
            allowed_tokens=tuple(tokens.values()),
            metadata=_metadata(entry.get("metadata")),
            memory=entry.get("memoryType", memory),
        )

    def allowed_tokens(self, where: str, kind: AttributeType, entry: dict) -> dict[str, str]:
        metadata = entry.get("metadata", {})
        if "allowedTokens" in entry and "allowedTokens" in metadata:
            self.problem(where, "allowedTokens stands here and in metadata; give it once")
        given = entry.get("allowedTokens", metadata.get("allowedTokens"))
        if given is None:
            return {}
        if kind.base != "token":
            self.problem(f"{where}.allowedTokens", f"only for tokens, not for {kind}")
        tokens = self.tokens(f"{where}.allowedTokens", given)
        self.allowed |= tokens
        return tokens

    def limit(self, where: str, kind: AttributeType, given: Any) -> bool:
        """True if a minimum or maximum fits its attribute; tells the problem otherwise."""
        try:
            coerce_limit(given, kind)
        except ValueTypeError as error:
            self.problem(where, str(error))
            return False
        return True

    def default(self, where: str, kind: AttributeType, entry: dict, tokens: dict[str, str]) -> Value:
        limits = [key for key in ("minimum", "maximum") if key in entry]
        if limits and not kind.is_numeric:
            self.problem(f"{where}.{limits[0]}", f"only for numbers, not for {kind}")
            return None
        are_good = [self.limit(f"{where}.{key}", kind, entry[key]) for key in limits]
        if not all(are_good):
            return None
        if "default" not in entry:
            return zero(kind)
        if kind.is_any or kind.is_paths or kind.is_bundle:
            self.problem(f"{where}.default", f"{kind} cannot have a default")
            return None
        given = entry["default"]
        if tokens and not kind.is_array:
            given = tokens.get(given, given) if isinstance(given, str) else given
            if given not in tokens.values():
                self.problem(f"{where}.default", f"{given!r} is not among the allowed tokens")
        try:
            value = coerce(given, kind)
            for key in limits:
                if is_beyond(key, entry[key], kind, value):
                    self.problem(f"{where}.default", f"{given} lies beyond the {key} {entry[key]}")
        except ValueTypeError as error:
            self.problem(f"{where}.default", str(error))
            return None
        return value


def _one_key(pairs: list[tuple[str, Any]]) -> dict:
    """Objects of a `.ogn`, refusing a key given twice, of which JSON would keep the last in silence."""
    out: dict = {}
    for key, value in pairs:
        if key in out and not key.startswith("$"):
            raise ValueError(f"the key {key!r} is given twice")
        out[key] = value
    return out


def from_json(text: str, where: str = "<ogn>", prefix: str = "", base: Path | None = None) -> NodeSpec:
    """The node type described by JSON `text`; `prefix` is put before a name without dots. Raises OgnError."""
    try:
        root = json.loads(text, object_pairs_hook=_one_key)
    except (ValueError, RecursionError) as error:
        raise OgnError(where, [f"is not JSON that can be read: {error}"]) from None
    return from_dict(root, where, prefix, base)


def from_dict(root: Any, where: str = "<ogn>", prefix: str = "", base: Path | None = None) -> NodeSpec:
    """The node type described by the parsed content of a `.ogn` file. Raises OgnError."""
    entries = list(_items(root)) if isinstance(root, dict) else []
    if len(entries) != 1:
        raise OgnError(where, [f"must be an object with one key, the name of the node; it has {len(entries)}"])
    reader = _Reader(base)
    spec = reader.node(*entries[0], prefix)
    if spec is None:
        raise OgnError(where, reader.problems)
    return spec


def read(path: Path, prefix: str = "") -> NodeSpec:
    """The node type described by the file at `path`. Raises OgnError, also when the file cannot be read."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OgnError(str(path), [str(error)]) from None
    return from_json(text, str(path), prefix, path.parent)
