"""One lowering session: a kernel and the instances of the functions it calls, with all mistakes found on the way.

A function is lowered once for each combination of argument types and compile-time arguments. Start with
`Session.lower`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from .. import config
from ..ir.nodes import Function as IrFunction
from ..ir.nodes import Loc, Value
from ..lang.annotations import evaluate_for, type_or_none
from ..lang.errors import Diagnostic
from ..lang.generics import is_generic, spell, substitute
from ..lang.intrinsics.native_snippet import NativeFunction
from ..lang.kernel import Definition, Function
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.registry import Builtin, is_builtin
from ..lang.source import Source
from ..lang.types import U64, FixedArray, Packed, Scalar, Struct, Type
from .calls.inout_arguments import recogniser, resolver
from .calls.overload_resolution import Match
from .context import Context, LoweringError, Returned, Zeroed
from .gradients import custom_gradient_ir
from .gradients.adjoint_params import first_adjoint
from .limits import check_values
from .liveness import Liveness
from .merges import terminate
from .names import captures_of
from .statements.iteration import Items, iterate
from .statements.lvalues import from_memory
from .tiles.tile_names import TileNames, own_name
from .tiles.tile_views import whole
from .values import (
    Address,
    Closure,
    Front,
    PassedItem,
    Static,
    TupleValue,
    UntypedLiteral,
    flatten,
    spell_front,
    spell_shape,
)


@dataclass
class Instance:
    """A lowered function, the shape of what it returns, and the types of its locals."""

    function: IrFunction
    shape: Any
    locals: dict[str, Type] = field(default_factory=dict)
    customised: bool = False  # whether what the user gave for differentiating it has been lowered


MAX_DEPTH = 64  # functions that call each other with ever new argument types would never end

NOTHING = flatten(Static(None))[0]


class Session:
    """Everything shared while one kernel, or one library function, is lowered."""

    def __init__(self, instantiate: Callable[..., Instance], quiet: bool = False, block_dim: int = DEFAULT_BLOCK_DIM):
        self._instantiate = instantiate
        self.diagnostics: list[Diagnostic] = []
        self.warnings: dict[tuple[str, int, str], str] = {}
        self.quiet = quiet
        self.follows_warp_lang = config.dialect == "warp-lang" and not quiet
        self.in_other_language = False  # whether the function being lowered means what it does in C
        self.depth = 0  # of lambdas being lowered
        self.block_dim = block_dim
        self.in_blocks = False  # whether anything lowered so far works in blocks of threads
        self.for_lone_threads: list[LoweringError] = []  # calls that are mistakes where threads work in blocks
        self.memory = 0  # bytes of local arrays so far
        self.steps = 0  # expressions lowered so far
        self.counting: set[Value] = set()  # indices of loops that count up from zero or more
        self._named: dict[str, int] = {}
        self._instances: dict[tuple, Instance | None] = {}
        self._active: dict[tuple, str] = {}  # being lowered now, outermost first

    # -- reports ------------------------------------------------------------------------------------------------

    def report(self, diagnostic: Diagnostic | None) -> None:
        """Add a mistake, once."""
        if diagnostic is None:
            return
        span = diagnostic.place.span if diagnostic.place else None
        for d in self.diagnostics:
            if d.code == diagnostic.code and (d.place.span if d.place else None) == span:
                return
        self.diagnostics.append(diagnostic)

    def save(self) -> Callable[[], None]:
        """Return a function that forgets the reports, warnings and refused instances from here on."""
        diagnostics, warnings = list(self.diagnostics), dict(self.warnings)
        memory, known = self.memory, {*self._instances}

        def restore() -> None:
            self.diagnostics[:], self.warnings, self.memory = diagnostics, dict(warnings), memory
            self._instances = {k: x for k, x in self._instances.items() if x is not None or k in known}

        return restore

    def has_builtin(self, name: str) -> bool:
        """True if the library has this function."""
        return is_builtin(name)

    # -- instances ----------------------------------------------------------------------------------------------

    def builtin_instance(self, builtin: Builtin, index: int, m: Match, node: ast.AST) -> Instance:
        """The lowered form of a library function."""
        return self._instantiate(builtin, index, tuple(t for _, t, _ in m.values), m.bindings, dict(m.statics))

    def library_function(self, builtin: Builtin, *types: Type) -> IrFunction:
        """Return the first overload of a library function, for arguments of these types."""
        return self._instantiate(builtin, 0, types).function

    def instance(self, cx: Context, head: Function, f: Function, m: Match, node: ast.AST) -> Instance:
        """The lowered form of a user function, one of the overloads of `head`, for the argument types of `m`."""
        if isinstance(f, NativeFunction):
            self._check_text(cx, f, node)
        statics = tuple((n, _static_key(x)) for n, x in m.statics)
        key = (id(f), tuple(t.key for _, t, _ in m.values), statics, tuple(m.elements.items()), m.tiles)
        if key in self._active:
            chain = " -> ".join([*list(self._active.values())[list(self._active).index(key) :], f.name])
            raise cx.error(
                "recursion",
                f"`{f.name}` calls itself ({chain})",
                node,
                help="kernels have no call stack: use a loop",
            )
        if len(self._active) > MAX_DEPTH:
            raise cx.error(
                "recursion",
                f"calls are nested more than {MAX_DEPTH} deep here",
                node,
                help="call the functions one after the other, or write several of them as one",
            )
        if key not in self._instances:
            self._instances[key] = None
            self._active[key] = f.name
            known = len(self.diagnostics)
            caller, self.in_other_language = self.in_other_language, isinstance(f, NativeFunction)
            try:
                self._instances[key] = self.lower(f, m, False)
            except LoweringError as refused:
                self.report(refused.diagnostic)
            finally:
                self.in_other_language = caller
                del self._active[key]
            note = ("called from here", cx.place(node))
            for i in range(known, len(self.diagnostics)):
                d = self.diagnostics[i]
                self.diagnostics[i] = d._replace(notes=(*d.notes, note))
        found = self._instances[key]
        if found is None:
            raise LoweringError
        custom_gradient_ir.attach(self, head, f, m, found)
        return found

    def _check_text(self, cx: Context, f: NativeFunction, node: ast.AST) -> None:
        """Refuse C++ text that has no translation, and note text for threads that work alone."""
        write = f"write `{f.name}` in Python with @wp.func"
        if f.untranslated:
            text = (
                f"`{f.name}` is C++ text (wp.func_native) with more than numbers, branches and loops: {f.untranslated}"
            )
            raise cx.error("unsupported", text, node, help=write)
        if f.is_for_lone_threads:
            text = f"`{f.name}` is C++ text (wp.func_native) that lets threads work together on GPUs only"
            self.for_lone_threads.append(
                cx.error("unsupported", f"{text}, and they form blocks here", node, help=write)
            )

    def check_blocks(self) -> None:
        """Refuse text for threads that work alone where they work in blocks."""
        if self.in_blocks and self.block_dim > 1:
            for refused in self.for_lone_threads:
                self.report(refused.diagnostic)

    def lower(self, f: Definition, m: Match, is_kernel: bool) -> Instance:
        """Lower the body of a definition for the types in `m`."""
        cells = captures_of(f.func)
        return self.lower_body(f.name, f.source, f.func, cells, m, is_kernel, getattr(f, "frame_locals", None))

    def lower_body(
        self, name: str, source: Source, func: Any, cells: dict, m: Match, is_kernel: bool, frame_locals: Any = None
    ) -> Instance:
        """Lower a function given by its source and surroundings."""
        lower = partial(self._lower_body, name, source, func, cells, m, is_kernel, frame_locals)
        return self._with_zeros(lower) if self.follows_warp_lang else lower({})

    def _with_zeros(self, lower: Callable[[Zeroed], Instance]) -> Instance:
        """Lower a function whose locals are zero where some path leaves them unassigned. Which these are shows when one
        is read: the function is lowered again then.
        """
        zeroed: Zeroed = {}
        restore = self.save()
        while True:
            known = len(zeroed)
            try:
                return lower(zeroed)
            except LoweringError:
                if len(zeroed) == known:
                    raise
                told = self.warnings  # those of functions that are not lowered again, too
                restore()
                self.warnings.update(told)

    def _lower_body(
        self,
        name: str,
        source: Source,
        func: Any,
        cells: dict,
        m: Match,
        is_kernel: bool,
        frame_locals: Any,
        zeroed: Zeroed,
    ) -> Instance:
        tree = m.tree or source.tree()
        loc = Loc(source.filename, tree.lineno + source.offset, tree.col_offset)
        params = [Value(t, name=p) for p, t, _ in m.values]
        fn = IrFunction(self._unique(name), params, is_kernel=is_kernel, loc=loc, is_library=self.quiet)
        cx = Context(self, source, func.__globals__, cells, fn)
        cx.bindings = m.bindings
        statics = {name: x.obj for name, x in m.statics if isinstance(x, Static)}
        hidden = [local for local, p in m.adjoints.items() if {n: t for n, t, _ in m.values}[p].is_differentiable]
        returned = [own_name(p) if p in m.tiles else p for p in m.refs if p not in m.elements] + hidden
        changes = recogniser(func.__globals__, {**cells, **statics})
        resolve = resolver(func.__globals__, {**cells, **statics})
        tiles = cache(lambda: TileNames(tree.body, resolve, m.tiles))
        cx.liveness = Liveness(tree.body, changes, frozenset(returned), lambda: tiles() if self.in_blocks else None)
        args = [a.arg for a in [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]]
        cx.local_names = frozenset((*cx.liveness.locals, *args, *m.adjoints))
        nodes = {a.arg: a for a in [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]}
        given = {p: value for (p, _, _), value in zip(m.values, params)}
        for p, element in m.elements.items():
            cx.env[p] = from_memory(p, element, given)
        for p, value in given.items():
            if p in nodes and p not in m.elements:
                cx.env[p] = value
                cx.local_types[p] = (value.type, nodes[p])
            if p in m.tiles:
                cx.env[own_name(p)], cx.env[p] = value, whole(value, own_name(p))
        for p_name, x in m.statics:
            cx.env[p_name] = _own(cx, x, given)
        for local, p in m.adjoints.items():
            cx.env[local] = first_adjoint(cx.b, given[p])
        for local, (t, read) in zeroed.items():
            cx.env[local] = cx.b.zero(t)
            cx.warn(f"`{local}` is zero here where no path has assigned it: Python would raise UnboundLocalError", read)
        cx.zeroed = zeroed
        returns = func.__annotations__.get("return")
        cx.expected = self._expected(cx, func, returns, frame_locals, tree)
        before = len(self.diagnostics)
        cx.statements(tree.body)
        shape = self._finish(cx, fn, tree, returned, before)
        check_values(cx, fn)
        if len(self.diagnostics) > before:
            raise LoweringError
        return Instance(fn, shape, {name: t for name, (t, _) in cx.local_types.items()})

    def _unique(self, name: str) -> str:
        """Instances of one name are told apart by a number."""
        count = self._named.get(name, 0)
        self._named[name] = count + 1
        return f"{name}.{count}" if count else name

    def _expected(self, cx: Context, func: Any, annotation: Any, frame_locals: Any, tree: ast.FunctionDef) -> Any:
        """The types a return annotation asks for: None (nothing said), or a tuple of types."""
        if annotation is None:
            return () if "return" in func.__annotations__ else None
        try:
            found = evaluate_for(annotation, func, frame_locals)
        except Exception:
            return None
        if found is None:
            return ()
        parts = getattr(found, "__args__", None) if getattr(found, "__origin__", None) is tuple else None
        if any(getattr(p, "__origin__", None) is tuple for p in parts or ()):
            return None  # tuples in tuples are returned as they are
        types = [substitute(type_or_none(p), cx.bindings) for p in (parts or (found,))]
        if any(not isinstance(t, Type) for t in types):
            if any(t is None for t in types):
                self.report(
                    Diagnostic(
                        "annotation", "the return annotation is not a type that kernels know", cx.place(tree.returns)
                    )
                    if tree.returns
                    else None
                )
            return None if any(is_generic(t) or t is None for t in types) else tuple(types)
        return tuple(types)

    def _finish(self, cx: Context, fn: IrFunction, tree: ast.FunctionDef, returned: list[str], known: int) -> Any:
        """Close the body, and give all returns one shape; the parameters `returned` go out after the results."""
        if not cx.dead:
            end = tree.body[-1]
            cx.b.loc = cx.loc(end)
            valued = [r for r in cx.returns if not _is_none(r.value)]
            result = self._zero_result(cx, tree, end, valued) if valued else Static(None)
            if (valued or cx.expected) and _is_none(result):
                self._missing_return(cx, tree, end, valued)
            cx.returns.append(Returned(terminate(cx, "return"), result, end))
        shape = NOTHING
        if cx.returns and len(self.diagnostics) == known:
            for r in cx.returns:
                outcome = cx.attempt(partial(_typed_return, cx, r), None)
                if outcome is None:
                    continue
                if r is cx.returns[0]:
                    shape = outcome[0]
                elif outcome[0] != shape:
                    self._returns_differ(cx, shape, outcome[0], r)
                plain = [v for v in outcome[1] if not isinstance(v.type, FixedArray)]
                r.exit.op.args += plain + [_final(cx, p, r) for p in returned]
        fn.results = tuple(v.type for v in cx.returns[0].exit.op.args) if cx.returns else ()
        return shape

    def _zero_result(self, cx: Context, tree: ast.FunctionDef, end: ast.stmt, valued: list[Returned]) -> Front:
        """What a function returns at its end in warp-lang: zero of the types that it returns elsewhere."""
        first = valued[0].value
        items = first.items if isinstance(first, TupleValue) else (first,)
        types: Sequence[Any] = cx.expected or [getattr(x, "type", None) for x in items]
        plain = (Scalar, Packed, Struct)
        if not self.follows_warp_lang or len(types) != len(items) or not all(isinstance(t, plain) for t in types):
            return Static(None)
        cx.warn(f"`{tree.name}` returns zero where it ends without `return`: Python would return None", end)
        zeros = [cx.b.zero(t) for t in types]
        return TupleValue(zeros) if isinstance(first, TupleValue) else zeros[0]

    def _missing_return(self, cx: Context, tree: ast.FunctionDef, end: ast.stmt, valued: list[Returned]) -> None:
        notes = [("a value is returned here", valued[0].node)] if valued else []

        cx.report(
            "missing-return",
            f"`{tree.name}` can end without returning a value",
            end,
            notes,
            help="add a `return` at the end of the function",
        )

    def _returns_differ(self, cx: Context, first: Any, other: Any, r: Returned) -> None:
        cx.report(
            "return-type",
            f"this returns {spell_shape(other)}, an earlier `return` gives {spell_shape(first)}",
            getattr(r.node, "value", None) or r.node,
            [("the earlier return", cx.returns[0].node)],
        )

    # -- helpers of other modules -------------------------------------------------------------------------------

    def iterate(self, cx: Context, node: ast.expr) -> Any:
        """A call of range, zip, ... as a value."""
        found = iterate(cx, node)
        return TupleValue(found.items) if isinstance(found, Items) else found

    def foreign(self, cx: Context, f: Closure, bound: dict[str, Any], node: ast.AST) -> Front:
        """A lambda called in another function than the one that wrote it: it may use constants only."""
        free = {n.id for n in ast.walk(f.node.body) if isinstance(n, ast.Name)} - set(bound)
        home = f.home
        env: dict[str, Any] = {}
        for name in free & home.local_names:
            x = home.env.get(name)
            if isinstance(x, Value) and x.is_const:
                env[name] = cx.b.const(x.const, x.type)
            elif isinstance(x, (Static, Closure)):
                env[name] = x
            else:
                text = f"a lambda passed to a function cannot use the local `{name}`"
                raise cx.error("unsupported", text, node, help="pass it as an argument as well")
        inner = Context(self, home.source, home.globals, home.cells, cx.function)
        inner.b, inner.frames, inner.liveness = cx.b, cx.frames, home.liveness
        inner.bindings = home.bindings
        inner.env, inner.local_names = {**env, **bound}, home.local_names | frozenset(bound)
        self.depth += 1
        try:
            return inner.rvalue(f.node.body)
        finally:
            self.depth -= 1


def _own(cx: Context, x: Any, given: dict[str, Value]) -> Any:
    """A compile-time argument with the caller's constants made again in this function; `given` are the parameters."""
    if isinstance(x, Value):
        return cx.b.const(x.const, x.type)
    if isinstance(x, PassedItem):
        return given[x.parameter]
    return TupleValue([_own(cx, i, given) for i in x.items]) if isinstance(x, TupleValue) else x


