"""Random IR programs that always end, never index out of range and have no races, with inputs for them.

`generate(seed)` gives a kernel for a one-dimensional grid, `make_inputs(kernel, seed, n)` arguments for n threads in
the interpreter's form (`omni.warp_core.ir.interp.array_memory`). Arrays are named by how they may be used. `in*` are
read anywhere, `out*` are read and written at the thread's own first index. `acc*` take atomics whose order does not
matter, and `loc*` are the thread's own. The same seed gives the same program. `same` compares results bit by bit, all
NaNs being equal.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp.array_memory import MemArray, unflatten
from omni.warp_core.ir.nodes import Function, Operation, Region, Value
from omni.warp_core.ir.verifier import completes
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import (
    BOOL,
    F32,
    F64,
    I32,
    I64,
    SCALARS,
    U32,
    U64,
    Array,
    FixedArray,
    Mat,
    Packed,
    Quat,
    Scalar,
    Struct,
    Type,
    Vec,
    element,
    leaves,
    members,
)


@dataclass(frozen=True)
class Options:
    """What programs are made of."""

    scalars: tuple[Scalar, ...] = SCALARS
    statements: int = 10
    depth: int = 3
    functions: int = 2
    structs: bool = True
    control: bool = True
    atomics: bool = True
    locals: bool = True
    libm: bool = False
    raw: bool = True  # build every operation as written, nothing folded or shared


NATIVE = Options(scalars=(BOOL, I32, I64, U32, U64, F32, F64))


class RawBuilder(Builder):
    """A builder that neither folds nor shares."""

    def op(self, code: str, *args: Value, attr: Any = None) -> Value:
        return self._append(code, args, attr)

    def const(self, value: Any, t: Type) -> Value:
        s = element(t)
        numbers = value if isinstance(value, tuple) else (value,) * (t.count if isinstance(t, Packed) else 1)
        exact = tuple(semantics.convert(v, s) for v in numbers)
        op = Operation("const", [], exact if isinstance(t, Packed) else exact[0], self.loc)
        op.results = (Value(t, op),)
        self.region.ops.append(op)
        return op.results[0]


def generate(seed: int, options: Options = Options()) -> Function:
    """A random kernel."""
    rng = random.Random(seed)
    types = _Types(rng, options)
    helpers: list[Function] = []
    for i in range(rng.randint(0, options.functions)):
        helpers.append(_helper(rng, options, types, list(helpers), i))
    params = [Value(Array(types.any(), rng.randint(1, 2)), name=f"in{i}") for i in range(rng.randint(1, 3))]
    params += [Value(types.any(), name=f"p{i}") for i in range(rng.randint(0, 3))]
    params += [Value(Array(types.any(), rng.randint(1, 2)), name=f"out{i}") for i in range(rng.randint(1, 3))]
    if options.atomics:
        ints = [s for s in options.scalars if s in (I32, I64, U32, U64)]
        params += [Value(Array(rng.choice(ints), 1), name=f"acc{i}") for i in range(rng.randint(0, 2))]
    kernel = Function("kernel", params, (), is_kernel=True)
    writer = _Writer(rng, options, types, kernel, helpers)
    writer.thread = writer.b.op("tid", attr=(0, 1))
    writer.add(writer.thread)
    writer.local_arrays()
    writer.statements(options.statements)
    for p in params:
        if p.name.startswith("out") and not writer.b.terminated:
            writer.store(p)
    if not writer.b.terminated:
        writer.b.terminate("return")
    return kernel


def make_inputs(kernel: Function, seed: int, n: int) -> list:
    """Arguments for `kernel` over a grid of `n` threads."""
    rng = random.Random(seed)
    return [_argument(rng, p, n) for p in kernel.params]


def copy_inputs(args: Sequence) -> list:
    """The same arguments in memory of their own."""
    return [MemArray(a.dtype, a.shape, list(a.data)) if isinstance(a, MemArray) else a for a in args]


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal bit by bit, NaNs and types included."""
    if isinstance(a, MemArray):
        return a.shape == b.shape and same(tuple(a.values()), tuple(b.values()))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)
    return type(a) is type(b) and a == b


def _argument(rng: random.Random, p: Value, n: int) -> Any:
    t = p.type
    if not isinstance(t, Array):
        return random_value(rng, t)
    first = n if p.name.startswith("out") else rng.randint(1, 4) if p.name.startswith("acc") else rng.randint(1, n + 3)
    shape = (first, *(rng.randint(1, 3) for _ in range(t.ndim - 1)))
    return MemArray(t.dtype, shape, [random_value(rng, t.dtype) for _ in range(math.prod(shape))])


