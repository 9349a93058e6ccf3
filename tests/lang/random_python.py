"""Writes random Python functions and kernels for the differential tests.

Nested loops with break, continue, else and early return, branches, match, tuples, comprehensions, lambdas, short
circuits and ternaries over small integers: every assignment is masked, so that nothing wraps around. Kernels also call
functions, index vectors, read and write arrays, and add to shared ones.
"""

import random

NAMES = ["a", "b", "c", "d"]
TABLE, SCRATCH, SHARED = 16, 8, 4  # extents of the arrays that a kernel sees


class Writer:
    """Writes one random function `f` of four integers."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.used = 0

    def function(self) -> str:
        self.define("f")
        return "import omni.warp_core as wp\n\n@wp.func\n" + "\n".join(self.lines) + "\n"

    def define(self, name: str) -> None:
        self.emit(0, f"def {name}(a: int, b: int, c: int, d: int):")
        self.block(1, 4)
        self.emit(1, "return a, b, c, d")

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def atom(self) -> str:
        return self.rng.choice([*NAMES, *NAMES, str(self.rng.randint(-9, 20))])

    def number(self, depth: int = 2) -> str:
        if depth == 0:
            return self.atom()
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self.rng.choice(
            [
                f"({x} + {y})",
                f"({x} - {y})",
                f"({x} & 31) * ({y} & 31)",
                f"({x} // (abs({y}) + 1))",
                f"({x} ^ {y})",
                f"({x} | {y})",
                f"(-{x})",
                f"({x} >> 1)",
                f"min({x}, {y})",
                f"max({x}, {y})",
                f"abs({x})",
                f"({x} if {self.condition(0)} else {y})",
                f"({x} and {y})",
                f"({x} or {y})",
                f"sum(({x}, {y}, 3))",
                f"({x}, {y})[{self.rng.randint(0, 1)}]",
                self.atom(),
                self.atom(),
                *self.rarer_numbers(x, y),
                *self.more_numbers(x, y),
            ]
        )

    def rarer_numbers(self, x: str, y: str) -> list[str]:
        """Some of the forms that everyday programs use less often."""
        forms = [
            f"({x} // ({y} or 3))",
            f"(abs({x}) % (abs({y}) + 1))",
            f"divmod(abs({x}), 7)[{self.rng.randint(0, 1)}]",
            f"({x} & 15) ** {self.rng.randint(0, 3)}",
            f"(1 << ({x} & 7))",
            f"(~{x})",
            f"int({x} > {y})",
            f"int(float({x} & 255) * 0.75)",
            f"round(float({x} & 255) / 4.0)",
            f"sum(v * {self.atom()} & 255 for v in ({x}, {y}))",
            f"max([{x}, {y}, 1][1:])",
            f"min(u - v for u, v in zip(({x}, 2), (3, {y})))",
            f"(lambda p, q=2: p - q)({x}, {y})",
            f"(lambda p: {self.atom()} if p else p)({x})",
            f"(*({x}, {y}), 5)[{self.rng.randint(-3, 2)}]",
            f"len(({x}, 0, {y}))",
        ]
        return self.rng.sample(forms, 6)

    def more_numbers(self, x: str, y: str) -> list[str]:
        return []

    def condition(self, depth: int = 1) -> str:
        x, y, z = self.number(depth), self.number(depth), self.atom()
        sign = self.rng.choice(["<", "<=", "==", "!=", ">", ">="])
        parts = [f"{x} {sign} {y}", f"{x} & 1", f"{z} <= {x} < {y}", f"not {z}", f"{z} in (1, 2, 3)"]
        parts += [f"{x} in range(-5, {z})", f"{z} not in range(9, {y}, -2)", f"any(({x}, {z} {sign} 2))", f"bool({z})"]
        first = self.rng.choice(parts)
        if depth and self.rng.random() < 0.4:
            return f"({first}) {self.rng.choice(['and', 'or'])} ({self.condition(0)})"
        return first

    def block(self, depth: int, length: int) -> None:
        for _ in range(self.rng.randint(1, length)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        kinds = ["assign"] * 4 + ["augment"] * 2 + ["swap", "walrus", "star", *self.more_statements]
        if depth < 4:
            kinds += ["if", "if", "for", "while", "items", "match", "numbered"]
        if self.loops:
            kinds += ["break", "continue"]
        kinds += ["return"] if self.rng.random() < 0.3 else []
        getattr(self, "write_" + self.rng.choice(kinds))(depth)

    more_statements: tuple[str, ...] = ()

    def write_assign(self, depth: int) -> None:
        self.emit(depth, f"{self.rng.choice(NAMES)} = ({self.number()}) & 1023")

    def write_augment(self, depth: int) -> None:
        name = self.rng.choice(NAMES)
        self.emit(depth, f"{name} {self.rng.choice(['+=', '-=', '^=', '|='])} {self.number(1)} & 63")
        self.emit(depth, f"{name} &= 1023")

    def write_swap(self, depth: int) -> None:
        x, y = self.rng.sample(NAMES, 2)
        self.emit(depth, f"{x}, {y} = {y}, ({x} + {self.atom()}) & 1023")

    def write_walrus(self, depth: int) -> None:
        self.emit(depth, f"{self.rng.choice(NAMES)} = ((t := {self.number(1)}) + t) & 1023")

    def write_star(self, depth: int) -> None:
        x, y = self.rng.sample(NAMES, 2)
        self.emit(depth, f"{x}, *rest, {y} = {self.atom()}, {self.number(1)} & 63, {y}, {x}")
        self.emit(depth, f"{x} = ({x} + sum(rest)) & 1023")

    def write_match(self, depth: int) -> None:
        self.emit(depth, f"match ({self.number(1)}) & 7:")
        for pattern in [*self.rng.sample(["0", "1 | 2", "3", f"m if m > {self.atom()}", "4 | 5"], 2), "_"]:
            self.emit(depth + 1, f"case {pattern}:")
            self.block(depth + 2, 2)

    def write_numbered(self, depth: int) -> None:
        items = ", ".join(self.atom() for _ in range(self.rng.randint(1, 3)))
        over = self.rng.choice(
            [f"enumerate(({items},))", f"zip(range(9), ({items},))", f"enumerate(({items},), {self.atom()})"]
        )
        self.emit(depth, f"for {self.rng.choice(['i, j', 'i, a', 'j, b'])} in {over}:")
        self.body(depth, "for")

    def write_return(self, depth: int) -> None:
        self.emit(depth, f"if {self.condition()}:")
        self.give(depth + 1, [self.number(1) for _ in range(4)])

    def give(self, depth: int, values: list[str]) -> None:
        self.emit(depth, f"return {', '.join(values)}")

    def write_if(self, depth: int) -> None:
        self.emit(depth, f"if {self.condition()}:")
        self.block(depth + 1, 3)
        if self.rng.random() < 0.3:
            self.emit(depth, f"elif {self.condition()}:")
            self.block(depth + 1, 2)
        if self.rng.random() < 0.5:
            self.emit(depth, "else:")
            self.block(depth + 1, 3)

    def body(self, depth: int, kind: str) -> None:
        self.loops.append(kind)
        self.block(depth + 1, 3)
        self.loops.pop()
        if self.rng.random() < 0.3:
            self.emit(depth, "else:")
            self.block(depth + 1, 2)

    def write_for(self, depth: int) -> None:
        bound = self.rng.choice(["3", "5", f"{self.atom()} & 7", f"2, {self.atom()} & 7", f"{self.atom()} & 7, -1, -2"])
        self.emit(depth, f"for {self.rng.choice(['i', 'j', *NAMES])} in range({bound}):")
        self.body(depth, "for")

    def write_items(self, depth: int) -> None:
        items = ", ".join(self.atom() for _ in range(self.rng.randint(1, 4)))
        self.emit(depth, f"for {self.rng.choice(['i', *NAMES])} in ({items},):")
        self.body(depth, "for")

    def write_while(self, depth: int) -> None:
        counter = f"w{self.used}"
        self.used += 1
        self.emit(depth, f"{counter} = 0")
        self.emit(depth, f"while {counter} < {self.rng.randint(1, 6)} and ({self.condition()}):")
        self.emit(depth + 1, f"{counter} += 1")
        self.body(depth, "while")

    def write_break(self, depth: int) -> None:
        self.emit(depth, f"if {self.condition()}:")
        self.emit(depth + 1, "break")

    def write_continue(self, depth: int) -> None:
        self.emit(depth, f"if {self.condition()}:")
        self.emit(depth + 1, "continue")


class KernelWriter(Writer):
    """Writes a random kernel `k`, and the functions it calls.

    Of the arrays, `table` is read by all threads, row `n` of `scratch` and of `out` belongs to thread `n`, and `shared`
    is added to by all.
    """

    more_statements = ("store", "store", "call", "component", "share")
    inside = False  # whether the kernel itself is being written

    def kernel(self, decorator: str, first: str, types: tuple[str, str], parameter: str = "") -> str:
        """The text; only its frame differs between CPython and the compiler.

        Args:
            decorator: the line before the kernel.
            first: the value of `n`, the number of the thread.
            types: annotations of one- and two-dimensional arrays of integers.
            parameter: the first parameter, where the thread is given as one.
        """
        one, two = types
        for name in ("g", "h"):
            self.emit(0, decorator.replace("kernel", "func"))
            self.define(name)
        self.inside = True
        self.emit(0, decorator)
        self.emit(0, f"def k({parameter}table: {one}, scratch: {two}, shared: {one}, out: {two}):")
        self.emit(1, f"n = {first}")
        self.emit(1, "a, b, c, d = out[n, 0], out[n, 1], out[n, 2], out[n, 3]")
        self.emit(1, "v = wp.vec4i(a, c, 7, b)")
        for _ in range(3):
            self.block(1, 4)
        self.give(1, NAMES)
        return "\n".join(self.lines) + "\n"

    def statement(self, depth: int) -> None:
        if not self.inside:
            self.more_statements = ()
        super().statement(depth)
        if "more_statements" in self.__dict__:
            del self.more_statements

    def more_numbers(self, x: str, y: str) -> list[str]:
        if not self.inside:
            return []
        return [
            f"table[({x}) & {TABLE - 1}]",
            f"scratch[n, ({x}) & {SCRATCH - 1}]",
            f"v[({x}) & 3]",
            f"g({x}, {y}, n, 3)[{self.rng.randint(0, 3)}]",
        ]

    def give(self, depth: int, values: list[str]) -> None:
        if not self.inside:
            super().give(depth, values)
            return
        self.emit(depth, f"out[n, 0], out[n, 1], out[n, 2], out[n, 3] = {', '.join(values)}")
        self.emit(depth, "return")

    def write_store(self, depth: int) -> None:
        place = f"scratch[n, ({self.number(1)}) & {SCRATCH - 1}]"
        self.emit(depth, f"{place} {self.rng.choice(['=', '=', '+=', '^='])} ({self.number()}) & 1023")

    def write_call(self, depth: int) -> None:
        arguments = ", ".join(self.number(1) for _ in NAMES)
        self.emit(depth, f"{', '.join(NAMES)} = {self.rng.choice('gh')}({arguments})")
        self.emit(depth, f"{', '.join(NAMES)} = {', '.join(f'{x} & 1023' for x in NAMES)}")

    def write_component(self, depth: int) -> None:
        place = self.rng.choice(["v[1]", f"v[({self.number(1)}) & 3]"])
        self.emit(depth, f"{place} = ({self.number()}) & 1023")

    def write_share(self, depth: int) -> None:
        place = f"({self.number(1)}) & {SHARED - 1}"
        self.emit(depth, f"wp.atomic_add(shared, {place}, ({self.number(1)}) & 1023)")
