"""Python exceptions for failed threads: a `KernelError` names the place, the reason, the thread and the values.

`error` is for what code of debug mode found itself, `fault` for what the processor found: memory that is not there.
"""

from __future__ import annotations

import linecache
import re
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..compiler import Site, located
from ..lang import semantics
from ..lang.errors import shown_file
from ..lang.kernel import Kernel
from ..lang.types import F64, Array, Scalar, Type, leaves, parse_type
from ..lang.values.value_classes import from_leaves
from ..lib.geometry.structure_ids import NAMES, other_kind
from ..lib.volumes.grid_types import GRID_TYPES


class KernelError(RuntimeError):
    """A thread of a kernel did what it must not: debug mode finds out, or there is no such memory.

    Attributes:
        kernel: the kernel's name.
        kind: "bounds", "assert", "nan", "division", …; "memory" for what the processor found in any mode.
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
        if site.others:
            shown = ", ".join(f"{shown_file(file)}:{line}" for file, line in site.others)
            lines.append(f"  or {shown}: these calls share a function")
        if self.values:
            lines.append("values: " + ", ".join(str(v) for v in self.values))
        return "\n".join(lines)


class KernelIndexError(KernelError, IndexError):
    """An index was out of range."""


class KernelAssertionError(KernelError, AssertionError):
    """An assertion did not hold."""


class KernelArithmeticError(KernelError, ArithmeticError):
    """A NaN arose from numbers, or an integer was divided by zero."""


class KernelMemoryError(KernelError):
    """A kernel used memory that is not there. Its launch is given up; what it has written until then stays.

    Attributes:
        address: which memory; None if the processor does not tell.
        threads: flattened indices of the first thread of the part of the launch that came to it, and of the first one
            behind that part. `thread` is the index of the former.
    """

    def __init__(self, kernel: Kernel, found: Fault, lines: Sequence[str]):
        self.address, self.threads, self._lines = found.address, found.threads, lines
        site = Site("memory", lines[0], kernel.source.filename, kernel.source.first_line)
        super().__init__(kernel.name, site, unflatten(found.threads[0], found.dims), ())

    def _report(self, site: Site, text: str) -> str:
        first, end = self.threads
        which = f"thread {first}" if end == first + 1 else f"threads {first} to {end - 1}"
        place = f"  --> {shown_file(site.file)}:{site.line}"
        return "\n".join([f"kernel `{self.kernel}`, {which}: {site.message}", place, *self._lines[1:]])


class Fault(NamedTuple):
    """A memory fault of a kernel, as native code reports it."""

    signal: int
    address: int | None
    access: str  # "read", "wrote" or "used"
    refused: bool  # memory is there, but not for this
    on_stack: bool  # it is where the thread's stack ends, which is full
    threads: tuple[int, int]
    dims: tuple[int, ...]
    arrays: list[tuple[str, int, int, int]]  # name, address, and the addresses that elements take


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
    made, site = _CLASSES.get(site.kind, KernelError), located(kernel, site)
    return made(kernel.name, site, unflatten(thread, dims), _values(site, slots), _own_line(kernel, site))


_how_to_debug = ['run with wp.config.mode = "debug"']
_STACK = "help: make them smaller, or stacks larger: `ulimit -s`, and threading.stack_size() for threads of Python"
_INSIDE, _MOST_PLACES = "inside", 3
_FAR = 1 << 42  # bytes; an index of 32 bits leads less far from an array


def fault(kernel: Kernel, is_debug: bool, found: Fault) -> KernelMemoryError:
    """The exception for memory that a kernel must not use.

    Args:
        kernel: the kernel.
        is_debug: whether it was compiled in debug mode.
        found: what native code knows.
    """
    lines = [_what(found)]
    if found.on_stack:
        lines += ["why: its local and shared arrays need more memory than the stack of the thread has", _STACK]
    elif found.signal != signal.SIGFPE:
        lines.append(f"why: {_why(found, is_debug)}")
    if not is_debug and not found.on_stack:
        lines.append(f"help: {_how_to_debug[0]} to see the line, thread and index")
    return KernelMemoryError(kernel, found, lines)


def set_how_to_debug(text: str) -> None:
    """Let errors say this instead of naming `wp.config.mode`: a command line has an option for it."""
    _how_to_debug[0] = text


def _what(found: Fault) -> str:
    if found.signal == signal.SIGFPE:
        return "it divided by zero, or the quotient does not fit the type"
    if found.address is None:
        return "it used an invalid address"
    if found.on_stack:
        return "its stack is full"
    what = f"it {found.access} address {found.address:#x}, "
    if found.signal == signal.SIGBUS:
        return what + "where the file that is mapped there has ended"
    return what + ("which it must not" if found.refused else "where there is no memory")


def _why(found: Fault, is_debug: bool) -> str:
    near = [] if found.address is None else _near(found.address, found.arrays)
    if near:
        _, side, name, data = near[0]
        if data == 0:
            return f"`{name}` is None or empty, but the kernel uses its elements"
        if side == _INSIDE:
            return f"the address is inside `{name}`, whose memory is read-only, on a GPU, or freed"
    places = [f"{distance} bytes {side} `{name}`" for distance, side, name, data in near if data]
    if places:
        return f"an index is out of range; the address is {' and '.join(places[:_MOST_PLACES])}"
    if is_debug:
        return "debug mode checks indices, so an array in a struct must be on a GPU or freed"
    return "an index is out of range, or an array in a struct is on a GPU or freed"


def _near(address: int, arrays: Sequence[tuple[str, int, int, int]]) -> list[tuple[int, str, str, int]]:
    """The arrays from which an index may have led to an address, the nearest first: how far, on which side, the name,
    and where the array is. Addresses have 64 bits, and go around.
    """
    out = []
    for name, data, low, end in arrays:
        before, behind = (low - address) % 2**64, (address - end) % 2**64
        if low <= address < end:
            out.append((0, _INSIDE, name, data))
        elif before < behind:
            out.append((before, "before", name, data))
        else:
            out.append((behind, "behind the end of", name, data))
    return sorted(place for place in out if place[0] < _FAR)


def _own_line(kernel: Kernel, site: Site) -> str:
    """The line of a failure in the kernel itself, whose text may have no file; "" for one in a function."""
    source = kernel.source
    is_inside = source.first_line <= site.line < source.first_line + len(source.block())
    return source.line(site.line) if site.file == source.filename and is_inside else ""


_PLACE = re.compile(r"\{(\d)(?::([^}]+))?\}")
_SHOWN: dict[str | None, Callable[[Any], str]] = {
    None: str,
    "grid type": lambda number: dict(enumerate(GRID_TYPES)).get(int(number), str(number)),
    **{f"no {name}": partial(other_kind, name) for name in NAMES.values()},
}


def fill(message: str, values: Sequence[Any]) -> str:
    """`message` with {0}, {1}, … replaced by the values. {0:how} shows one in a way of its own, which has a name."""

    def shown(place: re.Match[str]) -> str:
        number, how = int(place[1]), place[2]
        return _SHOWN[how](values[number]) if number < len(values) and how in _SHOWN else place[0]

    return _PLACE.sub(shown, message)


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
