"""Turns a function of the kernel language into a Python function that computes the same.

Python's own meaning differs from the kernel language's in a few places, and the rewritten function is the user's with
just those replaced: a literal gets its type when it is bound to a name, and vectors and structs are copied there.
`a[i].x = v` writes into the array. Names of builtins, types and other kernel functions stand for their Python-scope
versions. Lines and columns stay those of the user's file, so that a debugger stops where it is told to. Start with
`rewrite`.
"""

from __future__ import annotations

import ast
import builtins
import copy
import enum
import operator
import typing
from collections.abc import Callable
from functools import cached_property
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

from ..eager.array_view import ArrayCells
from ..front.names import attribute
from ..lang.annotations import type_of
from ..lang.generics import Reference, plain, unify
from ..lang.kernel import Definition, Function
from ..lang.ref_params import changed, changes_arguments
from ..lang.registry import Builtin, public
from ..lang.types import F32, I32, Packed, Scalar, Type
from ..lang.values.value_classes import python_type

_MISSING = object()
_TOLD_BY_TYPE = ("dtype", "length", "shape")
_PURE = (abs, min, max, len, round)

_AUGMENTED = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_ATOMIC = (operator.add, operator.sub, operator.and_, operator.or_, operator.xor)  # on elements of arrays


def _told_by_type(x: Any, name: str) -> Any:
    """`x.dtype`, `v.length`, `m.shape` of a number, vector or matrix; the member of anything else."""
    t = getattr(x, "__wc_type__", None)
    if name == "dtype" and isinstance(t, Scalar):
        return type(x)
    if isinstance(t, Packed):
        return {"dtype": x._wp_scalar_type_, "length": x._length_, "shape": x._shape_}[name]
    return getattr(x, name)


class RewriteContext(NamedTuple):
    """Functions that rewritten code calls.

    Attributes:
        substitute: what a captured object is replaced by; the object itself where it serves as it is.
        value: what a name holds after it is bound to an object.
        convert: an object as a value of a type, for parameters, results and annotated names.
        items: the values a `for` over an object that is no range goes through.
        tid: the thread's indices, as many as asked for.
        literal: the result of an operator on two literals.
        like: a literal as a value of the type that a function without arguments would return.
        result_types: the types of what a function returns.
        local_types: the types of a function's locals.
        fitting: a literal as a value of a type, where it fits; what a name holds for anything else.
        changing: for a function or builtin that changes arguments, the function that returns its result and the new
            values by parameter.
        passed: calls a function that was passed as an argument: its result, and the new values of what it changes, by
            position or keyword of the argument.
    """

    substitute: Callable[[Any], Any]
    value: Callable[[Any], Any]
    convert: Callable[[Any, Type], Any]
    items: Callable[[Any], Any]
    tid: Callable[[int], Any]
    literal: Callable[[Callable, Any, Any], Any]
    like: Callable[[Any, Callable], Any]
    result_types: Callable[[Definition], tuple[Type, ...]]
    local_types: Callable[[Definition], dict[str, Type]]
    fitting: Callable[[Any, Type], Any]
    changing: Callable[[Any], Callable[..., tuple[Any, dict[str, Any]]]]
    passed: Callable[..., tuple[Any, dict[int | str, Any]]]


def rewrite(definition: Definition, meaning: RewriteContext, converts_arguments: bool) -> Callable:
    """The Python function that computes what `definition` means.

    Args:
        definition: a kernel or function.
        meaning: what its parts stand for.
        converts_arguments: whether the function converts its arguments to its parameters' types itself.
    """
    source = definition.source
    tree = copy.deepcopy(source.tree())
    ast.increment_lineno(tree, source.offset)
    rewriter = _Rewriter(definition, meaning)
    body = rewriter.body(tree.body)
    if rewriter.references:
        body.append(_at(ast.Return(rewriter.with_references(_at(ast.Constant(None), tree))), tree))
    if converts_arguments:
        body = rewriter.conversions(definition.params, tree) + body
    arguments = tree.args
    for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        a.annotation = None
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    tree.decorator_list, tree.returns, tree.body = [], None, body
    module = ast.fix_missing_locations(ast.Module([tree], []))
    namespace = rewriter.namespace
    exec(compile(module, source.filename, "exec"), namespace)
    made = namespace[tree.name]
    made.__defaults__, made.__kwdefaults__ = definition.func.__defaults__, definition.func.__kwdefaults__
    return made


