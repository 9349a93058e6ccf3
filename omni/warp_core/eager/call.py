"""Builtins called from Python: the same IR that kernels run, through the interpreter.

A call is lowered once for each combination of argument types, exactly as the front end lowers `return f(a, b)`, and
kept. Importing this module makes `wp.dot(a, b)` and the like work; the registry imports it at the first such call.
Calls that come often are compiled: see `jit`.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

from .. import config
from ..codegen.target import host
from ..dispatch import observers
from ..front.lower import lower_function
from ..ir.interp import array_memory, interp
from ..ir.nodes import Function as IrFunction
from ..lang import registry, semantics
from ..lang.errors import CompileError
from ..lang.generics import Reference
from ..lang.kernel import Function
from ..lang.ref_params import changed
from ..lang.types import F32, I32, Array, Scalar, Struct, Type, element, leaves
from ..lang.values.scalars import scalar_type_of
from ..lang.values.value_classes import Components, from_leaves, python_type, to_leaves
from ..launches.kernel_errors import fill
from ..passes import pipeline
from . import addressed_memory, block_scheduler, tile_functions_outside  # noqa: F401 - they give intrinsics functions
from .array_view import ArrayCells

_serial = itertools.count()


class BoundArguments(NamedTuple):
    """An argument: a value of a type, or (`type` None) something known when the call is lowered."""

    type: Type | None
    value: Any


def call(callee: registry.Builtin | registry.Intrinsic, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run a builtin or intrinsic on Python values. Vectors and the like that it changes are changed in place.

    Raises:
        TypeError: no overload takes arguments of these types, or a number would have to be changed in place.
    """
    if isinstance(callee, registry.Intrinsic) and callee.run is not None:
        return _intrinsic(callee.name, callee.run, args, kwargs)
    if isinstance(callee, registry.Builtin) and callee.references:
        result, new = updated(callee, *args, **kwargs)
        for name, key in changes(callee, args, kwargs).items():
            _change(callee, args[key] if isinstance(key, int) else kwargs[key], new[name])
        return result
    return _result(_run(Callee(callee), args, kwargs))


