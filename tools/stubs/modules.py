"""Stubs of what is written in Python: re-exported where its own annotations say all, written out where arrays occur.

Annotations of the runtime speak of `array` without its elements. `array_function` makes more of them: functions that
take a dtype give arrays of it, with as many dimensions as the shape has.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import omni.warp_core as wp
from omni.warp_core import config

from .text import docstring, function, indented, own_doc

HEAD = Path(__file__).with_name("head.pyi")
_RANKS = {"int": "array", **{f"tuple[{', '.join(['int'] * n)}]": f"array{n}d" for n in (2, 3, 4)}}
_SPELLED = [
    (r"\barray\b(?!\[)", "_Array[Any]"),
    (r"\bnp\.ndarray\b(?!\[)", "np.ndarray[Any, Any]"),
    (r"\b(list|bool|dict)\b", r"builtins.\1"),
    (r"\bDeviceLike\b", "Device | str | None"),
]


def annotation(text: Any) -> str:
    """An annotation of the source in the names of the stub."""
    if text is inspect.Parameter.empty:
        return "Any"
    found = text if isinstance(text, str) else getattr(text, "__name__", str(text))
    for pattern, spelled in _SPELLED:
        found = re.sub(pattern, spelled, found)
    return found


def parameters(func: Any, changes: dict[str, str] | None = None, needed: str = "") -> str:
    """The parameters of a function as source, some annotations changed, none left out up to the one `needed`."""
    given = inspect.signature(func).parameters
    out, star = [], False
    last = list(given).index(needed) if needed else -1
    for i, p in enumerate(given.values()):
        said = (changes or {}).get(p.name) or annotation(p.annotation)
        if p.kind is p.KEYWORD_ONLY and not star:
            out, star = [*out, "*"], True
        star |= p.kind is p.VAR_POSITIONAL
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty or i <= last else f" = {p.default!r}" if _is_plain(p.default) else " = ..."
        out.append(f"{mark}{p.name}{'' if p.name == 'self' else f': {said}'}{default}")
    return ", ".join(out)


def _is_plain(value: Any) -> bool:
    return value is None or (isinstance(value, (int, str)) and not isinstance(value, Enum))


def array_function(name: str, func: Any) -> str:
    """A function that takes or gives arrays."""
    return function(name, list(_array_signatures(func)), func.__doc__)


def _array_signatures(func: Any) -> Iterator[str]:
    given = inspect.signature(func)
    result = annotation(given.return_annotation)
    if result != "_Array[Any]":
        yield f"({parameters(func)}) -> {result}"
    elif "src" in given.parameters:
        yield f"({parameters(func, {'src': '_A'})}) -> _A"
        yield f"({parameters(func)}) -> Any"
    elif "dtype" in given.parameters:
        yield from _of_dtype(func, given)
    else:
        yield f"({parameters(func)}) -> Any"


def _of_dtype(func: Any, given: inspect.Signature) -> Iterator[str]:
    """One signature for each number of dimensions, and one for a dtype that is taken from other arguments."""
    names = list(given.parameters)
    inferred = given.parameters["dtype"].default is None
    needed = "dtype" if inferred else ""
    dtype = {"dtype": "type[_DType]"}
    if names[0] == "shape":
        for shape, made in _RANKS.items():
            yield f"({parameters(func, dtype | {'shape': shape}, needed or 'shape')}) -> {made}[_DType]"
    yield f"({parameters(func, dtype | {'shape': '_Shape | None'}, needed)}) -> array[_DType]"
    if inferred:
        yield f"({parameters(func, {'dtype': 'None', 'shape': '_Shape | None'})}) -> Any"


def mentions_arrays(func: Any) -> bool:
    """Whether the annotations of a function speak of arrays."""
    said = getattr(func, "__annotations__", {}).values()
    return any(re.search(r"\barray\b", str(a)) for a in said)


# -- the head ---------------------------------------------------------------------------------------------------------


def head() -> tuple[str, set[str]]:
    """The text of head.pyi with docstrings and the remaining members of arrays, and the names it defines."""
    tree = ast.parse(HEAD.read_text())
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            if node.name not in names:
                _document(node)
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return ast.unparse(tree) + "\n", names


def _document(node: ast.ClassDef | ast.FunctionDef) -> None:
    source = wp.array if node.name == "_Array" else getattr(wp, node.name, None)
    doc = None if source is None else source.__doc__
    if node.name == "_Array":
        doc = None
        _complete(node)
    if doc:
        only = node.body[0]
        if isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant) and only.value.value is ...:
            node.body.clear()
        # Python's parser keeps a docstring's own indentation; the unparser adds none.
        inner = indented(inspect.cleandoc(doc)).strip()
        node.body.insert(0, ast.Expr(ast.Constant(f"{inner}\n    " if "\n" in inner else inner)))


def _complete(node: ast.ClassDef) -> None:
    """Add the members of arrays that the head leaves out, and docstrings to those it has."""
    own = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
    stated = {n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    for name in sorted(n for n in dir(wp.array) if not n.startswith("_")):
        member = inspect.getattr_static(wp.array, name)
        if name in stated or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        if name in own:
            result = ast.unparse(own[name].returns or ast.Constant(None))
            node.body.remove(own[name])
        elif isinstance(member, property):
            result = annotation(getattr(member.fget, "__annotations__", {}).get("return", "Any"))
        else:
            result = annotation(inspect.signature(member).return_annotation)
        takes = "self" if isinstance(member, property) else parameters(member, {"self": ""})
        text = function(name, [f"({takes}) -> {result}"], own_doc(member))
        node.body += ast.parse("@property\n" * isinstance(member, property) + text).body


# -- other modules ----------------------------------------------------------------------------------------------------


def utils(module: ModuleType) -> str:
    """`wp.utils`: its classes, which other modules have, and the functions, written out."""
    found = {name: getattr(module, name) for name in sorted(module.__all__)}
    functions = [array_function(name, value) for name, value in found.items() if not inspect.isclass(value)]
    classes = [
        f"from {value.__module__} import {name} as {name}" for name, value in found.items() if inspect.isclass(value)
    ]
    imports = [
        *("import builtins", "import typing", "from collections.abc import Callable", "from typing import Any", ""),
        *("from . import _Array, Device, Function, Module", *classes, "\n"),
    ]
    return f"{docstring(module.__doc__)}\n\n" + "\n".join(imports) + "\n".join(functions)


def types(module: ModuleType) -> str:
    """`wp.types`: names of the package itself, and the functions that make types."""
    makers = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    shared = [f"from . import {name} as {name}" for name in sorted(module.__all__) if name not in makers]
    made = [
        function(name, [f"({parameters(getattr(module, name))}) -> Any"], getattr(module, name).__doc__)
        for name in makers
    ]
    return "\n".join([docstring(module.__doc__), "", "from typing import Any", "", *shared, "", *made])


def configuration() -> str:
    """`wp.config`: a documented variable for each option, and what the rest of the package calls."""
    lines = [
        docstring(config.__doc__),
        "",
        "import enum",
        "from collections.abc import Callable",
        "from typing import Any",
        "",
    ]
    lines += [
        "version: str",
        "package_version: str",
        *(f"{name}: int" for name in vars(config) if name.startswith("LOG_")),
    ]
    lines += ["MAX_THREADS: int", "OPTIONS: dict[str, Any]", ""]
    lines += map(inspect.getsource, (config.DeterministicMode, config.LaunchArrayAccessMode))
    stated = config.__annotations__
    for name, option in config.OPTIONS.items():
        lines += [f"{name}: {stated.get(name, 'Any')}", docstring(option.doc)]
    for name, value in vars(config).items():
        if inspect.isfunction(value) and value.__module__ == config.__name__ and not name.startswith("_"):
            own = f"({parameters(value)}) -> {value.__annotations__['return']}"
            lines += ["", function(name, [own], value.__doc__).rstrip()]
    return "\n".join(lines) + "\n"
