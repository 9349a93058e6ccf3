"""Names that are not locals: closure cells, globals, Python's builtins, and what they may hold.

A captured object becomes a literal (numbers), an IR constant (typed scalars, vectors), a tuple, or stays a compile-time
object (modules, types, functions, strings). Anything that could change between launches is refused with a reason.
"""

from __future__ import annotations

import ast
import builtins
import enum
import types as pytypes
import typing
from typing import Any

from ..lang import registry
from ..lang.annotations import Structure, type_of, type_or_none
from ..lang.custom_gradients import adjoint
from ..lang.errors import nearest
from ..lang.generics import Pattern, TypeVar, substitute
from ..lang.types import Struct, Type
from ..lang.values.value_classes import to_leaves
from .context import Context, lowers
from .values import EnumMember, Front, Static, TupleValue, UntypedLiteral, spell_static

PACKAGE = "omni.warp_core"
_MISSING = object()
_NUMBERS = (bool, int, float, enum.Enum)
# Objects that stay what they are while the kernel compiles.
_COMPILE_TIME = (type(None), str, range, type, Type, pytypes.ModuleType, pytypes.BuiltinFunctionType)
# Python's builtins that kernels understand
USABLE = (
    *("abs", "all", "any", "bool", "enumerate", "float", "int", "len", "max", "min"),
    *("pow", "print", "range", "reversed", "round", "sum", "tuple", "zip"),
)

_ALSO_OF_PACKAGE = ("float", "int")  # kernels find these in the package, as warp-lang's do


@lowers(ast.Name)
def name(cx: Context, node: ast.Name) -> Front:
    """A name: a local, or something captured."""
    if node.id in cx.local_names:
        return cx.read(node.id, node)
    found = lookup(cx, node.id)
    if found is _MISSING:
        close = nearest(node.id, [*cx.env, *cx.globals, *cx.cells, *USABLE])
        raise cx.error("undefined-name", f"`{node.id}` is not defined", node, candidates=close)
    return captured(cx, found, node)


def lookup(cx: Context, name: str) -> Any:
    """The Python object a free name stands for, or _MISSING. A name that nothing else defines may be a builtin's."""
    if name in cx.cells:
        return cx.cells[name]
    if name in cx.globals:
        return cx.globals[name]
    found = getattr(builtins, name, _MISSING)
    return registry.public(name) or _MISSING if found is _MISSING else found


def captured(cx: Context, obj: Any, node: ast.AST) -> Front:
    """A Python object as a front value."""
    if isinstance(obj, enum.Enum):
        return EnumMember(obj) if isinstance(obj.value, (int, float)) else Static(obj)
    if type(obj) in (bool, int, float):
        return UntypedLiteral(obj)
    if isinstance(obj, (TypeVar, typing.TypeVar)):
        return _variable(cx, obj, node)
    if isinstance(obj, Pattern):
        return Static(substitute(obj, cx.bindings))
    if obj is adjoint:
        text = "`wp.adjoint[...]` has a meaning in functions under @wp.func_grad only"
        raise cx.error("unsupported", text, node)
    if isinstance(obj, _COMPILE_TIME):
        return Static(obj)
    if isinstance(obj, (tuple, list)):
        return TupleValue([captured(cx, item, node) for item in obj])
    if _is_value(obj):
        return _constant(cx, obj, type(obj).__wc_type__, node)
    if _is_numpy_number(obj):
        return cx.at(node).const(obj.item(), type_or_none(type(obj)))
    if _is_callable_or_type(obj):
        return Static(obj)
    read = _attribute_of(cx, node)
    if read is not None and _has_attributes(obj):
        return Static(obj)
    told = "pass it as an argument; kernels capture numbers, vectors, tuples, strings, types and functions"
    if isinstance(obj, Structure):
        told = "pass its `id`: kernels take it as an argument of type wp.uint64"
    elif read is not None:
        name = read.attr
        told = f"read it outside of the kernel, `{name} = {ast.unparse(read)}`, and write `{name}` here; or {told}"
    raise cx.error("capture", f"{spell_static(obj)} cannot be captured by a kernel", node, help=told)


def is_constant(obj: Any) -> bool:
    """True if a kernel may capture an object."""
    if isinstance(obj, (tuple, list)):
        return all(map(is_constant, obj))
    if isinstance(obj, (*_NUMBERS, *_COMPILE_TIME, TypeVar, typing.TypeVar, Pattern)):
        return True
    return _is_value(obj) or _is_numpy_number(obj) or _is_callable_or_type(obj)


