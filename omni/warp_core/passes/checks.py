"""Debug mode: guard what can go wrong, so that the launch reports it. Release mode: drop asserts.

`insert_checks` runs before any other pass, on the user's functions as they were written. In: a verified kernel or
function. Out: a new function in which these report by `fail` and leave:

* bounds: an index, also of a component, that is negative or too large;
* division: an integer division or remainder by zero;
* nan: an operation, or the call of a library function, that gives NaN though no operand is NaN;
* assert: an assert that does not hold; what it compares is worth showing.

Checks wait for each other. Operations without side effects go on behind a check that fails, so a *run* of checks costs
one branch: it ends before the first operation that must not happen once a check has failed, such as a store, or a load
of the element whose index is checked. Behind that branch, where control seldom goes, the checks of the run come one
after the other in the order of the program. A run has at most MAX_RUN checks, as it keeps alive what they look at.

Device functions get one more result that says whether they ran to their end; callers leave when it is false. Library
functions are left alone and count as single operations. The message of a `fail` names its operands {0}, {1}, …, but for
that of an assert, which is the user's.

In kernels that work in blocks of threads a `fail` ends the block: nothing runs behind it, and no thread waits for one
that has left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import NamedTuple

from ..ir.analysis.alias import is_local
from ..ir.analysis.demand import ALWAYS, demands
from ..ir.clone import Rewriter
from ..ir.interp.block_runner import has_any
from ..ir.nodes import Function, Loc, Operation, Region, Value
from ..ir.ops import COMPARISONS, OPS, slice_parts
from ..lang.generics import spell
from ..lang.semantics import int_range
from ..lang.types import BOOL, I64, U32, U64, Packed, Scalar, Type, element, members

MAX_VALUES = 8
MAX_RUN = 64
_NAN_MAKERS = ("add", "sub", "mul", "div", "rem", "floordiv", "fma", "sqrt", "libm")
_DIVISIONS = ("div", "rem", "floordiv")
_EFFECTS = frozenset(code for code, row in OPS.items() if not row.pure)
# Operations that do the checks that wait themselves, or do not need them done.
_DECIDES = frozenset(("load", "store", "atomic", "call", "assert", "alloca"))
# What a library function may do although a check has failed. It may not load: an index may be why the check failed.
_HARMLESS = frozenset(("alloca", "if", "for", "block", "call", "yield", "break", "continue", "return", "unreachable"))


def insert_checks(function: Function) -> Function:
    """`function` with checks, calling functions with checks."""
    done: dict[Function, Function] = {}
    effects = cache(lambda library: has_any(library, _EFFECTS - _HARMLESS))
    signals = not function.block_dim

    def checked(callee: Function) -> Function:
        if callee.is_library:
            return callee
        if callee not in done:
            done[callee] = _Checker(checked, effects, signals, signals).rewrite(callee)
            done[callee].results = (*callee.results, BOOL) if signals else callee.results
        return done[callee]

    return _Checker(checked, effects, signals, False).rewrite(function)


def drop_asserts(function: Function) -> None:
    """Remove every assert from `function`, in place."""
    _drop(function.body)


def _drop(region: Region) -> None:
    region.ops = [op for op in region.ops if op.code != "assert"]
    for op in region.ops:
        for inner in op.regions:
            _drop(inner)


class _Check(NamedTuple):
    """A check that waits. `result` is its condition; for NaN it is what must be a number if `args` are. An operation
    that `keeps` NaNs gives NaN whenever one of `args` is. Where it is not `needed`, a `select` discards the result.
    """

    loc: Loc | None
    kind: str
    message: str
    shown: Sequence[Value]
    result: Value
    needed: Value
    args: Sequence[Value] = ()
    keeps: bool = False


class _Checker(Rewriter):
    def __init__(
        self,
        checked: Callable[[Function], Function],
        has_effects: Callable[[Function], bool],
        leaves: bool,
        signals: bool,
    ):
        super().__init__()
        self._checked, self._has_effects = checked, has_effects
        self._leaves_function, self._signals = leaves, signals
        self._run: list[_Check] = []
        self._visitors.update(dict.fromkeys(_NAN_MAKERS, self._arithmetic))
        self._visitors.update(dict.fromkeys(("load", "store"), self._access))
        for code in _EFFECTS - _DECIDES:
            self._visitors[code] = partial(self._behind_checks, self._visitors[code])

    def rewrite(self, function: Function) -> Function:
        self._results, self._demands = function.results, demands(function)
        return super().rewrite(function)

    # -- reporting ----------------------------------------------------------------------------------------------

    def _behind_checks(self, visit: Callable[[Operation], None], op: Operation) -> None:
        self._end_run()
        visit(op)

    def _require(self, ok: Value, kind: str, message: str, shown: Sequence[Value], needed: Value | None = None) -> None:
        """Report and leave unless `ok`."""
        if not (ok.is_const and ok.const):
            self._await(_Check(self.b.loc, kind, message, shown, ok, needed or self.b.bool(True)))

    def _needed(self, op: Operation) -> Value:
        """Return the condition that the result of an operation matters, as far as it is known before the operation."""
        found = self.b.bool(True)
        for condition, value in self._demands.get(op.results[0], ALWAYS):
            if condition in self.values:
                known = self.values[condition]
                found = self.b.op("and", found, known if value else self.b.op("not", known))
        return found

    def _await(self, check: _Check) -> None:
        self._run.append(check)
        if len(self._run) == MAX_RUN:
            self._end_run()

    def _end_run(self) -> None:
        """Do the checks that wait: one branch, behind which each of them has its own."""
        run, self._run = self._run, []
        if not run:
            return
        loc, self.b.loc = self.b.loc, run[0].loc
        if len(run) == 1 and run[0].kind != "nan":
            self._check(run[0])
        else:
            implied = {arg for check in run if check.keeps for arg in check.args}
            suspect = self._suspect([check for check in run if check.result not in implied])
            self.b.push()
            for check in run:
                self.b.loc = check.loc
                self._check(check)
            self.b.terminate("yield")
            self._branch(suspect, self.b.pop(), self._passed())
        self.b.loc = loc

    def _suspect(self, run: Sequence[_Check]) -> Value:
        """Return whether some check of a run may fail."""
        found, ok = self.b.bool(False), self.b.bool(True)
        for check in run:
            if check.kind == "nan":
                found = self.b.op("or", found, self._is_nan(check.result))
            else:
                ok = self.b.op("and", ok, self._holds(check))
        return self.b.op("or", found, self.b.op("not", ok))

    def _holds(self, check: _Check) -> Value:
        """Return the condition of a check, which holds where the result is not needed."""
        ok = self.b.op("not", self._is_nan(check.result)) if check.kind == "nan" else check.result
        return self.b.op("or", ok, self.b.op("not", check.needed))

    def _check(self, check: _Check) -> None:
        """Report a failure of one check, and leave."""
        ok = self._holds(check)
        for arg in check.args:
            ok = self.b.op("or", ok, self._is_nan(arg))
        self.b.push()
        self.b.op("fail", *check.shown, attr=(check.kind, check.message))
        self._give_up()
        self._branch(ok, self._passed(), self.b.pop())

    def _branch(self, cond: Value, first: Region, second: Region) -> None:
        self.b.emit("if", [cond], None, (first, second))

    def _passed(self) -> Region:
        self.b.push()
        self.b.terminate("yield")
        return self.b.pop()

    def _give_up(self) -> None:
        """Leave the function with results that do not matter."""
        if not self._leaves_function:
            self.b.terminate("unreachable")
            return
        results = [self.b.zero(t) for t in self._results]
        self.b.terminate("return", [*results, self.b.bool(False)] if self._signals else results)

    def visit_return(self, op: Operation) -> None:
        args = self.args(op)
        self.b.terminate("return", [*args, self.b.bool(True)] if self._signals else args)

    def visit_assert(self, op: Operation) -> None:
        (cond,) = self.args(op)
        compared = cond.op.args if cond.op is not None and cond.op.code in COMPARISONS else ()
        self._require(cond, "assert", op.attr, self._shown([a for a in compared if not a.is_const]))

    # -- bounds -------------------------------------------------------------------------------------------------

    def _in_range(self, index: Value, size: Value, what: str, needed: Value | None = None) -> None:
        reach = int_range(index.type)[1] + 1
        t = U64 if reach > 1 << 31 else U32
        bound = self.b.op("min", size, self.b.const(reach, I64)) if size.type is I64 and t is U32 else size
        ok = self.b.op("lt", self.b.op("cast", index, attr=t), self.b.op("cast", bound, attr=t))
        written = index.op.args[0] if index.op is not None and index.op.code == "from_end" else index
        self._require(ok, "bounds", f"index {{0}} is out of range for {what} of length {{1}}", (written, size), needed)

    def _array_indices(self, array: Value, indices: Iterable[tuple[int, Value]]) -> None:
        name = f" of array {array.name!r}" if array.name else " of an array"
        for i, index in indices:
            self._in_range(index, self.b.op("extent", array, attr=i), f"dimension {i}{name}")

    def _path_indices(self, t: Type, path: Sequence[int], indices: Sequence[Value]) -> None:
        rest = iter(indices)
        for step in path:
            if step == -1:
                assert isinstance(t, Packed)
                self._component(next(rest), t)
                return
            t = members(t)[step]

    def _component(self, index: Value, t: Packed, needed: Value | None = None) -> None:
        if not (index.is_const and 0 <= index.const < t.count):
            self._in_range(index, self.b.const(t.count, index.type), f"a component of {spell(t)}", needed)

    def _access(self, op: Operation) -> None:
        array, *rest = self.args(op)
        count, before = array.type.ndim, len(self._run)
        self._array_indices(array, enumerate(rest[:count]))
        self._path_indices(array.type.dtype, op.attr or (), rest[count:])
        if op.code == "store" and not is_local(array):
            self._end_run()
        self._copy_checked(op, before)

    def visit_slice(self, op: Operation) -> None:
        array, *rest = self.args(op)
        before = len(self._run)
        parts = slice_parts(rest, op.attr)  # ranges were cut to the array's extents
        self._array_indices(array, ((k, operands[0]) for k, (letter, operands) in enumerate(parts) if letter == "i"))
        self._copy_checked(op, before)

    def visit_atomic(self, op: Operation) -> None:
        array, *rest = self.args(op)
        count = array.type.ndim
        self._array_indices(array, enumerate(rest[:count]))
        self._path_indices(array.type.dtype, op.attr[1], rest[count:])
        self._end_run()
        self._copy(op)

    def visit_extract_dyn(self, op: Operation) -> None:
        x, *_, index = self.args(op)
        before = len(self._run)
        self._component(index, x.type, self._needed(op))
        self._copy_checked(op, before)

    visit_insert_dyn = visit_extract_dyn

    def _copy_checked(self, op: Operation, before: int) -> None:
        """Copy an operation that must not happen if its own checks, those behind the first `before`, fail."""
        if len(self._run) != before:
            self._end_run()
        self._copy(op)

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def _arithmetic(self, op: Operation) -> None:
        s = element(op.args[0].type)
        if not s.is_float and op.code in _DIVISIONS:
            self._nonzero(op)
        self._copy(op)
        if s.is_float:
            name, keeps = (op.attr, False) if op.code == "libm" else (op.code, True)
            self._not_nan(op, self.values[op.results[0]], name, keeps)

    def _nonzero(self, op: Operation) -> None:
        a, b = self.args(op)
        ok = self.b.bool(True)
        for leaf in self._leaves(b):
            ok = self.b.op("and", ok, self.b.op("ne", leaf, self.b.const(0, leaf.type)))
        shown = self._shown((a,))
        values = f"{', '.join(f'{{{i}}}' for i in range(len(shown)))} by zero"
        message = f"integer division of {values}" if shown else "integer division by zero"
        self._require(ok, "division", message, shown, self._needed(op))

    def visit_call(self, op: Operation) -> None:
        callee = self._checked(op.attr)
        if not callee.is_library or self._has_effects(callee):
            self._end_run()
        results = list(self.b.emit("call", self.args(op), callee, results=callee.results))
        if callee is not op.attr and self._leaves_function:
            self._leave_unless(results.pop())
        self.define(op, results)
        if callee.is_library:
            for result in results:
                self._not_nan(op, result, callee.name.partition("#")[0])

    def _leave_unless(self, ok: Value) -> None:
        """Leave without a report of its own: the callee made one."""
        self.b.push()
        self._give_up()
        self._branch(ok, self._passed(), self.b.pop())

    def _not_nan(self, op: Operation, result: Value, name: str, keeps: bool = False) -> None:
        args = self.args(op)
        if self._can_be_nan(result) and result not in args:  # x * 1 is x
            shown = self._shown(args)
            operands = ", ".join(f"{{{i}}}" for i in range(len(shown)))
            given = [arg for arg in args if self._can_be_nan(arg)]
            message = f"{name}({operands}) is NaN"
            self._await(_Check(self.b.loc, "nan", message, shown, result, self._needed(op), given, keeps))

    def _can_be_nan(self, x: Value) -> bool:
        s = element(x.type)
        return not x.is_const and isinstance(s, Scalar) and s.is_float

    def _is_nan(self, x: Value) -> Value:
        """Return the condition that `x` has a NaN component."""
        found = self.b.bool(False)
        for leaf in self._leaves(x):
            found = self.b.op("or", found, self.b.op("ne", leaf, leaf))
        return found

    def _leaves(self, x: Value) -> list[Value]:
        if not isinstance(x.type, Packed):
            return [x]
        return [self.b.op("extract", x, attr=i) for i in range(x.type.count)]

    def _shown(self, args: Sequence[Value]) -> list[Value]:
        """The leaves of `args` if a report has room for them."""
        scalars = [a for a in args if isinstance(element(a.type), Scalar)]
        if sum(a.type.count if isinstance(a.type, Packed) else 1 for a in scalars) > MAX_VALUES:
            return []
        return [leaf for a in scalars for leaf in self._leaves(a)]
