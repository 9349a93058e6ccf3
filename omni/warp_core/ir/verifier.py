"""The executable specification of well-formed IR. `verify` raises with every problem it finds.

What holds of a function that passes:

* each operation satisfies its row of `ops.OPS`: operand count, typing rule, attribute, number of regions;
* a value is used only after its definition and inside the region that defines it, or regions nested in that;
* each region ends in its one terminator, and the terminator carries the types that its target takes (see `nodes`);
* `break` and `continue` name a breakable operation of the same function, `unreachable` follows an operation that never
  completes;
* `alloca` and `shared` stand in the outermost region of their function, so that they run once for each call;
* calls match the callee's signature, kernels return nothing, and no function calls itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..lang.types import BOOL, I32, MAX_NDIM, VOID, Scalar, Tile, Type
from . import attrs
from .nodes import Function, Operation, Region, Value
from .ops import BLOCK_OPS, BREAKABLE, COLLECTIVES, ELEMENT_OPS, OPS, OpError, reduced, result_type


class VerifyError(Exception):
    """Malformed IR; `problems` lists all of it."""

    def __init__(self, problems: list[str]):
        super().__init__("\n".join(problems))
        self.problems = problems


def verify(function: Function) -> None:
    """Check `function` and all that it calls. Raises `VerifyError`."""
    found = problems(function)
    if found:
        raise VerifyError(found)


def problems(function: Function) -> list[str]:
    """Everything that is wrong with `function` and with what it calls."""
    found: list[str] = []
    _verify_with_callees(function, [], set(), found)
    return found


def _verify_with_callees(function: Function, stack: list[Function], done: set[Function], found: list[str]) -> None:
    if function in stack:
        found.append(f"@{function.name}: calls itself")
        return
    if function in done:
        return
    done.add(function)
    found += _Verifier(function).run()
    for op in function.body.walk():
        if op.code == "call" and isinstance(op.attr, Function):
            _verify_with_callees(op.attr, [*stack, function], done, found)


class _Verifier:
    def __init__(self, function: Function):
        self._function = function
        self._problems: list[str] = []
        self._visible: set[Value] = set()
        self._defined: set[Value] = set()
        self._operations: set[Operation] = set()
        self._breakable: list[Operation] = []
        self._path: list[str] = []

    def run(self) -> list[str]:
        f = self._function
        if f.is_kernel and f.results:
            self._report(f"kernel with results {list(f.results)}")
        if f.is_kernel and not f.block_dim and any(op.code in BLOCK_OPS for op in f.body.walk()):
            self._report("kernel that works in blocks of no size")
        self._region(f.body, None)
        return self._problems

    def _report(self, what: str, op: Operation | None = None) -> None:
        at = f" (line {op.loc.line})" if op is not None and op.loc is not None else ""
        where = " > ".join((f"@{self._function.name}", *self._path))
        self._problems.append(f"{where}{at}: {what}")

    # -- structure ----------------------------------------------------------------------------------------------

    def _region(self, region: Region, owner: Operation | None) -> None:
        before = len(self._problems), set(self._visible)
        for param in region.params:
            if param.op is not None:
                self._report(f"parameter {param} claims to be the result of {param.op.code}")
            self._define(param)
        if not region.ops or not self._is_terminator(region.ops[-1]):
            self._report("region without terminator")
        previous = None
        for i, op in enumerate(region.ops):
            self._path.append(f"{i} {op.code}")
            if self._is_terminator(op) and i != len(region.ops) - 1:
                self._report("terminator before the end of its region", op)
            self._operation(op, owner, previous)
            self._path.pop()
            previous = op
        self._visible = before[1]

    @staticmethod
    def _is_terminator(op: Operation) -> bool:
        return op.code in OPS and OPS[op.code].terminator

    def _operation(self, op: Operation, owner: Operation | None, previous: Operation | None) -> None:
        row = OPS.get(op.code)
        if row is None:
            self._report(f"no operation {op.code!r}", op)
            return
        if op in self._operations:
            self._report("the same operation twice", op)
        self._operations.add(op)
        for i, arg in enumerate(op.args):
            if arg not in self._visible:
                state = "defined elsewhere" if arg in self._defined else "not defined before"
                self._report(f"operand {i} ({arg.name or arg.type}) is {state}", op)
        if op.code in ("alloca", "shared") and owner is not None:
            self._report("memory is made in the outermost region only", op)
        if row.arity is not None and row.arity != len(op.args):
            self._report(f"takes {row.arity} operands, has {len(op.args)}", op)
        elif not self._attribute(op):
            pass
        elif row.terminator:
            self._terminator(op, owner, previous)
        elif row.rule is not None:
            self._typed(op)
        else:
            _CONSTRUCTED[op.code](self, op)
        self._nested(op)
        for i, value in enumerate(op.results):
            if value.op is not op or value.index != i:
                self._report(f"result {i} does not point back to its operation", op)
            self._define(value)

    def _nested(self, op: Operation) -> None:
        count = OPS[op.code].regions
        if len(op.regions) != count:
            self._report(f"takes {count} regions, has {len(op.regions)}", op)
        outer = self._breakable
        if op.code in BREAKABLE:
            self._breakable = [*outer, op]
        elif op.code in ELEMENT_OPS:
            self._breakable = []  # no element leaves what the block does together
        for region in op.regions:
            self._region(region, op)
        self._breakable = outer

    def _define(self, value: Value) -> None:
        if value in self._defined:
            self._report(f"value {value} is defined twice")
        self._defined.add(value)
        self._visible.add(value)

    # -- types --------------------------------------------------------------------------------------------------

    def _attribute(self, op: Operation) -> bool:
        if op.code in ("break", "continue") and op.attr is None:
            return True
        wrong = attrs.check(op)
        if wrong:
            self._report(wrong, op)
        return wrong is None

    def _typed(self, op: Operation) -> None:
        try:
            t = result_type(op.code, [a.type for a in op.args], op.attr)
        except (OpError, TypeError, IndexError) as e:
            self._report(str(e), op)
            return
        results = [v.type for v in op.results]
        if results != [t] and not (t is VOID and not results):
            self._report(f"results {results}, the op table says {t}", op)

    def _same(self, what: str, found: Sequence[Type], expected: Sequence[Type], op: Operation) -> None:
        if list(found) != list(expected):
            self._report(f"{what} {list(found)}, expected {list(expected)}", op)

    def _if(self, op: Operation) -> None:
        self._same("condition", _types(op.args), [BOOL], op)
        for region in op.regions:
            self._same("parameters", _types(region.params), [], op)

    def _for(self, op: Operation) -> None:
        bounds, init = _types(op.args[:3]), _types(op.args[3:])
        t = bounds[0] if bounds else VOID
        if len(bounds) != 3 or not (isinstance(t, Scalar) and t.is_int) or any(u is not t for u in bounds):
            self._report(f"bounds and step {bounds}", op)
        self._same("results", _types(op.results), init, op)
        for region in op.regions:
            self._same("parameters", _types(region.params), [t, *init], op)

    def _loop(self, op: Operation) -> None:
        for region in op.regions:
            self._same("parameters", _types(region.params), _types(op.args), op)

    def _block(self, op: Operation) -> None:
        for region in op.regions:
            self._same("parameters", _types(region.params), [], op)

    def _threads(self, op: Operation) -> None:
        self._same("results", _types(op.results), [], op)
        self._block(op)

    def _elements(self, op: Operation) -> None:
        self._of_elements(op, [I32] * len(op.args), [])
        self._same("extents", _types(op.args), [I32] * len(op.args), op)
        if not 1 <= len(op.args) <= MAX_NDIM:
            self._report(f"{len(op.args)} extents", op)

    def _tile_map(self, op: Operation) -> None:
        if not isinstance(op.attr, Tile):
            self._report(f"maps to {op.attr}", op)
            return
        self._of_elements(op, [I32] * op.attr.ndim, [op.attr])

    def _tile_reduce(self, op: Operation) -> None:
        t = op.args[0].type
        if not isinstance(t, Tile) or not -1 <= op.attr < t.ndim:
            self._report(f"reduces {t} along axis {op.attr}", op)
            return
        self._of_elements(op, [t.dtype] * 2, [reduced(t, op.attr)])

    def _of_elements(self, op: Operation, params: list[Type], results: list[Type]) -> None:
        """The region of an operation that is done element by element."""
        self._same("results", _types(op.results), results, op)
        for region in op.regions:
            self._same("parameters", _types(region.params), params, op)
            for inner in region.walk():
                if inner.code in COLLECTIVES or inner.code == "return":
                    self._report(f"{inner.code} for one element", op)

    def _call(self, op: Operation) -> None:
        callee = op.attr
        if callee.is_kernel:
            self._report(f"calls the kernel @{callee.name}", op)
        self._same("arguments", _types(op.args), _types(callee.params), op)
        self._same("results", _types(op.results), callee.results, op)

    def _const(self, op: Operation) -> None:
        """The attribute check covers constants."""

    # -- terminators --------------------------------------------------------------------------------------------

    def _terminator(self, op: Operation, owner: Operation | None, previous: Operation | None) -> None:
        given = _types(op.args)
        if any(v.type is not VOID for v in op.results):
            self._report("a terminator with results", op)
        if op.code == "return":
            self._same("returns", given, self._function.results, op)
        elif op.code == "unreachable":
            if previous is None or completes(previous):
                self._report("unreachable can be reached", op)
        elif op.code == "yield":
            if owner is None:
                self._report("yield in the body of a function", op)
            else:
                self._same("yields", given, _yielded(owner), op)
        else:
            self._exit(op, given)

    def _exit(self, op: Operation, given: list[Type]) -> None:
        depth = op.attr or 0
        if not 0 <= depth < len(self._breakable):
            self._report(f"{op.code} {depth} inside {len(self._breakable)} breakable operations", op)
            return
        target = self._breakable[-1 - depth]
        if op.code == "break":
            self._same("breaks with", given, _types(target.results), op)
        elif target.code == "block":
            self._report("continue of a block", op)
        else:
            self._same("continues with", given, _carried(target), op)


_CONSTRUCTED = {
    "const": _Verifier._const,
    "if": _Verifier._if,
    "for": _Verifier._for,
    "loop": _Verifier._loop,
    "block": _Verifier._block,
    "threads": _Verifier._threads,
    "elements": _Verifier._elements,
    "tile_map": _Verifier._tile_map,
    "tile_reduce": _Verifier._tile_reduce,
    "call": _Verifier._call,
}


def _types(values: Sequence[Value]) -> list[Type]:
    return [v.type for v in values]


def _carried(op: Operation) -> list[Type]:
    return _types(op.args[3:] if op.code == "for" else op.args)


def _yielded(op: Operation) -> list[Type]:
    """The types of what the regions of an operation yield."""
    if op.code in ("tile_map", "tile_reduce"):
        return [v.type.dtype for v in op.results]
    return _carried(op) if op.code == "loop" else _types(op.results)


def completes(op: Operation) -> bool:
    """True if control can go on after `op`."""
    if op.code == "if":
        return any(r.ops and r.ops[-1].code == "yield" for r in op.regions)
    if op.code == "block":
        return any(r.ops and r.ops[-1].code == "yield" for r in op.regions) or _breaks(op.regions, 0)
    if op.code == "loop":
        return _breaks(op.regions, 0)
    return op.code not in OPS or not (OPS[op.code].terminator or op.code == "fail")


def _breaks(regions: Sequence[Region], depth: int) -> bool:
    """True if a `break` in `regions` leaves the breakable operation `depth` levels outside them."""
    for region in regions:
        for op in region.ops:
            if op.code == "break" and (op.attr or 0) == depth:
                return True
            if op.regions and _breaks(op.regions, depth + (op.code in BREAKABLE)):
                return True
    return False
