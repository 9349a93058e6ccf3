"""Strings, tokens and paths. The result has the type of the first text, string or token."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from .declaration import attribute, data_node, untyped
from .operands import Inputs, Typed, bounded, repeated, typed

_TEXT = "A string or a token"
_TEXTS = "A string, a token, or an array of tokens"


def _texts(inputs: Inputs, *names: str) -> list[Typed]:
    return [_require_text(inputs[name]) for name in names]


def _require_text(operand: Typed) -> Typed:
    if operand.type.is_text:
        return operand
    raise GraphError(f"{operand.name} is of type {operand.type}; it must be a text (ToString makes one)")


def _text(inputs: Inputs, name: str) -> str:
    (operand,) = _texts(inputs, name)
    if operand.type.is_array:
        raise GraphError(f"{operand.name} is of type {operand.type}; the node takes one text")
    return operand.value


def _edited(function: Callable[[Inputs, str], str]) -> Callable[[Inputs], Typed]:
    """The function of a node that edits the text in `inputs:string`."""

    def compute(inputs: Inputs) -> Typed:
        return Typed(function(inputs, _text(inputs, "string")), inputs["string"].type)

    return compute


# -- joining and splitting --------------------------------------------------------------------------------------------


def _concatenate(operands: list[Typed]) -> Typed:
    parts = repeated(*operands)
    bounded(sum(len(text) for part in parts for text in part), operands[0].name)
    out = reduce(np.add, parts)
    if any(operand.type.is_array for operand in operands):
        return typed(tuple(out), "token[]")
    return Typed(out[0], operands[0].type)


def _build(inputs: Inputs) -> Typed:
    return _concatenate([*_texts(inputs, "a", "b"), *map(_require_text, inputs.dynamic())])


def _append(inputs: Inputs) -> Typed:
    return _concatenate(_texts(inputs, "value", "suffix"))


def _join(inputs: Inputs) -> Typed:
    elements, delimiter = inputs["elements"].value, inputs["delimiter"].value
    bounded(sum(map(len, elements)) + len(delimiter) * len(elements), "inputs:elements")
    return typed(delimiter.join(elements), "string")


def _split(inputs: Inputs) -> Typed:
    text, delimiter = inputs["string"].value, inputs["delimiter"].value
    return typed(tuple(text.split(delimiter) if delimiter else text), "token[]")


# -- parts of a text --------------------------------------------------------------------------------------------------


def _span(inputs: Inputs, text: str) -> tuple[int, int]:
    """Begin and end of the characters that index and count name. Raises GraphError."""
    index, count = inputs["index"].value, inputs["count"].value
    if not -len(text) <= index < max(len(text), 1):
        raise GraphError(f"inputs:index is {index}, and inputs:string has {len(text)} characters")
    start = index % len(text) if text else 0
    return start, len(text) if count < 0 else min(start + count, len(text))


@_edited
def _part(inputs: Inputs, text: str) -> str:
    start, end = _span(inputs, text)
    return text[start:end]


@_edited
def _remove(inputs: Inputs, text: str) -> str:
    start, end = _span(inputs, text)
    return text[:start] + text[end:]


@_edited
def _insert(inputs: Inputs, text: str) -> str:
    index, value = min(max(inputs["index"].value, 0), len(text)), _text(inputs, "value")
    bounded(len(text) + len(value), "inputs:value")
    return text[:index] + value + text[index:]


@_edited
def _replace(inputs: Inputs, text: str) -> str:
    old, new = _text(inputs, "replace"), _text(inputs, "value")
    if not old:
        raise GraphError("inputs:replace is empty; it is the text to replace")
    count = text.count(old) if inputs["replaceAll"].value else 1
    bounded(len(text) + count * len(new), "inputs:value")
    return text.replace(old, new, count)


def _find(inputs: Inputs) -> Typed:
    return typed(_text(inputs, "string").find(_text(inputs, "value"), max(inputs["pos"].value, 0)), "int")


_CASES: dict[str, Callable[[str], str]] = {
    "UpperCase": str.upper,
    "LowerCase": str.lower,
    "Capitalize": str.capitalize,
    "Title": str.title,
}


def _capitalize(inputs: Inputs) -> Typed:
    (operand,), case = _texts(inputs, "string"), inputs.choice("operation", _CASES)
    return _mapped(operand, case)


def _mapped(operand: Typed, function: Callable[[str], str]) -> Typed:
    texts = operand.value if operand.type.is_array else (operand.value,)
    out = tuple(map(function, texts))
    return Typed(out if operand.type.is_array else out[0], operand.type)


# -- paths ------------------------------------------------------------------------------------------------------------


def _append_path(inputs: Inputs) -> Typed:
    suffix = inputs["suffix"].value
    if suffix.startswith("/"):
        raise GraphError(f"inputs:suffix is {suffix!r}; it must be a relative path, such as Cube or Cube.size")
    (paths,) = _texts(inputs, "path")
    return _mapped(paths, lambda path: f"{path.rstrip('/')}/{suffix}" if suffix else path)


def _parent(path: str) -> str:
    """The path of the prim above; that of a property is its prim."""
    prim, dot, _ = path.partition(".")
    return prim if dot else path.rpartition("/")[0] or ("/" if path.startswith("/") else "")


# -- declarations -----------------------------------------------------------------------------------------------------

_STRING, _OUT = untyped(_TEXT, "string"), untyped("The text", "string")
_VALUE = untyped(_TEXT, "value")
_SPAN = {
    "index": attribute("int", "Where it begins; negative ones count from the end", 0),
    "count": attribute("int", "How many characters; -1 means to the end", -1),
}
_INDEX = {"index": attribute("int", "Where it goes, within the text", 0)}
_ALL = {"replaceAll": attribute("bool", "Whether to replace it everywhere, not only the first time", False)}
_POS = {"pos": attribute("int", "Where the search begins", 0)}
_CASE = {"operation": attribute("token", "What to do", "UpperCase", ",".join(_CASES))}
_DELIMITER = {"delimiter": attribute("string", "The text between elements")}
_ELEMENTS = {"elements": attribute("token[]", "The elements")}
_PLAIN = {"string": attribute("string", "The text")}
_FOUND = {"index": attribute("int", "Where it is, -1 if it is nowhere")}
_SUFFIX = {"suffix": attribute("token", "A relative path")}

# Name, version, description, inputs, outputs, function of the node.
_ROWS = (
    ("BuildString", 2, "All inputs in a row. Further inputs (input2, input3, ...) count too.",
     untyped(_TEXTS, "a", "b"), untyped(_TEXTS, "value"), _build),
    ("AppendString", 1, "A text with another one behind it", untyped(_TEXTS, "value", "suffix"),
     untyped(_TEXTS, "value"), _append),
    ("JoinString", 1, "Elements in a row, with a text between them", _ELEMENTS | _DELIMITER, _PLAIN, _join),
    ("SplitString", 1, "The parts between delimiters; all characters without delimiter", _PLAIN | _DELIMITER, _ELEMENTS,
     _split),
    ("GetString", 1, "A part of a text", _STRING | _SPAN, _OUT, _part),
    ("RemoveString", 1, "A text without a part", _STRING | _SPAN, _OUT, _remove),
    ("InsertString", 1, "A text with another one inside", _STRING | _VALUE | _INDEX, _OUT, _insert),
    ("ReplaceString", 1, "A text with a part replaced", _STRING | untyped(_TEXT, "replace", "value") | _ALL, _OUT,
     _replace),
    ("FindString", 1, "Where a text contains another one", _STRING | _VALUE | _POS, _FOUND, _find),
    ("CapitalizeString", 1, "A text in upper or lower case", untyped(_TEXTS, "string") | _CASE,
     untyped(_TEXTS, "string"), _capitalize),
    ("GetStringLength", 1, "The number of characters", _STRING, {"length": attribute("int", "The number")},
     lambda inputs: typed(len(_text(inputs, "string")), "int")),
    ("StartsWith", 1, "Whether a text begins with another one",
     {"value": attribute("string", "The text"), "prefix": attribute("string", "Its possible begin")},
     {"isPrefix": attribute("bool", "True if it does")},
     lambda inputs: typed(inputs["value"].value.startswith(inputs["prefix"].value), "bool")),
    ("EndsWith", 1, "Whether a text ends with another one",
     {"value": attribute("string", "The text"), "suffix": attribute("string", "Its possible end")},
     {"isSuffix": attribute("bool", "True if it does")},
     lambda inputs: typed(inputs["value"].value.endswith(inputs["suffix"].value), "bool")),
    ("AppendPath", 1, "A path below another one", untyped("A path, or an array of them", "path") | _SUFFIX,
     untyped("The path, or an array of them", "path"), _append_path),
    ("GetParentPath", 1, "The path above another one", untyped("A path, or an array of them", "path"),
     untyped("The path, or an array of them", "parentPath"),
     lambda inputs: _mapped(_texts(inputs, "path")[0], _parent)),
)  # fmt: skip

TYPES: list[NodeType] = [data_node(*row) for row in _ROWS]