def _is_value(obj: Any) -> bool:
    """True if this is a typed scalar, vector or struct."""
    return isinstance(getattr(type(obj), "__wc_type__", None), Type) and not hasattr(obj, "ndim")


def _is_numpy_number(obj: Any) -> bool:
    return getattr(obj, "shape", None) == () and hasattr(obj, "item") and type_or_none(type(obj)) is not None


def _is_callable_or_type(obj: Any) -> bool:
    return not hasattr(obj, "__array_interface__") and (callable(obj) or type_or_none(obj) is not None)


def _has_attributes(obj: Any) -> bool:
    """True if kernels may read attributes of an object: not of arrays, whose members are asked of parameters."""
    has_some = hasattr(obj, "__dict__") or any("__slots__" in vars(base) for base in type(obj).__mro__)
    return has_some and not isinstance(obj, Structure) and not hasattr(obj, "__array_interface__")


def _attribute_of(cx: Context, node: ast.AST) -> ast.Attribute | None:
    """The attribute that the kernel reads of a name, None if the name stands there alone."""
    reads = (n for n in ast.walk(cx.source.tree()) if isinstance(n, ast.Attribute) and n.value is node)
    return next(reads, None)


def _variable(cx: Context, obj: Any, node: ast.AST) -> Front:
    """Return the type of a type variable in this instance of a generic function."""
    v: Any = type_of(obj)
    bound = None if v.free else cx.bindings.get(v.name)
    if bound is None:
        text = f"`{v}` stands for no single type here"
        raise cx.error("not-constant", text, node, help="use `x.dtype` or `type(x)` of an argument `x`")
    return bound if isinstance(bound, Static) else captured(cx, bound, node)


def _constant(cx: Context, obj: Any, t: Type, node: ast.AST) -> Front:
    """A typed scalar, vector or struct captured by value."""
    b = cx.at(node)
    if isinstance(t, Struct):
        return b.op("make", *(_field(cx, getattr(obj, f), ft, node) for f, ft in t.fields), attr=t)
    leaves = to_leaves(obj, t)
    return b.const(leaves if len(leaves) > 1 or not _is_scalar(t) else leaves[0], t)


def _is_scalar(t: Type) -> bool:
    return not hasattr(t, "count")


def _field(cx: Context, value: Any, t: Type, node: ast.AST) -> Any:
    x = captured(cx, value, node)
    return cx.convert(x, t, node, "the field")


def attribute(obj: Any, name: str, missing: Any) -> Any:
    """`obj.name` of a compile-time object, or `missing`. `wp.float` is `float` there, and `wp.int` is `int`."""
    found = getattr(obj, name, _MISSING)
    if found is not _MISSING:
        return found
    is_package = isinstance(obj, pytypes.ModuleType) and obj.__name__ == PACKAGE
    return getattr(builtins, name) if is_package and name in _ALSO_OF_PACKAGE else missing


def member(cx: Context, obj: Any, name: str, node: ast.AST) -> Front:
    """`obj.name` of a compile-time object."""
    found = attribute(obj, name, _MISSING)
    if found is _MISSING:
        close = nearest(name, [n for n in dir(obj) if not n.startswith("_")])
        if isinstance(obj, pytypes.ModuleType) and obj.__name__ == PACKAGE:
            close = registry.suggestions(name) or close
        shown = spell_static(obj)
        if isinstance(obj, pytypes.ModuleType) and isinstance(node, ast.Attribute):
            shown = ast.unparse(node.value)
            close = tuple(f"{shown}.{c}" for c in close)
            shown = f"`{shown}`"
        helps = _refusal(obj, name)
        raise cx.error("no-member", f"{shown} has no member `{name}`", node, candidates=close, help=helps)
    return captured(cx, found, node)


def _refusal(obj: Any, name: str) -> str:
    """Why a public module of the package lacks a name, if it says so."""
    if not (isinstance(obj, pytypes.ModuleType) and obj.__name__.startswith(f"{PACKAGE}.")):
        return ""
    try:
        getattr(obj, name)
    except AttributeError as refused:
        return "" if str(refused).startswith("module ") else str(refused)
    return ""


def captures_of(func: Any) -> dict[str, Any]:
    """The outer locals that a function captures, those that have a value."""
    out = {}
    for name, cell in zip(func.__code__.co_freevars, func.__closure__ or ()):
        try:
            out[name] = cell.cell_contents
        except ValueError:
            continue
    return out
