"""A few thousand mutated files; `make fuzz` reads a million."""

import pytest

from .file_fuzz import fuzz

pytestmark = pytest.mark.cpu


def test_mutated_files_are_read_or_refused():
    counts, failures = fuzz(seed=1, cases=3000)
    assert not failures
    assert min(counts.values()) > 100 and sum(counts.values()) == 3000
