"""Random programs on tapes against central differences: every gradient is right, or the program is refused.

`OMNI_WARP_TAPES=low:high` runs other programs than those of the suite.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.autodiff.tapes import verdict

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_TAPES", "0:100").split(":"))
CHUNK = 10


@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
def test_programs(first, record_property):
    verdicts = {seed: verdict(seed) for seed in range(first, min(first + CHUNK, HIGH))}
    counts = Counter(kind for kind, _ in verdicts.values())
    record_property("gradients", dict(counts))
    wrong = {seed: why for seed, (kind, why) in verdicts.items() if kind == "wrong"}
    assert not wrong
    assert counts["right"] >= 0.9 * len(verdicts)