def _final(cx: Context, parameter: str, r: Returned) -> Value:
    """Return the value of a by-reference parameter where the function returns."""
    x = r.exit.env.get(parameter)
    if not isinstance(x, Value):
        raise cx.error("unassigned", f"`{parameter}` has no value here that the caller could get back", r.node)
    return x


def _is_none(x: Any) -> bool:
    return isinstance(x, Static) and x.obj is None


def _typed_return(cx: Context, r: Returned) -> tuple[Any, list[Value]]:
    """The shape and values of a return; literals take the expected or the common type."""
    items = r.value.items if isinstance(r.value, TupleValue) else (r.value,)
    if _is_none(r.value):
        if cx.expected:
            raise _return_mismatch(cx, r, "nothing")
        return NOTHING, []
    wanted = cx.expected if cx.expected is not None else _common(cx, len(items))
    if cx.expected is not None and len(cx.expected) != len(items):
        raise _return_mismatch(cx, r, f"{len(items)} values")
    out: list[Any] = []
    for i, x in enumerate(items):
        t = wanted[i] if i < len(wanted) else None
        if isinstance(x, UntypedLiteral):
            x = r.exit.constant(x.value, t if t is not None and x.fits(t) else x.type)
        elif isinstance(x, TupleValue):
            x = TupleValue([r.exit.constant(y.value, y.type) if isinstance(y, UntypedLiteral) else y for y in x.items])
        elif isinstance(x, Address):
            if cx.expected is not None and t is not U64:
                raise _return_mismatch(cx, r, spell_front(x))
        elif not isinstance(x, Value):
            raise cx.error("return-type", "only values can be returned", getattr(r.node, "value", None) or r.node)
        if cx.expected is not None and isinstance(x, Value) and x.type is not t:
            raise _return_mismatch(cx, r, spell(x.type))
        out.append(x)
    return flatten(TupleValue(out) if isinstance(r.value, TupleValue) else out[0])


