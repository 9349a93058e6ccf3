"""Random programs against central differences: every gradient is right, or the program is refused.

`OMNI_WARP_GRADIENTS=low:high` runs other programs than those of the suite.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.autodiff.judge import verdict
from tests.autodiff.programs import text

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_GRADIENTS", "0:300").split(":"))
CHUNK = 10


@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_programs(first, record_property):
    verdicts = {seed: verdict(text(seed), seed) for seed in range(first, min(first + CHUNK, HIGH))}
    counts = Counter(v.kind for v in verdicts.values())
    record_property("gradients", dict(counts))
    wrong = {seed: v.detail for seed, v in verdicts.items() if v.kind == "wrong"}
    assert not wrong
    assert counts["right"] >= 0.9 * len(verdicts)
