"""The IR's data: functions hold a region, regions hold operations, operations define values.

Control flow is structured. A region is one straight list of operations that ends in a terminator:

* `if(cond)` has two regions without parameters. `yield` gives the results of the `if`.
* `for(lo, hi, step, init…)` has one region with parameters (index, carried…). `yield` and `continue` give the next
  iteration's carried values, `break` leaves; exhaustion leaves with the carried values. Results = carried values. lo,
  hi and step have one integer type; a step of zero runs no iteration.
* `loop(init…)` runs its region (parameters: carried…) until a `break`; `yield` and `continue` give the next carried
  values. Results are what `break` gives; they need not match the carried values.
* `block()` runs its region once. `yield` and `break` give the results.
* `threads()` runs its region once for each thread of a block, one after the other, and ends with a plain `yield`. A
  kernel that has it runs once for each block, and only inside it is there a thread (passes/barrier_fission.py).
* `elements(extents…)` runs its region once for each element of a grid, with the element's coordinates (int32) as
  parameters. The block does it together: each element is run by some thread. It sees what all threads did before, and
  what comes after sees all elements.
* `tile_map` and `tile_reduce` have regions that yield an element: at the coordinates that are the parameters, and of
  two elements combined. Regions of these three end with a plain `yield`, and hold no operation of the whole block.
* `return` leaves the function with its results. A region that cannot reach its end closes with the terminator that left
  it. After an operation that never completes, such as an `if` both of whose regions leave, it closes with
  `unreachable`.

`break` and `continue` count breakable operations (for, loop, block) outward from 0; `continue` names a for or loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..lang.types import Type


class Loc(NamedTuple):
    """A span of the user's source. `inlined` is the place of the call that brought it in, if any."""

    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    inlined: Loc | None = None

    @property
    def is_library(self) -> bool:
        """True if the place is in the library, not in the user's source."""
        return self.file.startswith(_LIBRARY)


# Where functions of the library are: those that are lowered here, and those of the pack.
_LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "lib", ""), "omni/warp_core/lib/"


def user_loc(loc: Loc | None) -> Loc | None:
    """A place in the user's source: that of the call where library code was inlined."""
    while loc is not None and loc.inlined is not None and loc.is_library:
        loc = loc.inlined
    return loc


class Value:
    """One SSA value: the `index`-th result of `op`, or a parameter (then `op` is None)."""

    __slots__ = ("index", "name", "op", "type")

    # Any kind of type: which one follows from the operations that use the value, which a type checker cannot see.
    type: Any
    op: Operation | None
    index: int
    name: str

    def __init__(self, type: Type, op: Operation | None = None, index: int = 0, name: str = ""):
        self.type, self.op, self.index, self.name = type, op, index, name

    @property
    def is_const(self) -> bool:
        return self.op is not None and self.op.code == "const"

    @property
    def const(self) -> Any:
        """The value of a constant: a number, or a tuple of leaf numbers for packed types."""
        assert self.op is not None and self.op.code == "const"
        return self.op.attr

    def __repr__(self) -> str:
        return f"<{self.name or 'value'}: {self.type}>"


class Operation:
    """One row of `ops.OPS` applied to operands."""

    __slots__ = ("args", "attr", "code", "loc", "regions", "results")

    def __init__(self, code: str, args: list[Value], attr: Any = None, loc: Loc | None = None):
        self.code, self.args, self.attr, self.loc = code, args, attr, loc
        self.regions: tuple[Region, ...] = ()
        self.results: tuple[Value, ...] = ()

    @property
    def result(self) -> Value:
        (value,) = self.results
        return value

    def __repr__(self) -> str:
        return f"<{self.code} {self.args}>"


class Region:
    """A list of operations with parameters; the last operation is the terminator."""

    __slots__ = ("ops", "params")

    def __init__(self, params: list[Value] | None = None):
        self.params: list[Value] = params or []
        self.ops: list[Operation] = []

    @property
    def terminator(self) -> Operation:
        return self.ops[-1]

    def walk(self) -> Iterator[Operation]:
        """All operations, outer before inner, in order."""
        rest = [iter(self.ops)]  # a stack rather than recursion: regions nest hundreds deep
        while rest:
            for op in rest[-1]:
                yield op
                if op.regions:
                    rest += [iter(region.ops) for region in reversed(op.regions)]
                    break
            else:
                rest.pop()


class Function:
    """A kernel or a device function: typed parameters, result types, a body whose region parameters are its own.

    `is_library` marks functions of the builtin library: debug checks treat a call of one as a single operation. A call
    of an `is_cold` function is rarely reached and stays a call, so that its callers stay small. `gradient` and `replay`
    are what the user gave for differentiating kernels that call it: (parameters, adjoints of the results) -> adjoints
    of the parameters that can have one, and (parameters) -> results. `left`, of a gradient, are the arrays of which the
    function sets elements and the gradient does not clear theirs: a parameter and the members that lead on. A kernel
    that works in blocks of threads has a `block_dim`: how many threads a block has. It is 0 for all others. `private`
    are the parameters, or their gradients (True), whose atomics became plain (passes/atomic_demotion.py).
    """

    __slots__ = (
        *("__weakref__", "block_dim", "body", "gradient", "is_cold", "is_kernel", "is_library", "loc", "name"),
        *("private", "left", "replay", "results"),
    )

    def __init__(
        self,
        name: str,
        params: list[Value],
        results: tuple[Type, ...] = (),
        is_kernel: bool = False,
        loc: Loc | None = None,
        is_library: bool = False,
        is_cold: bool = False,
        block_dim: int = 0,
    ):
        self.name, self.results, self.is_kernel, self.loc = name, tuple(results), is_kernel, loc
        self.is_library, self.is_cold, self.block_dim = is_library, is_cold, block_dim
        self.gradient: Function | None = None
        self.replay: Function | None = None
        self.left: tuple[tuple[int, tuple[int, ...]], ...] = ()
        self.private: dict[tuple[Value, bool], None] = {}
        self.body = Region(params)

    @property
    def params(self) -> list[Value]:
        return self.body.params

    def __repr__(self) -> str:
        return f"<function {self.name}>"
