"""The state of lowering one function, and the small operations every other module of the front end uses.

A `Context` belongs to one instance of one function. `expr` and `statements` dispatch on the syntax node through the
tables EXPRESSIONS and STATEMENTS, which the modules of this package fill with `@lowers(...)`. Mistakes of the user are
raised with `fail` and caught statement by statement, so that one report has them all.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..ir.builder import Builder
from ..ir.nodes import Function, Loc, Operation, Region, Value
from ..lang.errors import Diagnostic, Place, Span
from ..lang.generics import spell
from ..lang.semantics import convert
from ..lang.source import Source
from ..lang.types import BOOL, F32, I32, Array, FixedArray, Packed, Scalar, Struct, Tile, Type
from .expressions.local_arrays import own
from .limits import STEPS, too_many_steps
from .liveness import Liveness
from .messages import ADVICE, WORDS, cast_help, condition_help, misfit
from .syntax_walk import walk
from .tiles.tile_regions import detach_views
from .tiles.tile_regions import read as read_view
from .values import (
    POISON,
    Address,
    Closure,
    ElementRef,
    FormattedString,
    Front,
    MaybeUndefined,
    Poison,
    Static,
    TileView,
    TupleValue,
    Undefined,
    UntypedLiteral,
    spell_front,
)

if TYPE_CHECKING:
    from .session import Session

EXPRESSIONS: dict[type, Callable[[Context, Any], Front]] = {}
STATEMENTS: dict[type, Callable[[Context, Any], None]] = {}
CONDITIONS: dict[type, Callable[[Context, Any], Value | bool]] = {}  # expressions with a shorter form as conditions


def lowers(*kinds: type) -> Callable:
    """Decorator: the function lowers syntax nodes of these kinds."""

    def enter(fn: Callable) -> Callable:
        for kind in kinds:
            (EXPRESSIONS if issubclass(kind, ast.expr) else STATEMENTS)[kind] = fn
        return fn

    return enter


def conditions(kind: type) -> Callable:
    """Decorator: the function lowers expressions of this kind where only their truth matters."""

    def enter(fn: Callable) -> Callable:
        CONDITIONS[kind] = fn
        return fn

    return enter


class LoweringError(Exception):
    """Lowering of a statement stops here. Without a diagnostic the reason was told before."""

    def __init__(self, diagnostic: Diagnostic | None = None):
        self.diagnostic = diagnostic


@dataclass(slots=True)
class Exit:
    """A terminator whose operands are filled in when its target is complete, and the locals at that point."""

    op: Operation
    region: Region
    env: dict[str, Any]

    def constant(self, value: Any, t: Type) -> Value:
        """A constant just before the terminator, which closes its region."""
        assert isinstance(t, Scalar)
        op = Operation("const", [], convert(value, t), self.op.loc)
        op.results = (Value(t, op),)
        self.region.ops.insert(-1, op)
        return op.results[0]


@dataclass(slots=True, eq=False)
class Frame:
    """A breakable operation being built."""

    breaks: list[Exit] = field(default_factory=list)
    continues: list[Exit] = field(default_factory=list)


@dataclass(slots=True)
class PyLoop:
    """A loop of the source: where `break` and `continue` go. `on_continue` is the terminator that continues it."""

    break_to: Frame | None
    continue_to: Frame | None
    on_continue: str = "continue"


@dataclass(slots=True)
class Returned:
    """A `return`: where it leaves, its value and place."""

    exit: Exit
    value: Any
    node: ast.AST


Zeroed = dict[str, tuple[Type, ast.AST]]  # locals that begin as zero: their types, and the reads that need it


class Context:
    """Lowering of one function for given argument types."""

    def __init__(self, session: Session, source: Source, globals_: dict, cells: dict[str, Any], function: Function):
        self.session, self.source, self.globals, self.cells = session, source, globals_, cells
        self.function = function
        self.b = Builder(function)
        self.env: dict[str, Any] = {}
        self.dead = False
        self.bindings: dict[str, Any] = {}  # type variables
        self.local_types: dict[str, tuple[Type, ast.AST]] = {}
        self.local_names: frozenset[str] = frozenset()
        self.frames: list[Frame] = []
        self.loops: list[PyLoop] = []
        self.returns: list[Returned] = []
        self.expected: tuple[Type, ...] | None = None
        self.zeroed: Zeroed = {}
        self.memory: dict[str, Value] = {}  # of locals that are local arrays
        self.result_memories: dict[tuple[int, FixedArray], Value] = {}
        self.rolled: set[ast.For] = set()  # constant loops that run, as their copies would cost too much
        self.unrolled: set[ast.For] = set()  # of those, the ones whose bodies cannot do without a constant index
        self.component_loops: set[ast.For] = set()  # constant loops whose index selects components
        self.statement: ast.stmt | None = None  # the innermost that is being lowered
        self.discarded: ast.expr | None = None  # the expression being lowered whose value nothing uses
        self.copies = 0  # made of bodies of loops so far
        self.multiplicity = 1  # of the code being lowered, from loops that are unrolled whatever they cost
        self.liveness: Liveness
        self._file = source.filename

    # -- places and errors --------------------------------------------------------------------------------------

    def loc(self, node: ast.AST) -> Loc:
        """The span of a node in the user's file."""
        offset = self.source.offset
        n: Any = node
        return Loc(self._file, n.lineno + offset, n.col_offset, n.end_lineno + offset, n.end_col_offset)

    def at(self, node: ast.AST) -> Builder:
        """The builder, set to give new operations the place of `node`."""
        self.b.loc = self.loc(node)
        return self.b

    def place(self, where: ast.AST | Loc) -> Place:
        """A place for a report."""
        loc = where if isinstance(where, Loc) else self.loc(where)
        return self.source.place(Span(*loc[:5]))

    def error(
        self,
        code: str,
        message: str,
        node: ast.AST | Loc,
        notes: Sequence[tuple[str, ast.AST | Loc]] = (),
        candidates: Sequence[str] = (),
        help: str = "",
    ) -> LoweringError:
        """The exception that refuses the statement being lowered: a mistake of the user's at `node`."""
        placed = tuple((text, self.place(where)) for text, where in notes)
        return LoweringError(Diagnostic(code, message, self.place(node), placed, tuple(candidates), help))

    def report(self, *args: Any, **kwargs: Any) -> None:
        """Report a mistake (see `error`) and go on."""
        self.session.report(self.error(*args, **kwargs).diagnostic)

    def warn(self, message: str, node: ast.AST) -> None:
        """Warn once per line where the documented meaning differs from Python's."""
        if not self.session.quiet and not self.session.in_other_language:
            self.session.warnings.setdefault((self._file, self.loc(node).line, message[:12]), message)

    def attempt(self, action: Callable[[], Any], default: Any) -> Any:
        """Run a part of a statement so that the rest can still be checked when the part is refused."""
        depth, frames, loops = len(self.b._open), len(self.frames), len(self.loops)
        try:
            return action()
        except LoweringError as refused:
            self.session.report(refused.diagnostic)
            del self.b._open[depth:], self.frames[frames:], self.loops[loops:]
            return default

    # -- dispatch -----------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Front:
        """Lower an expression to a front value; array elements are not loaded yet."""
        self.session.steps += 1
        if self.session.steps > STEPS:
            raise too_many_steps(self, node)
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            what = WORDS.get(type(node), type(node).__name__)
            raise self.error("unsupported", f"{what} cannot be used in a kernel", node, help=ADVICE.get(type(node), ""))
        return handler(self, node)

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Lower statements until one leaves; each refusal is reported and its targets poisoned."""
        for node in body:
            if self.dead:
                return
            if not self.attempt(partial(self._statement, node), False) and isinstance(node, (ast.Return, ast.Raise)):
                self.b.terminate("return")  # refused, but still the end of its path
                self.dead = True

    def _statement(self, node: ast.stmt) -> bool:
        handler = STATEMENTS.get(type(node))
        self.statement = node
        try:
            if handler is None:
                what = WORDS.get(type(node), type(node).__name__)
                raise self.error(
                    "unsupported", f"{what} cannot be used in a kernel", node, help=ADVICE.get(type(node), "")
                )
            self.b.loc = self.loc(node)
            handler(self, node)
            return True
        except LoweringError:
            # Names bound before keep their type for the checks that follow; new ones are not asked about again.
            for name in self.liveness.writes([node]):
                if isinstance(self.env.get(name, POISON), Undefined | Poison):
                    self.env[name] = POISON
            raise

    # -- values -------------------------------------------------------------------------------------------------

    def rvalue(self, node: ast.expr) -> Front:
        """Lower an expression and load it if it stands for an array element, or part of a tile."""
        return self.loaded(self.expr(node), node)

    def loaded(self, x: Any, node: ast.AST) -> Any:
        """Load what stands for an array element, or part of a tile."""
        return self.materialise(x, node) if type(x) in (ElementRef, TileView) else x

    def value(self, node: ast.expr, what: str = "") -> Value:
        """Lower an expression to an IR value; a literal takes its own type."""
        return self.materialise(self.expr(node), node, what)

    def load(self, ref: ElementRef, node: ast.AST) -> Value:
        """Read an array element or a part of one."""
        if ref.run is not None:
            return self.at(node).op("make", *(self.load(p, node) for p in ref.run.parts(self)), attr=ref.type)
        return self.at(node).op("load", *ref.operands, attr=ref.path)

    def store(self, ref: ElementRef, value: Value, node: ast.AST) -> None:
        """Write an array element or a part of one."""
        if ref.run is None:
            self.at(node).op("store", *ref.operands, value, attr=ref.path)
            return
        for i, part in enumerate(ref.run.parts(self)):
            self.store(part, self.at(node).op("extract", value, attr=i), node)

    def materialise(self, x: Any, node: ast.AST, what: str = "") -> Value:
        """An IR value of a front value."""
        if isinstance(x, Value):
            return x
        if isinstance(x, ElementRef):
            return self.load(x, node)
        if isinstance(x, TileView):
            return read_view(self, x, node)
        if isinstance(x, UntypedLiteral):
            return self.literal(x, x.type, node)
        if isinstance(x, Poison):
            raise LoweringError
        where = f" as {what}" if what else " where a number or vector is needed"
        raise self.error("type-mismatch", f"{spell_front(x)} cannot be used{where}", node)

    def literal(self, x: UntypedLiteral, t: Type, node: ast.AST) -> Value:
        """A literal as a constant of scalar type `t`."""
        assert isinstance(t, Scalar)
        if t.is_int and not isinstance(x.value, float) and not x.fits(t) and not isinstance(x.value, bool):
            self.warn(f"wrap-around: {x.value} does not fit {spell(t)}", node)
        return self.b.const(x.value, t)

    def bindable(self, x: Front, node: ast.AST) -> Any:
        """Return the value of a local after `name = x`."""
        if isinstance(x, (Value, TileView, Static, Closure, Address)):
            return x
        if isinstance(x, FormattedString):
            raise self.error(
                "unsupported", "a kernel cannot keep text that has run-time parts", node, help="print it here"
            )
        if isinstance(x, TupleValue):
            return TupleValue([self.bindable(i, node) for i in x.items])
        return self.materialise(x, node)

    def convert(self, x: Front, t: Type, node: ast.AST, what: str) -> Value:
        """`x` as type `t`: literals adapt, anything else must have that type."""
        if isinstance(x, UntypedLiteral) and x.fits(t):
            return self.b.const(x.value, t)
        if isinstance(x, (Value, ElementRef, TileView)) and x.type is t:
            return self.materialise(x, node)
        raise self.error("type-mismatch", f"{what} is {spell(t)}, {misfit(x, t)}", node, help=cast_help(x, t, node))

    def constant(self, x: Front, node: ast.AST, what: str) -> Any:
        """The Python value of something that must be known at compile time."""
        if isinstance(x, UntypedLiteral):
            return x.value
        if isinstance(x, Static):
            return x.obj
        if isinstance(x, TupleValue):
            return tuple(self.constant(i, node, what) for i in x.items)
        if isinstance(x, Value) and x.is_const:
            return x.const
        known = "known are literals, constants from outside of the kernel, and `wp.static(...)`"
        raise self.error("not-constant", f"{what} must be known when the kernel compiles", node, help=known)

    def truth(self, x: Front, node: ast.AST) -> Value | bool:
        """A condition: an IR bool, or a Python bool where it is known."""
        if isinstance(x, ElementRef):
            x = self.load(x, node)
        if isinstance(x, UntypedLiteral):
            return bool(x.value)
        if isinstance(x, TupleValue):
            return bool(x.items)
        if isinstance(x, Static):
            return bool(x.obj)
        if not isinstance(x, Value):
            raise self.error("type-mismatch", f"{spell_front(x)} cannot be used as a condition", node)
        if isinstance(x.type, Array):
            return self.at(node).op("not", self.at(node).op("is_null", x))
        if not isinstance(x.type, Scalar):
            text = f"{spell(x.type)} cannot be used as a condition"
            raise self.error("type-mismatch", text, node, help=condition_help(x.type))
        if x.type is not BOOL:
            x = self.at(node).op("ne", x, self.b.const(0, x.type))
        return bool(x.const) if x.is_const else x

    def condition(self, node: ast.expr) -> Value | bool:
        """Lower an expression as a condition."""
        handler = CONDITIONS.get(type(node))
        return handler(self, node) if handler else self.truth(self.expr(node), node)

    def as_bool(self, c: Value | bool) -> Value:
        """A condition as an IR value."""
        return c if isinstance(c, Value) else self.b.const(c, BOOL)

    def index_value(self, x: Front, node: ast.AST, what: str = "an index") -> Value:
        """An integer operand; literals become int32."""
        if isinstance(x, UntypedLiteral) and isinstance(x.value, int) and not isinstance(x.value, bool):
            if not x.fits(I32):
                raise self.error("literal", f"{what} is an int32, whose range does not include {spell_front(x)}", node)
            return self.b.const(x.value, I32)
        if isinstance(x, (Value, ElementRef)) and isinstance(x.type, Scalar) and x.type.is_int:
            return self.materialise(x, node)
        raise self.error(
            "type-mismatch", f"{what} must be an integer, not {spell_front(x)}", node, help="convert with int(...)"
        )

    # -- locals -------------------------------------------------------------------------------------------------

    def read(self, name: str, node: ast.AST) -> Any:
        """The binding of a local."""
        x = self.env.get(name)
        if x is None:
            raise self._unassigned(name, node, None)
        if isinstance(x, Poison):
            raise LoweringError
        if isinstance(x, Undefined):
            raise self._unassigned(name, node, x)
        return x

    def _unassigned(self, name: str, node: ast.AST, unset: Undefined | None) -> LoweringError:
        if name in self.local_types and isinstance(self.local_types[name][0], (Scalar, Packed, Struct, Tile, Array)):
            self.zeroed.setdefault(name, (self.local_types[name][0], node))
        where = unset.where if unset else None
        notes = [(unset.why, where)] if unset and where else []
        if not notes:
            first = next((n for n in self.assignments.get(name, ())), None)
            if first is not None:
                notes = [("it is assigned here", self.loc(first))]
        self.env[name] = POISON
        return self.error(
            "unassigned",
            f"`{name}` may be read before it is assigned",
            node,
            notes,
            help=f"assign `{name}` before the branch or loop",
        )

    @property
    def assignments(self) -> dict[str, list[ast.AST]]:
        """Nodes that assign each local, in source order."""
        found: dict[str, list[ast.AST]] = {}
        for n in walk(self.source.tree()):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                found.setdefault(n.id, []).append(n)
        return found

    def assigned_within(self, name: str, node: ast.AST) -> ast.AST | None:
        """The first place inside `node` that assigns the local."""
        for n in walk(node):
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store):
                return n
        return None

    def known(self, condition: bool) -> None:
        """From here on the condition just lowered is known: locals assigned inside it are or are not assigned."""
        for name, x in self.env.items():
            if type(x) is MaybeUndefined:
                self.env[name] = x.value if x.when == condition else Undefined(x.where, x.why)

    def bind(self, name: str, x: Any, node: ast.AST) -> None:
        """`name = x`: a local keeps the type of its first assignment. An element passed by reference is written."""
        ref = self.env.get(name)
        if type(ref) is ElementRef:
            self.store(ref, self.convert(x, ref.type, node, f"`{name}`"), node)
            return
        if isinstance(x, (Value, TileView)):
            detach_views(self, name, node)
            known = self.local_types.get(name)
            if known is None:
                self.local_types[name] = (x.type, node)
            elif known[0] is not x.type:
                raise self.error(
                    "type-change",
                    f"`{name}` is {spell(known[0])} and cannot become {spell(x.type)}",
                    node,
                    [(f"`{name}` got its type here", known[1])],
                    help=self.started(name, x.type) or _other_name(known[0]),
                )
            if isinstance(x, TileView):
                x.home = self.b.region
            elif isinstance(x.type, FixedArray):
                x = own(self, name, x, node)
        self.env[name] = x

    def adapted(self, name: str, x: Any) -> Any:
        """Return the value to bind to a local: a literal takes the type of the local, if it fits exactly."""
        ref = self.env.get(name)
        t = ref.type if type(ref) is ElementRef else self.local_types.get(name, (None,))[0]
        return self.b.const(x.value, t) if isinstance(x, UntypedLiteral) and isinstance(t, Scalar) and x.fits(t) else x

    def started(self, name: str, wanted: Type) -> str:
        """Return how to initialize a local with an integer literal so that it can become `wanted`; "" for all else."""
        t, where = self.local_types.get(name, (None, None))
        first = next(
            (n for n in ast.walk(self.source.tree()) if isinstance(n, ast.Assign) and where in n.targets), None
        )
        if first is None or t is not I32 or not (isinstance(wanted, Scalar) and wanted.is_float):
            return ""
        if not (isinstance(first.value, ast.Constant) and type(first.value.value) is int):
            return ""
        start = f"{first.value.value}.0"
        return f"start it as {spell(wanted)}: `{name} = {start if wanted is F32 else f'wp.{spell(wanted)}({start})'}`"

    def result_memory(self, number: int, t: FixedArray) -> Value:
        """The parameter that takes the `number`-th local array among the results."""
        if (number, t) not in self.result_memories:
            param = self.result_memories[number, t] = Value(t, name=f"result{number}")
            self.function.params.append(param)
        return self.result_memories[number, t]


def _other_name(t: Type) -> str:
    return "use another name" + ("" if isinstance(t, (Array, Tile)) else f", or convert: `{spell(t)}(...)`")
