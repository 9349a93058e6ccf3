"""Random programs against differences and dual numbers: every gradient is right, or the program is refused.

`OMNI_WARP_PROGRAMS=low:high` runs other programs than those of the suite, here and in the other tests of random
programs. `make fuzz` runs a thousand. How many are right stands at the end of what pytest prints.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.autodiff.conftest import PREFIX
from tests.autodiff.corpus.random_programs import SOURCES
from tests.autodiff.reference_gradients import verdict

GIVEN = os.environ.get("OMNI_WARP_PROGRAMS")
LOW, HIGH = map(int, (GIVEN or "0:10").split(":"))
CHUNK = 30
KINDS = [kind for kind in SOURCES if GIVEN or kind != "narrow"]  # test_tangent.py judges the narrow ones of the suite


@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_programs(first, kind, record_property):
    """`unclear` are those whose differences do not agree with each other."""
    verdicts = {seed: verdict(SOURCES[kind](seed), seed, kind) for seed in range(first, min(first + CHUNK, HIGH))}
    counts = Counter(v.kind for v in verdicts.values())
    record_property(f"{PREFIX}gradients of {kind} random programs", dict(counts))
    assert not {seed: v.detail for seed, v in verdicts.items() if v.kind == "wrong"}
    clear = len(verdicts) - counts["unclear"]
    assert counts["right"] >= 0.95 * clear, {v.detail for v in verdicts.values() if v.kind == "refused"}
