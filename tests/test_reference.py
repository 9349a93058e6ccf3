"""docs/reference is what tools/reference.py writes, and has every public name. Links are checked in test_docs.py."""

from __future__ import annotations

import re

import pytest

import omni.warp_core as wp
from tools.reference import FOLDER, pages

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_up_to_date(name):
    assert (FOLDER / name).read_text() == PAGES[name], "run python -m tools.docs"


def test_there_are_no_other_pages():
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_the_index_has_every_public_name():
    listed = set(re.findall(r"\[([\w.]+)\]\(", PAGES["README.md"]))
    modules = {
        f"{module}.{name}"
        for module in ("autograd", "fem", "nodes", "optim", "render", "sparse", "studio", "usd", "utils", "types")
        for name in getattr(wp, module).__all__
    }
    names = {name for name in dir(wp) if not name.startswith("_")}
    namespaces = {
        "autograd",
        "fem",
        "geometry",
        "jax_experimental",
        "nodes",
        "optim",
        "render",
        "sparse",
        "studio",
        "types",
        "usd",
    }
    assert names - namespaces - {"utils"} <= listed
    assert {name for name in modules if name.partition(".")[2] not in names} <= listed


def test_names_are_described_once_on_a_page():
    for name, text in PAGES.items():
        headings = [h.lower() for h in re.findall(r"^##+ (.*)$", text, re.MULTILINE)]
        assert len(set(headings)) == len(headings), name


def test_blocks_are_closed_and_sections_are_known():
    for name, text in PAGES.items():
        assert text.count("```") % 2 == 0, name
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert ">>>" not in outside, name
