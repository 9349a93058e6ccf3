"""`for index in query`: loops over the results of a query are written again as the `while` loops that advance it.

The syntax decides, before types are known: the loop is over a call of a function that makes a query, or over a local to
which the function assigns such calls alone. Any other loop over a query is refused where it is compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .syntax_walk import walk

# The functions that make queries, and those that advance them.
ADVANCED_BY = {
    "hash_grid_query": "hash_grid_query_next",
    "mesh_query_aabb": "mesh_query_aabb_next",
    "mesh_query_sphere": "mesh_query_next",
    "bvh_query_aabb": "bvh_query_next",
    "bvh_query_sphere": "bvh_query_next",
    "bvh_query_capsule": "bvh_query_next",
    "bvh_query_ray": "bvh_query_next",
}


def advance_queries(tree: ast.FunctionDef) -> ast.FunctionDef:
    r"""Rewrite in place the loops of a function over queries.

    >>> source = "def f(id):\n    for j in wp.bvh_query_ray(id, o, d):\n        use(j)"
    >>> print(ast.unparse(advance_queries(ast.parse(source).body[0])))
    def f(id):
        query_0 = wp.bvh_query_ray(id, o, d)
        j = 0
        while wp.bvh_query_next(query_0, j):
            use(j)
    """
    if any(_name(n) in ADVANCED_BY for n in walk(tree) if isinstance(n, ast.Call)):
        _Loops(tree).visit(tree)
    return tree


def _name(node: ast.expr) -> str:
    """The name of the function that is called, without its module; empty for other expressions."""
    if not isinstance(node, ast.Call):
        return ""
    called = node.func
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _assignments(tree: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The locals that are assigned, and the value where it is assigned alone."""
    for n in ast.walk(tree):
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name):
            yield n.targets[0].id, n.value
        elif isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
            yield n.target.id, n.value
    alone = {id(n.targets[0]) for n in ast.walk(tree) if isinstance(n, ast.Assign) and len(n.targets) == 1}
    alone |= {id(n.target) for n in ast.walk(tree) if isinstance(n, ast.AnnAssign)}
    for n in ast.walk(tree):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in alone:
            yield n.id, None
        elif isinstance(n, ast.arg):
            yield n.arg, None


class _Loops(ast.NodeTransformer):
    def __init__(self, tree: ast.FunctionDef):
        self.made: dict[str, ast.Call] = {}  # by local, a call that makes its query
        self.names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        others = set()
        for name, value in _assignments(tree):
            if isinstance(value, ast.Call) and _name(value) in ADVANCED_BY:
                self.made[name] = value
            else:
                others.add(name)
        for name in others:
            self.made.pop(name, None)

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        over, before = node.iter, []
        if isinstance(over, ast.Name):
            call = self.made.get(over.id)
        else:
            call = over if isinstance(over, ast.Call) and _name(over) in ADVANCED_BY else None
        if call is None or not isinstance(node.target, ast.Name):
            return node
        query = over
        if over is call:
            query = ast.Name(self._fresh(), ast.Load())
            before.append(ast.Assign([ast.Name(query.id, ast.Store())], call))
        before.append(ast.Assign([node.target], ast.Constant(0)))
        index = ast.Name(node.target.id, ast.Load())
        loop = ast.While(ast.Call(_advancing(call), [query, index], []), node.body, node.orelse)
        for new in (*before, loop):
            _place(new, node)
        return [*before, loop]

    def _fresh(self) -> str:
        name = next(n for n in (f"query_{i}" for i in range(len(self.names) + 1)) if n not in self.names)
        self.names.add(name)
        return name


def _advancing(call: ast.Call) -> ast.expr:
    """The function that advances the query that a call makes, found where its maker is."""
    name, made = ADVANCED_BY[_name(call)], call.func
    if isinstance(made, ast.Attribute):
        return ast.Attribute(made.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def _place(new: ast.AST, node: ast.For) -> None:
    """Give the nodes that the source has not the place of what the loop is over."""
    for n in ast.walk(new):
        if not hasattr(n, "lineno") and isinstance(n, (ast.expr, ast.stmt)):
            ast.copy_location(n, node if isinstance(n, ast.While) else node.iter)
