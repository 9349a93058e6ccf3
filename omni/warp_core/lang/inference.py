"""Which types a launch gives the parameters of a generic kernel: `argument_types` reads them off the arguments,
`explicit_types` takes them from the user. And which overload of a function takes values: `overload_for`.

Typed arguments decide the type variables first. A bare Python number then takes the type its variable has, and is
int32, float32 or bool where the variable is still open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import types
from .annotations import describe, type_or_none
from .arrays import ArrayAnnotation
from .generics import (
    Constant,
    Pattern,
    TuplePattern,
    is_generic,
    passed,
    plain,
    spell,
    spell_pattern,
    substitute,
    unify,
)
from .types import Array, Type
from .values.value_classes import python_type

if TYPE_CHECKING:
    from .kernel import Function, Kernel

_NUMBERS = ((bool, (types.BOOL,)), (int, (types.I32, types.F32)), (float, (types.F32,)))
# Elements that take trailing dimensions of a NumPy array: how many, and the element they make with a scalar.
_INNER: dict[str, tuple[int, Any]] = {
    "": (0, lambda s: s),
    "Vec": (1, types.Vec),
    "Mat": (2, types.Mat),
    "Quat": (1, lambda n, s: types.Quat(s)),
    "Transform": (1, lambda n, s: types.Transform(s)),
}


def is_open(t: Any) -> bool:
    """True if a parameter is generic, so that its type comes from the arguments."""
    return is_generic(plain(t)) and t is not Constant


def check_count(kernel: Kernel, args: Sequence[Any]) -> None:
    """Raise TypeError unless there is one argument for each parameter, in the words of `Plan::check_count`."""
    names = [name for name, _ in kernel.params]
    if len(args) == len(names):
        return
    plural = "" if len(names) == 1 else "s"
    first = f"; the first missing one is `{names[len(args)]}`" if len(args) < len(names) else ""
    raise TypeError(
        f"kernel `{kernel.name}` takes {len(names)} argument{plural} ({', '.join(names)}), but inputs and outputs give "
        f"{len(args)}{first}; write inputs=[{', '.join(names)}]"
    )


def argument_types(kernel: Kernel, args: Sequence[Any]) -> tuple[Type, ...]:
    """The types of a kernel's parameters for a launch with these arguments.

    Raises:
        TypeError: an argument does not fit its parameter, or has no type of its own; the message names both.
    """
    check_count(kernel, args)
    params = kernel.params
    bindings: dict[str, object] = {}
    found = infer([pattern for _, pattern in params], args, bindings)
    for i, t in enumerate(found):
        if t is None:
            raise _misfit(kernel, i, args[i], bindings)
    return tuple(found)  # type: ignore[arg-type]


def infer(patterns: Sequence[Any], args: Sequence[Any], bindings: dict[str, object]) -> list[Type | None]:
    """The types that arguments give parameters of these types and patterns, None for those that do not fit."""
    patterns = [plain(pattern) for pattern in patterns]
    out: list[Any] = [None if is_open(pattern) else pattern for pattern in patterns]
    # typed arguments decide the type variables, then numbers with a point, then integers
    for turn in range(3):
        for i, (pattern, x) in enumerate(zip(patterns, args)):
            if out[i] is None and _turn_of(x) == turn:
                out[i] = _untyped(pattern, x, bindings) if turn else _typed(pattern, x, bindings)
    return out


def _turn_of(x: Any) -> int:
    if type(x) is float:
        return 1
    return 2 if x is None or type(x) in (bool, int) else 0


def _typed(pattern: Any, x: Any, bindings: dict[str, object]) -> Type | None:
    found = passed(type_of_value(x, pattern), pattern)
    return found if found is not None and unify(pattern, found, bindings) else None


def _untyped(pattern: Any, x: Any, bindings: dict[str, object]) -> Type | None:
    """The type of a bare number, or of None, once the typed arguments have bound the type variables."""
    bound = substitute(pattern, bindings)
    if isinstance(bound, Type):
        return bound
    candidates = next((c for kind, c in _NUMBERS if isinstance(x, kind)), ())
    return next((t for t in candidates if unify(pattern, t, bindings)), None)


def type_of_value(x: Any, pattern: Any = None) -> Type | None:
    """The type that a value has by itself, None if it has none. Of NumPy arrays, `pattern` says whether the last
    dimensions are components.
    """
    if isinstance(x, type):
        return None
    found = getattr(x, "__wc_type__", None)
    if found is not None:
        return found if isinstance(found, Type) and not isinstance(x, ArrayAnnotation) else None
    if hasattr(x, "__array_interface__") and hasattr(x, "dtype"):
        return _type_of_data(x, pattern)
    if isinstance(x, int):  # members of enums
        return types.I32
    known = type_or_none(type(x))
    return known if isinstance(known, Type) else None


def _type_of_data(x: Any, pattern: Any) -> Type | None:
    scalar = type_or_none(x.dtype.type)
    element = pattern.params[0] if isinstance(pattern, Pattern) and pattern.head == "Array" else None
    count, make = _INNER[element.head] if isinstance(element, Pattern) else _INNER[""]
    if x.ndim == 0 and count == 0 and type_or_none(type(x)) is scalar:  # a NumPy number
        return scalar
    ndim = x.ndim - count
    if not isinstance(scalar, types.Scalar) or not 1 <= ndim <= types.MAX_NDIM:
        return None
    return Array(make(*x.shape[ndim:], scalar), ndim)


def _misfit(kernel: Kernel, index: int, x: Any, bindings: dict[str, object]) -> TypeError:
    name, pattern = kernel.params[index]
    wanted = spell_pattern(substitute(pattern, bindings))
    found = type_of_value(x, pattern)
    given = spell(found) if found is not None else "None" if x is None else type(x).__name__
    helps = ""
    if found is None and isinstance(x, (tuple, list)):
        helps = "; give it a type, as wp.vec3(...) or wp.array(...) do"
    elif found is None:
        helps = ", whose type cannot be inferred"
    return TypeError(f"kernel `{kernel.name}`: argument `{name}` takes {wanted}, got {given}{helps}")


def explicit_types(kernel: Kernel, given: Sequence[Any] | Mapping[str, Any]) -> tuple[Type, ...]:
    """The types of a generic kernel's parameters as the user gives them.

    Args:
        kernel: the generic kernel.
        given: annotations for all parameters in order, or by name for those that are left open.

    Raises:
        TypeError: a type is missing, unknown, left open itself, or does not fit its parameter.
        ValueError: there is no parameter of that name.
    """
    params = kernel.params
    if not any(is_generic(t) for _, t in params):
        raise TypeError(f"kernel `{kernel.name}` has no overloads: it is not generic")
    if isinstance(given, Mapping):
        given = _in_order(kernel, given)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"kernel `{kernel.name}`: expected a list of types, or a dict by parameter, got {given!r}")
    if len(given) != len(params):
        names = ", ".join(name for name, _ in params)
        raise TypeError(f"kernel `{kernel.name}` has {len(params)} parameters ({names}), got {len(given)} types")
    bindings: dict[str, object] = {}
    return tuple(_explicit(kernel, name, pattern, a, bindings) for (name, pattern), a in zip(params, given))


def _in_order(kernel: Kernel, given: Mapping[str, Any]) -> list[Any]:
    names = [name for name, _ in kernel.params]
    for name in given:
        if name not in names:
            raise ValueError(f"kernel `{kernel.name}` has no parameter `{name}`: it has {', '.join(names)}")
    return [given.get(name, t) for name, t in kernel.params]


def _explicit(kernel: Kernel, name: str, pattern: Any, annotation: Any, bindings: dict[str, object]) -> Type:
    where = f"kernel `{kernel.name}`: the type of parameter `{name}`"
    found = type_or_none(annotation)
    if found is None:
        raise TypeError(f"{where}: {describe(annotation)} is not a type that kernels know")
    if is_generic(found):
        raise TypeError(f"{where} is still generic in the overload: {spell_pattern(found)}")
    if not unify(pattern, found, bindings):
        wanted = spell_pattern(substitute(pattern, bindings))
        raise TypeError(f"{where}: expected {wanted}, got {spell(found)}")
    return found


def annotations_of(found: Iterable[Type]) -> list[Any]:
    """Types as they are written in annotations."""
    return [ArrayAnnotation(python_type(t.dtype), t.ndim) if isinstance(t, Array) else python_type(t) for t in found]


# -- overloads of functions -----------------------------------------------------------------------------------------


def overload_for(overloads: Sequence[Function], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Function | None:
    """The first overload that takes these values, preferably with bare numbers as the types they have by themselves."""
    for adapting in (False, True):
        for f in overloads:
            wanted = {name: plain(t) for name, t in f.params}
            given = dict(zip(wanted, args)) | dict(kwargs)
            complete = given.keys() | f.defaults.keys() == wanted.keys() and len(given) == len(args) + len(kwargs)
            bindings: dict[str, object] = {}
            if complete and all(_takes(wanted[name], x, bindings, adapting) for name, x in given.items()):
                return f
    return None


def _takes(pattern: Any, x: Any, bindings: dict[str, object], adapting: bool) -> bool:
    if pattern is Constant:
        return True
    if isinstance(pattern, TuplePattern):
        items = pattern.items_for(len(x)) if isinstance(x, tuple) else None
        return items is not None and all(_takes(p, y, bindings, adapting) for p, y in zip(items, x))
    if type(x) not in (bool, int, float):
        found = passed(type_of_value(x, pattern), pattern)
        return found is not None and unify(pattern, found, bindings)
    kind, natural = next((kind, c[0]) for kind, c in _NUMBERS if isinstance(x, kind))
    if not adapting or kind is bool:
        return unify(pattern, natural, bindings)
    bound = substitute(pattern, bindings)
    if isinstance(bound, types.Scalar):
        return bound.is_float or (bound.is_int and kind is int)
    return any(unify(pattern, t, bindings) for t in (natural, types.F32))


def no_overload(name: str, args: Sequence[Any]) -> TypeError:
    """The exception for values that no overload takes."""
    found = [(type_of_value(x), x) for x in args]
    return TypeError(
        f"no overload of `{name}` takes {', '.join(spell(t) if t else type(x).__name__ for t, x in found)}"
    )
