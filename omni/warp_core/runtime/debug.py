"""What a failed thread becomes in Python: a `KernelError` that tells where, what, which thread and which values."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from ..compiler import Site
from ..lang import semantics
from ..lang.errors import shown_file
from ..lang.kernel import Kernel
from ..lang.types import F64, Array, Scalar, Type, leaves, parse_type
from ..lang.values import from_leaves


class KernelError(RuntimeError):
    """A thread of a kernel compiled in debug mode did what it must not.

    Attributes:
        kernel: the kernel's name.
        kind: "bounds", "assert", "nan", "division", …
        message: what went wrong.
        file, line: the place in the user's source; line 0 if unknown.
        thread: the thread's index in each launch dimension.
        values: the operands, in the order the message names them.
    """

    def __init__(self, kernel: str, site: Site, thread: tuple[int, ...], values: tuple[Any, ...], text: str = ""):
        self.kernel, self.kind, self.message = kernel, site.kind, site.message
        self.file, self.line, self.thread, self.values = site.file, site.line, thread, values
        super().__init__(self._report(site, text))

    def _report(self, site: Site, text: str) -> str:
        index = self.thread[0] if len(self.thread) == 1 else self.thread
        what = site.message if site.kind == "assert" else fill(site.message, self.values)  # an assert's is the user's
        lines = [f"kernel `{self.kernel}`, thread {index}: {what}"]
        if site.line:
            lines.append(f"  --> {shown_file(site.file)}:{site.line}")
            text = (text or linecache.getline(site.file, site.line)).rstrip("\n")
            if text:
                number = str(site.line)
                lines += [f"{number} | {text}", f"{' ' * len(number)} | {' ' * site.col}^"]
        if self.values:
            lines.append("values: " + ", ".join(str(v) for v in self.values))
        return "\n".join(lines)


class KernelIndexError(KernelError, IndexError):
    """An index was out of range."""


class KernelAssertionError(KernelError, AssertionError):
    """An assertion did not hold."""


class KernelArithmeticError(KernelError, ArithmeticError):
    """A NaN arose from numbers, or an integer was divided by zero."""


_CLASSES = {
    "bounds": KernelIndexError,
    "assert": KernelAssertionError,
    "nan": KernelArithmeticError,
    "division": KernelArithmeticError,
}


def error(kernel: Kernel, site: Site, thread: int, dims: Sequence[int], slots: Sequence[int]) -> KernelError:
    """The exception for a failure that native code reported.

    Args:
        kernel: the kernel.
        site: where it happened.
        thread: flattened index.
        dims: launch dimensions.
        slots: operands as 64-bit patterns (`wc_failure` of native/include/warp_core/abi.h).
    """
    made = _CLASSES.get(site.kind, KernelError)
    return made(kernel.name, site, unflatten(thread, dims), _values(site, slots), _own_line(kernel, site))


def _own_line(kernel: Kernel, site: Site) -> str:
    """The line of a failure in the kernel itself, whose text may have no file; "" for one in a function."""
    source = kernel.source
    is_inside = source.first_line <= site.line < source.first_line + len(source.block())
    return source.line(site.line) if site.file == source.filename and is_inside else ""


def fill(message: str, values: Sequence[Any]) -> str:
    """`message` with {0}, {1}, … replaced by the values."""
    for i, value in enumerate(values):
        message = message.replace(f"{{{i}}}", str(value))
    return message


def unflatten(thread: int, dims: Sequence[int]) -> tuple[int, ...]:
    """A flattened thread index as one index for each dimension, the last running fastest."""
    index = []
    for n in reversed(dims):
        index.append(thread % max(n, 1))
        thread //= max(n, 1)
    return tuple(reversed(index))


def _values(site: Site, slots: Sequence[int]) -> tuple[Any, ...]:
    """The operands that are complete; native code keeps the first eight slots only."""
    out, rest = [], list(slots)
    for key in site.operands:
        t = parse_type(key)
        count = sum(1 for _ in leaves(t))
        if isinstance(t, Array) or count > len(rest):
            break
        out.append(from_leaves(t, [_number(bits, leaf) for bits, (_, leaf) in zip(rest, leaves(t))]))
        del rest[:count]
    return tuple(out)


def _number(bits: int, t: Type) -> Any:
    assert isinstance(t, Scalar)
    return semantics.from_bits(bits, F64) if t.is_float else semantics.from_bits(bits & ((1 << t.bits) - 1), t)
