"""Masks of lanes as numbers of 32 bits, for processors that compare and select with those.

AVX-512 has registers for masks of one bit a lane, which LLVM uses for vectors of i1. For older processors it packs such
a vector into numbers of 16 or 8 bits wherever it is not a comparison right before its use. To select lanes, it unpacks
it again. So `widen` rewrites a finished function: masks are vectors of i32, 0 or -1, in variables, phis and logic.
Where an instruction takes i1, a comparison gives the signs. LLVM folds it, as most instructions look at signs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .target import Target

_REGISTER_BITS = 128  # of a mask that LLVM itself holds in numbers of 32 bits

_LINE = re.compile(r"  (?:(%\w+) = )?(\w+) (.*?)(, !dbg !\d+)?")
_NAME = re.compile(r"%\w+")
_COMPARISON = re.compile(r"  (%\w+) = [if]cmp [\w ]+ <(\d+) x ")
_VALUE = r"(%\w+|zeroinitializer|poison|splat \(i1 \w+\))"
_CONSTANTS = {"splat (i1 true)": "splat (i32 -1)", "splat (i1 false)": "zeroinitializer"}
_SCALARS = {"true": "-1", "false": "0"}


def is_widened(target: Target, lanes: int) -> bool:
    """True if masks of so many lanes had better be numbers of 32 bits on a target."""
    return not target.is_gpu and target.vector_bits < 512 and 32 * lanes > _REGISTER_BITS


def widen(head: str, lines: Iterable[str]) -> list[str]:
    """Return the lines of a function with wide masks; `head` has its parameters."""
    function = _Function(re.findall(r"<(\d+) x i1> (%\w+)", head))
    for line in lines:
        function.line(line)
    return function.out


def _wide(value: str) -> str:
    return f"{value}.w" if value.startswith("%") else _CONSTANTS.get(value, value)


class _Function:
    """Of each mask `%x` there is a vector `%x.w`. `%x` itself is there only if an instruction gives it."""

    def __init__(self, parameters: list[tuple[str, str]]):
        self.out: list[str] = []
        self.parameters = parameters
        self.lanes: dict[str, str] = {}  # of each mask
        self.narrow: dict[str, str] = {}  # vectors of i1 that this block has of masks
        self.slots: set[str] = set()
        handled = {"alloca", "phi", "load", "store", "select", "insertelement", "shufflevector"}
        self.handlers: dict[str, Callable[..., bool]] = {code: getattr(self, f"_{code}") for code in handled}
        self.handlers |= dict.fromkeys(("and", "or", "xor"), self._logic)

    def line(self, line: str) -> None:
        if not line.startswith("  "):
            self._label(line)
        elif "x i1>" in line:
            self._masks(line)
        else:
            self.out.append(line)
            if "cmp " in line and (found := _COMPARISON.match(line)):
                self._given(found[1], found[2])

    def _label(self, line: str) -> None:
        self.out.append(line)
        self.narrow = {}
        for lanes, name in self.parameters if line == "first:" else ():
            self._given(name, lanes)

    def _given(self, name: str, lanes: str) -> None:
        """A mask that an instruction gives as i1."""
        self.lanes[name], self.narrow[name] = lanes, name
        self.out.append(f"  {name}.w = sext <{lanes} x i1> {name} to <{lanes} x i32>")

    def _made(self, name: str, lanes: str, text: str) -> bool:
        """A mask that an instruction computes in 32 bits."""
        self.lanes[name] = lanes
        self.out.append(f"  {name}.w = {text}")
        return True

    def _signs(self, name: str) -> str:
        """A mask as i1; other names stay what they are."""
        if name not in self.lanes:
            return name
        if name not in self.narrow:
            self.narrow[name] = f"{name}.{len(self.out)}"
            self.out.append(f"  {self.narrow[name]} = icmp slt <{self.lanes[name]} x i32> {name}.w, zeroinitializer")
        return self.narrow[name]

    def _masks(self, line: str) -> None:
        found = _LINE.fullmatch(line)
        assert found, line
        name, code, rest, note = found.groups(default="")
        handler = self.handlers.get(code)
        if handler is None or not handler(name, f"{code} {rest}", note):
            self._takes(name, code, rest, note)

    def _takes(self, name: str, code: str, rest: str, note: str) -> None:
        """An instruction that takes or gives i1."""
        rest = _NAME.sub(lambda found: self._signs(found[0]), rest)
        self.out.append(f"  {name} = {code} {rest}{note}" if name else f"  {code} {rest}{note}")
        lanes = _lanes_given(code, rest)
        if name and lanes:
            self._given(name, lanes)

    # -- instructions whose masks are numbers of 32 bits --------------------------------------------------------------

    def _logic(self, name: str, text: str, note: str) -> bool:
        found = re.fullmatch(rf"(\w+) <(\d+) x i1> {_VALUE}, {_VALUE}", text)
        if found is None:
            return False
        code, lanes, a, b = found.groups()
        return self._made(name, lanes, f"{code} <{lanes} x i32> {_wide(a)}, {_wide(b)}{note}")

    def _alloca(self, name: str, text: str, note: str) -> bool:
        self.slots.add(name)
        self.out.append(f"  {name} = {text.replace('x i1>', 'x i32>')}{note}")
        return True

    def _load(self, name: str, text: str, note: str) -> bool:
        found = re.fullmatch(r"load <(\d+) x i1>, ptr (%\w+)", text)
        if found is None or found[2] not in self.slots:
            return False
        return self._made(name, found[1], f"load <{found[1]} x i32>, ptr {found[2]}{note}")

    def _store(self, name: str, text: str, note: str) -> bool:
        found = re.fullmatch(rf"store <(\d+) x i1> {_VALUE}, ptr (%\w+)", text)
        if found is None or found[3] not in self.slots:
            return False
        self.out.append(f"  store <{found[1]} x i32> {_wide(found[2])}, ptr {found[3]}{note}")
        return True

    def _phi(self, name: str, text: str, note: str) -> bool:
        found = re.match(r"phi <(\d+) x i1> ", text)
        if found is None:
            return False
        edges = re.findall(rf"\[ {_VALUE}, (%\w+) \]", text)
        came = ", ".join(f"[ {_wide(value)}, {block} ]" for value, block in edges)
        return self._made(name, found[1], f"phi <{found[1]} x i32> {came}{note}")

    def _select(self, name: str, text: str, note: str) -> bool:
        found = re.fullmatch(rf"select (i1|<\d+ x i1>) (\S+), <(\d+) x i1> {_VALUE}, <\d+ x i1> {_VALUE}", text)
        if found is None:
            return False
        kind, condition, lanes, a, b = found.groups()
        sides = ", ".join(f"<{lanes} x i32> {_wide(side)}" for side in (a, b))
        return self._made(name, lanes, f"select {kind} {self._signs(condition)}, {sides}{note}")

    def _insertelement(self, name: str, text: str, note: str) -> bool:
        found = re.fullmatch(rf"insertelement <(\d+) x i1> {_VALUE}, i1 (\S+), (i\d+ \S+)", text)
        if found is None:
            return False
        lanes, into, bit, at = found.groups()
        number = _SCALARS.get(bit, f"{name}.e")
        if bit not in _SCALARS:
            self.out.append(f"  {number} = sext i1 {bit} to i32")
        return self._made(name, lanes, f"insertelement <{lanes} x i32> {_wide(into)}, i32 {number}, {at}{note}")

    def _shufflevector(self, name: str, text: str, note: str) -> bool:
        found = re.fullmatch(rf"shufflevector <(\d+) x i1> {_VALUE}, <\d+ x i1> {_VALUE}, (<(\d+) x i32> .*)", text)
        if found is None:
            return False
        lanes, a, b, order, made = found.groups()
        ty = f"<{lanes} x i32>"
        return self._made(name, made, f"shufflevector {ty} {_wide(a)}, {ty} {_wide(b)}, {order}{note}")


def _lanes_given(code: str, rest: str) -> str | None:
    """The number of lanes of the mask that an instruction gives as i1, if it gives one."""
    if code in ("icmp", "fcmp"):
        return re.search(r"<(\d+) x ", rest)[1]  # type: ignore[index]
    if code == "extractvalue":
        types, at = re.fullmatch(r"\{ (.*) \} \S+, (\d+)", rest).groups()  # type: ignore[union-attr]
        found = re.fullmatch(r"<(\d+) x i1>", types.split(", ")[int(at)])
    elif code in ("load", "call", "freeze"):
        found = re.match(r"<(\d+) x i1>", rest)
    else:
        found = re.search(r" to <(\d+) x i1>$", rest)
    return found and found[1]
