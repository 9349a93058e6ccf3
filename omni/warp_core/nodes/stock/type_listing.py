"""Node types as rows of tables: for the command `omni-warp nodes` and for docs/node-types.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ogn.ogn_spec import AttributeSpec, NodeSpec
from .node_registry import Registry

MANY_TOKENS = 8  # a list of more allowed tokens is cut off


def find(registry: Registry, text: str) -> list[NodeSpec]:
    """The types that a user means by `text`: with that name, else with that last part, else with `text` inside."""
    exact = registry.find(text)
    if exact is not None:
        return [exact.spec]
    wanted = text.lower()
    specs = all_specs(registry)
    last = [spec for spec in specs if spec.name.rpartition(".")[2].lower() == wanted]
    return last or [spec for spec in specs if wanted in spec.name.lower()]


def all_specs(registry: Registry) -> list[NodeSpec]:
    """All types, by name; without the older forms of a type, which are registered after it."""
    specs = {node_type.spec.name: node_type.spec for node_type in reversed([*registry])}
    return sorted(specs.values(), key=lambda spec: spec.name.lower())


def short_names(registry: Registry) -> list[str]:
    """The last parts of the names of all types."""
    return [spec.name.rpartition(".")[2] for spec in all_specs(registry)]


def first_sentence(spec: NodeSpec) -> str:
    """The begin of the description."""
    return spec.description.partition(". ")[0].rstrip(".")


def limits(spec: NodeSpec) -> str:
    """What differs from Kit, "" if nothing is known to."""
    return spec.metadata.get("limits", "")


def type_name(attribute: AttributeSpec) -> str:
    """The type, "any" where it is found out at run time."""
    return "any" if attribute.type.is_any else str(attribute.type)


def attributes(spec: NodeSpec, port: str) -> list[AttributeSpec]:
    """The attributes of one port, as declared."""
    return [attribute for attribute in spec.attributes.values() if attribute.port == port]


def attribute_rows(spec: NodeSpec) -> list[tuple[str, str, str, str]]:
    """Name, type, default and description of each attribute."""
    return [
        (attribute.name, type_name(attribute), _default(attribute), _description(attribute))
        for attribute in spec.attributes.values()
    ]


def _default(attribute: AttributeSpec) -> str:
    if not has_default(attribute):
        return ""
    value = shown_default(attribute)
    if isinstance(value, bool):
        return str(value).lower()  # as in a .usda
    return str(list(value) if isinstance(value, tuple) else value)


def has_default(attribute: AttributeSpec) -> bool:
    """True if an attribute has a default that says something: an input whose values USD can hold."""
    return attribute.port == "inputs" and attribute.type.is_plain


def shown_default(attribute: AttributeSpec) -> Any:
    """Return a default as people write it: 0.2, where a float holds 0.20000000298."""
    value, kind = attribute.default, attribute.type
    if kind.is_numeric and kind.dtype in (np.float16, np.float32):
        return np.asarray(value, kind.dtype).astype(str).astype(np.float64).tolist()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _description(attribute: AttributeSpec) -> str:
    tokens = attribute.allowed_tokens
    more = f", and {len(tokens) - MANY_TOKENS} more" if len(tokens) > MANY_TOKENS else ""
    listed = f" ({', '.join(tokens[:MANY_TOKENS])}{more})" if tokens else ""
    return attribute.description + listed
