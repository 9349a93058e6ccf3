"""Python functions and lambdas without a decorator, as kernel functions: arguments of `wp.map`.

Parameters without an annotation take every type. A lambda is found in the text of its file and read as a function of
one `return`.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType, FunctionType

from .generics import Any as AnyType
from .kernel import Function
from .kernel_module import Module
from .source import Source, parse


class PythonFunction(Function):
    """A kernel function made of a Python function that was handed over in `frame`."""

    untyped = AnyType

    def __init__(self, func: Callable, frame: FrameType | None = None):
        super().__init__(func, frame=frame)
        if self.name == "<lambda>":
            self.source = _LambdaSource.of(func, frame)
            self.name = "lambda"

    @property
    def subject(self) -> str:
        """The name in error messages."""
        return f"function `{self.name}`"


def create_warp_function(func: Callable) -> tuple[Function, Module]:
    """Make a kernel function of a Python function or a lambda that is written like one.

    Args:
        func: the function. Parameters without an annotation take every type.

    Returns:
        The function, and the module that it belongs to.

    Raises:
        TypeError: `func` is no Python function.

    >>> square, module = wp.utils.create_warp_function(lambda x: x * x)
    >>> wp.map(square, wp.array([1.0, 2.0, 3.0])).list()
    [1.0, 4.0, 9.0]
    """
    if not isinstance(func, FunctionType):
        raise TypeError(f"func: expected a Python function, got {type(func).__name__}")
    made = PythonFunction(func, sys._getframe(1))
    return made, made.module


class _LambdaSource(Source):
    """The text of one lambda and where it stands."""

    __slots__ = ()

    def block(self) -> list[str]:
        """The lambda on one line."""
        return [ast.unparse(self.tree()) + "\n"]

    def tree(self) -> ast.FunctionDef:
        """The lambda as a function. Raises CompileError when it is not found."""
        if self._tree is None:
            node = _find(self._code, "".join(self._lines))
            if node is None:
                raise self._missing()
            self.offset = 0
            self._tree = _as_function(node)
        return self._tree


@lru_cache(maxsize=256)
def _find(code: CodeType, text: str) -> ast.Lambda | None:
    """The lambda that the code was compiled from; None if the text has none there, or several that look alike."""
    try:
        nodes = [n for n in ast.walk(parse(text)) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    except SyntaxError:
        return None
    if len(nodes) > 1:
        nodes = [n for n in nodes if _is_of(n, code)]
        nodes.sort(key=lambda n: (n.lineno, n.col_offset))
    if sys.version_info < (3, 11) and len(nodes) > 1:
        return None
    return nodes[-1] if nodes else None  # the innermost that all of the code came from


def _is_of(node: ast.Lambda, code: CodeType) -> bool:
    """True if the code may come from a lambda: by its places, or in Python 3.10 by the names of its parameters."""
    if sys.version_info < (3, 11):
        a = node.args
        named = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        return inspect.getargs(code) == (named, *(p and p.arg for p in (a.vararg, a.kwarg)))
    places = [(first, col, last, end) for first, last, col, end in code.co_positions() if col != end]
    return bool(places) and all(_contains(node.body, place) for place in places)


def _contains(body: ast.expr, place: tuple[int, int, int, int]) -> bool:
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    return start <= place[:2] and place[2:] <= end  # type: ignore[operator]


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    made = parse("def _lambda(): return 0").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, [ast.copy_location(ast.Return(node.body), node.body)]
    return ast.copy_location(made, node)
