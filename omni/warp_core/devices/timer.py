"""`ScopedTimer`: how long a block of code takes."""

from __future__ import annotations

import cProfile
import pstats
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import timeline
from .stream import synchronize as wait_for_devices
from .timing import Timing, TimingResult, timing_print

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
        cuda_filter: Which activities to time one by one, on the CPU, too: a sum of `wp.TIMING_KERNEL` and so on.
        report_func: Called with (list of `wp.TimingResult`, indentation) on leaving. Without it and with a
            `cuda_filter`, `wp.timing_print` prints the list.
        use_nvtx, color, skip_tape: Accepted for programs that set them; they have no effect.

    Attributes:
        elapsed: The time in milliseconds, after leaving.
        timing_results: What `cuda_filter` asked for, after leaving.

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
        report_func: Callable[[list[TimingResult], str], None] | None = None,
        skip_tape: bool = False,
    ):
        self.name, self.print, self.detailed, self.dict = name, print, detailed, dict
        self.active = active and self.enabled
        self.synchronize, self.report_func = synchronize, report_func
        self.use_nvtx, self.color, self.cuda_filter, self.skip_tape = use_nvtx, color, cuda_filter, skip_tape
        self.timing_results: list[TimingResult] = []
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
            self._timing = Timing(self.cuda_filter, self.synchronize) if self.cuda_filter else None
            self.start = timeline.now()
        return self

    def __exit__(self, *exc: Any) -> None:
        if not self.active:
            return
        if self.synchronize:
            wait_for_devices()
        self.elapsed = (timeline.now() - self.start) / 1e6
        timeline.add(self.name, self.start)
        if self._timing:
            self.timing_results = self._timing.end()
        depth, _nesting.depth = _nesting.depth, _nesting.depth - 1
        if self._profile:
            self._profile.disable()
            pstats.Stats(self._profile, stream=sys.stdout).sort_stats("cumtime").print_stats(20)
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        indent = "\t" * depth
        if self.report_func:
            self.report_func(self.timing_results, indent)
        elif self.print and self.timing_results:
            timing_print(self.timing_results, indent)
        if self.print:
            extra = f" {self.extra_msg}" if self.extra_msg else ""
            sys.stdout.write(f"{indent}{self.name} took {self.elapsed:.2f} ms{extra}\n")
