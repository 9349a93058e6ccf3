"""Kernels that note what their atomics found, so that an adjoint need not do them again.

A counter gives each thread its own number, and another one the next time. On a tape such a kernel runs in a form that
stores what it got in arrays, one element per thread: each atomic becomes a function whose replay reads the note (see
`custom_rules`). An atomic in a loop would need as many as the loop has iterations, and has none. Start with
`augmented_kernel`.
"""

from __future__ import annotations

from ...ir.analysis.alias import is_local
from ...ir.builder import Builder
from ...ir.clone import Rewriter
from ...ir.nodes import Function, Operation, Value
from ...lang.types import U64, Array, Scalar
from ...passes.inline import inline_calls
from ..rules.custom_rules import is_custom

NOTES = Array(U64, 1)  # what one atomic found, by thread


def count_atomic_results(function: Function) -> int:
    """Return the number of arrays for atomic results that `augmented_kernel` adds to the parameters of a kernel."""
    return len(_Noting(_flat(function)).noted)


def augmented_kernel(function: Function) -> Function:
    """The kernel with one more parameter for each atomic whose result it uses."""
    flat = _flat(function)
    noting = _Noting(flat)
    made = noting.rewrite(flat)
    made.body.params += noting.noted.values()
    return made


def _flat(function: Function) -> Function:
    return inline_calls(function, lambda callee: not callee.is_library and not is_custom(callee))


class _Noting(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        ops = list(function.body.walk())
        used = {a for op in ops for a in op.args}
        repeated = {op for loop in ops if loop.code in ("for", "loop") for op in loop.regions[0].walk()}
        found = [op for op in ops if _is_counter(op) and op.results[0] in used and op not in repeated]
        self.noted = {op: Value(NOTES, name=f"found{i}") for i, op in enumerate(found)}

    def visit_atomic(self, op: Operation) -> None:
        if op not in self.noted:
            self._copy(op)
            return
        args, t = [*self.args(op), self.noted[op]], op.results[0].type
        counting, again = (Function(f"atomic_{op.attr[0]}", [Value(a.type) for a in args], (t,)) for _ in range(2))
        counting.replay = again
        _counts(counting, op)
        _reads_note(again)
        self.define(op, self.b.emit("call", args, counting, results=[t]))


def _is_counter(op: Operation) -> bool:
    if op.code != "atomic":
        return False
    t = op.results[0].type
    return isinstance(t, Scalar) and t.is_int and not is_local(op.args[0])


def _thread(b: Builder) -> Value:
    return b.op("tid", attr=(0, 1))


def _counts(function: Function, op: Operation) -> None:
    b = Builder(function)
    b.loc = op.loc
    *args, notes = function.params
    found = b.op("atomic", *args, attr=op.attr)
    b.op("store", notes, _thread(b), b.op("cast", found, attr=U64), attr=())
    b.terminate("return", [found])


def _reads_note(function: Function) -> None:
    b = Builder(function)
    noted = b.op("load", function.params[-1], _thread(b), attr=())
    b.terminate("return", [b.op("cast", noted, attr=function.results[0])])
