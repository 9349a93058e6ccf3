"""Interpreted kernels that work in blocks of threads, and what their intrinsics do there.

Each thread of a block is a thread of Python's, for Python has no other way to stop in the middle of a function and go
on later. One of them runs at a time, until it comes to a collective operation; `ir.blocks` says who gets what then.
Start with `run`.
"""

from __future__ import annotations

import contextvars
import copy
import ctypes
import itertools
import linecache
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from ..ir.interp.block_runner import Block, Race, run_blocks
from ..lang.annotations import type_of
from ..lang.launch_constants import WARP
from ..lang.types import Array, FixedArray, Scalar
from ..lang.values.scalars import int32, uint32
from .array_view import ArrayCells, LocalCells
from .intrinsics import Grid, grid, run_by, typed


class Site(NamedTuple):
    """A collective operation that a thread has come to, as `ir.blocks` sees it."""

    code: str
    attr: Any = None


class ThreadExited(BaseException):
    """Ends a thread whose launch has failed."""


class SharedMemory:
    """The memory of a shared array, which tells its block of each access. All bits are set at first: floats are NaN."""

    def __init__(self, block: Block, name: str, t: FixedArray):
        self.block, self.name, self.local = block, name, LocalCells(t)
        self.is_scalar = isinstance(t.dtype, Scalar)
        self.as_one: tuple[str, tuple] | None = None  # what the accesses of this thread are part of
        ctypes.memset(self.local.begin, 0xFF, t.bytes)

    def view(self) -> SharedCells:
        """The whole of it as an array."""
        whole = self.local.view()
        return SharedCells(whole.__wc_type__, whole.begin, whole._shape, whole._strides, self)

    def note(self, address: int, kind: str, value: Any) -> None:
        """Record an access to an element. The accessed part of a vector or struct is not known here."""
        kind, path = self.as_one or (kind, () if kind == "write" or self.is_scalar else (None,))
        at, places = address - self.local.begin, []
        for stride in self.local._strides:
            places.append(at // stride)
            at %= stride
        what = f"{self.name}[{', '.join(map(str, places))}]"
        try:
            self.block.note((self.local.begin, address), what, path, kind, value)
        except Race as why:
            raise RuntimeError(str(why)) from None


class SharedCells(ArrayCells):
    """A view of shared memory."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        self._note(key, "read")
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._note(key, "write", value)
        super().__setitem__(key, value)

    def _note(self, key: Any, kind: str, value: Any = None) -> None:
        indices = key if isinstance(key, tuple) else (key,)
        if len(indices) == len(self._shape) and not any(isinstance(i, slice) for i in indices):
            self.owner.note(self.address(indices), kind, value)

    def _view(self, t: Array, at: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> ArrayCells:
        return SharedCells(t, at, shape, strides, self.owner)

    @contextmanager
    def accessed(self, kind: str, path: tuple = ()) -> Iterator[None]:
        """Let the accesses in here count as one."""
        before = self.owner.as_one
        self.owner.as_one = kind, tuple(map(_step, path))
        try:
            yield
        finally:
            self.owner.as_one = before


def _step(step: Any) -> Any:
    """A member or an index, so that equal ones are equal."""
    return tuple(map(int, step)) if isinstance(step, tuple) else step if isinstance(step, str) else int(step)


class BlockThread:
    """A thread of a block. `sizes` are those of a block and of the launch, `shared` the shared arrays of the block, by
    where they are made.
    """

    def __init__(
        self,
        block: Block,
        thread: int,
        sizes: tuple[int, int],
        shared: dict[Any, ArrayCells],
        body: Callable[[], None],
        here: Grid,
    ):
        self.block, self.index, self.shared, self.body, self.here = block, thread, shared, body, here
        self.size, self.threads = sizes
        self.mine, self.others = threading.Semaphore(0), threading.Semaphore(0)
        self.given: Any = None
        self.failure: BaseException | None = None
        self.left = False
        context = contextvars.copy_context()
        self.thread = threading.Thread(target=context.run, args=(self._main,), daemon=True)

    def _main(self) -> None:
        self.mine.acquire()
        try:
            if not self.left:
                grid.set(self.here)
                self.body()
            self.given = None
        except ThreadExited:
            pass
        except BaseException as why:
            self.failure = why
        self.others.release()

    def resume(self, answer: Any) -> Any:
        """Run to the next collective operation, and give what the thread asks for; None at its end."""
        self.given = answer
        self.mine.release()
        self.others.acquire()
        if self.failure is not None:
            raise self.failure
        return self.given

    def meet(self, *request: Any) -> Any:
        """Called by the thread: wait for the others of a whole block; what it gets."""
        self.check_whole()
        return self.wait(*request)

    def wait(self, *request: Any) -> Any:
        """Called by the thread: wait for the others that there are."""
        self.given = request
        self.others.release()
        self.mine.acquire()
        if self.left:
            raise ThreadExited
        return self.given

    def check_whole(self) -> None:
        """Raise ValueError if the last block of the launch lacks threads."""
        if self.threads % self.size:
            text = f"the kernel works in blocks of {self.size} threads, but a launch of {self.threads}"
            raise ValueError(f"{text} is not a multiple of that")

    def leave(self) -> None:
        """End the thread, wherever it is."""
        self.left = True
        self.mine.release()
        self.thread.join()


def run(here: Grid, indices: list[tuple[int, ...]], block_dim: int, body: Callable[[], None]) -> None:
    """Run `body` for every thread of the launch; `here.index` tells which one it was when that raises."""
    shared: dict[int, dict[Any, ArrayCells]] = {}

    def start(block: Block, thread: int) -> Iterator[Any]:
        own = Grid(here.dims, here.is_tiled)
        own.index = indices[block.number * block_dim + thread]
        memory = shared.setdefault(block.number, {})
        own.worker = worker = BlockThread(block, thread, (block_dim, len(indices)), memory, body, own)
        worker.thread.start()
        answer: Any = None
        try:
            while (request := worker.resume(answer)) is not None:
                site, *operands = request
                answer = yield (site, (), *operands) if operands else (site, (), ())
        finally:
            worker.leave()

    def told(thread: int) -> None:
        here.index = indices[thread]

    run_blocks(start, len(indices), block_dim, told)


# -- intrinsics -------------------------------------------------------------------------------------------------------


def _worker(name: str) -> BlockThread:
    here = grid.get()
    if here is None or here.worker is None:
        raise RuntimeError(f"wp.{name}() has a value only inside a kernel")
    return here.worker


def block_dim() -> int32:
    """Return the number of threads of a block; 1 outside of kernels."""
    here = grid.get()
    return int32(1 if here is None or here.worker is None else here.worker.size)


def thread_index() -> int32:
    """Index of the thread within its block."""
    return int32(_worker("thread_index").index)


def block_index() -> int32:
    """Index of the block."""
    return int32(_worker("block_index").block.number)


def lane() -> int32:
    """Index of the thread within its warp."""
    return int32(_worker("lane").index % WARP)


def shared_array(shape: Any, dtype: Any) -> ArrayCells:
    """The array of the block that belongs to the place of the call."""
    worker = _worker("shared_array")
    worker.check_whole()
    frame = sys._getframe(1)
    place = _calls(frame)
    if place not in worker.shared:
        extents = shape if isinstance(shape, tuple) else (shape,)
        t = FixedArray(type_of(dtype), tuple(int(n) for n in extents))
        worker.shared[place] = SharedMemory(worker.block, _name(frame), t).view()
    return worker.shared[place]


def _name(frame: FrameType) -> str:
    """Return the name to which the calling line assigns an array."""
    found = re.match(r"\s*(\w+)\s*=", linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    return found[1] if found else "shared_array"


def _calls(frame: FrameType | None) -> tuple[Any, ...]:
    """The places of the calls that led here, which tell one call of a function from another."""
    found: list[Any] = []
    while frame is not None and frame.f_code is not BlockThread._main.__code__:
        found += [frame.f_code, frame.f_lasti]
        frame = frame.f_back
    return tuple(found)


def syncthreads() -> None:
    """Wait for the other threads of the block."""
    _worker("syncthreads").meet(Site("barrier"))


def block_range(*bounds: Any, names: int = 1) -> Iterator[Any]:
    """The iterations of a range, or of a grid with a count for each of several names, that fall to this thread."""
    worker = _worker("block_range")
    spans = [range(*map(int, bounds))] if names == 1 else [range(int(n)) for n in bounds]
    worker.wait(Site("elements"))
    for number, at in enumerate(itertools.product(*spans)):
        if number % worker.block.size == worker.index:
            worker.block.element = number
            yield int32(at[0]) if names == 1 else tuple(map(int32, at))
    worker.block.element = None
    worker.wait(Site("elements"))


def _shuffle(name: str, kind: str) -> Callable[[Any, Any], Any]:
    def shuffle(value: Any, lane: Any) -> Any:
        return copy.copy(_worker(name).meet(Site("shuffle", kind), typed(value), int(lane)))

    shuffle.__name__ = shuffle.__qualname__ = name
    return shuffle


def ballot(predicate: Any) -> uint32:
    """Return the votes of the threads of the warp, a bit for each."""
    return uint32(_worker("ballot").meet(Site("ballot"), bool(predicate)))


run_by(
    {
        "block_dim": block_dim,
        "thread_index": thread_index,
        "block_index": block_index,
        "lane": lane,
        "shared_array": shared_array,
        "syncthreads": syncthreads,
        "block_range": block_range,
        "shuffle": _shuffle("shuffle", "lane"),
        "shuffle_up": _shuffle("shuffle_up", "up"),
        "shuffle_down": _shuffle("shuffle_down", "down"),
        "shuffle_xor": _shuffle("shuffle_xor", "xor"),
        "ballot": ballot,
    }
)
