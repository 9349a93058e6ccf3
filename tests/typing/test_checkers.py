"""Type checkers accept the programs beside this file, but for the lines marked `# wrong`.

`# wrong (mypy)` marks a line that only that checker reports. Both read the stubs of the package as users have them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = sorted(p for p in HERE.glob("*.py") if not p.name.startswith("test_"))
MARK = re.compile(r"# wrong(?: \((\w+)\))?$")


def run(*command: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300).stdout


def by_mypy(folder: Path) -> str:
    options = ["--config-file=", "--namespace-packages", "--explicit-package-bases", f"--cache-dir={folder}"]
    return run(sys.executable, "-m", "mypy", *options, *(str(p.relative_to(ROOT)) for p in PROGRAMS))


def by_pyright(folder: Path) -> str:
    project = folder / "pyrightconfig.json"
    settings = {
        "typeCheckingMode": "standard",
        "include": [str(p) for p in PROGRAMS],
        "extraPaths": [str(ROOT)],
        "pythonVersion": f"{sys.version_info[0]}.{sys.version_info[1]}",
    }
    project.write_text(json.dumps(settings))
    return run(sys.executable, "-m", "basedpyright", "-p", str(project), "--pythonpath", sys.executable)


CHECKERS = {"mypy": by_mypy, "pyright": by_pyright}
REPORT = re.compile(r"^\s*\S*?(\w+\.py):(\d+):(?:\d+ -)? error.*", re.MULTILINE)


@pytest.fixture(scope="module", params=CHECKERS)
def reports(request, tmp_path_factory) -> tuple[str, dict[tuple[str, int], str]]:
    """The name of the checker, and what it says about each line."""
    text = CHECKERS[request.param](tmp_path_factory.mktemp(request.param))
    found = {(m[1], int(m[2])): m[0].strip() for m in REPORT.finditer(text)}
    assert found, text
    return request.param, found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_the_marked_lines_are_reported(program, reports):
    checker, found = reports
    lines = enumerate(program.read_text().splitlines(), 1)
    marked = {n for n, line in lines if (m := MARK.search(line)) and m[1] in (None, checker)}
    told = {n: text for (name, n), text in found.items() if name == program.name}
    assert not [text for n, text in told.items() if n not in marked]
    assert marked <= told.keys(), f"{checker} has nothing to say about lines {sorted(marked - told.keys())}"
