"""Graph of a tape: steps, versions of arrays, and the versions that each step read and wrote.

`Graph` is what dot.py writes as text and svg.py draws. A write makes a new version of an array; views that overlap what
was written get theirs from it. Start with `build`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..arrays.array import array
from ..arrays.layouts import byte_range, identity, ranges_overlap
from ..compiler import effects
from ..lang.kernel import Kernel
from ..tape.launch_vjp import RecordedLaunch, UntrackedLaunch, arrays_in
from .loop_folding import Group, Loop, loops, tree


@dataclass(eq=False)
class Version:
    """The contents of an array between two writes."""

    array: array
    number: int  # 0 is what was there before the tape
    names: list[str] = field(default_factory=list)  # of the parameters that it was passed to
    label: str = ""
    last: int = 0  # where a loop is drawn once, the number after its last turn
    others: list[Any] = field(default_factory=list)  # the arrays that later turns wrote in place of `array`
    alone: bool = True  # whether it is the only version of the array in the graph
    group: Group | None = None

    @property
    def has_grad(self) -> bool:
        """True if gradients flow through."""
        return self.array.grad is not None


@dataclass(eq=False)
class Port:
    """A parameter of a step."""

    name: str
    text: str  # the value, if it is no array
    read: Version | None = None
    written: Version | None = None
    unsure: bool = False  # True if it is unknown whether it is read or written


@dataclass(eq=False)
class StepNode:
    """A launch, a copy, or another step."""

    index: int
    name: str
    dim: str
    place: str  # of the user's program
    ports: list[Port]
    passive: bool = False  # a launch without gradients
    group: Group | None = None


@dataclass(frozen=True)
class Edge:
    """From a version to a step that reads it, from a step to a version it writes, or from a version to a view of it.

    `back`: through a loop that is drawn once, into its next turn.
    """

    source: Version | StepNode
    target: StepNode | Version
    port: int = -1
    back: bool = False
    unsure: bool = False


@dataclass
class Graph:
    """All of it; `root` has the scopes and loops."""

    root: Group
    steps: list[StepNode]
    versions: list[Version]
    edges: list[Edge]


@dataclass
class Options:
    """The options of `Tape.visualize`."""

    simplify: bool = True
    hide_readonly: bool = False
    labels: dict[array, str] = field(default_factory=dict)
    longest_name: bool = True
    ignore_scopes: bool = False
    tracked: list[array] = field(default_factory=list)


def build(steps: Sequence[Any], notes: Sequence[Any], scopes: Sequence[Any], options: Options) -> Graph:
    """The graph of the steps of a tape; `notes` has (name, file, line) for each, `scopes` are those of the tape."""
    history = _History()
    nodes = [_step(i, step, note, history) for i, (step, note) in enumerate(zip(steps, notes))]
    root = tree(nodes, [] if options.ignore_scopes else scopes)
    edges = list(dict.fromkeys([*history.views, *(e for n in nodes for e in _edges(n))]))
    if options.simplify:
        root = loops(root, lambda n: (n.name, n.place, len(n.ports)))
        nodes, edges = _collapsed(root, edges)
    _place(root, nodes, edges)
    versions = list(dict.fromkeys(v for e in edges for v in (e.source, e.target) if isinstance(v, Version)))
    known = {id(v.array) for v in versions}
    versions += [Version(a, 0) for a in options.tracked if id(a) not in known]
    if options.hide_readonly:
        written = {id(e.target) for e in edges if isinstance(e.target, Version)}
        shown = {id(a) for a in options.tracked}
        versions = [v for v in versions if id(v) in written or id(v.array) in shown]
        kept = {id(v) for v in versions}
        edges = [e for e in edges if all(id(v) in kept or isinstance(v, StepNode) for v in (e.source, e.target))]
    for v in versions:
        v.label = ", ".join(dict.fromkeys(_label(a, versions, options) for a in (v.array, *v.others)))
        v.alone = sum(_key(v.array) == _key(o.array) for o in versions) == 1 and v.last == v.number
    return Graph(root, nodes, versions, edges)


# -- versions ---------------------------------------------------------------------------------------------------------


class _History:
    """The versions of arrays so far."""

    def __init__(self) -> None:
        self._known: dict[tuple, list[Version]] = {}  # by layout, in the order in which they were made
        self._written: dict[tuple, int] = {}  # by layout, the time of the last write
        self._seen: dict[tuple, int] = {}  # by layout, the time at which the last version was made
        self._time = 0
        self.views: list[Edge] = []
        self.accesses: dict[Kernel, Any] = {}  # what kernels do to their parameters

    def read(self, a: array, name: str) -> Version:
        """The version that is read now."""
        key = _key(a)
        mine = self._known.get(key)
        newer = [k for k, at in self._written.items() if k != key and at > self._seen.get(key, -1) and _meet(k, key)]
        if mine is None or newer:
            made = self._new(a, key)
            sources = [self._known[k][-1] for k in newer]
            self.views += [Edge(v, made) for v in ([mine[-1]] if mine else []) + sources]
            mine = self._known[key]
        if name not in mine[-1].names:
            mine[-1].names.append(name)
        return mine[-1]

    def has_written(self, a: array) -> bool:
        """True if a recorded operation wrote to the array, or to a view that overlaps it."""
        key = _key(a)
        return any(_meet(k, key) for k in self._written)

    def write(self, a: array, name: str) -> Version:
        """The version that a write makes."""
        key = _key(a)
        if key not in self._known:
            self._new(a, key)  # what was there before, which nothing has read
        made = self._new(a, key)
        made.names.append(name)
        self._written[key] = self._time
        return made

    def _new(self, a: array, key: tuple) -> Version:
        self._time += 1
        self._seen[key] = self._time
        mine = self._known.setdefault(key, [])
        mine.append(Version(a, len(mine), last=len(mine)))
        return mine[-1]


def _key(a: array) -> tuple:
    return byte_range(a), *identity(a)


def _meet(a: tuple, b: tuple) -> bool:
    return ranges_overlap(a[0], b[0])


# -- steps ------------------------------------------------------------------------------------------------------------


def _step(index: int, step: Any, note: Any, history: _History) -> StepNode:
    name, file, line = note
    place = f"{os.path.basename(file)}:{line}"
    if isinstance(step, RecordedLaunch):
        ports = _ports(step.kernel, step.args, history)
        return StepNode(index, step.kernel.name, _dim(step.dim), place, ports)
    if isinstance(step, UntrackedLaunch):
        names = [n for n, _ in step.kernel.params]
        return StepNode(index, step.kernel.name, "", place, [Port(", ".join(names), "")], passive=True)
    return StepNode(index, name, "", place, _function_ports(step, history))


def _dim(dim: Any) -> str:
    extents = tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
    return " × ".join(str(int(n)) for n in extents)


def _ports(kernel: Kernel, args: Sequence[Any], history: _History) -> list[Port]:
    accesses = history.accesses.get(kernel) or history.accesses.setdefault(kernel, effects(kernel).params)
    made: list[tuple[Port, Any, array]] = []
    ports = []
    for (name, _), value, access in zip(kernel.params, args, accesses):
        inside = _named(name, value)
        for path, a in inside:
            ports.append(Port(path, ""))
            made.append((ports[-1], access, a))
        if not inside:
            ports.append(Port(name, _short(value)))
    for port, access, a in made:
        # What a launch does not replace as a whole, it adds to, if a step has written it before.
        if access.reads or not access.writes or (not access.covers and history.has_written(a)):
            port.read = history.read(a, port.name)
    for port, access, a in made:
        if access.writes:
            port.written = history.write(a, port.name)
    return ports


def _named(name: str, value: Any) -> list[tuple[str, array]]:
    """The arrays that an argument is or has, with their names."""
    if isinstance(value, array):
        return [(name, value)]
    if not arrays_in(value):
        return []
    fields = [field for field, _ in type(value).__wc_type__.fields]
    return [found for field in fields for found in _named(f"{name}.{field}", getattr(value, field))]


def _function_ports(step: Any, history: _History) -> list[Port]:
    """Of a step that is no launch: what it writes is known if it said so."""
    arrays = list({id(a): a for a in step[1]}.values())
    known = step[2] if len(step) > 2 else None
    outputs = {id(a) for a in known or ()}
    ports = []
    for a in arrays:
        port = Port("", "", unsure=known is None)
        if id(a) not in outputs:
            port.read = history.read(a, "")
        ports.append(port)
    for a, port in zip(arrays, ports):
        if id(a) in outputs:
            port.written = history.write(a, "")
    return ports


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 12 else ""


def _edges(node: StepNode) -> list[Edge]:
    made = []
    for i, port in enumerate(node.ports):
        if port.read is not None:
            made.append(Edge(port.read, node, i, unsure=port.unsure))
        if port.written is not None:
            made.append(Edge(node, port.written, i))
    return made


# -- loops and groups -------------------------------------------------------------------------------------------------


def _collapsed(root: Group, edges: list[Edge]) -> tuple[list[StepNode], list[Edge]]:
    """The steps of the first turn of each loop, and edges between these: later turns are what the first one is."""
    stands: dict[Any, Any] = {}
    for first, later in _turns(root):
        for a, b in zip(first, later):
            stands[b] = a
            for p, q in zip(a.ports, b.ports):
                if p.written is not None and q.written is not None:
                    stands[q.written] = p.written

    def stand(x: Any) -> Any:
        while x in stands:
            x = stands[x]
        return x

    for later, first in list(stands.items()):
        if isinstance(later, Version):
            kept = stand(first)
            if kept.array is later.array:
                kept.last = max(kept.last, later.number)
            elif not [a for a in kept.others if a is later.array]:
                kept.others.append(later.array)
    found: dict[Edge, None] = {}
    for e in edges:
        source, target = stand(e.source), stand(e.target)
        if source is not target:
            found[replace(e, source=source, target=target)] = None
    steps = sorted(root.steps(), key=lambda n: n.index)
    order = {id(n): n.index for n in steps}
    makers = {id(e.target): order[id(e.source)] for e in found if isinstance(e.source, StepNode)}
    return steps, [
        replace(e, back=True) if id(e.source) in makers and id(e.target) in order
        and makers[id(e.source)] >= order[id(e.target)] else e
        for e in found
    ]  # fmt: skip


def _turns(group: Group) -> list[tuple[list[StepNode], list[StepNode]]]:
    """For each later turn of a loop, the steps of the first turn and of that one."""
    found = []
    if isinstance(group, Loop):
        first = group.turns[0]
        found += [(list(_all_steps(first)), list(_all_steps(turn))) for turn in group.turns[1:]]
        for turn in group.turns[1:]:
            for child in turn:
                if isinstance(child, Group):
                    found += _turns(child)
    for child in group.children:
        if isinstance(child, Group):
            found += _turns(child)
    return found


def _all_steps(children: Sequence[Any]) -> list[StepNode]:
    """The steps that are drawn of some children."""
    return [n for child in children for n in (child.steps() if isinstance(child, Group) else [child])]


def _place(root: Group, steps: list[StepNode], edges: list[Edge]) -> None:
    """Put each version into the group of the step that writes it, else into one that has all its readers."""
    path = {id(n): groups for n, groups in root.paths()}
    for n in steps:
        n.group = path[id(n)][-1]
    for e in edges:
        if isinstance(e.target, Version) and isinstance(e.source, StepNode):
            e.target.group = e.source.group
    for e in edges:
        if isinstance(e.source, Version) and isinstance(e.target, StepNode) and e.source.group is None:
            readers = [path[id(o.target)] for o in edges if o.source is e.source and isinstance(o.target, StepNode)]
            e.source.group = [level[0] for level in zip(*readers) if all(g is level[0] for g in level)][-1]
    for e in edges:
        for v in (e.source, e.target):
            if v.group is None:
                v.group = root


def _label(of: array, versions: Sequence[Version], options: Options) -> str:
    for a, label in options.labels.items():
        if a is of:
            return label
    names = [name for v in versions if _key(v.array) == _key(of) for name in v.names if name]
    pick: Callable = max if options.longest_name else min
    return pick(names, key=len) if names else "array"
