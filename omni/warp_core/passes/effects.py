"""What a function does to the memory of its array parameters.

`written_params` says through which it may write: launches refuse read-only memory for those arrays and for no others,
and tapes copy what they need of it beforehand. `effects` says more of a kernel, for what runs launches again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..ir.nodes import Function, Operation, Region, Value
from ..lang.types import Array, FixedArray, Type, element, leaves
from .inline import inline_calls
from .simplify import simplify


def written_params(fn: Function) -> tuple[bool, ...]:
    """For each parameter, whether a store or atomic may reach memory through it, or through an array in it.

    An array that passes through control flow or a struct counts as any array of its element type.
    """
    return _written(fn, {})


def _written(fn: Function, known: dict[Function, tuple[bool, ...]]) -> tuple[bool, ...]:
    if fn in known:
        return known[fn]
    known[fn] = tuple(bool(_arrays(p.type)) for p in fn.params)  # what recursion would get
    targets = _targets(fn.body, known)
    direct = {id(v) for v in targets}
    elsewhere = [v for v in targets if v not in fn.params and not _is_apart(v)]
    unclear = {element for v in elsewhere for element in _arrays(v.type)}
    known[fn] = tuple(id(p) in direct or bool(_arrays(p.type) & unclear) for p in fn.params)
    return known[fn]


def _is_apart(v: Value) -> bool:
    """Whether an array that is no parameter is the thread's own, or a gradient, which parameters do not show."""
    return isinstance(v.type, FixedArray) or (v.op is not None and v.op.code in ("grad", "stash"))


def _arrays(t: Type) -> set[Type]:
    """The element types of the arrays that a value of a type is or has."""
    return {leaf.dtype for _, leaf in leaves(t) if isinstance(leaf, Array)}


def _targets(body: Region, known: dict[Function, tuple[bool, ...]]) -> list[Value]:
    """The arrays that are written, traced back through slices."""
    found = []
    for op in body.walk():
        if op.code in ("store", "atomic"):
            found.append(_origin(op.args[0]))
        elif op.code == "call":
            found += [_origin(a) for a, w in zip(op.args, _written(op.attr, known)) if w]
    return found


def _origin(v: Value) -> Value:
    while v.op is not None and v.op.code == "slice":
        v = v.op.args[0]
    return v


class Access(NamedTuple):
    """What a kernel does to the arrays of one parameter.

    Adding to elements without looking at them is no reading. `covers`: every thread writes the element at its own
    index, so that a launch over the array's shape leaves nothing of what was there.
    """

    reads: bool = False
    writes: bool = False
    covers: bool = False


class Effects(NamedTuple):
    """What a kernel does to memory.

    `params` has an entry for each parameter. With `unordered`, results depend on the order of threads; with `hidden`,
    it gets at arrays through elements of arrays.
    """

    params: tuple[Access, ...]
    unordered: bool
    hidden: bool


def effects(kernel: Function) -> Effects:
    """What a kernel does to memory. An array of unknown origin counts as any of its element type."""
    flat = simplify(inline_calls(kernel, lambda callee: True))
    operations = list(flat.body.walk())
    used = {a for op in operations for a in op.args}
    read, written, unordered = [], [], False
    for op in operations:
        if op.code == "load" or (op.code == "atomic" and _looks(op, used)):
            read.append(_source(op.args[0]))
        if op.code in ("store", "atomic"):
            written.append(_source(op.args[0]))
        if op.code == "atomic":
            unordered |= _looks(op, used) or element(op.result.type).is_float  # type: ignore[attr-defined]
    covered = set(_covered(flat.body))
    params = (Access(_meets(p, read), _meets(p, written), p in covered and not _meets(p, read)) for p in flat.params)
    hidden = any(v.op is not None and v.op.code == "load" for v in (*read, *written))
    return Effects(tuple(params), unordered, hidden)


def _looks(atomic: Operation, used: set[Value]) -> bool:
    """Whether what an atomic does depends on what it finds."""
    return atomic.attr[0] not in ("add", "sub") or atomic.result in used


def _source(array: Value) -> Value:
    """The parameter or local array that an array is part of; or where it comes from, if that is something else."""
    while array.op is not None and array.op.code in ("slice", "extract"):
        array = array.op.args[0]
    return array


def _meets(param: Value, accessed: list[Value]) -> bool:
    arrays = {t.dtype for _, t in leaves(param.type) if isinstance(t, Array)}
    unknown = {v.type.dtype for v in accessed if v.op is not None and v.op.code != "alloca"}
    return param in accessed or bool(arrays & unknown)


def _covered(body: Region) -> Iterator[Value]:
    """The arrays that every thread stores a whole element of, at its own index."""
    for op in body.ops:
        if any(inner.code in ("return", "unreachable") for region in op.regions for inner in region.walk()):
            return
        if op.code == "store" and not op.attr:
            indices = [i.op.attr if i.op is not None and i.op.code == "tid" else None for i in op.args[1:-1]]
            if indices == [(d, len(indices)) for d in range(len(indices))]:
                yield op.args[0]