def captured_objects(definition: Definition) -> list[Any]:
    """The objects of outer names that a kernel or function reads, alone or the attributes of."""
    rewriter = _Rewriter(definition, None)  # type: ignore[arg-type]
    reads = (n for n in ast.walk(definition.source.tree()) if isinstance(n, (ast.Name, ast.Attribute)))
    found = (rewriter.static(n) for n in reads if isinstance(n.ctx, ast.Load))
    return [x for x in found if x is not _MISSING]


def _bare_builtins(code: CodeType) -> dict[str, Any]:
    """The builtins of the language that a function may mean by their names alone."""
    names = (name for name in code.co_names if not hasattr(builtins, name))
    return {name: found for name in names if (found := public(name)) is not None}


class _Rewriter(ast.NodeTransformer):
    def __init__(self, definition: Definition, meaning: RewriteContext):
        func = definition.func
        cells = zip(func.__code__.co_freevars, func.__closure__ or ())
        captured = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        self.definition, self.meaning = definition, meaning
        self.references = [name for name, t in definition.params if isinstance(t, Reference)]
        self.namespace: dict[str, Any] = {**_bare_builtins(func.__code__), **func.__globals__, **captured}
        tree = definition.source.tree()
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        self.locals = stored | {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
        self._serial = 0
        self._inner = 0  # comprehensions and lambdas around: what they iterate over and take cannot be assigned

    # -- making code --------------------------------------------------------------------------------------------

    def fresh(self, what: str) -> str:
        """A name that the user's code does not have."""
        self._serial += 1
        return f"__wc_{what}_{self._serial}"

    def bind(self, obj: Any, at: ast.AST, what: str = "object") -> ast.Name:
        """An expression for a Python object."""
        name = self.fresh(what)
        self.namespace[name] = obj
        return ast.copy_location(ast.Name(name, ast.Load()), at)

    def call(self, func: Callable, args: list[ast.expr], at: ast.AST) -> ast.expr:
        return ast.copy_location(ast.Call(self.bind(func, at, func.__name__), args, []), at)

    def value(self, node: ast.expr) -> ast.expr:
        """`node` as what a name holds after it is bound to it."""
        return self.call(self.meaning.value, [node], node)

    def converted(self, node: ast.expr, t: Type) -> ast.expr:
        return self.call(self.meaning.convert, [node, self.bind(t, node)], node)

    def conversions(self, params: list[tuple[str, Type]], at: ast.AST) -> list[ast.stmt]:
        """Statements that give each parameter its type."""
        out: list[ast.stmt] = []
        for name, pattern in params:
            t = plain(pattern)
            if isinstance(t, Type):
                value = self.converted(_at(ast.Name(name, ast.Load()), at), t)
                out.append(_at(ast.Assign([ast.Name(name, ast.Store())], value), at))
        return out

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for node in statements:
            new = self.visit(node)
            out += new if isinstance(new, list) else [new]
        return out

    # -- names --------------------------------------------------------------------------------------------------

    def static(self, node: ast.expr) -> Any:
        """The captured Python object that a name or a dotted name stands for, or _MISSING."""
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return _MISSING
            return self.namespace.get(node.id, getattr(builtins, node.id, _MISSING))
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value)
            return _MISSING if owner is _MISSING else attribute(owner, node.attr, _MISSING)
        return _MISSING

    def _captured(self, node: ast.expr) -> ast.expr:
        obj = self.static(node) if isinstance(node.ctx, ast.Load) else _MISSING  # type: ignore[attr-defined]
        if isinstance(obj, enum.Enum) and isinstance(obj.value, (int, float)):
            obj = obj.value
        if type(obj) in (int, float, str):
            return _at(ast.Constant(obj), node)  # type: ignore[arg-type]
        if isinstance(obj, typing.TypeVar):
            return self._variable(obj, node)
        if obj is _MISSING and isinstance(node, ast.Attribute) and node.attr in _TOLD_BY_TYPE:
            return self.call(_told_by_type, [self.visit(node.value), _at(ast.Constant(node.attr), node)], node)
        if obj is not _MISSING:
            return self.bind(self.meaning.substitute(obj), node, getattr(obj, "__name__", "object"))
        return self.generic_visit(node)  # type: ignore[return-value]

    def _variable(self, v: typing.TypeVar, node: ast.expr) -> ast.expr:
        """The type that a type variable stands for, found from the arguments."""
        params = (getattr(self.definition, "parent", None) or self.definition).params

        def bound(*arguments: Any) -> Any:
            bindings: dict[str, Any] = {}
            for (_, pattern), x in zip(params, arguments):
                unify(pattern, getattr(x, "__wc_type__", None), bindings)
            found = bindings[v.__name__]
            return python_type(found) if isinstance(found, Type) else found

        return self.call(bound, [_at(ast.Name(name, ast.Load()), node) for name, _ in params], node)

    visit_Name = _captured
    visit_Attribute = _captured

    # -- expressions --------------------------------------------------------------------------------------------

    def _within(self, node: ast.expr) -> ast.expr:
        self._inner += 1
        self.generic_visit(node)
        self._inner -= 1
        return node

    visit_ListComp = visit_GeneratorExp = visit_Lambda = _within

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self._is_tid(node):
            return self._tid(node, 1)
        callee = self.static(node.func)
        if isinstance(callee, (Builtin, Function)) and changes_arguments(callee):
            return self._changing(node, callee)
        place = self._place(node.args[0]) if getattr(callee, "name", None) == "store" and len(node.args) == 2 else None
        if isinstance(place, (ast.Attribute, ast.Subscript)):  # `wp.store(a[i], x)`
            root, kinds, steps = self._path(place)
            return self.call(_store, [root, _at(ast.Constant(kinds), node), steps, self.visit(node.args[1])], node)
        if isinstance(node.func, ast.Name) and node.func.id in self.locals and not self._inner:
            return self._passed(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def _place(self, node: ast.expr) -> ast.expr:
        """`wp.address(a, i, j)` as `a[i, j]`."""
        if not (isinstance(node, ast.Call) and getattr(self.static(node.func), "name", None) == "address"):
            return node
        return _at(ast.Subscript(node.args[0], _at(ast.Tuple(node.args[1:], ast.Load()), node), ast.Load()), node)

    def _passed(self, node: ast.Call) -> ast.expr:
        """A call of a function that was passed as an argument, which may change what it takes."""
        both = self.fresh("both")
        given = enumerate(node.args) if not any(isinstance(a, ast.Starred) for a in node.args) else ()
        places = [*given, *((k.arg, k.value) for k in node.keywords if k.arg)]
        steps: list[ast.expr] = []
        for key, place in places:
            if self._root(place) in self.locals:
                held = _part(ast.Name(both, ast.Load()), 1)
                is_new = ast.Compare(ast.Constant(key), [ast.In()], [held])
                steps.append(ast.IfExp(is_new, self._written(place, _part(held, key)), ast.Constant(None)))
        func = self.bind(self.meaning.passed, node, "passed")
        args = [node.func, *map(self.visit, node.args)]
        call = ast.Call(func, args, [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords])
        return _at(_sequence(both, call, steps), node)

    def _written(self, place: ast.expr, new: ast.expr) -> ast.expr:
        """An expression that assigns `new` to a place."""
        if isinstance(place, ast.Name):
            return ast.NamedExpr(ast.Name(place.id, ast.Store()), new)
        root, kinds, path = self._path(copy.deepcopy(place))
        return self.call(_store, [root, _at(ast.Constant(kinds), place), path, new], place)

    def _changing(self, node: ast.Call, callee: Builtin | Function) -> ast.expr:
        """A call that changes what it takes: `(both := f(x), x := both[1]["x"], both[0])[-1]`."""
        both = self.fresh("both")
        steps: list[ast.expr] = []
        for name, place in changed(callee, node):
            new: ast.expr = _part(_part(ast.Name(both, ast.Load()), 1), name)
            if self._root(place) in self.locals:
                steps.append(self._written(place, new))
        node.func = self.bind(self.meaning.changing(callee), node, callee.name)
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return _at(_sequence(both, node, steps), node)

    def _root(self, place: ast.expr) -> str:
        while isinstance(place, (ast.Attribute, ast.Subscript)):
            place = place.value
        return place.id if isinstance(place, ast.Name) else ""

    def with_references(self, result: ast.expr) -> ast.expr:
        """Return the results of a function with by-reference parameters: its result, and the parameters' values."""
        names = self.references
        held: list[ast.expr] = [self.value(_at(ast.Name(name, ast.Load()), result)) for name in names]
        return ast.Tuple([result, ast.Dict([ast.Constant(name) for name in names], held)], ast.Load())

    def _is_tid(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and getattr(self.static(node.func), "name", None) == "tid"

    def _tid(self, node: ast.expr, count: int) -> ast.expr:
        return self.call(self.meaning.tid, [_at(ast.Constant(count), node)], node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if _is_literal(node.left) and _is_literal(node.right):
            return self.call(
                self.meaning.literal, [self.bind(_AUGMENTED[type(node.op)], node), node.left, node.right], node
            )
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """`x if c else 0`: the literal takes the type of the other alternative, if that may be asked for its type.

        Of two literals, one a float, both are.
        """
        may_ask = [self._is_pure(e) for e in (node.body, node.orelse)]
        self.generic_visit(node)
        if _is_literal(node.body) and _is_literal(node.orelse) and _is_float(node.body) != _is_float(node.orelse):
            node.body, node.orelse = self.converted(node.body, F32), self.converted(node.orelse, F32)
            return node
        for this, other, ask in (("body", node.orelse, may_ask[1]), ("orelse", node.body, may_ask[0])):
            number = getattr(node, this)
            if _is_literal(number) and not _is_literal(other) and ask:
                empty = ast.arguments([], [], None, [], [], None, [])
                thunk = _at(ast.Lambda(empty, copy.deepcopy(other)), node)
                setattr(node, this, self.call(self.meaning.like, [number, thunk], node))
        return node

    def _is_pure(self, node: ast.expr) -> bool:
        """True if evaluating an expression provably has no side effects: it calls only types and builtins."""
        calls = [self.static(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)]
        named = any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))
        return not named and all(isinstance(c, (type, Builtin)) or c in _PURE for c in calls)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self._local(node.target.id, self.visit(node.value))
        return node

    def _local(self, name: str, value: ast.expr) -> ast.expr:
        """`value`, rewritten already, as the local `name` holds it: literals take the type the local has."""
        if not self._is_number(value) or name not in self._starts:
            return self.value(value)
        t = self._starts[name] or self.local_types.get(name)
        return self.value(value) if t is None else self.call(self.meaning.fitting, [value, self.bind(t, value)], value)

    def _is_number(self, value: ast.expr) -> bool:
        """True if a rewritten expression consists of literals only."""
        if isinstance(value, ast.Call):
            return isinstance(value.func, ast.Name) and self.namespace.get(value.func.id) is self.meaning.literal
        if isinstance(value, ast.BinOp):
            return self._is_number(value.left) and self._is_number(value.right)
        return self._is_number(value.operand) if isinstance(value, ast.UnaryOp) else _is_literal(value)

    @cached_property
    def _starts(self) -> dict[str, Type | None]:
        """Locals that are assigned again: the type of those that start as literals, None for others."""
        tree = self.definition.source.tree()
        pairs = [
            pair for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets for pair in _pairs(t, n.value)
        ]
        literals = {id(t): F32 if _is_float(value) else I32 for t, value in pairs if _is_literal(value)}
        stores = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        found: dict[str, list[Type | None]] = {a.arg: [None] for a in ast.walk(tree) if isinstance(a, ast.arg)}
        for n in sorted(stores, key=lambda n: (n.lineno, n.col_offset)):
            found.setdefault(n.id, []).append(literals.get(id(n)))
        return {name: types[0] for name, types in found.items() if len(types) > 1}

    @cached_property
    def local_types(self) -> dict[str, Type]:
        """The types of the function's locals."""
        return self.meaning.local_types(self.definition)

    # -- statements ---------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        target = node.targets[0]
        if self._is_tid(node.value) and isinstance(target, (ast.Tuple, ast.List)):
            value = self._tid(node.value, len(target.elts))
        else:
            value = self.visit(node.value)
        if len(node.targets) == 1:
            return self._assign(target, value, node)
        if self._is_number(value):
            return [line for t in node.targets for line in self._assign(t, copy.deepcopy(value), node)]
        name = self.fresh("shared")
        out = self._store_name(name, value, node)
        for t in node.targets:
            out += self._assign(t, _at(ast.Name(name, ast.Load()), node), node)
        return out

    def _store_name(self, name: str, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        return [_at(ast.Assign([_at(ast.Name(name, ast.Store()), at)], self.value(value)), at)]

    def _assign(self, target: ast.expr, value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        """Statements for `target = value`, with value rewritten already."""
        if isinstance(target, ast.Name):
            return [_at(ast.Assign([target], self._local(target.id, value)), at)]
        if _is_shallow(target):
            place: Any = self.generic_visit(target)
            return [_at(ast.Assign([place], self.value(value)), at)]
        if isinstance(target, (ast.Tuple, ast.List)):
            names = [self.fresh("part") for _ in target.elts]
            parts = [_at(ast.Name(n, ast.Store()), at) for n in names]
            starred = [isinstance(t, ast.Starred) for t in target.elts]
            left: list[ast.expr] = [_at(ast.Starred(p, ast.Store()), at) if s else p for p, s in zip(parts, starred)]
            out: list[ast.stmt] = [_at(ast.Assign([_at(ast.Tuple(left, ast.Store()), at)], self.value(value)), at)]
            one_each = isinstance(value, ast.Tuple) and len(value.elts) == len(names) and not any(starred)
            items = value.elts if one_each else names  # type: ignore[attr-defined]
            for t, name, item in zip(target.elts, names, items):
                inner = t.value if isinstance(t, ast.Starred) else t
                is_number = one_each and self._is_number(item)
                part = copy.deepcopy(item) if is_number else _at(ast.Name(name, ast.Load()), at)
                out += self._assign(inner, part, at)
            return out
        root, kinds, steps = self._path(target)
        args = [root, _at(ast.Constant(kinds), at), steps, self.value(value)]
        return [_at(ast.Expr(self.call(_store, args, at)), at)]

    def _path(self, target: ast.expr) -> tuple[ast.expr, str, ast.expr]:
        """The object a nested target starts from, and the members ("a") and indices ("i") that lead to the place."""
        kinds, node = "", target
        steps: list[ast.expr] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                kinds, step = "a" + kinds, _at(ast.Constant(node.attr), node)
            else:
                kinds, step = "i" + kinds, self.visit(_slice_call(node.slice))
            steps.insert(0, step)
            node = node.value
        return self.visit(node), kinds, _at(ast.Tuple(steps, ast.Load()), target)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = self.visit(node.value)
        if isinstance(node.target, ast.Name) or (_is_shallow(node.target) and isinstance(node.target, ast.Attribute)):
            node.target, node.value = self.generic_visit(node.target), value  # type: ignore[assignment]
            return node
        root, kinds, steps = self._path(node.target)
        operation = self.bind(_AUGMENTED[type(node.op)], node)
        args = [root, _at(ast.Constant(kinds), node), steps, value, operation]
        return _at(ast.Expr(self.call(_store, args, node)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return [_at(ast.Pass(), node)]
        value = self.visit(node.value)
        t = _type_or_none(eval(compile(ast.Expression(node.annotation), "<annotation>", "eval"), self.namespace))
        if t is not None:
            value = self.converted(value, t)
        return self._assign(node.target, value, node)

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.pattern:
        """`case True`: Python compares by identity, which truth values of the kernel language do not have."""
        if node.value is None:
            return node
        truth = self.bind(_TRUTH, node, "truth")
        return _at(ast.MatchValue(ast.copy_location(ast.Attribute(truth, f"{node.value}_", ast.Load()), node)), node)

    def visit_For(self, node: ast.For) -> ast.stmt:
        callee = self.static(node.iter.func) if isinstance(node.iter, ast.Call) else None
        is_range = callee is range
        if isinstance(node.iter, ast.Call) and getattr(callee, "name", None) == "block_range":
            is_range = True
            names = len(node.target.elts) if isinstance(node.target, ast.Tuple) else 1
            node.iter.keywords.append(ast.keyword("names", _at(ast.Constant(names), node.iter)))
        node.iter = self.visit(node.iter)
        if not is_range:
            node.iter = self.call(self.meaning.items, [node.iter], node.iter)
        node.body, node.orelse = self.body(node.body), self.body(node.orelse)
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if node.value is None and not self.references:
            return node
        value = self.visit(node.value or _at(ast.Constant(None), node))
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if any(map(_is_literal, parts)):
            for i, (part, t) in enumerate(zip(parts, self.result_types)):
                parts[i] = self.converted(part, t)
            value = value if isinstance(value, ast.Tuple) else parts[0]
        node.value = self.value(value)
        if self.references:
            node.value = _at(self.with_references(node.value), node)
        return node

    @cached_property
    def result_types(self) -> tuple[Type, ...]:
        """Return the result types of the function, part by part."""
        return self.meaning.result_types(self.definition)


def _at(node: Any, where: ast.AST) -> Any:
    return ast.copy_location(node, where)


def _part(node: ast.expr, index: int | str) -> ast.expr:
    return ast.Subscript(node, ast.Constant(index), ast.Load())


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return the pairs of targets and expressions in `target = value`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts))
    return [(target, value)]


def _sequence(both: str, call: ast.expr, steps: list[ast.expr]) -> ast.expr:
    """`(both := call, *steps, both[0])[-1]`."""
    parts = [ast.NamedExpr(ast.Name(both, ast.Store()), call), *steps, _part(ast.Name(both, ast.Load()), 0)]
    return _part(ast.Tuple(parts, ast.Load()), len(parts) - 1)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - asks whether there are any
    except ValueError:
        return False
    return True


def _type_or_none(annotation: Any) -> Type | None:
    try:
        t = type_of(annotation)
    except TypeError:
        return None
    return t if isinstance(t, Type) else None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_float(literal: ast.expr) -> bool:
    return any(isinstance(getattr(n, "value", None), float) for n in ast.walk(literal))


_TRUTH = SimpleNamespace(True_=True, False_=False)


def _is_shallow(target: ast.expr) -> bool:
    """True if a target is one step from a name, so that Python's own assignment writes to the right place."""
    return isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(target.value, ast.Name)


def _slice_call(node: ast.expr) -> ast.expr:
    """An index as an expression of its own: `a[1:2]` as `slice(1, 2, None)`."""
    if not isinstance(node, ast.Slice):
        return node
    parts = [p or ast.Constant(None) for p in (node.lower, node.upper, node.step)]
    return ast.copy_location(ast.Call(ast.Name("slice", ast.Load()), parts, []), node)


def _store(root: Any, kinds: str, steps: tuple, value: Any, operation: Callable | None = None) -> None:
    """Assign to a place inside `root`, or combine with what is there, and write every copy on the way back."""
    if isinstance(root, ArrayCells) and (len(steps) > 1 or operation):
        with root.accessed("atomic" if operation in _ATOMIC else "write", steps[1:]):
            _change(root, kinds, steps, value, operation)
    else:
        _change(root, kinds, steps, value, operation)


def _change(root: Any, kinds: str, steps: tuple, value: Any, operation: Callable | None) -> None:
    get = getattr if kinds[0] == "a" else operator.getitem
    put = setattr if kinds[0] == "a" else operator.setitem
    old = get(root, steps[0]) if len(steps) > 1 or operation else None
    if len(steps) > 1:
        _store(old, kinds[1:], steps[1:], value, operation)
        value = old
    elif operation:
        value = operation(old, value)
    if not hasattr(value, "address"):  # a row of an array is no copy: it has been written in place
        put(root, steps[0], value)