def random_value(rng: random.Random, t: Type) -> Any:
    """A value of `t` in the interpreter's form, often an awkward one."""
    return unflatten([random_number(rng, leaf) for _, leaf in leaves(t)], t)


def random_number(rng: random.Random, s: Scalar) -> Any:
    """A number of type `s`, often an awkward one."""
    if s is BOOL:
        return rng.random() < 0.5
    if s.is_int:
        low, high = semantics.int_range(s)
        pick = rng.choice((0, 1, 2, 3, -1, -2, low, high, low + 1, rng.randint(-9, 9), rng.randint(low, high)))
        return semantics.wrap(pick, s)
    awkward = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, 3.4e38, 65504.0)
    plain = (rng.uniform(-4, 4), rng.uniform(-1, 1), rng.uniform(-1e6, 1e6), float(rng.randint(-8, 8)))
    return semantics.convert(rng.choice(awkward) if rng.random() < 0.2 else rng.choice(plain), s)


class _Types:
    """The types that one program uses."""

    def __init__(self, rng: random.Random, options: Options):
        self.rng, self.scalars = rng, options.scalars
        self.floats = [s for s in options.scalars if s.is_float]
        shapes: list[Callable[[Scalar], Type]] = [lambda s: Vec(rng.randint(2, 5), s), Quat]
        shapes.append(lambda s: Mat(rng.randint(2, 3), rng.randint(2, 3), s))
        numeric = [s for s in options.scalars if s is not BOOL]
        self.packed = [rng.choice(shapes)(rng.choice(numeric)) for _ in range(3)]
        self.structs: list[Struct] = []
        if options.structs:
            parts = [rng.choice(self.scalars), rng.choice(self.packed), rng.choice(self.scalars)]
            self.structs.append(Struct("Inner", tuple((f"a{i}", t) for i, t in enumerate(parts))))
            self.structs.append(Struct("Outer", (("x", rng.choice(self.packed)), ("in", self.structs[0]))))

    def scalar(self) -> Scalar:
        return self.rng.choice(self.scalars)

    def any(self) -> Type:
        kind = self.rng.random()
        if kind < 0.6 or not self.packed:
            return self.scalar()
        return self.rng.choice(self.structs) if self.structs and kind > 0.88 else self.rng.choice(self.packed)


@dataclass
class _Frame:
    """A breakable operation being written; `advance` is the value of a loop's counter in the next iteration."""

    code: str
    results: list[Type]
    carried: list[Type]
    advance: Value | None = None


