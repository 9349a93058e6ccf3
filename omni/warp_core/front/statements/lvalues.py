"""Places that can be assigned to: parts of locals, elements of arrays and parts of those.

`place_of` finds the place of a target; `argument` that of an argument passed to a `wp.ref[T]` parameter.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import Type
from ..context import Context
from ..expressions.array_indexing import array_type
from ..expressions.member_access import Step, descend, element, replace, single_steps, store, store_steps
from ..tiles.tile_places import TilePlace, inner_place, write
from ..tiles.tile_regions import read
from ..tiles.tile_views import named, of_expression
from ..values import ElementRef, Front, TileView, spell_front


@dataclass
class Run:
    """Several components of an array element at once: `a[i].p`, `m[i][0]`."""

    ref: ElementRef
    step: Step

    @property
    def type(self) -> Type:
        return self.step.type

    def as_ref(self) -> ElementRef:
        """The components as one place."""
        return replace_fields(self.ref, type=self.type, run=self)

    def parts(self, cx: Context) -> list[ElementRef]:
        """One place for each component."""
        return [_down(self.ref, s) for s in single_steps(cx, self.ref.type, self.step)]

    def part(self, cx: Context, step: Step, node: ast.AST) -> ElementRef:
        """One component of the run."""
        if step.dynamic is None:
            return _down(self.ref, single_steps(cx, self.ref.type, self.step)[step.index])
        if self.step.picks:
            text = "a block of a matrix in an array is assigned as a whole or at indices known when the kernel compiles"
            raise cx.error("unsupported", text, node, help="index the element itself: a[i][row, column]")
        at = cx.b.op("mul", step.dynamic, cx.b.const(self.step.stride, step.dynamic.type))
        first = self.step.dynamic or cx.b.const(self.step.index, at.type)
        return _down(self.ref, Step(step.type, dynamic=cx.b.op("add", at, first)))

    def narrowed(self, step: Step) -> Run:
        """Several components of the run."""
        offsets = self.step.offsets
        picks = tuple(offsets[i] for i in step.offsets)
        return Run(self.ref, Step(step.type, picks[0], len(picks), dynamic=self.step.dynamic, picks=picks))


def place_of(cx: Context, target: ast.expr) -> tuple[str, Value, list[Step]] | ElementRef | Run | TilePlace:
    """Return the target of a component store: a place in an array or a tile, or (local, its value, steps down)."""
    if isinstance(target, ast.Name):
        x = named(cx, cx.read(target.id, target), target) if target.id in cx.local_names else None
        if isinstance(x, TileView):
            return TilePlace(x)
        if isinstance(x, ElementRef):
            return x.run or x
        if not isinstance(x, Value):
            shown = spell_front(x) if x is not None else f"`{target.id}`, which is not a local,"
            raise cx.error(
                "unsupported", f"{shown} cannot be changed", target, help="make a new value, or use an array"
            )
        return target.id, x, []
    if not isinstance(target, (ast.Attribute, ast.Subscript)):
        raise cx.error("unsupported", "only locals and array elements can be changed", target)
    base = place_of(cx, target.value)
    if isinstance(base, TilePlace):
        return inner_place(cx, base, target)
    t = base.type if not isinstance(base, tuple) else (base[2][-1].type if base[2] else base[1].type)
    if array_type(t):
        if not isinstance(target, ast.Subscript):
            raise cx.error("no-member", f"{spell(t)} has no member that can be assigned", target)
        found = element(cx, _value(cx, base), target)
        if isinstance(found, ElementRef):
            return found
        return "", found, []
    steps = store_steps(cx, target, t)
    if not isinstance(base, tuple):
        return _extend(cx, base, steps, target)
    return base[0], base[1], [*base[2], *steps]


def _value(cx: Context, place: Any) -> Value | ElementRef:
    if isinstance(place, ElementRef):
        return place
    x: Any = place[1]
    for step in place[2]:
        x = cx.b.op("extract", x, attr=step.index)
    return x


def _extend(cx: Context, place: ElementRef | Run, steps: list[Step], node: ast.AST) -> ElementRef | Run:
    for step in steps:
        if isinstance(place, Run) and step.is_run(place.type) and step.dynamic is None:
            place = place.narrowed(step)
        elif isinstance(place, Run):
            place = place.part(cx, step, node)
        else:
            place = Run(place, step) if step.is_run(place.type) else _down(place, step)
    return place


def _down(ref: ElementRef, step: Step) -> ElementRef:
    if step.dynamic is not None:
        return ElementRef(ref.array, ref.indices, step.type, (*ref.path, -1), (*ref.dynamic, step.dynamic))
    return ElementRef(ref.array, ref.indices, step.type, (*ref.path, step.index), ref.dynamic)


def put(cx: Context, place: ElementRef | Run, value: Value, node: ast.AST) -> None:
    """Write a value to a place in an array element."""
    store(cx, place.as_ref() if isinstance(place, Run) else place, value, node)


# -- arguments passed by reference ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Place:
    """An argument that the called function may change: what it holds, and where a new value goes."""

    value: Value | ElementRef
    node: ast.AST
    name: str = ""  # the local it is, or is part of
    steps: list[Step] = field(default_factory=list)  # from the local down to it

    @property
    def type(self) -> Type:
        return self.value.type

    def put(self, cx: Context, new: Value) -> None:
        """Assign to it."""
        if self.steps:
            cx.env[self.name] = replace(cx, cx.read(self.name, self.node), self.steps, new, self.node)
        elif self.name:
            cx.bind(self.name, new, self.node)
        else:
            assert isinstance(self.value, ElementRef)
            store(cx, self.value, new, self.node)

    def overlaps(self, other: Place) -> bool:
        """True if both may be, or contain, the same part of one local."""
        if not self.name or self.name != other.name:
            return False
        return not any(_disjoint(a, b) for a, b in zip(self.steps, other.steps))


def _disjoint(a: Step, b: Step) -> bool:
    if a.dynamic is not None or b.dynamic is not None:
        return False
    return set(a.offsets).isdisjoint(b.offsets)


def argument(cx: Context, node: ast.expr) -> Front | Place:
    """An argument for a `wp.ref[T]` parameter: its place, or its value if it has none."""
    if not _is_place(cx, node):
        return cx.rvalue(node)
    if isinstance(node, ast.Name):
        x = cx.read(node.id, node)
        if isinstance(x, ElementRef):
            return Place(x, node)
        return Place(x, node, node.id) if isinstance(x, Value) else x
    found = place_of(cx, node)
    if isinstance(found, TilePlace):
        return tile_argument(cx, node)
    if isinstance(found, Run):
        found = found.as_ref()
    if isinstance(found, ElementRef):
        return Place(found, node)
    name, x, steps = found
    for step in steps:
        x = descend(cx, x, step, node)
    return Place(x, node, name, steps) if steps else x


def _is_place(cx: Context, node: ast.expr) -> bool:
    base = node
    while isinstance(base, (ast.Attribute, ast.Subscript)):
        base = base.value
    return isinstance(base, ast.Name) and isinstance(cx.env.get(base.id), (Value, ElementRef))


@dataclass(slots=True)
class TileArgument(Place):
    """A tile, or part of one, that the called function may change."""

    view: TileView | None = None

    def put(self, cx: Context, new: Value) -> None:
        """Assign to it."""
        assert self.view is not None
        write(cx, self.view, new, self.node)

    def overlaps(self, other: Place) -> bool:
        """True if both are, or are parts of, one tile."""
        return isinstance(other, TileArgument) and self.view.root == other.view.root  # type: ignore[union-attr]


def tile_argument(cx: Context, node: ast.expr) -> Front | Place:
    """An argument that the called function changes if it is a tile: its place, or its value if it has none."""
    x = of_expression(cx, node)
    if isinstance(x, TileView) and isinstance(x.root, str):
        return TileArgument(read(cx, x, node), node, view=x)
    return cx.materialise(x, node) if isinstance(x, TileView) else x


def in_memory(m: Any) -> None:
    """Pass array elements as the array and the indices, so that they are changed where and when the function does.

    Written back afterwards, an element that the function leaves alone would undo what another thread did to it.
    """
    values: list[tuple[str, Type, Any]] = []
    for name, t, x in m.values:
        if isinstance(x, Place) and isinstance(x.value, ElementRef):
            ref = x.value
            m.elements[name] = (t, ref.path, len(ref.indices), len(ref.dynamic), *_described(ref.run))
            values += [(f"{name}.{i}", v.type, v) for i, v in enumerate(_operands(ref))]
        else:
            values.append((name, t, x))
    m.values = values


def from_memory(name: str, element: tuple, given: Mapping[str, Value]) -> ElementRef:
    """The parameter `name` as the place in an array element that `in_memory` described."""
    t, path, indices, dynamic, *run = element
    operands = 1 + indices + dynamic
    array, *rest = [given[f"{name}.{i}"] for i in range(operands)]
    ref = ElementRef(array, tuple(rest[:indices]), t, path, tuple(rest[indices:]))
    if not run:
        return ref
    whole, (index, count, stride, picks), is_dynamic = run
    first = given[f"{name}.{operands}"] if is_dynamic else None
    return Run(replace_fields(ref, type=whole), Step(t, index, count, stride, first, picks)).as_ref()


def _operands(ref: ElementRef) -> tuple[Value, ...]:
    first = ref.run.step.dynamic if ref.run else None
    return ref.operands if first is None else (*ref.operands, first)


def _described(run: Run | None) -> tuple[Any, ...]:
    """Return the properties of a run that `from_memory` needs, as part of the key of such a call."""
    if run is None:
        return ()
    step = run.step
    return run.ref.type, (step.index, step.count, step.stride, step.picks), step.dynamic is not None
