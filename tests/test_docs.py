"""The documents keep their promises: code blocks run, links lead somewhere, generated pages are up to date.

A block opened with ```python runs, after the blocks before it in the same file; ```python fails is one that must not
compile. A block opened with ```sh runs in a shell, where `data` is the folder of the repository and blocks opened with
```LANGUAGE FILE are files. Other blocks are text.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import omni.warp_core as wp
from tools import error_pages

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(.*)$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path) -> list[tuple[str, int, str]]:
    """The fenced blocks of a page: what stands behind the fence, the line the block begins on, its text."""
    found, opened, lines = [], None, path.read_text().splitlines()
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened = (fence.group(1).strip(), number + 1)
        elif fence and opened is not None:
            found.append((*opened, "\n".join(lines[opened[1] : number])))
            opened = None
    assert opened is None, f"{name_of(path)}: a block is not closed"
    return found


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_pages():
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"} <= {name_of(p) for p in PAGES}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_code_runs(path, tmp_path):
    # Blocks keep their line numbers, so that a traceback leads to the page.
    lines = [""] * len(path.read_text().splitlines())
    for language, first, text in blocks(path):
        if language == "python":
            lines[first : first + len(text.splitlines())] = text.splitlines()
    script = tmp_path / f"{path.stem}.py"
    script.write_text("\n".join(lines) + "\n")
    ran = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, f"{name_of(path)}:\n{ran.stderr}"


@pytest.mark.parametrize("path", [page for page in PAGES if "\n```sh\n" in page.read_text()], ids=name_of)
def test_commands_run(path, tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    for opening, _, text in blocks(path):
        if (file := opening.partition(" ")[2]) and "/" not in file:
            (tmp_path / file).write_text(text)
    commands = "\n".join(text for language, _, text in blocks(path) if language == "sh")
    ran = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, f"{name_of(path)}:\n{ran.stderr}"
    written = re.findall(r"-o (\S+)", commands)
    assert written
    assert all((tmp_path / name).stat().st_size > 1000 for name in written)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    lost = []
    for target in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(target)
    assert not lost, f"{name_of(path)} links to {', '.join(lost)}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_files_named_exist(path):
    """Names in backquotes that look like files of the repository are files of the repository."""
    named = re.findall(r"`((?:omni|native|ogn|tests|tools|benchmarks|docs|data|config)/[\w./-]+)`", prose(path))
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing, f"{name_of(path)} names {', '.join(missing)}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_excerpts_are_in_their_files(path):
    """A block opened with ```LANGUAGE FILE is an excerpt of that file."""
    for opening, line, text in blocks(path):
        file = opening.partition(" ")[2]
        if "/" in file:
            assert text in (ROOT / file).read_text(), f"{name_of(path)}:{line} is not in {file}"


def test_the_error_page_shows_what_the_compiler_says():
    assert error_pages.PAGE.read_text() == error_pages.page(), "run python -m tools.docs"


def test_the_versions_agree():
    (project,) = re.findall(r"^version = \"(.*)\"$", (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    assert project == wp.config.package_version
    assert f"## {project}" in (ROOT / "CHANGELOG.md").read_text()
