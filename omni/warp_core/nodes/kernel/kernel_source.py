"""Facts about the text of a Kernel node before it is compiled: its style, and how it uses its arrays.

Two styles: *plain*, where the kernel's parameters carry the names of attributes, and *struct*, where the kernel is
called `compute` and takes `(inputs: Inputs, outputs: Outputs)`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ...lang.source import parse

Name = tuple[str, str]  # ("", parameter) or ("inputs", field)


@dataclass(frozen=True)
class TextInfo:
    """`kernel` is the kernel to run, "" when the text leaves it open (`kernels` lists those it defines).

    `ranks` gives the number of indices the text puts behind an array, `touched` the arrays it may write to.
    """

    kernel: str = ""
    kernels: tuple[str, ...] = ()
    is_struct: bool = False
    ranks: dict[Name, int] = field(default_factory=dict)
    touched: frozenset[Name] = frozenset()
    mentioned: frozenset[Name] = frozenset()


def normalized(text: str) -> str:
    """The text with Unix line ends; scenes from Windows carry others."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def inspect(text: str) -> TextInfo:
    """Look at a text. One that is not Python gives an empty answer: compiling it will tell where it is wrong."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return TextInfo()
    defined = {
        n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and any(map(_is_kernel, n.decorator_list))
    }
    names = tuple(defined)
    chosen = "compute" if "compute" in defined else names[0] if len(names) == 1 else ""
    if not chosen:
        return TextInfo(kernels=names)
    parameters = [a.arg for a in defined[chosen].args.args]
    is_struct = parameters == ["inputs", "outputs"]
    usage = _Usage(set() if is_struct else set(parameters))
    usage.visit(defined[chosen])
    return TextInfo(chosen, names, is_struct, usage.ranks, frozenset(usage.touched), frozenset(usage.mentioned))


def _is_kernel(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(target, ast.Attribute) and target.attr == "kernel") or (
        isinstance(target, ast.Name) and target.id == "kernel"
    )


class _Usage(ast.NodeVisitor):
    """Finds how arrays are used. Reading elements, `.shape` and `len()` are harmless; anything else may write."""

    def __init__(self, parameters: set[str]):
        self.parameters = parameters
        self.ranks: dict[Name, int] = {}
        self.touched: set[Name] = set()
        self.mentioned: set[Name] = set()

    def name(self, node: ast.expr) -> Name | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("inputs", "outputs") and not self.parameters:
                return (node.value.id, node.attr)
        elif isinstance(node, ast.Name) and node.id in self.parameters:
            return ("", node.id)
        return None

    def visit_Subscript(self, node: ast.Subscript) -> None:
        base: ast.expr = node
        count = 0
        while isinstance(base, ast.Subscript):
            count += len(base.slice.elts) if isinstance(base.slice, ast.Tuple) else 1
            base = base.value
        found = self.name(base)
        if found is None:
            self.generic_visit(node)
            return
        self.mentioned.add(found)
        inner = node
        while isinstance(inner, ast.Subscript):
            self.visit(inner.slice)
            last, inner = inner, inner.value  # type: ignore[assignment]
        first = len(last.slice.elts) if isinstance(last.slice, ast.Tuple) else 1
        self.ranks[found] = max(self.ranks.get(found, 0), first)
        if not isinstance(node.ctx, ast.Load):
            self.touched.add(found)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            found = self.name(node.args[0])
            if found:
                self.mentioned.add(found)
                return
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        inner = self.name(node.value)
        if inner and node.attr in ("shape", "size", "ndim"):
            self.mentioned.add(inner)
            return
        found = self.name(node)
        if found:
            self.mentioned.add(found)
            self.touched.add(found)
            return
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        found = self.name(node)
        if found:
            self.mentioned.add(found)
            self.touched.add(found)
