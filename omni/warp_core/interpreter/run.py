"""Runs a kernel as plain Python, thread by thread, so that a debugger stops on the user's lines.

`wp.config.mode = "interpret"`, or `interpret=True` at a launch. The functions that run are the user's own with the few
changes of `rewrite`; numbers are the typed scalars of `lang.scalars`, arrays are `array_view`. Integer results agree
with compiled code bit for bit, floats to rounding (compiled code may fuse a*b + c). Start with `run`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..eager import block_scheduler
from ..eager.array_view import ArrayCells, LocalCells
from ..eager.call import changes, updated
from ..eager.intrinsics import Grid, grid, tid, typed
from ..front import content_hash
from ..front.lower import local_types, lower_function, lower_kernel
from ..front.names import is_constant
from ..front.values import UntypedLiteral
from ..lang import registry
from ..lang.generics import Constant, Reference, TuplePattern
from ..lang.inference import infer, is_open, no_overload, overload_for
from ..lang.kernel import Definition, Function, Kernel
from ..lang.ref_params import changes_arguments
from ..lang.types import Array, FixedArray, Scalar, Struct, Type, leaves
from ..lang.values.scalars import SCALAR_CLASSES, scalar_type_of, typed_components
from ..lang.values.structs import StructValue, spell
from ..lang.values.value_classes import Components, from_leaves, to_leaves
from ..launches import plans
from .ast_transform import RewriteContext, captured_objects, rewrite
from .typed_builtins import REPLACED


def run(kernel: Kernel, dims: tuple[int, ...], args: list[Any], block_dim: int = 0) -> None:
    """Run `kernel` for every index of the grid `dims`, the last dimension fastest.

    Args:
        kernel: the kernel.
        dims: launch dimensions.
        args: one value per parameter; arrays are runtime arrays or None.
        block_dim: how many threads a block has, 0 for kernels that do not work in blocks.

    Raises:
        TypeError, ValueError: an argument is not of its parameter's type.
        Exception: whatever the kernel's Python code raises, at the user's line.
    """
    here = Grid(dims, kernel.options.get("tiled", 0) == len(dims))
    at_grid, at_components = grid.set(here), typed_components.set(True)
    try:
        values = [_argument(kernel, name, t, x) for x, (name, t) in zip(args, kernel.params)]
        python = plans.interpreted(kernel, lambda: _python(kernel))
        indices = itertools.product(*map(range, dims))
        if block_dim:
            block_scheduler.run(here, list(indices), block_dim, lambda: python(*map(value, values)))
        else:
            for here.index in indices:
                python(*map(value, values))
    except Exception as why:
        if here.index and hasattr(why, "add_note"):  # from Python 3.11 on
            why.add_note(f"in kernel `{kernel.name}`, thread {here.index if len(dims) > 1 else here.index[0]}")
        raise
    finally:
        grid.reset(at_grid)
        typed_components.reset(at_components)


def _argument(kernel: Kernel, name: str, t: Type, x: Any) -> Any:
    try:
        return convert(x, t)
    except (TypeError, ValueError) as why:
        raise type(why)(f"kernel `{kernel.name}`: argument `{name}`: {why}") from None


def _python(kernel: Kernel) -> Callable:
    """The Python function that runs one thread of a kernel."""
    if any(not is_constant(x) for d in content_hash.definitions(kernel) for x in captured_objects(d)):
        lower_kernel(kernel)  # which raises, unless that is code that never runs
    made = _Run(lambda: plans.with_captured_constants(kernel, plans.options_for(kernel)))
    return made.rewrite(kernel, made.meaning, converts_arguments=False)


def python_function(function: Function) -> Callable:
    """The Python function that computes what a user function means, on typed values."""
    return _Run(nullcontext).function(function)


_UNCONVERTED = (None, Constant)  # types of arguments that are no values: functions, types, tuples


class _Changing:
    """A function that changes arguments; called like this it changes nothing."""

    def __init__(self, function: Function, rewritten: Callable):
        self.function, self.rewritten = function, rewritten

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.rewritten(*args, **kwargs)[0]


class _Run:
    """A kernel or function that is interpreted, with the functions rewritten for it.

    `at_first` is a `with` block in which names have the values that the kernel captures.
    """

    def __init__(self, at_first: Callable[[], AbstractContextManager]) -> None:
        self.at_first = at_first
        self.functions: dict[Definition, Callable] = {}
        self.meaning = RewriteContext(
            substitute=self.substitute,
            value=value,
            convert=convert,
            items=items,
            tid=tid,
            literal=literal,
            like=like,
            result_types=result_types,
            local_types=known_types,
            fitting=fitting,
            changing=self.changing,
            passed=self.passed,
        )

    def rewrite(self, definition: Definition, meaning: RewriteContext, converts_arguments: bool) -> Callable:
        """The Python function that computes what `definition` means, with the values that the kernel captures."""
        with self.at_first():
            return rewrite(definition, meaning, converts_arguments)

    def substitute(self, obj: Any) -> Any:
        """Return the replacement for a captured object."""
        if isinstance(obj, Function):
            return self.function(obj)
        if isinstance(obj, (tuple, list)):
            return tuple(map(self.substitute, obj))
        if isinstance(obj, (Components, StructValue)):
            return value(obj)  # which may change in place
        obj = getattr(obj, "__wc_intrinsic__", obj)
        if isinstance(obj, registry.Intrinsic):
            return obj.run or obj
        if getattr(obj, "shape", None) == () and scalar_type_of(obj) is not None:
            return SCALAR_CLASSES[scalar_type_of(obj)](obj)  # type: ignore[index]
        try:
            return REPLACED.get(obj, obj)
        except TypeError:  # not hashable
            return obj

    def function(self, f: Function) -> Callable:
        """Return a function that computes `f`, without the arguments that it changes."""
        found = self.rewritten(f)
        return _Changing(f, found) if changes_arguments(f) else found

    def changing(self, f: Function | registry.Builtin) -> Callable:
        """Return a function that computes `f` and also returns the arguments that it changes."""
        return functools.partial(updated, f) if isinstance(f, registry.Builtin) else self.rewritten(f)

    def passed(self, f: Any, *args: Any, **kwargs: Any) -> tuple[Any, dict[int | str, Any]]:
        """A call of a function that was passed as an argument, and what it changes."""
        callee = f.function if isinstance(f, _Changing) else f
        if not isinstance(callee, (Function, registry.Builtin)) or not changes_arguments(callee):
            return f(*args, **kwargs), {}
        result, new = self.changing(callee)(*args, **kwargs)
        return result, {key: new[name] for name, key in changes(callee, args, kwargs).items()}

    def rewritten(self, f: Function) -> Callable:
        """The rewritten function; one that can change its arguments returns them too."""
        if f not in self.functions:
            self.functions[f] = self.overloaded(f) if len(f.overloads) > 1 else self.alone(f)
        return self.functions[f]

    def alone(self, f: Function) -> Callable:
        """One overload; a generic one is made anew for each combination of argument types."""
        if not any(is_open(t) for _, t in f.params):
            return self.rewrite(f, self.meaning, True)
        signature, rows = inspect.signature(f.func), {}

        def call(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            types = tuple(infer([t for _, t in f.params], list(given.arguments.values()), {}))
            if types not in rows:
                results = functools.partial(_results_for, f, types)
                known = functools.partial(_locals_for, f, types)
                rows[types] = self.rewrite(f, self.meaning._replace(result_types=results, local_types=known), False)
            values = [x if t in _UNCONVERTED else convert(x, t) for x, t in zip(given.arguments.values(), types)]
            return rows[types](**dict(zip(given.arguments, values)))

        call.__name__ = f.name
        return call

    def overloaded(self, f: Function) -> Callable:
        """A function that picks the overload whose parameters take the arguments."""
        rows = {o: self.alone(o) for o in f.overloads}
        wraps = changes_arguments(f)

        def call(*args: Any, **kwargs: Any) -> Any:
            chosen = overload_for(f.overloads, args, kwargs)
            if chosen is None:
                raise no_overload(f.name, args)
            out = rows[chosen](*args, **kwargs)
            return _with_unchanged(chosen, args, kwargs, out) if wraps else out

        call.__name__ = f.name
        return call


def _with_unchanged(f: Function, args: tuple, kwargs: dict, out: Any) -> tuple[Any, dict[str, Any]]:
    """A result with the values of all arguments after the call, also of those that another overload would change."""
    result, new = out if any(isinstance(t, Reference) for _, t in f.params) else (out, {})
    return result, dict(zip((name for name, _ in f.params), args)) | kwargs | new


def describe(x: Any) -> str:
    """The type of a value in the words of the kernel language."""
    t = _type(x)
    return spell(t) if t is not None else type(x).__name__


def _type(x: Any) -> Type | None:
    t = getattr(x, "__wc_type__", None)
    return t if isinstance(t, Type) else None


def _fits(x: Any, t: Scalar) -> bool:
    """True if a literal can be a `t`."""
    if isinstance(x, bool):
        return t.kind == "bool"
    return t.is_float or (t.is_int and isinstance(x, int))


# -- values -----------------------------------------------------------------------------------------------------------


def value(x: Any) -> Any:
    """Return the value of a name that is bound to `x`: literals get their type, vectors and structs are copied."""
    if isinstance(x, tuple):
        return tuple(map(value, x))
    if isinstance(x, (Components, StructValue)):
        return type(x)._from(x._leaves())
    return x.copy() if isinstance(x, LocalCells) else typed(x)


def convert(x: Any, t: Type | TuplePattern) -> Any:
    """`x` as a value of type `t`: literals adapt, anything else must have that type.

    Raises:
        TypeError: `x` has another type.
    """
    if isinstance(t, TuplePattern):
        return _tuple(x, t)
    if isinstance(t, Array):
        return _array(x, t)
    u = _type(x)
    if u is not None and u is not t:
        raise TypeError(f"expected {spell(t)}, got {spell(u)}")
    flat = to_leaves(x, t)
    if isinstance(t, Struct):
        flat = tuple(_array(v, leaf) if isinstance(leaf, Array) else v for v, (_, leaf) in zip(flat, leaves(t)))
    return from_leaves(t, flat)


def _tuple(x: Any, t: TuplePattern) -> tuple:
    wanted = t.items_for(len(x)) if isinstance(x, tuple) else None
    if wanted is None:
        raise TypeError(f"expected {t}, got {x!r}")
    return tuple(map(convert, x, wanted))


def _array(x: Any, t: Array) -> ArrayCells:
    if isinstance(x, LocalCells) and not isinstance(t, FixedArray):
        x = x.view()
    if x is not None and _type(x) is not t:
        raise TypeError(f"expected {spell(t)}, got {describe(x)}")
    return ArrayCells.of(x, t)


def items(iterable: Iterable) -> Iterator[Any]:
    """The values a `for` goes through."""
    return map(value, iterable)


def like(number: int | float, other: Callable[[], Any]) -> Any:
    """A literal as a value of the type that `other()` has, the alternative that was not taken."""
    try:
        t = _type(other())
    except Exception:  # what the condition guarded against
        t = None
    return SCALAR_CLASSES[t](number) if isinstance(t, Scalar) and _fits(number, t) else typed(number)


def result_types(definition: Definition) -> tuple[Type, ...]:
    """The types that a function returns, which only the whole of it tells where it returns literals."""
    return lower_function(definition).results if isinstance(definition, Function) else ()


def known_types(definition: Definition) -> dict[str, Type]:
    """The types of the locals of a kernel or function."""
    return local_types(definition) if isinstance(definition, (Kernel, Function)) else {}


def _results_for(f: Function, types: tuple[Any, ...], _: Definition) -> tuple[Type, ...]:
    """Return the results of a generic function for arguments of these types; () where an argument is a function."""
    return () if any(t in _UNCONVERTED for t in types) else lower_function(f, types).results


def _locals_for(f: Function, types: tuple[Any, ...], _: Definition) -> dict[str, Type]:
    """The types of a generic function's locals for arguments of these types; {} where one is a function."""
    return {} if any(t in _UNCONVERTED for t in types) else local_types(f, types)


def fitting(x: Any, t: Type) -> Any:
    """Return the value of a local of type `t` that is bound to a literal."""
    is_number = isinstance(t, Scalar) and type(x) in (int, float)
    return SCALAR_CLASSES[t](x) if is_number and UntypedLiteral(x).fits(t) else value(x)  # type: ignore[index]


def literal(operation: Callable, a: Any, b: Any) -> Any:
    """An operator on two literals: a literal, with the kernel language's division on integers."""
    if isinstance(a, int) and isinstance(b, int) and operation.__name__ in ("truediv", "mod"):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operation.__name__ == "truediv" else a - b * quotient
    return operation(a, b)