def _common(cx: Context, count: int) -> list[Type | None]:
    """The type that each position of the returns has where it is not a literal."""
    out: list[Type | None] = []
    for i in range(count):
        found, fraction = None, False
        for r in cx.returns:
            items = r.value.items if isinstance(r.value, TupleValue) else (r.value,)
            x = items[i] if i < len(items) else None
            if isinstance(x, Value):
                found = found or x.type
            fraction = fraction or (isinstance(x, UntypedLiteral) and isinstance(x.value, float))
        out.append(found or (UntypedLiteral(0.0).type if fraction else None))
    return out


def _return_mismatch(cx: Context, r: Returned, what: str) -> LoweringError:
    wanted = ", ".join(map(spell, cx.expected or ())) or "nothing"
    tree = cx.source.tree()
    notes = [("the annotation", tree.returns)] if tree.returns else []
    return cx.error(
        "return-type",
        f"this returns {what}, but `{tree.name}` is annotated to return {wanted}",
        getattr(r.node, "value", None) or r.node,
        notes,
    )


def _static_key(x: Any) -> Any:
    """Identifies a compile-time argument."""
    if isinstance(x, UntypedLiteral):
        return type(x.value).__name__, x.value
    if isinstance(x, Static):
        return x.obj if isinstance(x.obj, str) else id(x.obj)
    if isinstance(x, Value) and x.is_const:
        return x.type.key, repr(x.const)
    if isinstance(x, TupleValue):
        return tuple(map(_static_key, x.items))
    if isinstance(x, PassedItem):
        return "passed", x.parameter
    return id(getattr(x, "node", x))
