"""Parameters of a kernel that become arrays of one element.

*In*: a kernel as the front end made it.
*Out*: the same kernel, in which arrays stand for some of the parameters, and their first elements for the values.

JAX knows the value of a traced scalar only when the compiled program runs, and differentiates by it. An element of an
array has both.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.clone import Rewriter, like
from ..ir.nodes import Function, Value
from ..lang.types import Array


def with_scalar_arrays(function: Function, numbers: tuple[int, ...]) -> Function:
    """The kernel with arrays in place of the parameters of these numbers."""
    return _Loads().with_arrays(function, numbers)


class _Loads(Rewriter):
    """Loads the values of parameters before anything else."""

    def with_arrays(self, function: Function, numbers: tuple[int, ...]) -> Function:
        """Return the new kernel."""
        params = [
            Value(Array(p.type, 1) if i in numbers else p.type, name=p.name) for i, p in enumerate(function.params)
        ]
        new = like(function, params)
        self.b = Builder(new)
        self.b.loc = self.place(function.loc)
        for i, (old, param) in enumerate(zip(function.params, params)):
            is_array = i in numbers
            self.values[old] = self.b.op("load", param, self.b.i32(0), attr=()) if is_array else param
        self.visit_ops(function.body.ops)
        return new
