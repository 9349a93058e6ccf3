"""The program of `make tsan` compiles: it uses the native code's own headers, and no other test would notice."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.cpu


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_it_compiles():
    command = ["g++", "-std=c++20", "-fsyntax-only", "-I", ROOT / "native/include", ROOT / "tests/native/threads.cpp"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
