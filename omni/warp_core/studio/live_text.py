"""Which texts of kernels may run while they are typed: those whose module level can do no harm.

Compiling a text runs its module level, even where the kernel has a mistake. A half-typed path in a call that deletes
files would be a disaster, so only a list of harmless statements runs by itself. Other texts wait for the user's word.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..lang.source import parse

MODULES = {"warp": "wp", "omni.warp_core": "wp", "math": "math", "numpy": "np"}
DECORATORS = {"kernel", "func", "struct"}
# Names of wp that may be called at module level: they make types and constants.
CALLS = {
    *("array", "array1d", "array2d", "array3d", "array4d", "constant"),
    *("vec2", "vec3", "vec4", "mat22", "mat33", "mat44", "quat", "transform", "vector", "matrix"),
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
}
PLAIN_CALLS = {"float", "int", "bool"}
# Names by which this module knows what is harmless; a text that gives them another meaning waits.
KEPT_NAMES = {"wp", "warp", "np", "math", *PLAIN_CALLS}
# Python that the compiler runs for a kernel, and names that lead out of the kernel language.
FORBIDDEN_NAMES = {"static", "eval", "exec", "compile", "open", "getattr", "setattr", "delattr", "globals", "locals"}


def why_it_waits(text: str) -> str:
    r"""Return why a text must not run while it is typed, "" if it may. A text that does not parse may: nothing runs.

    >>> why_it_waits("@wp.kernel\ndef f(x: wp.array[float]):\n    x[0] = 1.0")
    ''
    >>> why_it_waits("import os")
    'line 1 imports os'
    """
    try:
        tree = parse(text.removeprefix("\ufeff"))  # as the compiler does
        found = [why for statement in tree.body if (why := _statement(statement) or _rebound(statement))]
    except (SyntaxError, ValueError):
        return ""
    except (RecursionError, MemoryError):
        return "it is nested too deeply to look through"
    found += [why for node in ast.walk(tree) if (why := _forbidden(node))]
    return found[0] if found else ""


def _at(node: ast.AST, what: str) -> str:
    return f"line {getattr(node, 'lineno', 0)} {what}"


def _forbidden(node: ast.AST) -> str:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if name in FORBIDDEN_NAMES or (name.startswith("__") and name.endswith("__")):
        return _at(node, f"uses {name}")
    return ""


def _rebound(node: ast.stmt) -> str:
    """Return why a statement waits that gives one of the kept names another meaning."""
    names = [n.id for n in _targets(node) if isinstance(n, ast.Name)]
    if isinstance(node, ast.Import):
        names = [n.asname for n in node.names if n.asname and not _is_usual(n.name, n.asname)]
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        names = [node.name]
    return next((_at(node, f"gives {name} another meaning") for name in names if name in KEPT_NAMES), "")


def _is_usual(module: str, name: str) -> bool:
    """True if a module may have this name: warp is also called warp."""
    return name == MODULES.get(module) or (name == "warp" and MODULES.get(module) == "wp")


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _statement(node: ast.stmt) -> str:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _import(node)
    if isinstance(node, ast.FunctionDef):
        return _function(node)
    if isinstance(node, ast.ClassDef):
        return _struct(node)
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        if not all(isinstance(target, ast.Name) for target in _targets(node)):
            return _at(node, "assigns to more than a name")
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        return _first(e for e in (node.value, annotation) if e is not None)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return ""
    return _at(node, "runs a statement at module level")


def _import(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.ImportFrom):
        return _at(node, f"imports from {node.module or '.'}")
    for name in node.names:
        if name.name not in MODULES:
            return _at(node, f"imports {name.name}")
    return ""


def _function(node: ast.FunctionDef) -> str:
    if not node.decorator_list:
        return _at(node, f"defines {node.name} without wp.kernel or wp.func")
    if _has_type_parameters(node):
        return _at(node, f"gives {node.name} type parameters")
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    expressions = [a.annotation for a in parameters if a.annotation is not None]
    expressions += [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
    expressions += [node.returns] if node.returns is not None else []
    return _first_decorator(node) or _first(expressions)


def _struct(node: ast.ClassDef) -> str:
    if node.bases or node.keywords or _has_type_parameters(node) or not node.decorator_list:
        return _at(node, f"defines the class {node.name}")
    for member in node.body:
        is_plain = isinstance(member, ast.Expr) and isinstance(member.value, ast.Constant)
        is_member = isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name)
        if not is_plain and not is_member:
            return _at(member, f"runs a statement in {node.name}")
    members = [m for m in node.body if isinstance(m, ast.AnnAssign)]
    return _first_decorator(node) or _first(e for m in members for e in (m.annotation, m.value) if e is not None)


def _has_type_parameters(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """True if Python computes bounds of types; it has them from 3.12 on."""
    return bool(getattr(node, "type_params", None))


def _first_decorator(node: ast.FunctionDef | ast.ClassDef) -> str:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and not decorator.args:
            values = [k.value for k in decorator.keywords if not isinstance(k.value, ast.Constant)]
            if why := _first(values):
                return why
            decorator = decorator.func
        if _name_of_wp(decorator) not in DECORATORS:
            return _at(decorator, f"decorates {node.name} with more than wp.kernel, wp.func or wp.struct")
    return ""


def _name_of_wp(node: ast.expr) -> str:
    """Return the NAME of wp.NAME, "" for another expression."""
    is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return node.attr if is_attribute and node.value.id in ("wp", "warp") else ""  # type: ignore[attr-defined]


def _first(expressions: Iterable[ast.expr]) -> str:
    return next((why for e in expressions if (why := _expression(e))), "")


def _expression(node: ast.expr) -> str:
    """Return why an expression might do harm: all but literals, names, operators and listed calls."""
    if isinstance(node, ast.Call):
        if _name_of_wp(node.func) not in CALLS and not (
            isinstance(node.func, ast.Name) and node.func.id in PLAIN_CALLS
        ):
            return _at(node, "calls a function at module level")
        return _first([*node.args, *(keyword.value for keyword in node.keywords)])
    if isinstance(node, ast.Attribute):
        return _expression(node.value)
    if isinstance(node, ast.Subscript):
        return _first([node.value, node.slice])
    if isinstance(node, (ast.Tuple, ast.List)):
        return _first(node.elts)
    if isinstance(node, ast.UnaryOp):
        return _expression(node.operand)
    if isinstance(node, ast.BinOp):
        # 9 ** 9 ** 9 would take all memory
        return _at(node, "raises to a power") if isinstance(node.op, ast.Pow) else _first([node.left, node.right])
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _at(node, "has a text at module level")  # annotations that are texts run as Python
    return "" if isinstance(node, (ast.Constant, ast.Name)) else _at(node, "computes at module level")
