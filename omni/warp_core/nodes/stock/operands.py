"""Values with their types, as data nodes compute with them: reading inputs, broadcasting, storing outputs.

A data node is a function of its `Inputs`; `DataNode` makes a node class of it. `elementwise` makes such functions of
NumPy's. Everywhere, `elements` is an array whose first axis counts elements, with one element for a single value.

Broadcasting is that of NumPy over elements: a number goes with all components of a tuple, and a single value, or an
array of one element, with all elements of an array.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..graph.attribute import without_value
from ..graph.database import Database
from ..graph.node_graph import Attribute, GraphError, Node
from ..values.attribute_types import BASES, MATRICES, AttributeType, parse
from ..values.attribute_values import Value, converter, is_unchanged

LARGEST = 1 << 27  # array or text that a node makes; one wrong number in a scene must not take all memory
_DIGITS = re.compile(r"(\d+)")
_LETTERS = {"float16": "h", "float32": "f", "float64": "d"}
_PLAIN = {
    info.scalar: base
    for base, info in reversed(BASES.items())
    if info.scalar and not info.role and 1 in info.tuples and info.arrays
}


@dataclass(frozen=True)
class Typed:
    """A value with its type, and the name of the attribute that it came from."""

    value: Value
    type: AttributeType
    name: str = ""

    @property
    def elements(self) -> np.ndarray:
        """The elements, shape (n, *shape of one element); texts are objects."""
        many = self.value if self.type.is_array else [self.value]
        if self.type.is_numeric:
            return np.asarray(many, self.type.dtype)
        out = np.empty(len(many), object)
        out[:] = many
        return out

    def __len__(self) -> int:
        return len(self.value) if self.type.is_array else 1


def pack(elements: np.ndarray, kind: AttributeType) -> Typed:
    """The value of type `kind` with these elements."""
    if not kind.is_numeric:
        return Typed(tuple(elements.tolist()) if kind.is_array else elements[0], kind)
    elements = elements.astype(kind.dtype, copy=False)
    if kind.is_array:
        return Typed(elements, kind)
    return Typed(elements[0] if kind.shape else elements[0].item(), kind)


def typed(value: Value, kind: str) -> Typed:
    """A value of the type with a name such as "int[]"."""
    return Typed(value, parse(kind))


def array_of(kind: AttributeType, is_array: bool = True) -> AttributeType:
    """The array type of these elements, or the type of one element."""
    return AttributeType(kind.base, kind.count, is_array)


def with_dtype(kind: AttributeType, dtype: np.dtype) -> AttributeType:
    """`kind` with numbers of another dtype: pointf[3] becomes pointd[3], int[2] double[2]."""
    if kind.dtype == dtype or kind.base in MATRICES:
        return kind
    family = kind.base[:-1] + _LETTERS.get(dtype.name, "")
    base = family if family in BASES and BASES[family].scalar == dtype.name else _PLAIN[dtype.name]
    return AttributeType(base, kind.count, kind.is_array) if kind.count in BASES[base].tuples else kind


def tuple_type(dtype: np.dtype, count: int, is_array: bool = False) -> AttributeType:
    """The type of `count` plain numbers of a dtype, or of doubles where there are no such tuples."""
    base = _PLAIN[dtype.name]
    return AttributeType(base if count in BASES[base].tuples else "double", count, is_array)


def converted(operand: Typed, kind: AttributeType, why: str) -> Typed:
    """`operand` as a value of type `kind`. Raises GraphError, which ends with `why`."""
    convert = converter(operand.type, kind)
    if convert is None:
        raise GraphError(f"{operand.name} is of type {operand.type}; it must be of type {kind}, {why}")
    return Typed(convert(operand.value), kind, operand.name)


def bounded(count: int, name: str, kind: AttributeType | None = None) -> int:
    """`count`, if a text may have as many characters, or an array as many elements of `kind`. Raises GraphError."""
    if count * math.prod(kind.shape if kind else ()) > LARGEST:
        raise GraphError(
            f"{name} asks for {count} elements; the host makes arrays and texts of up to {LARGEST} numbers"
        )
    return count


def rows(elements: np.ndarray) -> np.ndarray:
    """Elements as rows of their components, shape (n, components)."""
    return elements.reshape(len(elements), math.prod(elements.shape[1:]))


class Inputs:
    """The inputs of a node while it computes."""

    def __init__(self, node: Node):
        self._node = node

    def __getitem__(self, name: str) -> Typed:
        """The value of an input. Raises GraphError if it has none."""
        found = self.get(name)
        if found is None:
            raise without_value(self._node.attributes[f"inputs:{name}"])
        return found

    def get(self, name: str) -> Typed | None:
        """The value of an input, None if it has none."""
        return _value_of(self._node.attributes[f"inputs:{name}"])

    def numbers(self, *names: str) -> list[Typed]:
        """The values of inputs that hold numbers, not booleans or texts. Raises GraphError."""
        return [require_numbers(self[name]) for name in names]

    def choice(self, name: str, table: dict[str, Any]) -> Any:
        """The entry of `table` that a token names. Raises GraphError if it has no such entry."""
        token = self[name].value
        if token not in table:
            raise GraphError(f"inputs:{name} is {token!r}; it must be one of {', '.join(table)}")
        return table[token]

    def warn(self, text: str) -> None:
        """Tell something odd about the inputs, once until it changes."""
        self._node.warn(text)

    def dynamic(self) -> list[Typed]:
        """The values of inputs that the node type does not declare, in the order of the numbers in their names."""
        found = [a for a in self._node.on("inputs") if a.is_dynamic() and not a.type.is_execution]
        return [self[a.base_name] for a in sorted(found, key=_by_number)]


def _by_number(attribute: Attribute) -> list[tuple[bool, int | str]]:
    parts = _DIGITS.split(attribute.base_name)
    return [(True, int(part)) if part.isdigit() else (False, part) for part in parts]


def _value_of(attribute: Attribute) -> Typed | None:
    if attribute.value is None or attribute.resolved.is_any:
        return None
    return Typed(attribute.value, attribute.resolved, attribute.name)


def require_numbers(operand: Typed) -> Typed:
    """`operand`, if it holds numbers. Raises GraphError."""
    if operand.type.is_numeric and operand.type.base != "bool":
        return operand
    raise GraphError(f"{operand.name} is of type {operand.type}; the node takes numbers, or arrays of numbers")


def require_shape(operand: Typed, *shapes: tuple[int, ...]) -> Typed:
    """`operand`, if its elements have one of the shapes. Raises GraphError."""
    if operand.type.is_numeric and operand.type.shape in shapes:
        return operand
    raise GraphError(
        f"{operand.name} is of type {operand.type}; it must be {_alternatives(shapes)}, or an array of them"
    )


def _alternatives(shapes: Sequence[tuple[int, ...]]) -> str:
    words = {0: "one number", 1: "a vector of {} numbers", 2: "a matrix of {} numbers"}
    return " or ".join(words[len(shape)].format(_in_words(shape)) for shape in shapes)


def aligned(operands: Sequence[Typed]) -> list[np.ndarray]:
    """The elements of all operands, in shapes that NumPy broadcasts. Raises GraphError if they do not go together."""
    _require_equal(operands, "components", lambda operand: operand.type.shape or None)
    _require_lengths(operands)
    rank = max(len(operand.type.shape) for operand in operands)
    return [operand.elements.reshape(-1, *(operand.type.shape or (1,) * rank)) for operand in operands]


def repeated(*operands: Typed) -> list[np.ndarray]:
    """The elements of operands of any types, equally many of each. Raises GraphError if they do not go together."""
    _require_lengths(operands)
    indices = np.broadcast_arrays(*(np.arange(len(operand)) for operand in operands))
    return [operand.elements[index] for operand, index in zip(operands, indices)]


def _require_lengths(operands: Sequence[Typed]) -> None:
    _require_equal(operands, "elements", lambda operand: None if len(operand) == 1 else len(operand))


def _require_equal(operands: Sequence[Typed], what: str, measure: Callable[[Typed], Any]) -> None:
    first = None
    for operand in operands:
        size = measure(operand)
        if size is None:
            continue
        if first is not None and measure(first) != size:
            sizes = " and ".join(f"{o.name} ({o.type}) has {_in_words(measure(o))}" for o in (first, operand))
            raise GraphError(f"{sizes} {what}; they must have equally many, or one")
        first = operand


def _in_words(size: Any) -> str:
    return " x ".join(map(str, size)) if isinstance(size, tuple) else str(size)


def leading(operands: Sequence[Typed]) -> AttributeType:
    """The type of a result: of the first operand with the most components, an array if any operand is one."""
    first = max(operands, key=lambda operand: len(operand.type.shape))
    return array_of(first.type, any(operand.type.is_array for operand in operands))


DtypeRule = Callable[[Sequence[Typed]], np.dtype]


def promoted(operands: Sequence[Typed]) -> np.dtype:
    """The dtype that NumPy computes in, given arrays of all operands."""
    return np.result_type(*(operand.type.dtype for operand in operands))


def of_first(operands: Sequence[Typed]) -> np.dtype:
    """The dtype of the first operand."""
    return operands[0].type.dtype


def decimal(operands: Sequence[Typed]) -> np.dtype:
    """The dtype of the first operand if it is a floating-point one, else float64."""
    dtype = operands[0].type.dtype
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def map_elements(function: Callable[..., np.ndarray], operands: Sequence[Typed], rule: DtypeRule) -> Typed:
    """Apply a function of NumPy component by component, in the dtype of `rule`."""
    form = leading(operands)
    kind = with_dtype(form, rule(operands))
    out = function(*(elements.astype(kind.dtype, copy=False) for elements in aligned(operands)))
    return pack(out.reshape(-1, *kind.shape), kind)


def elementwise(
    function: Callable[..., np.ndarray],
    *names: str,
    rule: DtypeRule = promoted,
    check: Callable[[Sequence[Typed]], None] = lambda operands: None,
) -> Callable[[Inputs], Typed]:
    """The function of a node that computes component by component; `check` raises GraphError for what it cannot."""

    def compute(inputs: Inputs) -> Typed:
        operands = inputs.numbers(*names)
        check(operands)
        return map_elements(function, operands, rule)

    return compute


def folded(
    function: Callable[..., np.ndarray],
    rule: DtypeRule = promoted,
    check: Callable[[Sequence[Typed]], None] = lambda operands: None,
) -> Callable[[Inputs], Typed]:
    """As `elementwise`, for inputs a, b and all dynamic ones, from left to right: a - b - input2."""

    def compute(inputs: Inputs) -> Typed:
        operands = [*inputs.numbers("a", "b"), *map(require_numbers, inputs.dynamic())]
        check(operands)
        return map_elements(lambda *arrays: reduce(function, arrays), operands, rule)

    return compute


class DataNode:
    """The class of a data node: computes all outputs from the inputs.

    `function` returns the value of the only output, or the values of all outputs by their names.
    """

    def __init__(self, function: Callable[[Inputs], Typed | dict[str, Typed]]):
        self.function = function

    def compute(self, db: Database) -> bool:
        """Compute, and store the outputs that changed. Overflow and NaN are results, not failures."""
        with np.errstate(all="ignore"):
            results = self.function(Inputs(db.node))
        if isinstance(results, Typed):
            (only,) = (a.base_name for a in db.node.on("outputs") if not a.is_dynamic() and not a.type.is_execution)
            results = {only: results}
        for name, result in results.items():
            store(db.node.attributes[f"outputs:{name}"], result)
        return True


def store(output: Attribute, result: Typed) -> None:
    """Store a result; nodes after this one only notice when it differs from the last. Raises GraphError."""
    if not output.type.is_any:
        result = converted(Typed(result.value, result.type, output.name), output.type, "as its type is fixed")
        output.set_if_changed(result.value)
    elif output.resolved != result.type or not is_unchanged(output.value, result.value):
        output.set(result.value, result.type)
