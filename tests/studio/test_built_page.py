"""A page that was built from other sources than those of the checkout is not used."""

import shutil

import pytest

from omni.warp_core.studio import built_page


@pytest.fixture
def checkout(tmp_path):
    """A page and its source, as folders."""
    page, source = tmp_path / "page", tmp_path / "studio"
    page.mkdir()
    (source / "src").mkdir(parents=True)
    for name in ("index.html", "package-lock.json", "vite.config.ts", "src/main.tsx"):
        (source / name).write_text(name)
    (page / "index.html").write_text("built")
    built_page.stamp(page, source)
    return page, source


def test_a_page_is_used_with_the_source_that_it_was_built_from(checkout):
    assert built_page.problem(*checkout) == ""


@pytest.mark.parametrize("name", ["index.html", "package-lock.json", "src/main.tsx", "src/new.tsx"])
def test_a_page_of_another_source_is_refused(checkout, name):
    page, source = checkout
    (source / name).write_text("changed")
    assert "make studio" in built_page.problem(page, source)


def test_a_page_that_does_not_tell_its_source_is_refused(checkout):
    page, source = checkout
    (page / "source.sha256").unlink()
    assert "make studio" in built_page.problem(page, source)


def test_an_installation_has_no_source_to_compare(checkout):
    page, source = checkout
    shutil.rmtree(source)
    assert built_page.problem(page, source) == ""
    (page / "index.html").unlink()
    assert "no page" in built_page.problem(page, source)
