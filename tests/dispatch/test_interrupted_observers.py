"""An interrupt between any two instructions of the code that changes what observes a thread leaves it as it was."""

import sys

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.dispatch import observers


class Interrupted:
    """A `with` block with an interrupt before the n-th instruction of dispatch/observers.py that runs in it."""

    def __init__(self, n):
        self.left = n

    def __enter__(self):
        sys.settrace(self._called)

    def __exit__(self, kind, *rest):
        sys.settrace(None)
        return kind is KeyboardInterrupt

    def _called(self, frame, *_):
        if frame.f_code.co_filename != observers.__file__:
            return None
        frame.f_trace_opcodes = True
        return self._instruction

    def _instruction(self, frame, event, _):
        if event == "opcode":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._instruction


def copies(x, y):
    wp.copy(y, x)


def sums(x, y):
    wp.utils.array_scan(x, y)


def pauses(x, y):
    with observers.NotRecording():
        wp.copy(y, x)


def hides_writes(x, y):
    with observers.UntrackedWrites():
        wp.copy(y, x)


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("action", [copies, sums, pauses, hides_writes])
def test_observers_are_those_of_before(action, is_recorded):
    x, y, tape = wp.array(np.arange(3.0), dtype=float), wp.zeros(3, dtype=float), wp.Tape()
    if is_recorded:
        tape.__enter__()
    before, n, done = (_native.observers(), _native.tracker_of_writes()), 0, False
    try:
        with Interrupted(sys.maxsize):  # Python 3.12 reports no instructions of a function's first call
            action(x, y)
        while not done:
            with Interrupted(n):
                action(x, y)
                done = True
            n += 1
            assert (_native.observers(), _native.tracker_of_writes()) == before, n
    finally:
        if is_recorded:
            tape.__exit__()
    assert n > 1


def test_a_scope_that_ends_twice():
    scope = observers.NotRecording()
    with wp.Tape() as tape:
        with scope:
            assert observers.tape() is None
        assert observers.tape() is tape
        scope.__exit__()
        assert observers.tape() is tape and _native.tracker_of_writes() is tape.seals
    assert observers.is_idle()
