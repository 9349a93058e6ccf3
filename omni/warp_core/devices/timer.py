"""`ScopedTimer`: how long a block of code takes."""

from __future__ import annotations

import cProfile
import pstats
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .stream import synchronize as wait_for_devices

__all__ = ["ScopedTimer"]

_nesting = threading.local()


class ScopedTimer:
    """A context that measures wall time in milliseconds and prints it, nested timers indented.

    Args:
        name: Printed in front of the time, and the key in `dict`.
        active: Nothing is measured or printed when False.
        print: Print the time on leaving.
        detailed: Profile the block and print the functions by cumulative time.
        dict: The time is appended to the list at `dict[name]`.
        synchronize: Wait for devices before reading the clock.
        report_func: Called with (list of device timings, indentation) on leaving; the list is empty on the CPU.
        use_nvtx, color, cuda_filter, skip_tape: Of use with CUDA only, accepted for programs that set them.

    Attributes:
        elapsed: The time in milliseconds, after leaving.

    >>> with wp.ScopedTimer("work", print=False) as timer:
    ...     pass
    >>> timer.elapsed >= 0.0
    True
    """

    enabled = True

    def __init__(
        self,
        name: str,
        active: bool = True,
        print: bool = True,
        detailed: bool = False,
        dict: dict[str, list[float]] | None = None,
        use_nvtx: bool = False,
        color: int | str = "rapids",
        synchronize: bool = False,
        cuda_filter: int = 0,
        report_func: Callable[[list[Any], str], None] | None = None,
        skip_tape: bool = False,
    ):
        self.name, self.print, self.detailed, self.dict = name, print, detailed, dict
        self.active = active and self.enabled
        self.synchronize, self.report_func = synchronize, report_func
        self.use_nvtx, self.color, self.cuda_filter, self.skip_tape = use_nvtx, color, cuda_filter, skip_tape
        self.timing_results: list[Any] = []
        self.elapsed = 0.0
        self.extra_msg = ""
        if dict is not None:
            dict.setdefault(name, [])

    def __enter__(self) -> ScopedTimer:
        if self.active:
            if self.synchronize:
                wait_for_devices()
            _nesting.depth = getattr(_nesting, "depth", -1) + 1
            self._profile = cProfile.Profile() if self.detailed else None
            if self._profile:
                self._profile.enable()
            self.start = time.perf_counter_ns()
        return self

    def __exit__(self, *exc: Any) -> None:
        if not self.active:
            return
        if self.synchronize:
            wait_for_devices()
        self.elapsed = (time.perf_counter_ns() - self.start) / 1e6
        depth, _nesting.depth = _nesting.depth, _nesting.depth - 1
        if self._profile:
            self._profile.disable()
            pstats.Stats(self._profile, stream=sys.stdout).sort_stats("cumtime").print_stats(20)
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        indent = "\t" * depth
        if self.report_func:
            self.report_func(self.timing_results, indent)
        if self.print:
            extra = f" {self.extra_msg}" if self.extra_msg else ""
            sys.stdout.write(f"{indent}{self.name} took {self.elapsed:.2f} ms{extra}\n")
