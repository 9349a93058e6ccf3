"""Random programs on tapes against central differences: every gradient is right, or the program is refused.

`OMNI_WARP_TAPES=low:high` runs other programs than those of the suite, and `make fuzz` runs more.
"""

from __future__ import annotations

import os
import re
from collections import Counter

import numpy as np
import pytest

from tests.tape.random_tapes import SIZE, Program, verdict

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_TAPES", "0:20").split(":"))
CHUNK = 10


@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
def test_programs(first, record_property):
    verdicts = {seed: verdict(seed) for seed in range(first, min(first + CHUNK, HIGH))}
    counts = Counter(kind for kind, _ in verdicts.values())
    record_property("gradients", dict(counts))
    wrong = {seed: why for seed, (kind, why) in verdicts.items() if kind == "wrong"}
    assert not wrong
    assert counts["right"] >= 0.9 * len(verdicts)


@pytest.mark.cpu
@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
def test_programs_with_writes_that_no_tape_sees(first, record_property):
    verdicts = {seed: verdict(seed, unseen=True) for seed in range(first, min(first + CHUNK, HIGH))}
    counts = Counter(kind for kind, _ in verdicts.values())
    record_property("gradients", dict(counts))
    assert not {seed: why for seed, (kind, why) in verdicts.items() if kind == "wrong"}
    for why in (why for kind, why in verdicts.values() if kind == "refused"):
        assert re.search("used this memory, and since then (NumPy|it was overwritten)", why)


@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
def test_running_twice_or_forward_or_within_a_budget_gives_the_same(first):
    refused = "needs .* as it was then"
    for seed in range(first, min(first + CHUNK, HIGH)):
        program, r = Program(seed), np.random.default_rng(seed)
        start, direction = r.uniform(-1.0, 1.0, (3, SIZE)), r.uniform(-1.0, 1.0, (3, SIZE))
        once = program.gradient(start)
        assert program.slope(start, direction) == pytest.approx((once * direction).sum(), rel=1e-9, abs=1e-9)
        assert np.allclose(program.gradient(start, times=2), 2 * once, rtol=1e-12, atol=1e-12)
        for budget in (0, 200, 1000):
            try:
                found = program.gradient(start, budget)
            except RuntimeError as why:
                assert re.search(refused, str(why))
                continue
            assert np.allclose(found, once, rtol=1e-12, atol=1e-12)
