"""`make help` lists every target that the Makefile declares, each with a description."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_help():
    command = ["make", "--no-print-directory", "help"]  # an outer make would print its folder
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    listed = re.findall(r"^make (\S+) +\S", text, re.MULTILINE)
    assert sorted(listed) == sorted(phony.split()) and len(text.splitlines()) == len(listed)


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_set_up_announces_each_of_its_steps():
    command = ["make", "--no-print-directory", "--dry-run", "--always-make", "build"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    steps = re.findall(r"Step (\d) of 3|-m (venv|pip)", text)
    assert steps == [("1", ""), ("", "venv"), ("2", ""), ("", "pip"), ("3", ""), ("", "pip")]
