"""Mod/ref effects: what a function does to the memory of its array parameters.

`written_arrays` says through which it may write: launches refuse read-only memory for those arrays and for no others,
and tapes copy what they need of it beforehand. `needed_arrays` says which it cannot do without: launches refuse None
there. `covered_arrays` says of which it leaves nothing, so that they need not be cleared before. `effects` says more of
a kernel, for what runs launches again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cache

from ...lang.types import Array, FixedArray, Struct, Tile, Type, element, leaves, member_at
from ..launch_facts import Access, ArrayAccess, Effects, Need, Reread
from ..nodes import Function, Operation, Region, Value
from .affine_index import Affine, Forms, affine_values
from .alias import Provenance, is_made_by, is_own, provenance
from .id_params import id_params
from .rereads import rereads

Members = tuple[int, ...]  # the numbers of the members that lead to an array in a value
_Written = dict[Function, tuple[frozenset[Members], ...]]


def works_on_tiles(function: Function) -> bool:
    """True if a function of the library makes tiles of tiles, in memory of its own."""
    types = [*(p.type for p in function.params), *function.results]
    tiles = any(isinstance(t, Tile) for t in types)
    return tiles and function.is_library and not any(isinstance(leaf, Array) for t in types for _, leaf in leaves(t))


def written_params(fn: Function) -> tuple[bool, ...]:
    """For each parameter, whether a store or atomic may reach memory through it, or through an array in it."""
    return tuple(map(bool, written_arrays(fn)))


def written_arrays(fn: Function) -> tuple[frozenset[Members], ...]:
    """For each parameter, the arrays in it through which a store or atomic may reach memory.

    An array in a struct is told by the numbers of the members that lead to it. A parameter that is an array has none.
    An array that passes through control flow counts as any array of its element type.
    """
    return _written(fn, {})


def written_offsets(fn: Function) -> tuple[tuple[int, ...], ...]:
    """For each parameter, the byte offsets of the arrays in it through which a store or atomic may reach memory."""
    places = ((p.type, found) for p, found in zip(fn.params, written_arrays(fn)))
    return tuple(tuple(sorted(member_at(t, members)[0] for members in found)) for t, found in places)


def _written(fn: Function, known: _Written) -> tuple[frozenset[Members], ...]:
    if fn in known:
        return known[fn]
    known[fn] = tuple(_members_of(p.type, None) for p in fn.params)  # what recursion would get
    targets = [(found, dtype) for found, dtype in _targets(fn.body, known) if not _is_disjoint(found)]
    unclear = {dtype for found, dtype in targets if found.object not in fn.params}
    direct: dict[Value, set[Members]] = {}
    for found, _ in targets:
        direct.setdefault(found.object, set()).add(found.members)
    known[fn] = tuple(frozenset(direct.get(p, ())) | _members_of(p.type, unclear) for p in fn.params)
    return known[fn]


def _members_of(t: Type, dtypes: Collection[Type] | None) -> frozenset[Members]:
    """The arrays in a value of a type that have elements of some types, or of any type."""
    arrays = array_members(t) if dtypes is None or dtypes else ()
    return frozenset(tuple(n for n, _ in path) for path, array in arrays if dtypes is None or array.dtype in dtypes)


def _is_disjoint(found: Provenance) -> bool:
    """True if an array is memory of the thread or of its block, or a gradient."""
    return found.gradients > 0 or isinstance(found.object.type, FixedArray) or is_own(found.object)


def _arrays(t: Type) -> set[Type]:
    """The element types of the arrays that a value of a type is or has."""
    return {leaf.dtype for _, leaf in leaves(t) if isinstance(leaf, Array)}


def _targets(body: Region, known: _Written) -> Iterator[tuple[Provenance, Type]]:
    """The arrays that operations or callees write, and the types of their elements."""
    for op in body.walk():
        if op.code in ("store", "atomic"):
            yield provenance(op.args[0]), op.args[0].type.dtype
        elif op.code == "call":
            for value, written in zip(op.args, _written(op.attr, known)):
                for members in written:
                    yield provenance(value, members), member_at(value.type, members)[1].dtype  # type: ignore[attr-defined]


def needed_arrays(kernel: Function) -> tuple[Need, ...]:
    """The arrays without which no thread of a kernel can run."""
    numbers = {id(p): number for number, p in enumerate(kernel.params)}
    found: dict[Need, None] = {}
    for op in _always(kernel.body):
        if op.code in ("load", "store", "atomic"):
            source = provenance(op.args[0])
            if id(source.object) in numbers and not source.gradients:
                found[need_of(numbers[id(source.object)], source.object, source.members)] = None
    return tuple(found)


def covered_arrays(kernel: Function) -> tuple[Need, ...]:
    """The arrays that a launch over their shape overwrites, and of which no thread reads what was there."""
    found = _accesses(kernel, list(kernel.body.walk()))
    members = ((number, [n for n, _ in path]) for number, path, access in found if access.covers)
    return tuple(need_of(number, kernel.params[number], tuple(path)) for number, path in members)


def need_of(number: int, param: Value, path: tuple[int, ...]) -> Need:
    name = param.name
    for length, member in enumerate(path):
        _, t = member_at(param.type, path[:length])
        name = f"{name}.{t.fields[member][0]}"  # type: ignore[attr-defined]
    return Need(number, member_at(param.type, path)[0], name)


def effects(kernel: Function, flat: Function) -> Effects:
    """Return what a kernel does to memory. An array of unknown origin counts as any of its element type.

    Args:
        kernel: the kernel as the front end made it.
        flat: the kernel with all calls inlined.
    """
    operations = list(flat.body.walk())
    used = {a for op in operations for a in op.args}
    unordered = False
    for op in operations:
        if op.code == "atomic":
            unordered |= _looks(op, used) or element(op.result.type).is_float  # type: ignore[attr-defined]
    found = _accesses(flat, operations)
    params = []
    for number, param in enumerate(flat.params):
        inside = [access for n, _, access in found if n == number]
        together = Access(*(any(flags) for flags in zip(*inside)))
        params.append(together if isinstance(param.type, Array) else together._replace(covers=False))
    found = [(n, path, access) for n, path, access in found if access.reads or access.writes]
    arrays = tuple(ArrayAccess(n, tuple(name for _, name in path), access) for n, path, access in found)
    touched = (op.args[0] for op in operations if op.code in ("load", "store", "atomic"))
    hidden = any(is_made_by(array, "load", "array_at") for array in touched)
    again = _rereads(flat, [(flat.params[n], path) for n, path, _ in found])
    return Effects(tuple(params), arrays, again, unordered, hidden, id_params(flat), *_bits(kernel))


def _rereads(flat: Function, places: list[tuple[Value, Path]]) -> tuple[Reread, ...]:
    """What a thread may read of arrays after it has written it."""
    types = {place: array for place in places for path, array in array_members(place[0].type) if path == place[1]}

    @cache
    def numbers(accessed: Value) -> list[int]:
        return [k for k, place in enumerate(places) if _meets(flat, place, types[place], [accessed])]

    return rereads(flat, numbers)


def _accesses(function: Function, operations: list[Operation]) -> list[tuple[int, Path, Access]]:
    """The accesses of a function to each array in its parameters. A callee may read all that it is given."""
    used = {a for op in operations for a in op.args}
    covered, found_again = _covered(function)
    read: list[Value] = []
    written: list[Value] = []
    for op in operations:
        if op.code == "call":
            read += [a for a in op.args if _arrays(a.type)]
        if id(op) not in found_again and (op.code == "load" or (op.code == "atomic" and _looks(op, used))):
            read.append(op.args[0])
        if op.code in ("store", "atomic"):
            written.append(op.args[0])
    found = []
    for number, param in enumerate(function.params):
        for path, array in array_members(param.type):
            reads, writes = (_meets(function, (param, path), array, accessed) for accessed in (read, written))
            members = tuple(member for member, _ in path)
            covers = not reads and any(_is_at(provenance(v), param, members) for v in covered)
            found.append((number, path, Access(reads, writes, covers)))
    return found


def _is_at(found: Provenance, param: Value, members: tuple[int, ...]) -> bool:
    return found == Provenance(param, members)


def _bits(kernel: Function) -> tuple[bool, bool]:
    """True if a kernel reads bits of floats, and if it makes floats of bits. Library functions have rules for it."""
    casts = [op for function in _user_functions(kernel) for op in function.body.walk() if op.code == "bitcast"]
    return any(op.args[0].type.is_differentiable for op in casts), any(op.result.type.is_differentiable for op in casts)


def _user_functions(kernel: Function) -> Iterable[Function]:
    """Return a kernel and the functions that it calls, those of the library and their callees aside."""
    found = {kernel: None}
    rest = [kernel]
    while rest:
        for op in rest.pop().body.walk():
            if op.code == "call" and not op.attr.is_library and op.attr not in found:
                found[op.attr] = None
                rest.append(op.attr)
    return found


def _looks(atomic: Operation, used: set[Value]) -> bool:
    """True if the effect of an atomic operation depends on the old value."""
    return atomic.attr[0] not in ("add", "sub") or atomic.result in used


Path = tuple[tuple[int, str], ...]  # members that lead to an array in a parameter: their numbers and names


def array_members(t: Type, path: Path = ()) -> Iterator[tuple[Path, Array]]:
    """The arrays in a value of type `t`, each with the members that lead to it: their numbers and names."""
    if isinstance(t, Array):
        yield path, t
    elif isinstance(t, Struct):
        for number, (name, field) in enumerate(t.fields):
            yield from array_members(field, (*path, (number, name)))


def _meets(kernel: Function, place: tuple[Value, tuple], array: Array, accessed: list[Value]) -> bool:
    """True if one of the arrays that were accessed is, or may be, that at a place."""
    param, members = place[0], tuple(number for number, _ in place[1])
    for other in accessed:
        found = provenance(other)
        if found.object in kernel.params and not found.gradients:
            if found.object is param and found.members == members[: len(found.members)]:
                return True
        elif not is_own(found.object) and array.dtype in _arrays(other.type):
            return True
    return False


def _covered(function: Function) -> tuple[list[Value], set[int]]:
    """The arrays that every thread stores a whole element of, at its own index; ids of what looks there later."""
    forms = affine_values(function)
    covered: dict[int, Value] = {}
    later = set()
    for op in _always(function.body):
        inner = [op, *(inner for region in op.regions for inner in region.walk())]
        later |= {id(o) for o in inner if o.args and id(o.args[0]) in covered and _is_own_element(o, forms)}
        if op.code == "store" and not op.attr and _is_own_element(op, forms):
            covered[id(op.args[0])] = op.args[0]
    return list(covered.values()), later


def _is_own_element(op: Operation, forms: Forms) -> bool:
    """True if a load, a store or an atomic is of the element of an array at the thread's own index."""
    t = op.args[0].type
    if op.code not in ("load", "store", "atomic") or not isinstance(t, Array):
        return False
    return [forms.get(i) for i in op.args[1 : 1 + t.ndim]] == [Affine(d, t.ndim, 1) for d in range(t.ndim)]


def _always(body: Region) -> Iterator[Operation]:
    """The operations that every thread comes to, as no branch, loop or early return is on the way."""
    for op in body.ops:
        if any(inner.code in ("return", "unreachable") for region in op.regions for inner in region.walk()):
            return
        yield op
