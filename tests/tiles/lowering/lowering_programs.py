"""Random programs with tiles: `random_program` makes one, `build` gives its IR, and `evaluate` runs it with NumPy.

A program assigns tiles of int32 to names. It reads and writes elements of three arrays, of which two may be one.
Assignments stand in loops and branches, too. Each statement is a tuple: its kind, the name that it assigns, and what it
is made of.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang.types import I32, Array, Tile

SHAPES = {"a": (4, 8), "b": (4, 8), "c": (4, 8), "t": (8, 4), "r": (4,), "s": (8,), "v": (20,), "w": (20,), "u": (1,)}
THREADS = 8
ROWS, COLUMNS = 12, 24  # of the arrays
_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
_NAMES = list(SHAPES)


def random_program(seed: int, length: int = 12) -> list[tuple]:
    """Statements that give every name a tile, and then work with them."""
    rng = random.Random(seed)
    start = [("load", name, rng.randrange(3), rng.randrange(4), rng.randrange(4)) for name in _NAMES]
    return start + _block(rng, length, 0) + [("store", name, rng.randrange(3), 0, 0) for name in _NAMES]


def _block(rng: random.Random, length: int, depth: int) -> list[tuple]:
    return [_statement(rng, depth) for _ in range(rng.randint(1, length))]


def _same_shape(rng: random.Random, name: str) -> str:
    return rng.choice([n for n in _NAMES if SHAPES[n] == SHAPES[name]])


def _statement(rng: random.Random, depth: int) -> tuple:
    name = rng.choice(_NAMES)
    like = _same_shape(rng, name)
    kind = rng.choice(("load", "store", "binary", "binary", "shift", "copy", "swap", "special", "set", "flow", "lend"))
    if kind in ("load", "store"):
        return kind, name, rng.randrange(3), rng.randrange(4), rng.randrange(4)
    if kind == "binary":
        return kind, name, rng.choice(sorted(_BINARY)), like, _same_shape(rng, name)
    if kind in ("copy", "swap", "shift"):
        return kind, name, like
    if kind == "set":
        return kind, name, rng.choice(("set", "add", "xor")), like, rng.choice((None, None, 3, 5)), rng.randrange(3)
    if kind == "lend":
        return kind, name, rng.randrange(1, 5)
    if kind == "flow" and depth < 2:
        return _flow(rng, name, depth)
    return rng.choice(
        (
            ("transpose", "t", rng.choice("abc")),
            ("rows", "r", rng.choice("abc"), rng.choice(("add", "max"))),
            ("columns", "s", rng.choice("abc"), rng.choice(("add", "min"))),
            ("total", "u", rng.choice(("a", "t", "v", "s")), "add"),
            ("repeat", rng.choice("abc"), rng.choice("s")),
            ("scale", name, like, "u"),
        )
    )


def _flow(rng: random.Random, name: str, depth: int) -> tuple:
    body = _block(rng, 5, depth + 1)
    if rng.random() < 0.5:
        return "for", name, rng.randrange(4), body
    return "if", name, rng.randrange(-20, 20), body, _block(rng, 3, depth + 1)


# -- with NumPy -----------------------------------------------------------------------------------------------------


def evaluate(program: Sequence[tuple], arrays: Sequence[np.ndarray]) -> None:
    """Run a program; `arrays` are changed."""
    names: dict[str, np.ndarray] = {}
    with np.errstate(over="ignore"):
        for statement in program:
            _evaluate(statement, names, arrays)


def _part(array: np.ndarray, name: str, row: int, column: int) -> np.ndarray:
    shape = SHAPES[name]
    if len(shape) == 1:
        return array[row, column : column + shape[0]]
    return array[row : row + shape[0], column : column + shape[1]]


def _evaluate(s: tuple, names: dict[str, np.ndarray], arrays: Sequence[np.ndarray]) -> None:
    kind, name = s[:2]
    if kind == "load":
        names[name] = _part(arrays[s[2]], name, *s[3:]).copy()
    elif kind == "store":
        _part(arrays[s[2]], name, *s[3:])[...] = names[name]
    elif kind == "binary":
        names[name] = _BINARY[s[2]](names[s[3]], names[s[4]])
    elif kind == "shift":
        names[name] = np.roll(names[s[2]], -1, axis=-1)
    elif kind == "copy":
        names[name] = names[s[2]]
    elif kind == "swap":
        names[name], names[s[2]] = names[s[2]], names[name]
    elif kind == "transpose":
        names[name] = names[s[2]].T.copy()
    elif kind in ("rows", "columns"):
        reduce = {"add": np.add, "max": np.maximum, "min": np.minimum}[s[3]].reduce
        names[name] = reduce(names[s[2]], axis=1 if kind == "rows" else 0, dtype=np.int32)
    elif kind == "total":
        names[name] = np.array([names[s[2]].sum(dtype=np.int32)], np.int32)
    elif kind == "repeat":
        names[name] = np.repeat(names[s[2]][None], 4, axis=0)
    elif kind == "scale":
        names[name] = names[s[2]] * names[s[3]].ravel()[0]
    elif kind == "lend":
        names[name] = names[name] + np.arange(names[name].size, dtype=np.int32).reshape(SHAPES[name]) * np.int32(s[2])
    elif kind == "for":
        for _ in range(s[2]):
            for inner in s[3]:
                _evaluate(inner, names, arrays)
    elif kind == "if":
        for inner in s[3] if names["u"][0] > s[2] else s[4]:
            _evaluate(inner, names, arrays)
    else:
        _set(s, names)


def _set(s: tuple, names: dict[str, np.ndarray]) -> None:
    """Thread k changes element k by what it finds `shift` elements further in another tile."""
    _, name, update, like, threads, shift = s
    old, given = names[name].ravel(), names[like].ravel()
    new = old.copy()
    for k in range(min(threads or THREADS, len(old))):
        value = given[(k + shift) % len(given)]
        new[k] = value if update == "set" else old[k] + value if update == "add" else old[k] ^ value
    names[name] = new.reshape(SHAPES[name])


# -- as IR ----------------------------------------------------------------------------------------------------------


def build(program: Sequence[tuple]) -> Function:
    """The kernel with operations of tiles."""
    arrays = [Value(Array(I32, 2), name=f"array{i}") for i in range(3)]
    kernel = Function("program", arrays, is_kernel=True, block_dim=THREADS)
    _Writer(Builder(kernel), arrays).run(program)
    return kernel


class _Writer:
    def __init__(self, b: Builder, arrays: Sequence[Value]):
        self.b, self.arrays = b, arrays
        self.names: dict[str, Value] = {}

    def run(self, program: Sequence[tuple]) -> None:
        for statement in program:
            self.statement(statement)
        self.b.terminate("return")

    def map(self, name: str, element) -> None:
        t = Tile(I32, SHAPES[name])
        at = self.b.push([I32] * t.ndim)
        self.b.terminate("yield", [element(at)])
        (self.names[name],) = self.b.emit("tile_map", [], t, (self.b.pop(),), [t])

    def get(self, name: str, at: Sequence[Value]) -> Value:
        return self.b.op("tile_get", self.names[name], *at)

    def place(self, name: str, row: int, column: int, at: Sequence[Value]) -> list[Value]:
        whole = [self.b.i32(0), *at] if len(at) == 1 else at
        return [self.b.op("add", x, self.b.i32(n)) for x, n in zip(whole, (row, column))]

    def flat(self, name: str, number: Value) -> list[Value]:
        """The coordinates of an element by its number."""
        if len(SHAPES[name]) == 1:
            return [number]
        columns = self.b.i32(SHAPES[name][1])
        return [self.b.op("div", number, columns), self.b.op("rem", number, columns)]

    def statement(self, s: tuple) -> None:
        getattr(self, {"if": "branch", "for": "loop"}.get(s[0], s[0]))(*s[1:])

    def load(self, name: str, array: int, row: int, column: int) -> None:
        self.map(name, lambda at: self.b.op("load", self.arrays[array], *self.place(name, row, column, at), attr=()))

    def grid(self, name: str, body) -> None:
        shape = SHAPES[name]
        extents = [self.b.i32(n) for n in shape]
        at = self.b.push([I32] * len(shape))
        body(at)
        self.b.terminate("yield")
        self.b.emit("elements", extents, regions=(self.b.pop(),))

    def store(self, name: str, array: int, row: int, column: int) -> None:
        def body(at: Sequence[Value]) -> None:
            where = self.place(name, row, column, at)
            self.b.op("store", self.arrays[array], *where, self.get(name, at), attr=())

        self.grid(name, body)

    def binary(self, name: str, code: str, first: str, second: str) -> None:
        self.map(name, lambda at: self.b.op(code, self.get(first, at), self.get(second, at)))

    def shift(self, name: str, like: str) -> None:
        def element(at: Sequence[Value]) -> Value:
            following = self.b.op("add", at[-1], self.b.i32(1))
            last = self.b.op("rem", following, self.b.i32(SHAPES[name][-1]))
            return self.get(like, [*at[:-1], last])

        self.map(name, element)

    def copy(self, name: str, like: str) -> None:
        self.names[name] = self.names[like]

    def swap(self, name: str, like: str) -> None:
        self.names[name], self.names[like] = self.names[like], self.names[name]

    def transpose(self, name: str, of: str) -> None:
        self.map(name, lambda at: self.get(of, at[::-1]))

    def repeat(self, name: str, of: str) -> None:
        self.map(name, lambda at: self.get(of, at[1:]))

    def scale(self, name: str, first: str, second: str) -> None:
        self.map(name, lambda at: self.b.op("mul", self.get(first, at), self.get(second, [self.b.i32(0)])))

    def reduce(self, name: str, of: str, code: str, axis: int) -> None:
        a, c = self.b.push([I32, I32])
        self.b.terminate("yield", [self.b.op(code, a, c)])
        t = Tile(I32, SHAPES[name])
        (self.names[name],) = self.b.emit("tile_reduce", [self.names[of]], axis, (self.b.pop(),), [t])

    def rows(self, name: str, of: str, code: str) -> None:
        self.reduce(name, of, code, 1)

    def columns(self, name: str, of: str, code: str) -> None:
        self.reduce(name, of, code, 0)

    def total(self, name: str, of: str, code: str) -> None:
        self.reduce(name, of, code, -1)

    def lend(self, name: str, factor: int) -> None:
        """All elements change in the memory that the tile was lent to."""
        memory = self.b.op("tile_to_memory", self.names[name])

        def body(at: Sequence[Value]) -> None:
            number = at[0]
            if len(at) == 2:
                number = self.b.op("add", self.b.op("mul", at[0], self.b.i32(SHAPES[name][1])), at[1])
            old = self.b.op("load", memory, *at, attr=())
            more = self.b.op("mul", number, self.b.i32(factor))
            self.b.op("store", memory, *at, self.b.op("add", old, more), attr=())

        self.grid(name, body)
        self.names[name] = self.b.op("tile_from_memory", memory, attr=Tile(I32, SHAPES[name]))

    def set(self, name: str, update: str, like: str, threads: int | None, shift: int) -> None:
        b, count = self.b, int(np.prod(SHAPES[name]))
        index = b.op("thread_index")
        further = b.op("rem", b.op("add", index, b.i32(shift)), b.i32(int(np.prod(SHAPES[like]))))
        value, old = self.get(like, self.flat(like, further)), self.names[name]
        threads = min(threads or THREADS, count)
        if threads == THREADS:
            self.names[name] = b.op("tile_set", old, *self.flat(name, index), value, attr=update)
            return
        some = b.op("lt", index, b.i32(threads))
        b.push()
        b.terminate("yield", [b.op("tile_set", old, *self.flat(name, index), value, attr=update)])
        first = b.pop()
        b.push()
        b.terminate("yield", [old])
        (self.names[name],) = b.emit("if", [some], regions=(first, b.pop()), results=[old.type])

    def branch(self, _: str, limit: int, first: list[tuple], second: list[tuple]) -> None:
        b, before = self.b, dict(self.names)
        condition = b.op("gt", self.get("u", [b.i32(0)]), b.i32(limit))
        regions = []
        for body in (first, second):
            self.names = dict(before)
            b.push()
            for inner in body:
                self.statement(inner)
            b.terminate("yield", list(self.names.values()))
            regions.append(b.pop())
        self._take(b.emit("if", [condition], regions=tuple(regions), results=[v.type for v in before.values()]))

    def loop(self, _: str, count: int, body: list[tuple]) -> None:
        b = self.b
        bounds, given = [b.i32(0), b.i32(count), b.i32(1)], list(self.names.values())
        types = [v.type for v in given]
        self._take(b.push([I32, *types])[1:])
        for inner in body:
            self.statement(inner)
        b.terminate("yield", list(self.names.values()))
        self._take(b.emit("for", [*bounds, *given], regions=(b.pop(),), results=types))

    def _take(self, values: Sequence[Value]) -> None:
        self.names = dict(zip(self.names, values))
