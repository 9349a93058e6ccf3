"""Random kernels that work in blocks. Whole numbers go from thread to thread through shared memory and shuffles, in
branches and loops that all threads of a block take alike. In between, each thread runs code of its own.

No two threads meet in shared memory without a barrier in between, so every order of threads gives the same.
"""

from __future__ import annotations

import random

_HEAD = """\
@wp.kernel
def k(x: wp.array(dtype=int), n: int, table: wp.array(dtype=int), out: wp.array(dtype=int)):
    i, t, b = wp.tid(), wp.thread_index(), wp.block_index()
    size = wp.block_dim()
    s = wp.shared_array(shape=size, dtype=int)
    u = wp.shared_array(shape=size, dtype=int)
    own = wp.zeros(shape=4, dtype=int)
    v0, v1, v2 = x[i], t, i * 7 - b
"""
_TAIL = "    out[i] = v0 + 3 * v1 - 5 * v2 + own[1] - own[3]\n"


class Program:
    """One kernel; `text` is its source."""

    def __init__(self, seed: int, warps: bool):
        self.r, self.warps = random.Random(seed), warps
        self.lines: list[str] = []
        self.loops = self.fresh = 0
        self.block("    ", 3, ["n", "b", "table[1]", "table[b % 4]"])
        self.text = _HEAD + "\n".join(self.lines) + "\n" + _TAIL

    def add(self, indent: str, line: str) -> None:
        self.lines.append(indent + line)

    def local(self) -> str:
        return f"v{self.r.randrange(3)}"

    def value(self) -> str:
        r = self.r
        atoms = [
            self.local(),
            self.local(),
            "t",
            "i",
            f"own[{r.randrange(4)}]",
            str(r.randrange(-9, 9)),
            "n",
            "table[2]",
        ]
        a, b = r.choice(atoms), r.choice(atoms)
        return r.choice(
            [f"{a} + {b}", f"{a} * 3 - {b}", f"wp.min({a}, {b})", f"{a} ^ {b}", f"({a} & 63) // 3 + {b}", a]
        )

    def differing(self) -> str:
        return self.r.choice([f"{self.local()} > {self.local()}", "t % 3 == 1", "x[i] > 4", f"{self.local()} & 1 == 0"])

    def block(self, indent: str, depth: int, alike: list[str]) -> None:
        """Statements that all threads of a block do alike."""
        alike = list(alike)
        for _ in range(self.r.randint(2, 4)):
            kinds = ["each", "meet", "meet", "share", "shuffle"] + (["loop", "branch", "while"] if depth else [])
            getattr(self, self.r.choice(kinds))(indent, depth, alike)

    # -- what each thread does for itself -----------------------------------------------------------------------

    def each(self, indent: str, depth: int, alike: list[str]) -> None:
        kind = self.r.randrange(4)
        if kind == 0:
            self.add(indent, f"{self.local()} = {self.value()}")
        elif kind == 1:
            self.add(indent, f"own[{self.r.choice(['0', '1', '2', 't % 4'])}] = {self.value()}")
        elif kind == 2:
            self.add(indent, f"if {self.differing()}:")
            self.add(indent, f"    {self.local()} = {self.value()}")
            self.add(indent, "else:")
            self.add(indent, f"    own[{self.r.randrange(4)}] += {self.value()}")
        else:
            self.fresh += 1
            self.add(indent, f"for q{self.fresh} in range(t % 3):")
            self.add(indent, f"    {self.local()} += q{self.fresh} * {self.r.randrange(5)}")
            if self.r.random() < 0.5:
                self.add(indent, f"    if {self.differing()}:")
                self.add(indent, f"        {self.r.choice(['break', 'continue'])}")
                self.add(indent, f"    {self.local()} -= 2")

    # -- what they do together ----------------------------------------------------------------------------------

    def meet(self, indent: str, depth: int, alike: list[str]) -> None:
        self.add(indent, f"s[t] = {self.value()}")
        self.add(indent, "wp.syncthreads()")
        if self.r.random() < 0.3:
            self.add(indent, f"wp.atomic_add(s, {self.r.choice(['0', 't', '(t * 5) % size'])}, {self.local()})")
            self.add(indent, "wp.syncthreads()")
        shift = self.r.randrange(1, 9)
        self.add(
            indent, f"{self.local()} = s[(t + {shift}) % size] + s[{self.r.choice(['0', 'size - 1', 'size - 1 - t'])}]"
        )
        self.add(indent, "wp.syncthreads()")

    def share(self, indent: str, depth: int, alike: list[str]) -> None:
        """Iterations that the threads share; they read what threads left, and threads what they left."""
        self.fresh += 1
        name = f"e{self.fresh}"
        self.add(indent, f"s[t] = {self.value()}")
        if self.r.random() < 0.5:
            self.add(indent, f"same = {self.r.choice(alike)} * 3 + 1")
        else:
            self.add(indent, "same = n - b")
        count = self.r.choice(["size", "0, size, 1", "size - 1, -1, -1"])
        unshared = [value for value in alike if value != "u[0]"]  # which one of the iterations writes
        self.add(indent, f"for {name} in wp.block_range({count}):")
        self.add(indent, f"    mine = s[(size + {name} - {self.r.randrange(2)}) % size] + same * {name}")
        if self.r.random() < 0.5:
            self.add(indent, f"    if mine & {self.r.choice([1, 4])} == 0:")
            self.add(indent, f"        u[{name}] = mine ^ {self.r.choice(unshared)}")
            self.add(indent, "        continue")
        self.add(indent, f"    for q{self.fresh} in range({name} & 3):")
        self.add(indent, f"        mine += q{self.fresh} * s[size - 1 - {name}]")
        self.add(indent, f"    u[{name}] = mine")
        self.add(indent, f"{self.local()} = u[(t + {self.r.randrange(9)}) % size] + u[{self.r.choice(['0', 't'])}]")
        alike.append("u[0]")

    def shuffle(self, indent: str, depth: int, alike: list[str]) -> None:
        if not self.warps:
            return self.each(indent, depth, alike)
        by = self.r.choice(["1", "7", "16", "n", "31", self.local(), "t"])
        name = self.r.choice(["shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"])
        self.add(indent, f"{self.local()} = wp.{name}({self.value()}, {by})")
        if self.r.random() < 0.3:
            self.add(indent, f"{self.local()} ^= int(wp.ballot({self.differing()}))")
        return None

    def branch(self, indent: str, depth: int, alike: list[str]) -> None:
        self.add(indent, f"if {self.r.choice(alike)} % {self.r.randint(2, 3)} == {self.r.randrange(2)}:")
        self.block(indent + "    ", depth - 1, alike)
        if self.loops and self.r.random() < 0.3:
            self.add(indent, f"    {self.r.choice(['break', 'continue'])}")
        if self.r.random() < 0.6:
            self.add(indent, "else:")
            self.block(indent + "    ", depth - 1, alike)

    def loop(self, indent: str, depth: int, alike: list[str]) -> None:
        self.fresh += 1
        name = f"j{self.fresh}"
        self.add(indent, f"for {name} in range({self.r.choice(['n', '3', 'b % 4', 'table[b % 4]'])}):")
        self.loops += 1
        self.block(indent + "    ", depth - 1, [*alike, name])
        self.loops -= 1

    def while_(self, indent: str, depth: int, alike: list[str]) -> None:
        self.fresh += 1
        name = f"w{self.fresh}"
        self.add(indent, f"{name} = int(n)")
        self.add(indent, f"while {name} > 0:")
        self.add(indent, f"    {name} -= {self.r.randint(1, 2)}")
        self.loops += 1
        self.block(indent + "    ", depth - 1, [*alike, name])
        self.loops -= 1


setattr(Program, "while", Program.while_)  # the kinds are named by the keywords
