"""From Python annotations to types: `type_of` for one annotation, `parameters` for a whole signature."""

from __future__ import annotations

import collections.abc
import inspect
import re
import typing
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import FrameType, UnionType
from typing import Any as AnyObject
from typing import ClassVar, NoReturn

from . import generics, types
from .generics import Constant, Pattern, TuplePattern, TypeVar
from .types import Type

_PYTHON: dict[object, Type] = {int: types.I32, float: types.F32, bool: types.BOOL}
_NUMPY = {
    **{f"{kind}{bits}": f"{short}{bits}" for kind, short in (("int", "i"), ("uint", "u")) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    "bool_": "bool",
    "bool": "bool",
}

_UNIONS = (typing.Union, UnionType)

_QUOTES = 3  # nested strings an annotation may consist of

# Parameters annotated so take compile-time arguments: functions, lambdas, strings.
_COMPILE_TIME = (str, typing.Callable, collections.abc.Callable)


def type_or_none(annotation: AnyObject) -> AnyObject:
    """Like `type_of`, but None for what is not a type."""
    if isinstance(annotation, (Type, TypeVar, Pattern, TuplePattern)):
        return annotation
    found = getattr(annotation, "__wc_type__", None)
    if found is not None:  # a value of a type is not a type
        return None if getattr(type(annotation), "__wc_type__", None) is found else found
    if isinstance(annotation, type):
        if annotation in _PYTHON:
            return _PYTHON[annotation]
        if annotation.__module__ == "numpy" and annotation.__name__ in _NUMPY:
            return types.SCALAR_BY_KEY[_NUMPY[annotation.__name__]]
        if (annotation.__module__, annotation.__name__) == ("ml_dtypes", "bfloat16"):  # JAX's type for NumPy arrays
            return types.BF16
    if annotation is typing.Any:
        return generics.Any
    if isinstance(annotation, typing.TypeVar):
        return _variable(annotation)
    if typing.get_origin(annotation) in _UNIONS:
        return _union(typing.get_args(annotation))
    if typing.get_origin(annotation) is tuple:
        return _tuple(typing.get_args(annotation))
    if any(annotation is c for c in _COMPILE_TIME) or typing.get_origin(annotation) is collections.abc.Callable:
        return Constant
    return None


@cache
def _variable(v: typing.TypeVar) -> TypeVar:
    """A type variable of Python's. Its constraints, or its bound, are the types it may stand for."""
    limits = [type_of(t) for t in v.__constraints__ or ((v.__bound__,) if v.__bound__ else ())]
    if len(limits) == 1 and isinstance(limits[0], TypeVar):
        return TypeVar(v.__name__, limits[0].kind)
    return TypeVar(v.__name__, "any", among=tuple(limits))


def _union(members: tuple[AnyObject, ...]) -> AnyObject:
    """A parameter of any of these types, each on its own. None is a value of arrays, and stands beside them alone."""
    found = [type_or_none(m) for m in members if m is not type(None)]
    if len(found) < len(members) and not all(_is_array(t) for t in found):
        return None
    if any(t is generics.Any for t in found):
        return generics.Any
    if len(found) == 1:
        return found[0]
    if not all(isinstance(t, Type) for t in found):
        return None
    return TypeVar(" | ".join(map(generics.spell, found)), "any", free=True, among=tuple(found))


def _tuple(items: tuple[AnyObject, ...]) -> TuplePattern | None:
    """The pattern of `tuple[...]`, None if an item is no type."""
    repeated = len(items) == 2 and items[1] is ...
    found = tuple(type_or_none(i) for i in (items[:1] if repeated else items))
    return None if None in found else TuplePattern(found, repeated)


def _is_array(t: AnyObject) -> bool:
    return isinstance(t, types.Array) or (isinstance(t, Pattern) and t.head == "Array")


class Structure:
    """Data that kernels find by an id, such as a mesh or a volume. It is no type of a parameter: that of its id is."""

    # Not in `vars(mesh)`: there are programs that save and restore all arrays in it, and this is the descriptor.
    __slots__ = ("_place",)
    _another: ClassVar[str]  # how to make another one like it

    def __reduce__(self) -> NoReturn:
        """Refuse to pickle or copy. The id is a place in memory, and the copy would free it, too."""
        why = "as its id is a place in the memory of this process"
        raise TypeError(f"wp.{type(self).__name__} cannot be copied or pickled, {why}: {self._another}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._summary()})"

    def _summary(self) -> str:
        """Return what tells one structure from another, such as its size."""
        raise NotImplementedError


def open_type(dtype: AnyObject) -> AnyObject:
    """The type variable or pattern that a dtype is; None if it names one type, or nothing that kernels know."""
    found = type_or_none(dtype)
    return found if isinstance(found, (TypeVar, Pattern)) and found is not Constant else None


def type_of(annotation: AnyObject) -> Type:
    """The type an annotation stands for (or the pattern, in generic signatures).

    Args:
        annotation: `int`, `float`, `bool`, a class or array annotation of this package, a NumPy scalar class, a `Type`.

    Raises:
        TypeError: the annotation is not a type of the kernel language.

    >>> type_of(float)
    f32
    """
    found = type_or_none(annotation)
    if found is None:
        is_structure = isinstance(annotation, type) and issubclass(annotation, Structure)
        told = ": they take its `id`, a wp.uint64" if is_structure else ""
        raise TypeError(f"{describe(annotation)} is not a type that kernels know{told}")
    return found


def describe(annotation: AnyObject) -> str:
    """An annotation in words for an error."""
    name = getattr(annotation, "__name__", None)
    return f"`{name}`" if isinstance(annotation, type) and name else f"`{annotation!r}`"


def evaluate(annotation: AnyObject, module_globals: dict, names: Mapping) -> AnyObject:
    """An annotation; one written as a string is evaluated among these names.

    With `from __future__ import annotations`, one in quotes is a string inside a string.
    """
    for _ in range(_QUOTES):
        if isinstance(annotation, str):
            annotation = eval(annotation.strip(), module_globals, names)  # the user's own, as inspect does
    return annotation


def evaluate_for(annotation: AnyObject, func: Callable, frame_locals: Mapping | None = None) -> AnyObject:
    """An annotation of a function, evaluated where the function was defined."""
    cells = zip(func.__code__.co_freevars, func.__closure__ or ())
    names = ChainMap({n: c.cell_contents for n, c in cells if _filled(c)}, frame_locals or {})  # type: ignore[arg-type]
    return evaluate(annotation, func.__globals__, names)


def surroundings(frame: FrameType) -> Mapping:
    """The locals that annotations written as strings may name: the function itself does not capture them.

    Those of now come first, then what the frame assigns later, then those of the functions around it.
    """
    later, inner, outer = [], frame.f_code, frame
    while outer is not None:
        if outer is frame or inner in outer.f_code.co_consts:
            inner = outer.f_code
            later += [_Later(outer)] if inner.co_name != "<module>" else []
        outer = outer.f_back  # type: ignore[assignment]
    return ChainMap(dict(frame.f_locals), *later)  # type: ignore[arg-type]


class _Later(Mapping):
    """The locals of a frame, as they are when they are asked for."""

    def __init__(self, frame: FrameType):
        self._frame = frame

    def __getitem__(self, name: str) -> AnyObject:
        return self._frame.f_locals[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame.f_locals)

    def __len__(self) -> int:
        return len(self._frame.f_locals)


def named_in(annotations: Iterable[AnyObject], names: Mapping) -> dict[str, AnyObject]:
    """Return the names that annotations written as strings mention, with their values."""
    words = {word for a in annotations if isinstance(a, str) for word in re.findall(r"\w+", a)}
    return {word: names[word] for word in words if word in names}


def _filled(cell) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


class AnnotationError(TypeError):
    """Parameters without a type: `problems` has a (name, message) for each."""

    def __init__(self, problems: list[tuple[str, str]]):
        self.problems = problems
        super().__init__("; ".join(message for _, message in problems))


def parameters(
    func: Callable, frame_locals: Mapping | None = None, untyped: AnyObject = None
) -> list[tuple[inspect.Parameter, AnyObject]]:
    """The parameters of a function with their types, `untyped` being the type of those without annotation.

    Raises:
        AnnotationError: some have no type; the error names them all.
    """
    out, problems = [], []
    for p in inspect.signature(func, follow_wrapped=False).parameters.values():
        try:
            single = p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            bare = untyped is not None and p.annotation is p.empty and single
            out.append((p, untyped if bare else _type_of_parameter(p, func, frame_locals)))
        except TypeError as e:
            problems.append((p.name, str(e)))
    if problems:
        raise AnnotationError(problems)
    return out


def _type_of_parameter(p: inspect.Parameter, func: Callable, frame_locals: Mapping | None) -> AnyObject:
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
        raise TypeError(f"`{p.name}` accepts any number of arguments, which kernels do not support")
    if p.annotation is inspect.Parameter.empty:
        raise TypeError(f"parameter `{p.name}` has no type annotation")
    try:
        return type_of(evaluate_for(p.annotation, func, frame_locals))
    except SyntaxError:
        raise TypeError(f"the annotation of `{p.name}` is not an expression: {p.annotation!r}") from None
    except TypeError as e:
        raise TypeError(f"the annotation of `{p.name}`, {e}") from e
    except Exception as e:  # whatever the user's expression raises
        raise TypeError(f"the annotation of `{p.name}` cannot be evaluated: {e}") from e