def _intrinsic(name: str, run: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    try:
        return run(*args, **kwargs)
    except (TypeError, ValueError) as why:
        text = str(why)
        if f"wp.{name}" in text:
            raise
        raise type(why)(f"wp.{name}: {text.rpartition('() ')[2]}") from None


def _result(out: tuple[Any, ...]) -> Any:
    return out[0] if len(out) == 1 else out or None


def _change(callee: registry.Builtin, old: Any, new: Any) -> None:
    if not isinstance(old, Components):
        text = (
            f"wp.{callee.name}: a {type(old).__name__} cannot be changed in place here; use the "
            "overload that returns the result"
        )
        raise TypeError(text)
    old[:] = new


def updated(builtin: registry.Builtin, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Run a builtin that changes arguments: its result, and their new values by parameter."""
    changing = changes(builtin, args, kwargs)
    out = _run(Callee(builtin, tuple(changing.values())), args, kwargs)
    count = len(out) - len(changing)
    return _result(out[:count]), dict(zip(changing, out[count:]))


def changes(callee: registry.Builtin | Function, args: tuple, kwargs: dict[str, Any]) -> dict[str, int | str]:
    """Return the arguments that a call changes: parameter -> position or name of the argument."""
    if isinstance(callee, registry.Builtin) and callee.updates:
        return {"state": 0 if args else "state"}
    call = ast.Call(ast.Name("f", ast.Load()), [ast.Constant(i) for i in range(len(args))], [])
    call.keywords = [ast.keyword(name, ast.Constant(name)) for name in kwargs]
    return {name: a.value for name, a in changed(callee, call) if isinstance(a, ast.Constant)}  # type: ignore[misc]


class Callee(NamedTuple):
    """The called function, and the arguments (positions or names) whose new values are returned after the results."""

    function: registry.Builtin | registry.Intrinsic
    changes: tuple[int | str, ...] = ()


def _run(callee: Callee, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    names = (*(None for _ in args), *kwargs)
    values = (*args, *kwargs.values())
    fn, given = _lower(callee, names, [_given(v) for v in values])
    lines: list[str] = []
    try:
        operands = [_to_ir(g) for g in given if g.type is not None]
        results = interp.call(fn, operands, out=lines, array_at=partial(_array_at, {}))
    except interp.Failure as failure:
        raise ValueError(f"wp.{callee.function.name}: {fill(failure.message, failure.values)}") from None
    except addressed_memory.UnknownAddress as why:
        raise ValueError(f"wp.{callee.function.name}: {why}") from None
    except array_memory.Trap as why:
        raise IndexError(f"wp.{callee.function.name}: an index is out of range: {why}") from None
    if lines:
        print("".join(lines), end="", flush=True)
    return tuple(_from_ir(x, t) for x, t in zip(results, fn.results))


def _array_at(copied: dict[tuple[int, Type], Any], t: Type, address: int, count: int) -> array_memory.MemArray:
    """Return the registered array at an address. `copied` has what one call of a builtin copied from a GPU."""
    if not count and not address:
        return array_memory.MemArray.null(t, 1)
    found = addressed_memory.array_at(address, count, t.size)
    if found.device.is_cuda:
        elements = _GpuElements(found, t, copied)
        return array_memory.MemArray(t, (count,), elements)  # type: ignore[arg-type]
    cells = ArrayCells(Array(t, 1), address, (count,), (t.size,), found)
    return array_memory.MemArray(t, (count,), _Elements(cells))  # type: ignore[arg-type]


def lower_type_generic(
    callee: registry.Builtin | registry.Intrinsic, args: tuple
) -> tuple[tuple[Type, ...], IrFunction] | None:
    """The types of the arguments of a call and its IR, or None if they are not the same for all calls like it.

    They differ where a number in the arguments decides: it takes a type of its own or is needed when the
    call is lowered. A call that changes its arguments is not one for this.
    """
    if isinstance(callee, registry.Builtin) and callee.references and changes(callee, args, {}):
        return None
    raw = [_given(v) for v in args]
    common = _common(raw)
    try:
        fn, given = _lower(Callee(callee), (None,) * len(args), raw)
    except TypeError:
        return None
    params = tuple(g.type for g in given if g.type is not None)
    literals = [g.type for g, was in zip(given, raw) if was.type is None]
    if len(params) < len(given) or (common and any(t is not common for t in literals)):
        return None
    return params, fn


def _given(value: Any) -> BoundArguments:
    t = getattr(value, "__wc_type__", None)
    if isinstance(t, Type) and not isinstance(value, type):
        return BoundArguments(t, value)
    return BoundArguments(scalar_type_of(value), value)


def _lower(
    callee: Callee, names: tuple[str | None, ...], given: list[BoundArguments]
) -> tuple[IrFunction, list[BoundArguments]]:
    """The IR of the call, and its arguments as that takes them."""
    refusals = []
    for reading in _candidate_types(given):
        fn = _lowered(callee, names, tuple((g.type, None if g.type else _Known(g.value)) for g in reading))
        if isinstance(fn, IrFunction):
            return fn, reading
        refusals.append(fn)
    raise TypeError(_with_advice(callee.function.name, given, refusals[-1]))


def _with_advice(name: str, given: list[BoundArguments], refusal: str) -> str:
    """A refusal, with what to do about arguments that are no values of the kernel language."""
    for value in (g.value for g in given if g.type is None):
        vector = "it is not a vector: make one, such as wp.vec3(*a)"
        if isinstance(value, (list, tuple)):
            return f"{refusal}\na {type(value).__name__} was passed; {vector}"
        if getattr(value, "shape", ()):
            return f"wp.{name} takes values, got {type(value).__name__}; {vector}"
    forms = refusal.partition("\n")[2]
    if any(isinstance(g.type, Array) for g in given) and "array" not in forms:
        return f"{refusal}\nwp.map(wp.{name}, a) applies it to the elements of an array"
    return refusal


def _candidate_types(given: list[BoundArguments]) -> Iterator[list[BoundArguments]]:
    """Return the possible types of bare numbers among arguments, in order of preference.

    They take their most likely type, so that one function serves all numbers. Otherwise, integers beside floats are
    floats. Otherwise the number itself becomes part of the function, like a literal in a kernel.
    """
    common = _common(given)
    typed = _typed(given, common)
    yield typed
    if common is None and any(g.type is F32 for g in typed):
        yield _typed(given, F32)
    if typed != given:
        yield given


def _typed(given: list[BoundArguments], common: Scalar | None) -> list[BoundArguments]:
    return [BoundArguments(_literal_type(g.value, common), g.value) if g.type is None else g for g in given]


def _common(given: list[BoundArguments]) -> Scalar | None:
    """The type that numbers take beside these arguments."""
    scalars = [element(g.type) for g in given if g.type is not None]
    return next((s for s in scalars if isinstance(s, Scalar) and s.kind != "bool"), None)


def _literal_type(value: Any, common: Scalar | None) -> Scalar | None:
    if type(value) not in (int, float):
        return None
    if common is not None and semantics.fits(value, common):
        return common
    return I32 if isinstance(value, int) else F32


class _Known:
    """A compile-time argument as part of a key: by value where it has one, else by identity."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any):
        self.value = value
        self.key = (type(value), repr(value)) if isinstance(value, (int, float, str, type(None))) else id(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=1024)
def _lowered(
    callee: Callee, names: tuple[str | None, ...], given: tuple[tuple[Type | None, _Known | None], ...]
) -> IrFunction | str:
    """`return callee(arguments)` as IR, or why it cannot be lowered."""
    passed = [f"{name}=a{i}" if name else f"a{i}" for i, name in enumerate(names)]
    places = [f"a{names.index(key) if isinstance(key, str) else key}" for key in callee.changes]
    results = f"callee({', '.join(passed)})"
    if places and isinstance(callee.function, registry.Builtin) and callee.function.references:
        if _is_procedure(callee.function):
            results = f"{results}\n    return {', '.join(places)}"
        else:
            results = f"result = {results}\n    return {', '.join(['result', *places])}"
    else:
        results = f"return {', '.join([results, *places])}"
    types = {f"a{i}": t for i, (t, _) in enumerate(given) if t is not None}
    known = {f"a{i}": k.value for i, (_, k) in enumerate(given) if k is not None}
    name = callee.function.name
    function = define(name, f"    {results}\n", types, {"callee": callee.function, **known}, Function)
    function.quiet = True  # no line of the user's is to be warned of
    try:
        return pipeline.run(lower_function(function), pass_options())
    except CompileError as why:
        return _refusal(name, why)


def _is_procedure(builtin: registry.Builtin) -> bool:
    """True if the overloads that change arguments have no result. Other overloads may have one."""
    changing = (o for o in builtin.overloads if any(isinstance(pattern, Reference) for _, pattern, _ in o.params))
    return all(o.func.__annotations__["return"] == "None" for o in changing)


def pass_options() -> pipeline.PassOptions:
    """As kernels are compiled on this machine, so that results agree to the bit."""
    return pipeline.PassOptions(contract=host(config.cpu_target).fma)


def define(name: str, body: str, params: dict[str, Type], captured: dict[str, Any], make: Callable[[Any], Any]) -> Any:
    """Return the result of `make` for a Python function of this body, whose source can be read while `make` runs."""
    text = f"def {name}({', '.join(params)}):\n{body}"
    file = f"<call {next(_serial)} of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = dict(captured)
    exec(compile(text, file, "exec"), space)
    python = space[name]
    python.__annotations__ = params
    try:
        return make(python)
    finally:
        del linecache.cache[file]


def _refusal(name: str, why: CompileError) -> str:
    first = why.diagnostics[0]
    head = first.message if first.message.startswith(f"`wp.{name}`") else f"wp.{name}: {first.message}"
    lines = [head, *(f"    {c}" for c in first.candidates)]
    return "\n".join(lines + ([first.help] if first.help else []))


def _to_ir(given: BoundArguments) -> Any:
    t = given.type
    if isinstance(t, Array):
        return _memory(given.value, t)
    assert t is not None
    flat = to_leaves(given.value, t)
    if isinstance(t, Struct):
        flat = tuple(_memory(x, leaf) if isinstance(leaf, Array) else x for x, (_, leaf) in zip(flat, leaves(t)))
    return array_memory.unflatten(flat, t)


def _memory(value: Any, t: Array) -> array_memory.MemArray:
    """An array, or None, as the interpreter takes it."""
    cells = ArrayCells.of(value, t)
    return array_memory.MemArray(t.dtype, [int(n) for n in cells.shape], _Elements(cells))  # type: ignore[arg-type]


def _from_ir(value: Any, t: Type) -> Any:
    return from_leaves(t, [_shown(x) for x in array_memory.flatten(value, t)])


def _shown(leaf: Any) -> Any:
    """A leaf of a result. An array that a library function found is one to read."""
    if not isinstance(leaf, array_memory.MemArray):
        return leaf
    return ArrayCells.of(None, Array(leaf.dtype, 1)) if leaf.is_null else leaf.data.shown()  # type: ignore[attr-defined]


class _ReadOnly:
    """Keeps an array for cells that no one writes."""

    readonly = True

    def __init__(self, array: Any):
        self.array = array


class _Elements:
    """The memory of an array as the interpreter's flat list of elements."""

    def __init__(self, cells: ArrayCells):
        self.cells, self.extents = cells, [int(n) for n in cells.shape]
        self.type = cells.__wc_type__.dtype

    def _indices(self, flat: int) -> tuple[int, ...]:
        out: list[int] = []
        for n in reversed(self.extents):
            out.insert(0, flat % n)
            flat //= n
        return tuple(out)

    def shown(self) -> ArrayCells:
        """The array as Python code reads it."""
        cells = self.cells
        return ArrayCells(cells.__wc_type__, cells.begin, cells._shape, cells._strides, _ReadOnly(cells.owner))

    def __len__(self) -> int:
        return math.prod(self.extents)

    def __getitem__(self, flat: int) -> Any:
        return array_memory.unflatten(to_leaves(self.cells[self._indices(flat)], self.type), self.type)

    def __setitem__(self, flat: int, value: Any) -> None:
        self.cells[self._indices(flat)] = _from_ir(value, self.type)


class _GpuElements:
    """The elements of a type at an address of a GPU, which are copied some at a time when one is read."""

    _TOGETHER = 256

    def __init__(self, memory: Any, t: Type, copied: dict[tuple[int, Type], Any]):
        """`memory` is the array at the address, of whatever type."""
        self.memory, self.type, self.copied = memory, t, copied
        self.count = memory.size * memory.strides[-1] // t.size  # others may ask for fewer of them

    def shown(self) -> ArrayCells:
        """A copy of the array, as Python code reads it."""
        made = self._part(0, self.count).to("cpu")
        return ArrayCells(Array(self.type, 1), made.ptr, (self.count,), (self.type.size,), _ReadOnly(made))

    def __getitem__(self, i: int) -> Any:
        begin = i - i % self._TOGETHER
        key = (self.memory.ptr + begin * self.type.size, self.type)
        if key not in self.copied:
            part = self._part(begin, min(self._TOGETHER, self.count - begin)).to("cpu")
            self.copied[key] = self._elements(part)
        return self.copied[key][i - begin]

    def __setitem__(self, i: int, value: Any) -> None:
        element = self._part(i, 1)
        made = element.to("cpu")
        self._elements(made)[0] = value
        with observers.NotRecording():
            element.assign(made)
        self.copied.clear()  # parts may overlap, as memory is read as several types

    def _part(self, begin: int, count: int) -> Any:
        place, kind = self.memory.ptr + begin * self.type.size, type(self.memory)
        return kind(ptr=place, shape=count, dtype=python_type(self.type), device=self.memory.device)

    def _elements(self, part: Any) -> _Elements:
        return _Elements(ArrayCells.of(part, Array(self.type, 1)))
