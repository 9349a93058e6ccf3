"""Python's cycle collector, kept away from a large graph while it is built.

Nothing in such a graph is garbage, yet the collector would search it again and again as it grows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 10_000  # objects; fewer are searched in less time than it may take to count those that the program froze


@contextmanager
def paused() -> Iterator[None]:
    """Build long-lived objects without collections, during the block and right after it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _age_all()
            gc.enable()


def _age_all() -> None:
    """If many objects are new, make all as old as those that survived many collections, so that the next one searches
    none of them.
    """
    if gc.get_count()[0] > MANY and gc.get_freeze_count() == 0:  # unfreezing would thaw what the program froze
        gc.freeze()
        gc.unfreeze()
