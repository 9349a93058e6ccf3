"""Facts about the text of a Kernel node before it is compiled: its kernels, their style, and how they use arrays.

Two styles: *plain*, where the kernel's parameters carry the names of attributes, and *struct*, where the kernel is
called `compute` and takes `(inputs: Inputs, outputs: Outputs)`. Start with `inspect`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...lang.source import parse
from ..graph.node_graph import GraphError

Name = tuple[str, str]  # ("", parameter) or ("inputs", field)


@dataclass(frozen=True)
class KernelUse:
    """What one kernel of a text does with its parameters and thread indices.

    `ranks` gives the number of indices the text puts behind an array, `touched` the arrays it may write to. `threads`
    is the number of thread indices, None if another function of the text may ask for them. `indexed` lists which array
    has which thread index at which of its own dimensions: (array, dimension of the array, dimension of the launch).
    `compared` are the dimensions of the launch whose index the text compares, which may keep it within arrays.
    """

    name: str
    is_struct: bool = False
    ranks: dict[Name, int] = field(default_factory=dict)
    touched: frozenset[Name] = frozenset()
    mentioned: frozenset[Name] = frozenset()
    threads: int | None = 0
    indexed: tuple[tuple[Name, int, int], ...] = ()
    compared: frozenset[int] = frozenset()


def normalized(text: str) -> str:
    """The text with Unix line ends; scenes from Windows carry others."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def inspect(text: str) -> tuple[KernelUse, ...]:
    """Return the kernels of a text in its order. One that is not Python has none: compiling it tells the place."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    defined = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    kernels = [n for n in defined.values() if any(map(_is_kernel, n.decorator_list))]
    elsewhere = any(_asks_for_threads(n) for n in defined.values() if n not in kernels)
    return tuple(_use(kernel, elsewhere) for kernel in kernels)


def chosen(uses: Sequence[KernelUse], listed: Sequence[str]) -> tuple[KernelUse, ...]:
    """Return the kernels to run, in order: those `listed`, else `compute`, else all of the text.

    Raises:
        GraphError: If the text has no kernel of a listed name.
    """
    by_name = {use.name: use for use in uses}
    unknown = [name for name in listed if name not in by_name]
    if unknown:
        raise GraphError(
            f"inputs:kernels lists {unknown[0]!r}, but the text has no such kernel; "
            f"it has {', '.join(by_name) or 'none'}"
        )
    if listed:
        return tuple(by_name[name] for name in listed)
    return (by_name["compute"],) if "compute" in by_name else tuple(uses)


def _use(kernel: ast.FunctionDef, elsewhere: bool) -> KernelUse:
    parameters = [a.arg for a in kernel.args.args]
    is_struct = parameters == ["inputs", "outputs"]
    indices = _thread_indices(kernel)
    found = _Usage(set() if is_struct else set(parameters), indices)
    found.visit(kernel)
    threads: int | None = max(indices.values(), default=-1) + 1
    if not threads:
        threads = 1 if _asks_for_threads(kernel) else None if elsewhere else 0
    return KernelUse(
        kernel.name,
        is_struct,
        found.ranks,
        frozenset(found.touched),
        frozenset(found.mentioned),
        threads,
        tuple(dict.fromkeys(found.indexed)),
        _compared(kernel, indices),
    )


def _compared(kernel: ast.FunctionDef, indices: dict[str, int]) -> frozenset[int]:
    """The dimensions whose thread index stands in a comparison, or in a condition."""
    nodes = list(ast.walk(kernel))
    conditions = [n.test for n in nodes if isinstance(n, (ast.If, ast.IfExp, ast.While))]
    tests = [*conditions, *(n for n in nodes if isinstance(n, ast.Compare))]
    names = {n.id for test in tests for n in ast.walk(test) if isinstance(n, ast.Name)}
    return frozenset(d for name, d in indices.items() if name in names)


def _is_kernel(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(target, ast.Attribute) and target.attr == "kernel") or (
        isinstance(target, ast.Name) and target.id == "kernel"
    )


def _is_tid(node: ast.expr | None) -> bool:
    """True for the call `wp.tid()`, by whatever name the text has for `wp`."""
    if not isinstance(node, ast.Call) or node.args:
        return False
    return getattr(node.func, "attr", None) == "tid" or getattr(node.func, "id", None) == "tid"


def _asks_for_threads(function: ast.FunctionDef) -> bool:
    return any(_is_tid(n) for n in ast.walk(function) if isinstance(n, ast.Call))


def _thread_indices(kernel: ast.FunctionDef) -> dict[str, int]:
    """The names of a kernel that are thread indices and nothing else: name -> dimension of the launch."""
    found: dict[str, int] = {}
    assigned: list[str] = []
    for node in ast.walk(kernel):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            assigned.append(node.id)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not _is_tid(node.value):
            continue
        for target in targets:
            names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            found |= {name.id: d for d, name in enumerate(names) if isinstance(name, ast.Name)}
    return {name: d for name, d in found.items() if assigned.count(name) == 1}


class _Usage(ast.NodeVisitor):
    """Finds how arrays are used. Reading elements, `.shape` and `len()` are harmless; anything else may write."""

    def __init__(self, parameters: set[str], indices: dict[str, int]):
        self.parameters, self.indices = parameters, indices
        self.ranks: dict[Name, int] = {}
        self.touched: set[Name] = set()
        self.mentioned: set[Name] = set()
        self.indexed: list[tuple[Name, int, int]] = []

    def name(self, node: ast.expr) -> Name | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("inputs", "outputs") and not self.parameters:
                return (node.value.id, node.attr)
        elif isinstance(node, ast.Name) and node.id in self.parameters:
            return ("", node.id)
        return None

    def visit_Subscript(self, node: ast.Subscript) -> None:
        subscripts: list[list[ast.expr]] = []  # the first one stands next to the array
        base: ast.expr = node
        while isinstance(base, ast.Subscript):
            subscripts.insert(0, base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice])
            base = base.value
        found = self.name(base)
        if found is None:
            self.generic_visit(node)
            return
        self.mentioned.add(found)
        for index in (i for indices in subscripts for i in indices):
            self.visit(index)
        self.ranks[found] = max(self.ranks.get(found, 0), len(subscripts[0]))
        for position, index in enumerate(subscripts[0]):
            dimension = 0 if _is_tid(index) else self.indices.get(getattr(index, "id", ""))
            if dimension is not None:
                self.indexed.append((found, position, dimension))
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
