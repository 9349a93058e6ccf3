"""Patterns of names, judged by Python's fnmatch."""

import fnmatch
import itertools

import pytest

from omni.warp_core.nodes.values.wildcards import Wildcards, _fits


def test_one_pattern_agrees_with_fnmatch():
    letters = ["", *("".join(t) for n in (1, 2, 3, 4) for t in itertools.product("ab*?", repeat=n))]
    names = ["".join(t) for n in range(5) for t in itertools.product("ab", repeat=n)]
    for pattern in letters:
        assert [_fits(pattern, n) for n in names] == [fnmatch.fnmatchcase(n, pattern) for n in names]


def test_brackets_are_letters():
    assert Wildcards("a[b]").fits("a[b]") and not Wildcards("a[b]").fits("ab")


@pytest.mark.parametrize(
    ("text", "fits"),
    [("* ^points", "face size"), ("* ^f* ^p*", "size"), ("points,size", "points size"), ("^size", ""), ("", "")],
)
def test_lists_of_patterns(text, fits):
    assert [n for n in ("points", "face", "size") if Wildcards(text).fits(n)] == fits.split()


def test_hostile_patterns_end():
    assert not Wildcards("*a" * 200 + "b").fits("a" * 2000)
