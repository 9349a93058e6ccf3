"""Random Python functions against CPython: nested loops with break, continue, else and early return, branches, tuples,
short circuits and ternaries over small integers (every assignment is masked, so that nothing wraps around)."""

import random
import warnings

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_function
from omni.warp_core.ir import interp
from omni.warp_core.ir.verifier import verify

NAMES = ["a", "b", "c", "d"]
FUNCTIONS = 120
TRIALS = 8


class Writer:
    """Writes one random function."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.used = 0

    def function(self) -> str:
        self.emit(0, "def f(a: int, b: int, c: int, d: int):")
        self.block(1, 4)
        self.emit(1, "return a, b, c, d")
        return "import omni.warp_core as wp\n\n@wp.func\n" + "\n".join(self.lines) + "\n"

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
            ]
        )

    def condition(self, depth: int = 1) -> str:
        x, y, z = self.number(depth), self.number(depth), self.atom()
        sign = self.rng.choice(["<", "<=", "==", "!=", ">", ">="])
        parts = [f"{x} {sign} {y}", f"{x} & 1", f"{z} <= {x} < {y}", f"not {z}", f"{z} in (1, 2, 3)"]
        first = self.rng.choice(parts)
        if depth and self.rng.random() < 0.4:
            return f"({first}) {self.rng.choice(['and', 'or'])} ({self.condition(0)})"
        return first

    def block(self, depth: int, length: int) -> None:
        for _ in range(self.rng.randint(1, length)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        kinds = ["assign"] * 4 + ["augment"] * 2 + ["swap", "walrus"]
        if depth < 4:
            kinds += ["if", "if", "for", "while", "items"]
        if self.loops:
            kinds += ["break", "continue"]
        kinds += ["return"] if self.rng.random() < 0.3 else []
        getattr(self, "write_" + self.rng.choice(kinds))(depth)

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

    def write_return(self, depth: int) -> None:
        self.emit(depth, f"if {self.condition()}:")
        self.emit(depth + 1, f"return {', '.join(self.number(1) for _ in range(4))}")

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


def compile_text(text: str, name: str):
    """The function `f` of a module given as text, as a kernel function of this package."""
    space: dict = {}
    suffix = "\n\n@wp.kernel\ndef unused():\n    pass\n"
    wp.kernel_from_source(text + suffix, filename=name, namespace=space)
    return space["f"]


@pytest.mark.parametrize("seed", range(FUNCTIONS))
def test_same_as_cpython(seed):
    text = Writer(seed).function()
    function = compile_text(text, f"<random python {seed}>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        lowered = lower_function(function)
    verify(lowered)
    rng = random.Random(seed)
    for _ in range(TRIALS):
        args = [rng.randint(-40, 40) for _ in NAMES]
        assert interp.call(lowered, args) == tuple(map(int, function(*args))), f"{args}\n{text}"
