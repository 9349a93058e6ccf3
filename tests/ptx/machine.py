"""A machine that runs PTX: `Program` has the code of a module, `Program.launch` runs a grid of threads.

All threads of some blocks run at once, an array with a value for each thread being a register. Threads that are at
different places of the code take turns: those furthest back go on, until the others' place is reached. Barriers,
shuffles and votes are waited at until all have come that must. What PTX leaves undefined raises `PtxError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.ptx import collectives, isa
from tests.ptx.memory import LOCAL, ONES, SHARED, Global, Variables, elements
from tests.ptx.parse import (
    WIDTHS,
    Address,
    Function,
    Imm,
    Instruction,
    Module,
    PtxError,
    Reg,
    Special,
    Symbol,
    Variable,
    Vector,
)

WARP = 32
AT_ONCE = 4096  # threads that run together, about
MOST_STEPS = 2_000_000  # of a launch: beyond, it does not end
SPACE_AT_ONCE = 1 << 26  # bytes of memory of their own that these have
SPECIAL = {f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"}
SPECIAL |= {"%laneid", "%lanemask_lt", "%lanemask_eq"}
ALL = slice(None)

Threads = Any  # which threads do something: ALL, or their numbers
Step = Callable[["Machine", Threads], None]


class Block(NamedTuple):
    """Instructions that threads run one after the other, the last of which may say where they go on."""

    steps: list[Step]
    texts: list[str]
    meeting: Callable | None  # of a block that is one instruction for several threads: see collectives.py


class Program:
    """The code of a module, ready to run. `outside` has functions that the driver provides, such as vprintf."""

    def __init__(self, module: Module, outside: dict[str, Callable]):
        self.module, self.outside = module, outside
        self.slots: dict[tuple[str, str], int] = {}
        self.widths: list[int] = []
        self.checked: set[int] = set()  # registers of which reads look whether they were written
        functions = _callees_first(module)
        named = {space: [] for space in ("param", "local", "shared", "global")}
        for v in module.variables:
            named[v.space].append(v)
        for f in functions:
            for v in (*f.params, *f.results, *f.variables):
                named[v.space].append(v._replace(name=f"{f.name}:{v.name}"))
        self.spaces = {space: Variables(space, named[space]) for space in ("param", "local", "shared")}
        self.data, self.addresses = _placed(named["global"])
        self.blocks: list[Block] = []
        self.entries: dict[str, int] = {}
        for f in functions:
            self.entries[f.name] = len(self.blocks)
            _Compiler(self, f).compile()
        self.end = len(self.blocks)
        self.meetings = np.array([b.meeting is not None for b in self.blocks] + [False])

    def launch(
        self, name: str, grid: int, block: int, params: list[bytes], memory: Global, only: range | None = None
    ) -> None:
        """Run a kernel over `grid` blocks of `block` threads. `params` has the bytes of each parameter; `only` says
        which blocks run, where that are not all.
        """
        blocks = only or range(grid)
        entry = self.module.functions[name]
        if (
            not entry.is_entry
            or block > entry.max_threads
            or [len(p) for p in params] != [v.size for v in entry.params]
        ):
            raise PtxError(f"{name} is not launched as it is declared")
        memory = Global(
            [*memory.stretches, *self.data], [*_spans(memory), *((at, n) for at, n in self.addresses.values())]
        )
        size = self.spaces["param"].size + self.spaces["local"].size
        each = max(1, min(AT_ONCE, SPACE_AT_ONCE // size) // block)
        with np.errstate(all="ignore"):
            for first in range(0, len(blocks), each):
                Machine(self, entry, blocks[first : first + each], grid, block, params, memory).run()
        memory.finish()


def _spans(memory: Global) -> list[tuple[int, int]]:
    return [(int(a), int(b - a)) for a, b in zip(memory.spans.begin, memory.spans.end)]


def _placed(variables: list[Variable]) -> tuple[list, dict[str, tuple[int, int]]]:
    """Memory for the data of a module: stretches, and the address and size of each variable."""
    total = sum(v.size + v.align + 32 for v in variables)
    content = np.zeros(total + 64, np.uint8)
    base, at, places = content.ctypes.data, 0, {}
    for v in variables:
        at += -(base + at) % max(v.align, 16)
        content[at : at + v.size] = np.frombuffer(v.data, np.uint8)
        places[v.name] = (base + at, v.size)
        at += v.size + 1
    return [(base, content)], places


def _callees_first(module: Module) -> list[Function]:
    ordered: list[Function] = []
    active: list[str] = []

    def visit(f: Function) -> None:
        if f.name in active:
            raise PtxError(f"{f.name} calls itself")
        active.append(f.name)
        for i in f.code:
            for o in i.operands if i.opcode.startswith("call") else ():
                if isinstance(o, Symbol) and o.name in module.functions:
                    visit(module.functions[o.name])
        active.pop()
        if f not in ordered:
            ordered.append(f)

    for f in module.functions.values():
        visit(f)
    return ordered


class Machine:
    """Some blocks of a launch while they run."""

    def __init__(self, program: Program, entry: Function, blocks: range, grid: int, block: int, params, memory: Global):
        n = len(blocks) * block
        self.program, self.memory, self.n, self.block = program, memory, n, block
        self.ids = np.arange(n)
        self.rows = {"shared": self.ids // block, "local": self.ids, "param": self.ids}
        self.lane = (self.ids % block % WARP).astype(np.uint32)
        warps = -(-block // WARP)
        self.warp = self.ids // block * warps + self.ids % block // WARP
        self.registers = [np.zeros(n, isa.RAW[w]) for w in program.widths]
        self.defined: list[Any] = [np.zeros(n, bool) for _ in program.widths]
        self.carry: Any = None
        self.at = np.full(n, program.entries[entry.name])
        self.back = {name: np.full(n, -1) for name in program.entries}
        for space in program.spaces.values():
            space.begin(len(blocks) if space.space == "shared" else n)
        own = program.spaces["param"]
        for v, given in zip(entry.params, params):
            place = own.places[f"{entry.name}:{v.name}"]
            own.content[:, place : place + v.size] = np.frombuffer(given, np.uint8)
            own.known[:, place : place + v.size] = 1
        index = (self.ids // block + blocks.start).astype(np.uint32)
        one, none = np.full(n, 1, np.uint32), np.zeros(n, np.uint32)
        bit = np.uint32(1) << self.lane
        self.special = {
            "%tid.x": (self.ids % block).astype(np.uint32),
            "%ntid.x": np.full(n, block, np.uint32),
            "%ctaid.x": index,
            "%nctaid.x": np.full(n, grid, np.uint32),
            "%laneid": self.lane,
            "%lanemask_lt": bit - np.uint32(1),
            "%lanemask_eq": bit,
            **{f"%{name}.{axis}": none for name in ("tid", "ctaid") for axis in "yz"},
            **{f"%{name}.{axis}": one for name in ("ntid", "nctaid") for axis in "yz"},
        }

    def run(self) -> None:
        program, end = self.program, self.program.end
        for _ in range(MOST_STEPS):
            going = np.where(program.meetings[self.at], end, self.at)
            k = int(going.min())
            if k < end:
                there = np.flatnonzero(going == k)
                self.step(k, ALL if len(there) == self.n else there)
            elif not self.meet():
                return
        raise PtxError("the launch does not end")

    def step(self, k: int, i: Threads) -> None:
        self.at[i] = k + 1
        block = self.program.blocks[k]
        for number, step in enumerate(block.steps):
            try:
                step(self, i)
            except PtxError as why:
                raise PtxError(f"{why}\n  at: {block.texts[number]}") from None

    def meet(self) -> bool:
        """Let threads go on that wait at an instruction for several. False if all have left."""
        waiting = np.unique(self.at[self.at < self.program.end])
        if not len(waiting):
            return False
        moved = False
        for k in waiting.tolist():
            block = self.program.blocks[k]
            try:
                there = np.flatnonzero(self.at == k)
                ready = block.meeting(self, there)
            except PtxError as why:
                raise PtxError(f"{why}\n  at: {block.texts[0]}") from None
            self.at[ready] = k + 1
            moved |= len(ready) > 0
        if not moved:
            raise PtxError(
                f"threads wait for others that never come: {[self.program.blocks[k].texts[0] for k in waiting]}"
            )
        return True

    def count(self, i: Threads) -> int:
        return self.n if i is ALL else len(i)

    def get(self, slot: int, i: Threads) -> np.ndarray:
        known = self.defined[slot]
        if known is not True and not known[i].all():
            name = next(n for n, s in self.program.slots.items() if s == slot)
            raise PtxError(f"register {name[1]} of {name[0]} is read before it is written")
        return self.registers[slot][i]

    def set(self, slot: int, i: Threads, value: np.ndarray) -> None:
        self.registers[slot][i] = value
        if slot not in self.program.checked:
            return
        if i is ALL:
            self.defined[slot] = True
        elif self.defined[slot] is not True:
            self.defined[slot][i] = True


# -- memory ------------------------------------------------------------------------------------------------------------


def _parts(m: Machine, space: str, at: np.ndarray, size: int, i: Threads):
    """(which accesses, the bytes, where in them, the space) for each space and stretch that an instruction meets."""
    if space == "":
        window = at >> np.uint64(56)
        for kind, name in ((SHARED >> 56, "shared"), (LOCAL >> 56, "local"), (None, "global")):
            there = (window != SHARED >> 56) & (window != LOCAL >> 56) if kind is None else window == kind
            if there.any():
                pick = np.flatnonzero(there)
                ids = m.ids[i][pick]
                inner = at[pick] & np.uint64((1 << 56) - 1) if kind else at[pick]
                for sub, *rest in _parts(m, name, inner, size, ids):
                    yield pick[sub], *rest
    elif space == "global":
        for pick, content, offset in m.memory.find(at, size):
            yield pick, content, offset, None, m.ids[i][pick]
    else:
        own = m.program.spaces[space]
        yield ALL, own.content.reshape(-1), own.find(at, size, m.rows[space][i]), own, m.ids[i]


def _spread(values: np.ndarray, count: int) -> np.ndarray:
    """A value for each of some threads, where one stands for all."""
    return values if len(values) == count else np.broadcast_to(values, count)


def load(m: Machine, i: Threads, space: str, at: np.ndarray, size: int, count: int, constant: bool) -> list[np.ndarray]:
    at = _spread(at, m.count(i))
    raw = isa.RAW[8 * size]
    found = [np.empty(len(at), raw) for _ in range(count)]
    for pick, content, offset, own, ids in _parts(m, space, at, size * count, i):
        for k in range(count):
            place = offset + k * size
            if own is not None:
                own.must_be_known(place, size)
                own.meet(place, size, ids, "read")
            elif constant:
                m.memory.constant.append((content, place, size))
            found[k][pick] = elements(content, raw)[place // size]
    return found


def store(m: Machine, i: Threads, space: str, at: np.ndarray, values: list[np.ndarray]) -> None:
    at = _spread(at, m.count(i))
    size = values[0].dtype.itemsize
    for pick, content, offset, own, ids in _parts(m, space, at, size * len(values), i):
        for k, v in enumerate(values):
            place = offset + k * size
            if own is None:
                m.memory.write(content, place, size)
            else:
                own.meet(place, size, ids, "write")
                elements(own.known.reshape(-1), v.dtype)[place // size] = ONES[size]
            elements(content, v.dtype)[place // size] = _spread(v, len(at))[pick]


def atomic(
    m: Machine, i: Threads, space: str, at: np.ndarray, update: Callable, values: list[np.ndarray]
) -> np.ndarray:
    """Update memory, a thread after the other; what was there before."""
    at = _spread(at, m.count(i))
    dtype = values[0].dtype
    size = dtype.itemsize
    values = [_spread(v, len(at)) for v in values]
    old = np.empty(len(at), dtype)
    for pick, content, offset, own, ids in _parts(m, space, at, size, i):
        if own is None:
            m.memory.write(content, offset, size)
        else:
            own.must_be_known(offset, size)
            own.meet(offset, size, ids, "atomic")
        cells, place = elements(content, dtype), offset // size
        given = [v[pick] for v in values]
        if len(np.unique(place)) == len(place):
            before = cells[place]
            cells[place] = update(before, *given)
        else:
            before = np.empty(len(place), dtype)
            for t in range(len(place)):
                before[t] = cells[place[t]]
                cells[place[t]] = update(before[t : t + 1], *(g[t : t + 1] for g in given))[0]
        old[pick] = before
    return old


_UPDATES = {
    "add": lambda old, x: old + x,
    "min": np.minimum,
    "max": np.maximum,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "exch": lambda old, x: x,
    "cas": lambda old, wanted, x: np.where(old == wanted, x, old),
}


def _add_bf16(old, x):
    return isa.to_bf16(isa.from_bf16(old) + isa.from_bf16(x))


# -- from instructions to steps ----------------------------------------------------------------------------------------

_ORDERS = {"weak", "relaxed", "gpu", "cta", "volatile"}
_SPACES = {"global", "shared", "local", "param"}


class _Compiler:
    """Makes blocks of a function's instructions.

    The threads that run a block run all of it. So a register that it has read or written is known to be written, and
    later reads in the block need not look. An instruction with a guard may run in some of the threads alone.
    """

    def __init__(self, program: Program, f: Function):
        self.program, self.f = program, f
        self.known: set[int] = set()  # registers that the threads have written, where the current instruction runs
        self.used: set[int] = set()  # those of the current instruction
        for name, bits in f.registers.items():
            program.slots[f.name, name] = len(program.widths)
            program.widths.append(bits)

    def compile(self) -> None:
        code = self.f.code
        starts = {0, *self.f.labels.values()}
        for k, i in enumerate(code):
            base = i.opcode.split(".")[0]
            if base in ("bra", "brx", "ret", "exit", "call"):
                starts.add(k + 1)
            elif base in collectives.MEETINGS:
                starts |= {k, k + 1}
        ordered = sorted(s for s in starts if s < len(code))
        self.block_of, number = {}, len(self.program.blocks)
        for s in ordered:
            self.block_of[s] = number
            call = self._last(ordered, s).opcode.startswith("call")
            number += 2 if call else 1  # what a call gives is fetched in a block of its own
        for s, after in zip(ordered, [*ordered[1:], len(code)]):
            self._block(code[s:after])
        last = code[-1].opcode.split(".")[0] if code else ""
        if last not in ("ret", "bra", "brx", "exit", "trap"):
            raise PtxError(f"{self.f.name} does not end")

    def _last(self, ordered: list[int], start: int) -> Instruction:
        return self.f.code[min([s for s in ordered if s > start], default=len(self.f.code)) - 1]

    def _block(self, code: tuple[Instruction, ...]) -> None:
        program, texts = self.program, [f"{self.f.name}: {i.text}" for i in code]
        first = code[0]
        if first.opcode.split(".")[0] in collectives.MEETINGS:
            if first.guard:
                raise PtxError(f"a guard before {first.text}")
            program.blocks.append(Block([], texts, self._checked(first, lambda i: collectives.compile(self, i))))
            return
        steps = []
        self.known = set()
        for i in code:
            self.used = set()
            steps.append(self._checked(i, self._step))
            if i.guard is None:
                self.known |= self.used
        self.known = set()
        program.blocks.append(Block(steps, texts, None))
        if code[-1].opcode.startswith("call"):
            program.blocks.append(Block([self._checked(code[-1], self._fetch)], texts[-1:], None))

    def _checked(self, i: Instruction, make: Callable) -> Any:
        try:
            return make(i)
        except (PtxError, KeyError, ValueError, TypeError, IndexError) as why:
            raise PtxError(f"{type(why).__name__} {why} in {self.f.name}: {i.text}") from why

    def _step(self, i: Instruction) -> Step:
        if i.guard is None:
            return self._plain(i)
        negated, p = i.guard
        taken = self.read(p)
        self.known.add(self.slot(p))
        plain = self._plain(i)

        def guarded(m: Machine, who: Threads) -> None:
            mask = taken(m, who) != negated
            if mask.all():
                plain(m, who)
            elif mask.any():
                plain(m, m.ids[who][mask])

        return guarded

    def _plain(self, i: Instruction) -> Step:
        parts = i.opcode.split(".")
        special = getattr(self, f"_do_{parts[0]}", None)
        if special:
            made = special(i, parts)
            if made:
                return made
        found = isa.operation(i.opcode)
        if not found:
            raise PtxError("unknown instruction")
        return self._compute(i, *found)

    def _compute(self, i: Instruction, op: isa.Operation, types: list[str]) -> Step:
        t, *second = types
        kinds = {"T": t, "S": second[0] if second else "", "D": f"{t[0]}{2 * WIDTHS[t]}", "u": "u32", "p": "pred"}
        wanted = [kinds[k] for k in op.operands]
        if len(wanted) != len(i.operands):
            raise PtxError("a wrong number of operands")
        free = i.opcode.startswith("cvt")
        sources = [self.source(o, k, free) for o, k in zip(i.operands[1:], wanted[1:])]
        put = self.target(i.operands[0], wanted[0], free)
        if op.carries:
            return self._carrying(op, sources, put)
        compute = op.compute
        if len(sources) == 1:
            (a,) = sources
            return lambda m, who: put(m, who, compute(a(m, who)))
        if len(sources) == 2:
            a, b = sources
            return lambda m, who: put(m, who, compute(a(m, who), b(m, who)))
        return lambda m, who: put(m, who, compute(*[s(m, who) for s in sources]))

    def _carrying(self, op: isa.Operation, sources: list, put: Callable) -> Step:
        def step(m: Machine, who: Threads) -> None:
            carry = m.carry if "in" in op.carries else np.uint64(0)
            result, out = op.compute(*[s(m, who) for s in sources], carry)
            m.carry = out.astype(np.uint64) if "out" in op.carries else None
            put(m, who, result)

        return step

    # -- operands

    def slot(self, r: Reg) -> int:
        return self.program.slots[self.f.name, r.name]

    def read(self, r: Reg) -> Callable:
        """Reads a register, and looks whether it was written unless that is known."""
        slot = self.slot(r)
        self.used.add(slot)
        if slot in self.known:
            return lambda m, who: m.registers[slot][who]
        self.program.checked.add(slot)
        return lambda m, who: m.get(slot, who)

    def place(self, name: str) -> int:
        """The address of a variable in its space."""
        for owner in (f"{self.f.name}:{name}", name):
            for space in self.program.spaces.values():
                if owner in space.places:
                    return space.places[owner]
            if owner in self.program.addresses:
                return self.program.addresses[owner][0]
        raise PtxError(f"unknown name {name}")

    def source(self, o: Any, t: str, wider: bool = False) -> Callable:
        """Reads an operand as an array of type `t`. `wider` lets a register have more bits than that."""
        dtype, bits = isa.DTYPES[t], WIDTHS[t]
        raw = isa.RAW[bits]
        if isinstance(o, Reg):
            read = self.read(o)
            if o.bits == bits:
                return lambda m, who: read(m, who).view(dtype)
            if wider and o.bits > bits > 1:
                return lambda m, who: read(m, who).astype(raw).view(dtype)
            raise PtxError(f"{o.name} has {o.bits} bits")
        if isinstance(o, Special):
            if bits != 32 or o.name not in SPECIAL:
                raise PtxError(f"{o.name} is unknown, or not read as 32 bits")
            return lambda m, who: m.special[o.name][who].view(dtype)
        if isinstance(o, Symbol):
            value = self.place(o.name)
        elif isinstance(o, Imm) and o.type and o.type != t and t[0] != "b":
            raise PtxError(f"a number of type {o.type}")
        else:
            value = o.value
        constant = np.array([value & (1 << bits) - 1], raw).view(dtype)
        return lambda m, who: constant

    def target(self, o: Any, t: str, wider: bool = False) -> Callable:
        """Writes an array of type `t` to a register, which may have more bits if it is `wider`."""
        if not isinstance(o, Reg):
            raise PtxError("not a register")
        slot, raw, dtype = self.slot(o), isa.RAW[o.bits], isa.DTYPES[t]
        self.used.add(slot)
        if o.bits == WIDTHS[t]:
            return lambda m, who, v: m.set(slot, who, v.view(raw))
        if not wider or o.bits < WIDTHS[t] or dtype.kind not in "iu":
            raise PtxError(f"{o.name} has {o.bits} bits")
        extended = np.dtype(f"{dtype.kind}{o.bits // 8}")
        return lambda m, who, v: m.set(slot, who, v.view(dtype).astype(extended).view(raw))

    def address(self, o: Address) -> Callable:
        """Reads the address of an operand in brackets."""
        offset = np.uint64(o.offset & (1 << 64) - 1)
        base = self.source(o.base, "u64")
        return lambda m, who: base(m, who) + offset

    # -- memory

    def _modifiers(self, parts: list[str]) -> tuple[str, int, str, bool]:
        """Space, how many values, type, and whether the memory is constant."""
        *flags, t = parts
        space, count, constant = "", 1, False
        for flag in flags:
            if flag in _SPACES:
                space = flag
            elif flag in ("v2", "v4"):
                count = int(flag[1])
            elif flag == "nc":
                constant = True
            elif flag not in _ORDERS:
                raise PtxError(f"unknown modifier {flag}")
        if constant and space != "global":
            raise PtxError("constant data that is not in global memory")
        return space, count, t, constant

    def _do_ld(self, i: Instruction, parts: list[str]) -> Step:
        space, count, t, constant = self._modifiers(parts[1:])
        size, at = WIDTHS[t] // 8, self.address(i.operands[1])
        outputs = i.operands[0].parts if count > 1 else i.operands[:1]
        if len(outputs) != count:
            raise PtxError("a wrong number of registers")
        if t in isa.FLOATS:
            t = f"b{WIDTHS[t]}"
        targets = [self.target(o, t, wider=True) for o in outputs]

        def step(m: Machine, who: Threads) -> None:
            for put, v in zip(targets, load(m, who, space, at(m, who), size, count, constant)):
                put(m, who, v)

        return step

    def _do_st(self, i: Instruction, parts: list[str]) -> Step:
        space, count, t, _ = self._modifiers(parts[1:])
        at = self.address(i.operands[0])
        inputs = i.operands[1].parts if count > 1 else i.operands[1:]
        if len(inputs) != count:
            raise PtxError("a wrong number of registers")
        t = f"b{WIDTHS[t]}"
        sources = [self.source(o, t, wider=True) for o in inputs]
        return lambda m, who: store(m, who, space, at(m, who), [s(m, who) for s in sources])

    def _do_atom(self, i: Instruction, parts: list[str]) -> Step:
        (name,) = [p for p in parts[1:-1] if p in _UPDATES]
        t = parts[-1]
        if t in ("f16", "bf16") and "noftz" not in parts:
            raise PtxError("noftz is missing")
        space, _, t, _ = self._modifiers([p for p in parts[1:] if p not in (name, "noftz")])
        update = _add_bf16 if t == "bf16" else _UPDATES[name]
        at = self.address(i.operands[1])
        sources = [self.source(o, t) for o in i.operands[2:]]
        if len(sources) != 1 + (name == "cas"):
            raise PtxError("a wrong number of operands")
        put = self.target(i.operands[0], t)
        return lambda m, who: put(m, who, atomic(m, who, space, at(m, who), update, [s(m, who) for s in sources]))

    def _do_cvta(self, i: Instruction, parts: list[str]) -> Step:
        back = "to" in parts
        space = parts[2 if back else 1]
        base = np.uint64({"global": 0, "shared": SHARED, "local": LOCAL}[space])
        source, put = self.source(i.operands[1], "u64"), self.target(i.operands[0], "u64")
        if back:
            return lambda m, who: put(m, who, source(m, who) - base)
        return lambda m, who: put(m, who, source(m, who) + base)

    def _do_isspacep(self, i: Instruction, parts: list[str]) -> Step:
        window = np.uint64({"shared": SHARED, "local": LOCAL}[parts[1]] >> 56)
        source, put = self.source(i.operands[1], "u64"), self.target(i.operands[0], "pred")
        return lambda m, who: put(m, who, source(m, who) >> np.uint64(56) == window)

    def _do_mov(self, i: Instruction, parts: list[str]) -> Step | None:
        """Packs and unpacks; other moves are in the table."""
        to, source = i.operands
        t = parts[1]
        if isinstance(source, Vector):
            part = f"b{WIDTHS[t] // len(source.parts)}"
            pieces = [self.source(o, part) for o in source.parts]
            put, raw = self.target(to, t), isa.RAW[WIDTHS[t]]

            def pack(m: Machine, who: Threads) -> None:
                given = np.broadcast_arrays(*[p(m, who) for p in pieces])
                put(m, who, np.stack(given, axis=-1).view(raw)[..., 0])

            return pack
        if isinstance(to, Vector):
            part = f"b{WIDTHS[t] // len(to.parts)}"
            whole, targets = self.source(source, t), [self._piece(o, part) for o in to.parts]
            raw = isa.RAW[WIDTHS[part]]

            def unpack(m: Machine, who: Threads) -> None:
                pieces = np.ascontiguousarray(whole(m, who)).view(raw).reshape(-1, len(targets))
                for k, put in enumerate(targets):
                    put(m, who, pieces[:, k].copy())

            return unpack
        return None

    def _piece(self, o: Any, t: str) -> Callable:
        if o == Symbol("_") and self.program.module.version >= (7, 1):  # a piece without a use
            return lambda m, who, v: None
        return self.target(o, t)

    def _do_activemask(self, i: Instruction, parts: list[str]) -> Step:
        put = self.target(i.operands[0], "b32")
        return lambda m, who: put(m, who, collectives.masks(m, m.ids[who])[m.warp[who]])

    # -- where to go on

    def _do_bra(self, i: Instruction, parts: list[str]) -> Step:
        to = self.block_of[self.f.labels[i.operands[0].name]]

        def go(m: Machine, who: Threads) -> None:
            m.at[who] = to

        return go

    def _do_brx(self, i: Instruction, parts: list[str]) -> Step:
        index, table = self.source(i.operands[0], "u32"), self.f.tables[i.operands[1].name]
        to = np.array([self.block_of[self.f.labels[name]] for name in table])

        def go(m: Machine, who: Threads) -> None:
            m.at[who] = to[index(m, who)]

        return go

    def _do_ret(self, i: Instruction, parts: list[str]) -> Step:
        name, is_entry = self.f.name, self.f.is_entry

        def leave(m: Machine, who: Threads) -> None:
            m.at[who] = m.program.end if is_entry else m.back[name][who]

        return leave

    def _do_exit(self, i: Instruction, parts: list[str]) -> Step:
        def leave(m: Machine, who: Threads) -> None:
            m.at[who] = m.program.end

        return leave

    def _do_trap(self, i: Instruction, parts: list[str]) -> Step:
        def trap(m: Machine, who: Threads) -> None:
            raise PtxError("trap")

        return trap

    def _call(self, i: Instruction) -> tuple[str, list[str], list[str]]:
        """The function that is called, and the names of the variables with results and arguments."""
        operands = list(i.operands)
        results = operands.pop(0).parts if isinstance(operands[0], Vector) else ()
        name = operands.pop(0).name
        arguments = operands.pop(0).parts if operands else ()
        return name, [o.name for o in results], [o.name for o in arguments]

    def _do_call(self, i: Instruction, parts: list[str]) -> Step:
        name, results, arguments = self._call(i)
        if i.guard:
            raise PtxError("a guard before a call")
        if name in self.program.module.outside:
            if (len(results), len(arguments)) != self.program.module.outside[name]:
                raise PtxError("a wrong number of arguments")
            provided = self.program.outside[name]
            places = [self.place(a) for a in arguments]
            sizes = [self._variable(a).size for a in arguments]
            given = [self.place(r) for r in results]

            def call_outside(m: Machine, who: Threads) -> None:
                values = [load(m, who, "param", _at(p), n, 1, False)[0] for p, n in zip(places, sizes)]
                result = provided(m, who, *values)
                for p in given:
                    store(m, who, "param", _at(p), [result])

            return call_outside
        callee = self.program.module.functions[name]
        if (len(results), len(arguments)) != (len(callee.results), len(callee.params)):
            raise PtxError("a wrong number of arguments")
        copies = self._copies(arguments, name, callee.params)
        entry, back = self.program.entries[name], len(self.program.blocks) + 1

        def call(m: Machine, who: Threads) -> None:
            for source, to, n in copies:
                _copy(m, who, source, to, n)
            m.back[name][who] = back
            m.at[who] = entry

        return call

    def _fetch(self, i: Instruction) -> Step:
        """What a call gives, once it has returned."""
        name, results, _ = self._call(i)
        if name in self.program.module.outside:
            return lambda m, who: None
        copies = self._copies(results, name, self.program.module.functions[name].results)

        def fetch(m: Machine, who: Threads) -> None:
            for own, theirs, n in copies:
                _copy(m, who, theirs, own, n)

        return fetch

    def _variable(self, name: str) -> Variable:
        return next(v for v in (*self.f.variables, *self.f.params, *self.f.results) if v.name == name)

    def _copies(self, own: list[str], callee: str, theirs: tuple[Variable, ...]) -> list[tuple[int, int, int]]:
        found = []
        for name, v in zip(own, theirs):
            if self._variable(name).size != v.size:
                raise PtxError(f"{name} and {v.name} differ in size")
            found.append((self.place(name), self.program.spaces["param"].places[f"{callee}:{v.name}"], v.size))
        return found


def _at(place: int) -> np.ndarray:
    return np.array([place], np.uint64)


def _copy(m: Machine, who: Threads, source: int, to: int, size: int) -> None:
    own = m.program.spaces["param"]
    for bytes_ in (own.content, own.known):
        bytes_[who, to : to + size] = bytes_[who, source : source + size]
