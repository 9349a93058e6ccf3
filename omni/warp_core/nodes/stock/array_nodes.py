"""Arrays: making, reading and editing them. Strings count as arrays of their characters.

Nothing is changed in place: an output is a new array, or a view of an input.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from ..values.attribute_types import AttributeType, parse
from ..values.attribute_values import zero
from .declaration import attribute, data_node, untyped
from .operands import Inputs, Typed, array_of, bounded, converted, pack, rows, typed

_ARRAY = "An array, or a string"
_ARRAY_TYPES = (
    "bool[],double[],float[],half[],int[],int64[],token[],uchar[],uint[],uint64[],"
    "double[2][],double[3][],double[4][],matrixd[3][],matrixd[4][],float[2][],float[3][],float[4][],"
    "half[2][],half[3][],half[4][],int[2][],int[3][],int[4][]"
)


def _elements(array: Typed) -> np.ndarray:
    """The elements of an array, or the characters of a string. Raises GraphError for other values."""
    if array.type.is_array:
        return array.elements
    if array.type.is_text:
        return np.array([*array.value, None], object)[:-1]  # of objects also where it is empty
    raise GraphError(f"{array.name} is of type {array.type}; it must be an array or a string")


def _like(array: Typed, elements: np.ndarray) -> Typed:
    """An array of the same type with other elements, or a string of other characters."""
    if array.type.is_array:
        return pack(elements, array.type)
    return Typed("".join(elements), array.type)


def _element(array: Typed, value: Typed) -> np.ndarray:
    """`value` as one element of `array`, shape (1, ...). Raises GraphError."""
    kind = array.type.element if array.type.is_array else array.type
    return converted(value, kind, f"as the elements of {array.name} are").elements


def _position(inputs: Inputs, length: int) -> int:
    """The index from the front. Raises GraphError where there is no such element."""
    index = inputs["index"].value
    if not -length <= index < length:
        raise GraphError(f"inputs:index is {index}, and inputs:array has {length} elements")
    return index % length


def _matches(inputs: Inputs) -> tuple[Typed, np.ndarray, np.ndarray]:
    """The array, its elements, and the positions at which its elements equal `inputs:value`."""
    array = inputs["array"]
    elements = _elements(array)
    equal = np.asarray(elements == _element(array, inputs["value"]), bool)
    return array, elements, np.flatnonzero(rows(equal).all(axis=1))


def _edit(function: Callable[[Inputs, Typed, np.ndarray], np.ndarray]) -> Callable[[Inputs], Typed]:
    """The function of a node whose output is an edited `inputs:array`."""

    def compute(inputs: Inputs) -> Typed:
        array = inputs["array"]
        return _like(array, function(inputs, array, _elements(array)))

    return compute


# -- making -----------------------------------------------------------------------------------------------------------


def _array(operands: list[Typed], size: int, kind: AttributeType) -> Typed:
    """An array of `size` elements: the operands, the last of them as often as it takes."""
    bounded(size, "inputs:arraySize", kind)
    if size > 0 and not operands:
        raise GraphError("inputs:input0 has no value, so there is nothing to make an array of")
    why = f"as the array is of type {kind}"
    parts = [converted(operand, kind.element, why).elements for operand in operands[: max(size, 0)]]
    parts += [np.repeat(parts[-1], size - len(parts), axis=0)] if parts else []
    return pack(np.concatenate(parts), kind) if parts else Typed(zero(kind), kind)


def _array_type(operands: list[Typed], name: str) -> AttributeType:
    if not operands:
        raise GraphError(f"{name} has no value, so the type of the array is unknown; connect it or set it")
    element = operands[0].type
    if element.is_array or not element.info.arrays:
        raise GraphError(f"{operands[0].name} is of type {element}; there are no arrays of these")
    return array_of(element)


def _construct(inputs: Inputs) -> Typed:
    first, wanted = inputs.get("input0"), inputs["arrayType"].value
    operands = [*([] if first is None else [first]), *inputs.dynamic()]
    if wanted != "auto" and wanted not in _ARRAY_TYPES.split(","):
        raise GraphError(f"inputs:arrayType is {wanted!r}; it must be auto, or one of {_ARRAY_TYPES}")
    kind = parse(wanted) if wanted != "auto" else _array_type(operands, "inputs:input0")
    return _array(operands, inputs["arraySize"].value, kind)


def _make_array(inputs: Inputs) -> Typed:
    operands = [operand for name in "abcde" if (operand := inputs.get(name)) is not None]
    return _array(operands, inputs["arraySize"].value, _array_type(operands, "inputs:a"))


def _append_array(inputs: Inputs) -> Typed:
    first, *others = inputs["input0"], inputs["input1"], *inputs.dynamic()
    why = f"as {first.name} is one"
    parts = [_elements(first), *(_elements(converted(other, first.type, why)) for other in others)]
    bounded(sum(map(len, parts)), first.name, first.type)
    return _like(first, np.concatenate(parts))


# -- reading ----------------------------------------------------------------------------------------------------------


def _index(inputs: Inputs) -> Typed:
    array = inputs["array"]
    elements = _elements(array)
    position = _position(inputs, len(elements))
    kind = array.type.element if array.type.is_array else array.type
    return pack(elements[position : position + 1], kind)


def _find(inputs: Inputs) -> Typed:
    matches = _matches(inputs)[2]
    return typed(int(matches[0]) if len(matches) else -1, "int")


# -- editing ----------------------------------------------------------------------------------------------------------


def _set_index(inputs: Inputs) -> Typed:
    array = inputs["array"]
    elements, index = _elements(array), inputs["index"].value
    if inputs["resizeToFit"].value and index >= len(elements):
        elements = _resized(array, elements, bounded(index + 1, "inputs:index", array.type))
    position = _position(inputs, len(elements))
    value = _element(array, inputs["value"])
    return _like(array, np.concatenate([elements[:position], value, elements[position + 1 :]]))


def _resized(array: Typed, elements: np.ndarray, size: int) -> np.ndarray:
    """The first `size` elements, and zeros, empty tokens or blanks behind them."""
    blank = Typed(zero(array.type.element), array.type.element) if array.type.is_array else Typed(" ", array.type)
    if array.type.is_numeric:
        blank = Typed(np.zeros_like(blank.value) if array.type.shape else 0, blank.type)
    return np.concatenate([elements[:size], np.repeat(blank.elements, max(size - len(elements), 0), axis=0)])


@_edit
def _resize(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    return _resized(array, elements, bounded(max(inputs["newSize"].value, 0), "inputs:newSize", array.type))


@_edit
def _fill(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    return np.repeat(_element(array, inputs["fillValue"]), len(elements), axis=0)


@_edit
def _insert(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    index = min(max(inputs["index"].value, 0), len(elements))
    return np.concatenate([elements[:index], _element(array, inputs["value"]), elements[index:]])


@_edit
def _append_value(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    return np.concatenate([elements, _element(array, inputs["value"])])


@_edit
def _remove_index(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    return np.delete(elements, _position(inputs, len(elements)), axis=0)


def _remove_value(inputs: Inputs) -> dict[str, Typed]:
    array, elements, found = _matches(inputs)
    removed = found if inputs["removeAll"].value else found[:1]
    return {"array": _like(array, np.delete(elements, removed, axis=0)), "found": typed(len(found) > 0, "bool")}


def _replace_value(inputs: Inputs) -> dict[str, Typed]:
    array, elements, found = _matches(inputs)
    out = elements.copy()
    out[found if inputs["replaceAll"].value else found[:1]] = _element(array, inputs["newValue"])
    return {"array": _like(array, out), "found": typed(len(found) > 0, "bool")}


@_edit
def _rotate(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    return np.roll(elements, inputs["steps"].value % max(len(elements), 1), axis=0)


@_edit
def _reverse(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    return elements[::-1]


@_edit
def _slice(inputs: Inputs, array: Typed, elements: np.ndarray) -> np.ndarray:
    end = inputs["end"].value
    if not inputs["useLength"].value:
        return elements[inputs["start"].value : end]
    if end:
        inputs.warn("inputs:end has no effect: inputs:useLength is true, which it is by default; set it to false")
    return elements[inputs["start"].value :]


# -- indices ----------------------------------------------------------------------------------------------------------


def _partial_sum(inputs: Inputs) -> Typed:
    sums = np.cumsum(inputs["array"].value, dtype=np.int64).astype(np.int32)
    return typed(np.concatenate([np.zeros(1, np.int32), sums]), "int[]")


def _source_indices(inputs: Inputs) -> Typed:
    starts = inputs["sourceStartsInTarget"].value
    if np.any(np.diff(starts.astype(np.int64)) < 0) or (len(starts) and starts[0] < 0):
        raise GraphError("inputs:sourceStartsInTarget must not fall, and must begin at 0 or above")
    size = bounded(int(starts[-1]) if len(starts) else 0, "inputs:sourceStartsInTarget")
    sources = np.searchsorted(starts, np.arange(size), side="right") - 1
    return typed(np.maximum(sources, 0).astype(np.int32), "int[]")


# -- declarations -----------------------------------------------------------------------------------------------------

_IN, _OUT = untyped(_ARRAY, "array"), untyped("The array", "array")
_VALUE = untyped("An element", "value")
_FOUND = {"found": attribute("bool", "True if the array has the value")}
_AT = {"index": attribute("int", "Which element; negative ones count from the end", 0)}
_BEFORE = {"index": attribute("int", "The position of the new element, within the array", 0)}
_SIZE = {"arraySize": attribute("int", "The number of elements", 1)}
_TYPE = {"arrayType": attribute("token", "The type; auto is that of input0", "auto", f"auto,{_ARRAY_TYPES}")}
_SPAN = {
    "start": attribute("int", "Where the part begins; negative ones count from the end", 0),
    "end": attribute("int", "Where it ends, without that element, if useLength is false", 0),
    "useLength": attribute("bool", "Whether it ends where the array ends", True),
}
_STARTS = {"sourceStartsInTarget": attribute("int[]", "Where each source starts, and the end of the last one")}

# Name, version, description, inputs, outputs, function of the node.
_ROWS = (
    ("ConstructArray", 1, "An array of input0, input1, ...; the last one repeats",
     untyped("An element", "input0") | _SIZE | _TYPE, _OUT, _construct),
    ("MakeArray", 1, "An array of a, b, c, d, e; the last one repeats", untyped("An element", *"abcde") | _SIZE, _OUT,
     _make_array),
    ("AppendArray", 1, "Arrays in a row. Further inputs (input2, input3, ...) count too.",
     untyped(_ARRAY, "input0", "input1"), _OUT, _append_array),
    ("ArrayIndex", 1, "An element", _IN | _AT, untyped("The element", "value"), _index),
    ("ArrayGetSize", 1, "The number of elements", _IN, {"size": attribute("int", "The number")},
     lambda inputs: typed(len(_elements(inputs["array"])), "int")),
    ("ArrayFindValue", 1, "The index of the first element with a value", _IN | _VALUE,
     {"index": attribute("int", "The index, or -1 if no element has it")}, _find),
    ("ArraySetIndex", 1, "The array with another element", _IN | _VALUE | _AT
     | {"resizeToFit": attribute("bool", "Whether an index beyond the end makes the array longer", False)}, _OUT,
     _set_index),
    ("ArrayResize", 1, "The array with a new size, filled up with zeros",
     _IN | {"newSize": attribute("int", "The number of elements", 0)}, _OUT, _resize),
    ("ArrayFill", 1, "An array of the same size, full of one value", _IN | untyped("The value", "fillValue"),
     _OUT, _fill),
    ("ArrayInsertValue", 1, "The array with an element more", _IN | _VALUE | _BEFORE, _OUT, _insert),
    ("ArrayAppendValue", 1, "The array with an element more at its end", _IN | _VALUE, _OUT, _append_value),
    ("ArrayRemoveIndex", 1, "The array without an element", _IN | _AT, _OUT, _remove_index),
    ("ArrayRemoveValue", 1, "The array without a value", _IN | _VALUE
     | {"removeAll": attribute("bool", "Whether to remove it everywhere, not only the first time", False)},
     _OUT | _FOUND, _remove_value),
    ("ArrayReplaceValue", 1, "The array with a value replaced", _IN | _VALUE | untyped("The new value", "newValue")
     | {"replaceAll": attribute("bool", "Whether to replace it everywhere, not only the first time", False)},
     _OUT | _FOUND, _replace_value),
    ("ArrayRotate", 1, "The elements shifted to the right, the last ones to the front",
     _IN | {"steps": attribute("int", "How far; negative ones shift to the left", 1)}, _OUT, _rotate),
    ("ArrayReverse", 1, "The elements in reverse order", _IN, _OUT, _reverse),
    ("ArraySlice", 1, "A part of the array", _IN | _SPAN, _OUT, _slice),
    ("PartialSum", 1, "The sums of all elements before each one, and of all",
     {"array": attribute("int[]", "The elements")}, {"partialSum": attribute("int[]", "The sums")}, _partial_sum),
    ("SourceIndices", 1, "For each target the source that it is of", _STARTS,
     {"sourceIndices": attribute("int[]", "The sources")}, _source_indices),
)  # fmt: skip

TYPES: list[NodeType] = [data_node(*row) for row in _ROWS]
