"""Choice of the vector width: the number of lanes with which a kernel runs best on a target.

One register of lanes is the rule. Kernels that compute in long dependent chains (polynomials, iterations that lanes
leave at different times), but hold few values at a time, run on two registers. Two chains in flight hide each other's
latency. What decides is how many varying values are alive at once, for past the register file the second group only
makes spills. Those are worth it where all lanes add to one element, which costs as much for many lanes as for few.
Kernels with local arrays run on one register, or on fewer lanes where the arrays are large. Kernels whose threads go
through rows of different length run on one lane where that is faster. In blocks of one thread, lanes only work on
elements of tiles, and there are no more of them than a tile fills.
"""

from __future__ import annotations

from ..ir.analysis.uniformity import Cache, Uniformity, analyze
from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import ELEMENTWISE, index_count
from ..ir.printer import reachable
from ..lang.types import Type
from .accumulate.reductions import gathered
from .atomics import REDUCIBLE
from .memory_access import memory_leaves
from .row_loops import prefers_one_lane
from .target import Target

_MOST_LANES = 32  # of any kernel
_LARGE = 300  # operations; beyond it the wider code takes too long to compile
_SMALL = 16  # arithmetic operations; below it there is nothing to overlap
_STACK = 1 << 18  # bytes for the local arrays of one group of lanes
_REGISTERS = {512: (32, 6), 256: (16, 2), 128: (16, 2)}  # and how many are left for constants, addresses and masks
_REDUCED = 6  # values on the stack that cost less than a number that all lanes add to one element


def max_lanes(fn: Function, lanes: int) -> int:
    """A lane count that was asked for, or less of it where the local arrays of all lanes would overflow the stack."""
    memory = local_bytes(fn)
    while lanes > 1 and lanes * memory > _STACK:
        lanes //= 2
    return lanes


def preferred_lanes(fn: Function, target: Target, cache: Cache) -> int:
    """The lane count for kernel `fn`. Facts that are found on the way stay in `cache`."""
    if prefers_one_lane(fn, target.lanes, cache):
        return 1
    if fn.block_dim == 1:
        return max_lanes(fn, min(target.lanes, _widest_row(fn)))
    memory = local_bytes(fn)
    if memory:
        return _fitting_lanes(memory, target)
    facts = analyze(fn, (False,) * len(fn.params), target.lanes, cache)
    ops = list(fn.body.walk())
    iterates = any(op.code in ("for", "loop") for op in facts.masked)
    if not iterates and sum(op.code in ELEMENTWISE for op in ops) < _SMALL:
        return target.lanes
    spilled = _REDUCED * sum(_reduced_numbers(op, facts) for op in set(ops) - gathered(fn))
    return 2 * target.lanes if _fits_twice(fn, facts.varying, target, spilled) else target.lanes


def _widest_row(fn: Function) -> int:
    """The lanes that a block of one thread can fill: those of its longest row of elements, as a power of two."""
    rows = [op.args[-1] for op in fn.body.walk() if op.code == "elements"]
    return max((1 << (n.const - 1).bit_length() if n.is_const else _MOST_LANES for n in rows), default=1)


def local_bytes(fn: Function) -> int:
    """The memory that the local arrays of one thread take at most, those of called functions included."""
    return sum(op.attr.bytes for f in reachable([fn]) for op in f.body.walk() if op.code == "alloca")


def _fitting_lanes(memory: int, target: Target) -> int:
    """Fewer lanes where the local arrays of all would not stay in the cache, or on the stack."""
    lanes = target.lanes
    while lanes > 4 and lanes * memory > _STACK:
        lanes //= 2
    return lanes if lanes * memory <= _STACK else 1


def _reduced_numbers(op: Operation, facts: Uniformity) -> int:
    """Return how many numbers of all lanes an operation reduces."""
    if op.code != "atomic" or op.attr[0] not in REDUCIBLE or op.result in facts.used:
        return 0
    indices = op.args[1 : 1 + index_count(op.args[0].type, op.attr[1])]
    return 0 if facts.varying.intersection(indices) else len(memory_leaves(op.args[-1].type))


def _fits_twice(fn: Function, varying: set[Value], target: Target, spilled: int = 0) -> bool:
    """True if two groups of lanes fit into the registers, with few spills, in `fn` and in functions that it often
    calls.
    """
    ops = list(fn.body.walk())
    registers, spare = _REGISTERS[target.vector_bits]
    if len(ops) > _LARGE or 2 * RegisterPressure(varying).peak(fn.body) > registers - spare + spilled:
        return False
    callees = {op.attr for op in ops if op.code == "call" and not op.attr.is_cold}
    for callee in callees:
        facts = analyze(callee, (True,) * len(callee.params), target.lanes, {})
        if not _fits_twice(callee, facts.varying, target):
            return False
    return True


class RegisterPressure:
    """Counts the registers that varying values alive at the same time take, for one group of lanes."""

    def __init__(self, varying: set[Value]):
        self.varying, self.most = varying, 0.0
        self._sizes: dict[Type, float] = {}

    def peak(self, body: Region) -> float:
        self._before(body, set())
        return self.most

    def _before(self, region: Region, live: set[Value]) -> set[Value]:
        """The values alive before `region`, given those alive after it."""
        for op in reversed(region.ops):
            live = live - set(op.results)
            inside = [self._before(inner, live) - set(inner.params) for inner in op.regions]
            live = live.union(*inside, (a for a in op.args if a in self.varying and not a.is_const))
            self.most = max(self.most, sum(self._registers(v.type) for v in live))
        return live

    def _registers(self, t: Type) -> float:
        if t not in self._sizes:
            self._sizes[t] = sum(max(leaf.bits, 32) / 32 for _, leaf in memory_leaves(t))
        return self._sizes[t]
