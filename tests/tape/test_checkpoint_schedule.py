"""The schedule of binomial checkpointing: it reverses every step from its own state, with the fewest advances."""

from __future__ import annotations

from functools import cache

import pytest

from omni.warp_core.tape.checkpoint_schedule import Action, advances, repetitions, schedule


@cache
def fewest(n: int, snapshots: int) -> int:
    """The least number of advances that reverse `n` steps, by trying all places for the next snapshot."""
    if n == 1:
        return 0
    if snapshots == 1:
        return n * (n - 1) // 2
    return min(j + fewest(n - j, snapshots - 1) + fewest(j, snapshots) for j in range(1, n))


def play(n: int, snapshots: int) -> dict[int, int]:
    """Follow a schedule; the number of advances over each step."""
    slots: dict[int, int] = {}
    counts = dict.fromkeys(range(n), 0)
    state, expected = 0, n - 1
    for kind, first, last, slot in schedule(n, snapshots):
        if kind == "save":
            assert first == state and 0 <= slot < snapshots
            slots[slot] = state
        elif kind == "restore":
            assert slots[slot] == first
            state = first
        elif kind == "advance":
            assert first == state < last
            for i in range(first, last):
                counts[i] += 1
            state = last
        else:
            assert kind == "reverse" and first == state == expected
            state, expected = first + 1, expected - 1
    assert expected == -1
    assert slots[0] == 0
    return counts


@pytest.mark.parametrize("snapshots", [1, 2, 3, 4, 5, 7, 10, 60])
def test_no_schedule_has_fewer_advances(snapshots):
    for n in range(1, 70):
        counts = play(n, snapshots)
        assert sum(counts.values()) == fewest(n, snapshots) == advances(n, snapshots)
        assert max(counts.values()) <= repetitions(n, snapshots)


def test_a_long_schedule_with_few_snapshots():
    counts = play(100_000, 20)
    assert sum(counts.values()) == advances(100_000, 20) < 100_000 * repetitions(100_000, 20)


def test_enough_snapshots_advance_over_each_step_once():
    assert play(50, 50) == {i: int(i < 49) for i in range(50)}


def test_one_step():
    assert list(schedule(1, 3)) == [Action("save", 0), Action("reverse", 0)]
