"""Sets of memory spans, against sets of addresses."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from omni.warp_core.devices.interval_map import IntervalMap


@pytest.mark.parametrize("seed", range(20))
def test_intervals_are_sets_of_addresses(seed):
    rng = random.Random(seed)
    intervals, addresses, notes = IntervalMap(), set(), {}
    for note in range(30):
        low = rng.randrange(100)
        span = low, low + rng.randrange(1, 12)
        meeting = intervals.meeting(span)
        assert (meeting is not None) == bool(addresses & set(range(*span)))
        assert intervals.has(span) == (set(range(*span)) <= addresses)
        intervals.add(span, note)
        addresses |= set(range(*span))
        spans = list(intervals)
        assert sorted(a for s in spans for a in range(*s)) == sorted(addresses)
        assert all(high < low for (_, high), (low, _) in pairwise(spans))
    intervals.clear()
    assert not list(intervals) and not intervals.has((1, 2))


def test_the_first_note_stays():
    intervals = IntervalMap()
    intervals.add((10, 20), "a")
    intervals.add((30, 40), "b")
    intervals.add((15, 30), "c")
    assert list(intervals) == [(10, 40)]
    assert intervals.meeting((39, 50)) == "a" and intervals.meeting((40, 50)) is None


def test_spans_that_touch_stay_apart_where_they_do_not_join():
    intervals = IntervalMap(joins=False)
    for span in ((10, 20), (20, 30), (0, 10)):
        intervals.add(span, span)
    assert list(intervals) == [(0, 10), (10, 20), (20, 30)]
    assert [intervals.meeting((at, at + 1)) for at in (9, 10, 19, 20)] == [(0, 10), (10, 20), (10, 20), (20, 30)]
    intervals.add((5, 15), "more")
    assert list(intervals) == [(0, 20), (20, 30)]
