"""Writes LLVM assembly text: names, blocks, types and literals. Knows nothing of the IR's operations."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..lang.semantics import bits_of
from ..lang.types import BF16, BOOL, F16, I64, Scalar


class Pointer:
    """The pseudo-scalar of addresses, next to the `Scalar`s."""

    key = "ptr"
    is_float = is_int = False
    bits = 64
    size = align = 8


PTR = Pointer()
Leaf = Scalar | Pointer

_FLOATS = {32: "float", 64: "double"}
NARROW = (F16, BF16)


def llvm_scalar(t: Leaf) -> str:
    """LLVM's name of `t` in registers. 16-bit floats are kept as their bits and computed in float."""
    if isinstance(t, Pointer):
        return "ptr"
    if t.is_float and t.bits > 16:
        return _FLOATS[t.bits]
    return f"i{t.bits}"


def llvm_type(t: Leaf, lanes: int = 1) -> str:
    return llvm_scalar(t) if lanes == 1 else f"<{lanes} x {llvm_scalar(t)}>"


def memory_type(t: Leaf) -> str:
    """Truth values take a byte in memory."""
    return "i8" if t is BOOL else llvm_scalar(t)


def suffix(llvm: str) -> str:
    """Return the suffix of the names of intrinsics for this type."""
    return {"float": "f32", "double": "f64", "ptr": "p0"}.get(llvm, llvm)


def literal(value: Any, t: Leaf) -> str:
    """`value` as a literal of scalar type `t`."""
    if isinstance(t, Pointer):
        return "null"
    if t is BOOL:
        return "true" if value else "false"
    if t in NARROW:
        return str(bits_of(value, t))
    if t.is_float:
        value = math.nan if math.isnan(value) else value  # one NaN, whatever its payload
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return str(int(value))


def constant(value: Any, t: Leaf, lanes: int = 1) -> str:
    """`value` as an operand of `lanes` lanes."""
    text = literal(value, t)
    return text if lanes == 1 else f"splat ({llvm_scalar(t)} {text})"


def sequence(start: int, step: int, lanes: int, t: Scalar = I64) -> str:
    """The vector operand <start, start + step, …>."""
    scalar = llvm_scalar(t)
    return "<" + ", ".join(f"{scalar} {start + i * step}" for i in range(lanes)) + ">"


def shuffle_mask(indices) -> str:
    """The index operand of a shufflevector; None stands for an element that does not matter."""
    indices = ["poison" if i is None else i for i in indices]
    return f"<{len(indices)} x i32> <" + ", ".join(f"i32 {i}" for i in indices) + ">"


class Writer:
    """The body of one function, in blocks. Allocas are collected for the entry block.

    `location` is appended to instructions: what debug information knows about them.
    """

    def __init__(self) -> None:
        self.location = ""
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.block = "entry"
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def inst(self, text: str) -> str:
        """Append an instruction with a result; returns its name."""
        name = self.name()
        self.lines.append(f"  {name} = {text}{self.location}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{self.location}")

    def alloca(self, llvm: str) -> str:
        name = self.name()
        self.allocas.append(f"  {name} = alloca {llvm}")
        return name

    def start(self, label: str) -> None:
        """Begin a block; the one before must have ended."""
        self.lines.append(f"{label}:")
        self.block = label

    def br(self, label: str) -> None:
        self.do(f"br label %{label}")

    def cond_br(self, cond: str, yes: str, no: str) -> None:
        self.do(f"br i1 {cond}, label %{yes}, label %{no}")

    @contextmanager
    def loop(self, start: str, stop: str, hints: tuple[str, str, str]) -> Iterator[tuple[str, str]]:
        """Code that runs while a counter is below `stop`. Gives the counter, and the name its next value is to get."""
        head, inside, done = map(self.label, hints)
        entry, counter, following = self.block, self.name(), self.name()
        self.br(head)
        self.start(head)
        at = len(self.lines)
        self.cond_br(self.inst(f"icmp slt i64 {counter}, {stop}"), inside, done)
        self.start(inside)
        yield counter, following
        self.lines.insert(at, f"  {counter} = phi i64 [ {start}, %{entry} ], [ {following}, %{self.block} ]")
        self.br(head)
        self.start(done)

    def either(
        self, condition: str, sides: Sequence[Callable[[], Sequence[str] | None]], types: Sequence[str] = ()
    ) -> list[str]:
        """Branch on a scalar. Gives what the side taken gives: operands of LLVM types `types`."""
        labels = self.label("wide"), self.label("wrapped")
        end, edges = self.label("accessed"), []
        self.cond_br(condition, *labels)
        for label, side in zip(labels, sides):
            self.start(label)
            edges.append([(text, self.block) for text in side() or ()])
            self.br(end)
        self.start(end)
        return [self.phi(t, list(pair)) for t, *pair in zip(types, *edges)]

    def phi(self, llvm: str, edges: list[tuple[str, str]]) -> str:
        """A phi of (operand, block) edges."""
        return self.inst(f"phi {llvm} " + ", ".join(f"[ {v}, %{b} ]" for v, b in edges))