def _helper(rng: random.Random, options: Options, types: _Types, helpers: list[Function], number: int) -> Function:
    params = [Value(types.any(), name=f"x{i}") for i in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        params.append(Value(Array(types.any(), 1), name="in0"))
    results = tuple(types.any() for _ in range(rng.randint(1, 2)))
    function = Function(f"helper{number}", params, results)
    writer = _Writer(rng, options, types, function, helpers)
    writer.local_arrays()
    writer.statements(max(2, options.statements // 2))
    if not writer.b.terminated:
        writer.b.terminate("return", [writer.value(t) for t in results])
    return function


class _Writer:
    """Writes the body of one function."""

    def __init__(self, rng: random.Random, options: Options, types: _Types, function: Function, helpers: list):
        self.rng, self.options, self.types, self.function, self.helpers = rng, options, types, function, helpers
        self.b = RawBuilder(function) if options.raw else Builder(function)
        self.visible: list[Value] = []
        self.arrays = [p for p in function.params if isinstance(p.type, Array)]
        self.frames: list[_Frame] = []
        self.thread: Value | None = None
        self.nesting = 0
        for p in function.params:
            if p not in self.arrays:
                self.add(p)

    def add(self, value: Value) -> Value:
        self.visible.append(value)
        return value

    # -- values -------------------------------------------------------------------------------------------------

    def value(self, t: Type, depth: int = 2) -> Value:
        """A value of `t`: an old one, a constant, or the result of new operations."""
        old = [v for v in self.visible if v.type is t]
        if old and self.rng.random() < (0.5 if depth else 0.9):
            return self.rng.choice(old[-6:])
        if depth == 0:
            return self.constant(t)
        if isinstance(t, Struct):
            return self.add(self.structure(t, depth - 1))
        make = self.rng.choice(self.makers(t))
        return self.add(make(t, depth - 1))

    def constant(self, t: Type) -> Value:
        if isinstance(t, Struct):
            return self.b.op("make", *(self.constant(m) for m in members(t)), attr=t)
        number = tuple(random_number(self.rng, leaf) for _, leaf in leaves(t))
        return self.b.const(number if isinstance(t, Packed) else number[0], t)

    def makers(self, t: Type) -> list[Callable[[Any, int], Value]]:
        s = element(t)
        found: list = [self.select, self.load, self.constant_maker]
        found += [self.extract] if isinstance(t, Scalar) else [self.make, self.splat, self.insert]
        if isinstance(t, Scalar):
            found += [self.cast, self.bitcast]
        if s is BOOL:
            return found + [self.compare, self.logic] * 2
        return found + [self.arithmetic] * 4

    def constant_maker(self, t: Type, depth: int) -> Value:
        return self.constant(t)

    def structure(self, t: Struct, depth: int) -> Value:
        kind = self.rng.randint(0, 3)
        if kind == 0:
            return self.b.op("zero", attr=t)
        if kind == 1:
            return self.select(t, depth)
        if kind == 2 and depth:
            i = self.rng.randrange(len(t.fields))
            return self.b.op("insert", self.value(t, depth), self.value(members(t)[i], depth), attr=i)
        return self.b.op("make", *(self.value(m, 0) for m in members(t)), attr=t)

    def arithmetic(self, t: Type, depth: int) -> Value:
        codes = ["add", "sub", "mul", "div", "rem", "min", "max", "add", "sub", "mul", "neg", "abs"]
        if element(t).is_float:
            codes += ["floordiv", "minnum", "maxnum", "sqrt", "floor", "ceil", "trunc", "rint", "fma"]
            if self.options.libm:
                codes.append("libm")
        else:
            codes += ["floordiv", "and", "or", "xor", "shl", "shr", "not", "popcount"]
        code = self.rng.choice(codes)
        arity = {"neg": 1, "abs": 1, "not": 1, "popcount": 1, "fma": 3, "libm": 1}.get(code, 2)
        arity = 1 if code in ("sqrt", "floor", "ceil", "trunc", "rint") else arity
        attr = self.rng.choice(("sin", "exp", "log", "tanh")) if code == "libm" else None
        return self.b.op(code, *(self.value(t, depth) for _ in range(arity)), attr=attr)

    def logic(self, t: Type, depth: int) -> Value:
        code = self.rng.choice(("and", "or", "xor", "not"))
        return self.b.op(code, *(self.value(BOOL, depth) for _ in range(1 if code == "not" else 2)))

    def compare(self, t: Type, depth: int) -> Value:
        s = self.types.scalar()
        code = self.rng.choice(("eq", "ne", "lt", "le", "gt", "ge"))
        return self.b.op(code, self.value(s, depth), self.value(s, depth))

    def select(self, t: Type, depth: int) -> Value:
        return self.b.op("select", self.value(BOOL, depth), self.value(t, depth), self.value(t, depth))

    def cast(self, t: Scalar, depth: int) -> Value:
        return self.b.op("cast", self.value(self.types.scalar(), depth), attr=t)

    def bitcast(self, t: Scalar, depth: int) -> Value:
        """Bits of a NaN are unspecified, so floats are made ordinary first."""
        source = self.rng.choice([s for s in self.types.scalars if s.bits == t.bits])
        x = self.value(source, depth)
        if source.is_float:
            x = self.b.op("select", self.b.op("eq", x, x), x, self.b.const(0, source))
        return self.b.op("bitcast", x, attr=t)

    def extract(self, t: Scalar, depth: int) -> Value:
        whole = [p for p in (*self.types.packed, *self.types.structs) if t in members(p)]
        if not whole:
            return self.constant(t)
        p = self.rng.choice(whole)
        x = self.value(p, depth)
        if isinstance(p, Packed) and self.rng.random() < 0.3:
            return self.b.op("extract_dyn", x, self.index(self.b.const(p.count, I32)))
        return self.b.op("extract", x, attr=self.rng.choice([i for i, m in enumerate(members(p)) if m is t]))

    def make(self, t: Packed, depth: int) -> Value:
        return self.b.op("make", *(self.value(t.scalar, depth if i == 0 else 0) for i in range(t.count)), attr=t)

    def splat(self, t: Packed, depth: int) -> Value:
        return self.b.op("splat", self.value(t.scalar, depth), attr=t)

    def insert(self, t: Packed, depth: int) -> Value:
        x, value = self.value(t, depth), self.value(t.scalar, depth)
        if self.rng.random() < 0.3:
            return self.b.op("insert_dyn", x, value, self.index(self.b.const(t.count, I32)))
        return self.b.op("insert", x, value, attr=self.rng.randrange(t.count))

    def local_arrays(self) -> None:
        """Memory of the thread's own, every element set."""
        if not self.options.locals:
            return
        for i in range(self.rng.choice((0, 0, 1, 2))):
            shape = tuple(self.rng.randint(1, 3) for _ in range(self.rng.randint(1, 2)))
            array = self.b.op("alloca", attr=FixedArray(self.types.any(), shape))
            array.name = f"loc{i}"
            for index in itertools.product(*map(range, shape)):
                at = [self.b.const(k, I32) for k in index]
                self.b.op("store", array, *at, self.value(array.type.dtype, 1), attr=())
            self.arrays.append(array)

    # -- memory -------------------------------------------------------------------------------------------------

    def index(self, size: Value) -> Value:
        """An index below the i32 `size`, which is positive."""
        if self.rng.random() < 0.3:
            return self.b.const(0, I32)
        wide = self.b.op("cast", self.value(self.rng.choice((I32, U32)), 1), attr=U32)
        below = self.b.op("rem", wide, self.b.op("cast", size, attr=U32))
        return self.b.op("cast", below, attr=self.rng.choice((I32, I64, U32)))

    def place(self, array: Value) -> list[Value]:
        """Indices of an element that this thread may touch."""
        t = array.type
        indices = [self.index(self.b.op("shape", array, attr=i)) for i in range(t.ndim)]
        if array.name.startswith("out"):
            assert self.thread is not None
            indices[0] = self.thread
        return indices

    def path(self, t: Type, goal: Type | None = None) -> tuple[Type, list[int], list[Value]]:
        """A random way into an element of type `t` (to a `goal` if it has one): type, steps, dynamic indices."""
        steps: list[int] = []
        indices: list[Value] = []
        while not isinstance(t, Scalar) and t is not goal and (goal is not None or self.rng.random() < 0.5):
            if isinstance(t, Packed) and self.rng.random() < 0.3:
                steps.append(-1)
                indices.append(self.index(self.b.const(t.count, I32)))
                t = t.scalar
            else:
                fits = [i for i, m in enumerate(members(t)) if goal is None or goal is m or goal in _inside(m)]
                steps.append(self.rng.choice(fits))
                t = members(t)[steps[-1]]
        return t, steps, indices

    def load(self, t: Type, depth: int) -> Value:
        readable = [a for a in self.arrays if a.name.startswith(("in", "out", "loc"))]
        fits = [a for a in readable if a.type.dtype is t or t in _inside(a.type.dtype)]
        if not fits:
            return self.constant(t)
        array = self.rng.choice(fits)
        place = self.place(array)
        _, steps, dynamic = self.path(array.type.dtype, t)
        if self.rng.random() < 0.4:
            array, place = self.view(array, place)
        return self.b.op("load", array, *place, *dynamic, attr=tuple(steps))

    def view(self, array: Value, place: list[Value]) -> tuple[Value, list[Value]]:
        """A view of `array` and the indices in it of the element at `place`."""
        letters, operands, inside = "", [], []
        fixed = self.rng.randrange(array.type.ndim) if array.type.ndim == 2 and self.rng.random() < 0.6 else None
        for k, index in enumerate(place):
            kind = "i" if k == fixed else self.rng.choice("r:r")
            if kind == "i":
                operands.append(index)
            elif kind == ":":
                inside.append(index)
            else:
                operands += self.part(array, k, index)
                inside.append(self.b.const(0, I32))
            letters += kind
        attr = None if set(letters) == {"i"} or (letters == "i:" and self.rng.random() < 0.5) else letters
        return self.b.op("slice", array, *operands, attr=attr), inside

    def part(self, array: Value, dimension: int, first: Value) -> list[Value]:
        """Start, count and step of a part of a dimension that begins at the element `first`."""
        start = self.b.op("cast", first, attr=I32)
        if self.rng.random() < 0.5:
            count = self.b.op("add", start, self.b.const(1, I32))
            return [start, count, self.b.const(-1, I32)]
        step = self.rng.choice((1, 1, 2, 3))
        left = self.b.op("sub", self.b.op("shape", array, attr=dimension), start)
        up = self.b.op("add", left, self.b.const(step - 1, I32))
        return [start, self.b.op("div", up, self.b.const(step, I32)), self.b.const(step, I32)]

    def store(self, array: Value) -> None:
        place = self.place(array)
        t, steps, dynamic = self.path(array.type.dtype)
        if self.rng.random() < 0.3:
            array, place = self.view(array, place)
        self.b.op("store", array, *place, *dynamic, self.value(t), attr=tuple(steps))

    def atomic(self, array: Value) -> None:
        kind = self.rng.choice(("add", "sub", "min", "max", "and", "or", "xor"))
        # Sums, bounds and bit operations do not commute with each other: one kind an array.
        kind = {"acc0": "add", "acc1": "max"}.get(array.name, kind)
        operands = [self.value(array.type.dtype)]
        if array.name.startswith("loc") and self.rng.random() < 0.4:
            kind = self.rng.choice(("exch", "take", "cas"))
            operands *= 2 if kind == "cas" else 1
        old = self.b.op("atomic", array, *self.place(array), *operands, attr=(kind, ()))
        if array.name.startswith("loc"):
            self.add(old)

    # -- statements ---------------------------------------------------------------------------------------------

    def statements(self, count: int) -> None:
        """Up to `count` statements; the region may end up terminated."""
        for _ in range(count):
            if self.b.terminated:
                return
            self.statement()

    def statement(self) -> None:
        outs = [a for a in self.arrays if a.name.startswith(("out", "loc"))]
        accs = [a for a in self.arrays if a.name.startswith("acc") or _takes_atomics(a)]
        choices: list[Callable[[], Any]] = [lambda: self.value(self.types.any(), 3)] * 4
        if outs:
            choices.append(lambda: self.store(self.rng.choice(outs)))
        if accs:
            choices.append(lambda: self.atomic(self.rng.choice(accs)))
        if self.helpers:
            choices.append(self.call)
        if self.options.control and self.nesting < self.options.depth:
            choices += [self.branch, self.branch, self.counted, self.loop, self.block]
            choices.append(self.maybe_leave)
        self.rng.choice(choices)()

    def call(self) -> None:
        callee = self.rng.choice(self.helpers)
        args = []
        for p in callee.params:
            if isinstance(p.type, Array):
                fits = [a for a in self.arrays if a.name.startswith(("in", "loc")) and _view(a.type) is p.type]
                if not fits:
                    return
                array = self.rng.choice(fits)
                args.append(array if array.type is p.type else self.b.op("slice", array, attr=""))
            else:
                args.append(self.value(p.type))
        for v in self.b.emit("call", args, callee, results=callee.results):
            self.add(v)

    def body(self, params: Sequence[Type], frame: _Frame | None, write: Callable[[list[Value]], None]) -> Region:
        """A region: `write` is given its parameters and must leave it terminated."""
        seen = len(self.visible)
        self.nesting += 1
        if frame is not None:
            self.frames.append(frame)
        values = self.b.push(params)
        self.visible += values
        write(values)
        if frame is not None:
            self.frames.pop()
        self.nesting -= 1
        del self.visible[seen:]
        return self.b.pop()

    def some_types(self) -> list[Type]:
        return [self.types.any() for _ in range(self.rng.randint(0, 2))]

    def emit(self, code: str, args: list[Value], regions: tuple[Region, ...], results: list[Type]) -> None:
        for v in self.b.emit(code, args, None, regions, results):
            self.add(v)

    def branch(self) -> None:
        results = self.some_types()

        def side(_: list[Value]) -> None:
            self.statements(self.rng.randint(0, 3))
            if not self.b.terminated and self.rng.random() < 0.12:
                self.leave()
            if not self.b.terminated:
                self.b.terminate("yield", [self.value(t) for t in results])

        cond = self.value(BOOL)
        regions = (self.body((), None, side), self.body((), None, side))
        self.emit("if", [cond], regions, results)
        if all(r.terminator.code != "yield" for r in regions):
            self.b.terminate("unreachable")

    def counted(self) -> None:
        carried = self.some_types()
        t = self.rng.choice([s for s in (I32, I64, U32) if s in self.types.scalars])
        low, step = self.rng.randint(0, 3), self.rng.choice((1, 1, 2, 3, 0 if self.rng.random() < 0.2 else 1))
        high = self.b.const(low + self.rng.randint(0, 5), t)
        if self.rng.random() < 0.5:
            bound = self.b.op("rem", self.b.op("cast", self.value(U32, 1), attr=U32), self.b.const(6, U32))
            high = self.b.op("cast", bound, attr=t)
        bounds = [self.b.const(low, t), high, self.b.const(step, t)]
        if t.is_signed and self.rng.random() < 0.3:
            bounds = [high, bounds[0], self.b.const(-step, t)]

        def write(_: list[Value]) -> None:
            self.statements(self.rng.randint(1, 4))
            if not self.b.terminated:
                self.b.terminate("yield", [self.value(c) for c in carried])

        init = [self.value(c) for c in carried]
        region = self.body([t, *carried], _Frame("for", carried, carried), write)
        self.emit("for", bounds + init, (region,), carried)

    def loop(self) -> None:
        """A loop that counts to a small limit in its first carried value."""
        carried, results = [I32, *self.some_types()], self.some_types()
        frame = _Frame("loop", results, carried)
        limit = self.rng.randint(0, 5)

        def write(params: list[Value]) -> None:
            frame.advance = self.b.op("add", params[0], self.b.const(1, I32))
            cond = self.b.op("ge", params[0], self.b.const(limit, I32))
            if self.rng.random() < 0.3:
                cond = self.b.op("or", cond, self.value(BOOL))
            leave = self.body((), None, lambda _: self.b.terminate("break", [self.value(t) for t in results], 0))
            stay = self.body((), None, lambda _: self.b.terminate("yield"))
            self.b.emit("if", [cond], None, (leave, stay))
            self.statements(self.rng.randint(1, 4))
            if not self.b.terminated:
                self.b.terminate("yield", [frame.advance, *(self.value(t) for t in carried[1:])])

        init = [self.b.const(0, I32), *(self.value(t) for t in carried[1:])]
        region = self.body(carried, frame, write)
        self.emit("loop", init, (region,), results)

    def block(self) -> None:
        results = self.some_types()

        def write(_: list[Value]) -> None:
            self.statements(self.rng.randint(1, 4))
            if not self.b.terminated:
                self.b.terminate(self.rng.choice(("yield", "break")), [self.value(t) for t in results], None)
                last = self.b.region.terminator
                last.attr = 0 if last.code == "break" else None

        self.emit("block", [], (self.body((), _Frame("block", results, []), write),), results)
        if not completes(self.b.region.ops[-1]):
            self.b.terminate("unreachable")

    def maybe_leave(self) -> None:
        """`if c { leave } else { }` or the other way round."""

        def stay(_: list[Value]) -> None:
            self.b.terminate("yield")

        cond = self.value(BOOL)
        regions = [self.body((), None, lambda _: self.leave()), self.body((), None, stay)]
        if self.rng.random() < 0.5:
            regions.reverse()
        self.emit("if", [cond], tuple(regions), [])

    def leave(self) -> None:
        """Terminate the region by some exit."""
        depth = self.rng.randint(0, len(self.frames))
        if depth == len(self.frames):
            if self.frames and self.rng.random() < 0.5:
                depth = 0
            else:
                self.b.terminate("return", [self.value(t) for t in self.function.results])
                return
        frame = self.frames[-1 - depth]
        if frame.code == "block" or self.rng.random() < 0.5:
            self.b.terminate("break", [self.value(t) for t in frame.results], depth)
        elif frame.advance is not None:
            self.b.terminate("continue", [frame.advance, *(self.value(t) for t in frame.carried[1:])], depth)
        else:
            self.b.terminate("continue", [self.value(t) for t in frame.carried], depth)


def _view(t: Type) -> Type:
    """The type of views of an array of type `t`."""
    return t.view if isinstance(t, FixedArray) else t


def _takes_atomics(array: Value) -> bool:
    """Whether atomics of every kind work on a local array."""
    s = element(array.type.dtype)
    return array.name.startswith("loc") and isinstance(s, Scalar) and s.is_int and s.bits >= 32


def _inside(t: Type) -> set[Type]:
    """All types that are members of `t` at any depth."""
    if isinstance(t, Scalar):
        return set()
    return {inner for m in members(t) for inner in (m, *_inside(m))}
