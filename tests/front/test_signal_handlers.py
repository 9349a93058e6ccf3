"""A handler of a signal raises during a compilation: the program gets the exception as it is."""

import functools
import itertools
import signal
import sys

import pytest

import omni.warp_core as wp
from omni.warp_core.front.signal_origin import raised_by_a_handler


class TooLate(Exception):
    pass


def stop(*_):
    raise TooLate("the time is over")


def called_with(text, *_):
    raise TooLate(text)


class Limit:
    def stop(self, *_):
        stop()

    def __call__(self, *_):
        stop()


HANDLERS = {
    "function": stop,
    "method": Limit().stop,
    "partial function": functools.partial(called_with, "the time is over"),
    "object": Limit(),
}


@pytest.fixture(params=HANDLERS)
def handler(request):
    before = signal.signal(signal.SIGALRM, HANDLERS[request.param])
    yield
    signal.signal(signal.SIGALRM, before)


NUMBERS = itertools.count(1)


def fresh_kernel():
    """A kernel that has not been compiled, and what it writes."""
    number = next(NUMBERS) + 0.25
    text = f"import omni.warp_core as wp\n\n@wp.kernel\ndef k(x: wp.array[float]):\n    x[wp.tid()] = {number}\n"
    return wp.kernel_from_source(text, filename="limited.py"), number


def launch_with_a_signal_after(kernel, most):
    """Launch a kernel; the signal comes when Python has called `most` functions. Return how many it has called."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"
        if calls == most:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGALRM)

    sys.setprofile(count)
    try:
        wp.launch(kernel, 1, [wp.zeros(1, dtype=float)])
    finally:
        sys.setprofile(None)
    return calls


def test_the_exception_of_the_handler_arrives(handler, monkeypatch):
    monkeypatch.setattr(wp.config, "cache_kernels", False)
    for _ in range(2):  # the first one loads the compiler
        calls = launch_with_a_signal_after(fresh_kernel()[0], -1)
    for tenth in range(2, 9):
        kernel, number = fresh_kernel()
        with pytest.raises(TooLate, match="the time is over"):
            launch_with_a_signal_after(kernel, calls * tenth // 10)
        out = wp.zeros(1, dtype=float)
        wp.launch(kernel, 1, [out])  # nothing of the compilation that was stopped is left
        assert out.list() == [number]


def test_other_exceptions_are_none_of_a_handler(handler):
    try:
        [].pop()
    except IndexError as error:
        assert raised_by_a_handler(error) is None


def test_what_comes_of_the_exception_of_a_handler_is_told(handler):
    """As when it stops the start of a thread, whose own clean-up then fails."""
    try:
        try:
            signal.raise_signal(signal.SIGALRM)
        finally:
            {}["thread"]
    except KeyError as error:
        assert isinstance(raised_by_a_handler(error), TooLate)
